import { Counter, Gauge, type Registry } from 'prom-client';
import type { SendingCounts } from '../../domain/queue/counts.ts';

type SentByConnector = SendingCounts['connectors'][number];

/**
 * Metrics of sending, read from the database, so that one process can publish them whichever
 * process sends. A label value that was renamed is also published under its former name for one
 * version.
 */
export function addSendingMetrics(registry: Registry, counts: () => Promise<SendingCounts>): void {
  const known = () => counts().catch(() => undefined);
  const registers = [registry];
  new Gauge({
    name: 'columba_sending_messages',
    help: 'Messages on their way out, by state: due, submitting, unknown-outcome (formerly undecided).',
    registers,
    labelNames: ['state'],
    async collect() {
      this.reset();
      const now = await known();
      if (!now) return;
      this.set({ state: 'due' }, now.due);
      this.set({ state: 'submitting' }, now.submitting);
      for (const state of ['unknown-outcome', 'undecided']) this.set({ state }, now.unknownOutcome);
    },
  });
  new Gauge({
    name: 'columba_sending_oldest_due_seconds',
    help: 'How long the oldest message that is due has been waiting.',
    registers,
    async collect() {
      const now = await known();
      if (now) this.set(now.oldestDueMs / 1_000);
      else this.remove();
    },
  });
  new Gauge({
    name: 'columba_unrouted_messages',
    help: 'Received messages that no route gives to an account.',
    registers,
    async collect() {
      const now = await known();
      if (now) this.set(now.unrouted);
      else this.remove();
    },
  });
  new Gauge({
    name: 'columba_held_messages',
    help: 'Messages that the spend guard holds until an operator releases or refuses them.',
    registers,
    async collect() {
      const now = await known();
      if (now) this.set(now.held);
      else this.remove();
    },
  });
  addRouteMetrics(registers, async () => (await known())?.routes ?? []);
  addConnectorMetrics(registers, async () => (await known())?.connectors ?? []);
}

function addRouteMetrics(registers: Registry[], known: () => Promise<SendingCounts['routes']>): void {
  new Counter({
    name: 'columba_route_submissions_total',
    help: 'Submitted parts by outbound route, connector and result: accepted, temporary, permanent, unknown-outcome.',
    registers,
    labelNames: ['route', 'connector', 'result'],
    async collect() {
      this.reset();
      for (const { route, connector, unknownOutcome, ...counts } of await known()) {
        for (const result of ['accepted', 'temporary', 'permanent'] as const) {
          this.inc({ route, connector, result }, counts[result]);
        }
        this.inc({ route, connector, result: 'unknown-outcome' }, unknownOutcome);
      }
    },
  });
  new Counter({
    name: 'columba_route_failovers_total',
    help: 'Messages of an outbound route that went on from this connector to the next way.',
    registers,
    labelNames: ['route', 'connector'],
    async collect() {
      this.reset();
      for (const { route, connector, failovers } of await known()) this.inc({ route, connector }, failovers);
    },
  });
}

/** Null without a backup; infinite before its first snapshot is complete. */
export type BackupLag = () => number | null;

/** When the backup was last verified, in milliseconds since 1970; null if it never was. */
export type BackupVerified = () => number | null;

export function addBackupMetric(registry: Registry, lagMs: BackupLag, verifiedAt: BackupVerified = () => null): void {
  new Gauge({
    name: 'columba_backup_verified_timestamp_seconds',
    help: 'When the service last restored its backup into a temporary file and found it whole; 0 before, absent without a backup.',
    registers: [registry],
    collect() {
      if (lagMs() === null) this.remove();
      else this.set((verifiedAt() ?? 0) / 1_000);
    },
  });
  new Gauge({
    name: 'columba_backup_lag_seconds',
    help: 'How many seconds of commits the continuous backup lacks; absent without a backup.',
    registers: [registry],
    collect() {
      const lag = lagMs();
      if (lag === null) this.remove();
      else this.set(lag / 1_000);
    },
  });
}

function addConnectorMetrics(registers: Registry[], known: () => Promise<readonly SentByConnector[]>): void {
  new Counter({
    name: 'columba_connector_submissions_total',
    help: 'Submitted parts by connector and result: accepted, temporary, permanent, unknown-outcome (formerly unsure).',
    registers,
    labelNames: ['connector', 'result'],
    async collect() {
      this.reset();
      for (const { name: connector, counts } of await known()) {
        for (const result of ['accepted', 'temporary', 'permanent'] as const) {
          this.inc({ connector, result }, counts[result]);
        }
        for (const result of ['unknown-outcome', 'unsure']) this.inc({ connector, result }, counts.unknownOutcome);
      }
    },
  });
  const ofConnectors = (name: string, help: string, value: (connector: SentByConnector) => number) =>
    new Gauge({
      name,
      help,
      registers,
      labelNames: ['connector'],
      async collect() {
        this.reset();
        for (const connector of await known()) {
          this.set({ connector: connector.name }, value(connector));
        }
      },
    });
  ofConnectors(
    'columba_connector_waiting_messages',
    'Messages that are due and wait for the connector.',
    ({ waiting }) => waiting,
  );
  ofConnectors(
    'columba_connector_receipt_lag_seconds',
    'The median time from a submission to its last receipt; 0 if none is known.',
    ({ receiptLagMs }) => (receiptLagMs ?? 0) / 1_000,
  );
  new Gauge({
    name: 'columba_connector_stopped',
    help: '1 if a connector gets no messages, by reason: down, paused, or avoided by outbound routes.',
    registers,
    labelNames: ['connector', 'reason'],
    async collect() {
      this.reset();
      for (const { name: connector, downSince, pausedAt, avoidedUntil } of await known()) {
        this.set({ connector, reason: 'down' }, downSince === null ? 0 : 1);
        this.set({ connector, reason: 'paused' }, pausedAt === null ? 0 : 1);
        this.set({ connector, reason: 'avoided' }, avoidedUntil === null ? 0 : 1);
      }
    },
  });
}
