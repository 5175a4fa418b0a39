import type { Database, Queries } from '../../store/database.ts';
import { createOutboundRoutes, type RouteCounts } from '../outbound/routes.ts';
import { BUILTIN_NAME, type ConnectorRecord, connectorHours, createConnectors } from '../sending/connectors.ts';
import { NEVER } from '../sending/end.ts';
import { retriedByConnector, sending, submissionsBefore, waitingByConnector } from './counts.sql.ts';

/** Counts of sending over all accounts, for metrics and for `columba status`. */
export interface SendingCounts {
  /** Messages that are due and not claimed; at most COUNTED_MAX. */
  readonly due: number;
  /** Claimed messages whose answers are awaited; at most COUNTED_MAX. */
  readonly submitting: number;
  /** Messages of which nobody knows whether the carrier has them. */
  readonly unknownOutcome: number;
  /** Messages that the spend guard holds; at most COUNTED_MAX. */
  readonly held: number;
  /** Messages that are not submitted although their time has come, also those to be tried again. */
  readonly waiting: number;
  /** How long ago the oldest of them was due for the first time. */
  readonly oldestDueMs: number;
  /** What became of the parts of outbound routes. */
  readonly routes: readonly RouteCounts[];
  /** Received messages that have no route. */
  readonly unrouted: number;
  readonly connectors: readonly (ConnectorRecord & ConnectorLoad)[];
  readonly unconnected: readonly Unconnected[];
}

const COUNTED_MAX = 100_000;
const FRESH_MS = 10_000;

/** Counts messages from phones that no route takes: see receiving/unrouted.ts. */
export type CountUnrouted = (queries: Queries) => Promise<number>;

export async function readSendingCounts(
  database: Database,
  now: () => number,
  countUnrouted: CountUnrouted,
): Promise<SendingCounts> {
  const at = now();
  const row = await database.first(sending, { now: at, limit: COUNTED_MAX });
  const records = await createConnectors(database, now).list();
  const { byName, unconnected, oldestDueAt } = await connectorLoads(database, records, at);
  const loads = [...byName.values(), ...unconnected];
  return {
    due: Number(row?.due ?? 0n),
    submitting: Number(row?.submitting ?? 0n),
    unknownOutcome: Number(row?.unknown_outcome ?? 0n),
    held: Number(row?.held ?? 0n),
    routes: await createOutboundRoutes(database, now).counts(),
    waiting: loads.reduce((sum, { waiting }) => sum + waiting, 0),
    oldestDueMs: oldestDueAt === null ? 0 : Math.max(0, at - oldestDueAt),
    unrouted: await countUnrouted(database),
    connectors: records.map((record) => ({ ...record, ...(byName.get(record.name) ?? NO_LOAD) })),
    unconnected,
  };
}

/** Reads the counts at most every 10 s, however often a metrics server asks. */
export function createSendingCounts(
  database: Database,
  now: () => number,
  countUnrouted: CountUnrouted,
): () => Promise<SendingCounts> {
  let latest: { readonly readAt: number; readonly counts: Promise<SendingCounts> } | undefined;
  return () => {
    const at = now();
    if (!latest || Math.abs(at - latest.readAt) >= FRESH_MS) {
      latest = { readAt: at, counts: readSendingCounts(database, now, countUnrouted) };
    }
    return latest.counts;
  };
}

/** Describes each fault of sending in a sentence. */
export function sendingFaults(counts: SendingCounts): string[] {
  const { waiting, oldestDueMs, unknownOutcome, held, connectors, unconnected } = counts;
  const faults = connectors.flatMap(({ name, pausedAt, downSince, downReason, avoidedUntil, avoidedReason }) => {
    if (pausedAt !== null) return [`The connector ${name} is paused, and its messages wait.`];
    if (downSince !== null) return [`The connector ${name} is down: ${downReason}. Its messages wait.`];
    if (avoidedUntil === null) return [];
    const until = new Date(avoidedUntil).toISOString().slice(11, 19);
    return [`Outbound routes pass over the connector ${name} until ${until} UTC: ${avoidedReason}.`];
  });
  faults.push(...unconnected.map(unconnectedFault));
  for (const { name, recent } of connectors)
    if (refusesMost(recent)) faults.push(`The connector ${name} ${refusedSaid(recent)}.`);
  if (waiting > 0 && oldestDueMs > LATE_MS) {
    faults.push(`${messagesAre(waiting)} due, the oldest for ${Math.round(oldestDueMs / 60_000)} minutes.`);
  }
  if (unknownOutcome > 0) {
    const have = unknownOutcome === 1 ? '1 message has' : `${unknownOutcome} messages have`;
    faults.push(`${have} an unknown outcome: an operator decides about each.`);
  }
  if (held > 0) faults.push(`${messagesAre(held)} held by the spend guard: release or refuse each.`);
  return faults;
}

const messagesAre = (count: number): string => (count === 1 ? '1 message is' : `${count} messages are`);

const LATE_MS = 5 * 60_000;

/** The present load of a connector. */
export interface ConnectorLoad {
  /**
   * Messages that wait for the connector, also those to be tried again; at most COUNTED_MAX of all
   * connectors together.
   */
  readonly waiting: number;
  /** When the oldest of them was due for the first time. */
  readonly oldestDueAt: number | null;
  /** What the carrier answered in this hour and the one before. */
  readonly recent: RecentAnswers;
  /** Parts that were submitted in the last minute. */
  readonly lastMinute: number;
  /** The median time from the submission to the last receipt; null without receipts. */
  readonly receiptLagMs: number | null;
}

export interface RecentAnswers {
  readonly since: number;
  readonly accepted: number;
  /** Parts that the carrier will never take. */
  readonly permanent: number;
}

/** A few refusals are the numbers of people; when a fifth is refused, something is wrong. */
export const refusesMost = ({ accepted, permanent }: RecentAnswers): boolean =>
  permanent >= REFUSALS_MIN && permanent * 5 >= accepted + permanent;
const REFUSALS_MIN = 3;

const refusedSaid = ({ accepted, permanent }: RecentAnswers): string =>
  `has refused ${permanent} of the last ${accepted + permanent} parts for good`;

/** Messages that are due, and that no connector takes. */
export interface Unconnected {
  /**
   * The connector that their accounts name, and that does not exist; null for a missing default.
   */
  readonly connector: string | null;
  readonly waiting: number;
}

export const NO_LOAD: ConnectorLoad = {
  waiting: 0,
  oldestDueAt: null,
  recent: { since: 0, accepted: 0, permanent: 0 },
  lastMinute: 0,
  receiptLagMs: null,
};
const HOUR_MS = 3_600_000;

const SAMPLE = 1_000;
const MINUTE_MS = 60_000;
/** Greater than the id of every submission, which begins with hexadecimal digits. */
const LATEST_ID = 'g';

/** The id of a submission begins with its time: see schema/sending.ts. */
const idsBefore = (at: number): string => Math.max(0, at).toString(16).padStart(12, '0').slice(-12);

type Named = readonly { readonly name: string; readonly isDefault: boolean }[];

/** Reads at most 2,000 submissions, however many were sent. */
export async function connectorLoads(
  database: Database,
  names: Named,
  now: number,
): Promise<{
  readonly byName: ReadonlyMap<string, ConnectorLoad>;
  readonly unconnected: readonly Unconnected[];
  readonly oldestDueAt: number | null;
}> {
  const waiting = await waitingOf(database, now);
  const hours = await connectorHours(database, now - HOUR_MS);
  const newest = await database.all(submissionsBefore, { before: LATEST_ID, limit: SAMPLE });
  // For these submissions, the carrier has had at least a minute to report.
  const older = await database.all(submissionsBefore, { before: idsBefore(now - MINUTE_MS), limit: SAMPLE });
  const counts = names.map(({ name, isDefault }) => {
    const own = waiting.filter(({ connector }) => connector === name || (connector === null && isDefault));
    const lags = older
      .filter(({ connector, status_at: at }) => connector === name && at !== null)
      .map((row) => Math.max(0, Number(row.status_at) - Number(row.submitted_at)))
      .sort((one, other) => one - other);
    return [
      name,
      {
        waiting: own.reduce((sum, row) => sum + row.waiting, 0),
        oldestDueAt: earliest(own),
        recent: recentOf(
          hours.filter(({ connector }) => connector === name),
          now,
        ),
        lastMinute: newest.filter(
          ({ connector, submitted_at: at }) => connector === name && Number(at) > now - MINUTE_MS,
        ).length,
        receiptLagMs: lags[Math.floor(lags.length / 2)] ?? null,
      },
    ] as const;
  });
  return { byName: new Map(counts), unconnected: unconnectedOf(waiting, names), oldestDueAt: earliest(waiting) };
}

interface Waiting {
  readonly connector: string | null;
  readonly waiting: number;
  /** When the oldest was due for the first time. */
  readonly oldestDueAt: number;
}

/** Messages that are due now and those that are to be tried again, by what their accounts name. */
async function waitingOf(database: Database, now: number): Promise<Waiting[]> {
  const due = await database.all(waitingByConnector, { now, limit: COUNTED_MAX });
  const retried = await database.all(retriedByConnector, { now, never: NEVER, limit: COUNTED_MAX });
  return [
    ...due.map((row) => ({
      connector: row.connector,
      waiting: Number(row.waiting),
      oldestDueAt: Number(row.oldest_due_at),
    })),
    ...retried.map((row) => ({
      connector: row.connector,
      waiting: Number(row.later),
      oldestDueAt: Number(row.first_due_at),
    })),
  ];
}

const earliest = (rows: readonly Waiting[]): number | null =>
  rows.length === 0 ? null : Math.min(...rows.map(({ oldestDueAt }) => oldestDueAt));

const recentOf = (hours: readonly { accepted: number; permanent: number }[], now: number): RecentAnswers => ({
  since: (Math.floor(now / HOUR_MS) - 1) * HOUR_MS,
  accepted: hours.reduce((sum, { accepted }) => sum + accepted, 0),
  permanent: hours.reduce((sum, { permanent }) => sum + permanent, 0),
});

export async function readUnconnected(database: Database, names: Named, now: number): Promise<readonly Unconnected[]> {
  return unconnectedOf(await waitingOf(database, now), names);
}

/** Without any connector, the service adds the loopback when it starts. */
function unconnectedOf(rows: readonly Waiting[], names: Named): Unconnected[] {
  const known = names.length > 0 ? names : [{ name: BUILTIN_NAME, isDefault: true }];
  const others = rows.filter(
    ({ connector }) => !known.some((each) => (connector === null ? each.isDefault : each.name === connector)),
  );
  return [...Map.groupBy(others, ({ connector }) => connector)].map(([connector, own]) => ({
    connector,
    waiting: own.reduce((sum, { waiting }) => sum + waiting, 0),
  }));
}

/** Says what is wrong, and what to do. */
export function unconnectedFault({ connector, waiting }: Unconnected): string {
  const what = waiting === 1 ? '1 message waits' : `${waiting} messages wait`;
  return connector === null
    ? `${what}, and no connector is the default. Make one the default.`
    : `${what} for the connector ${connector}, which does not exist. Put it, or change its accounts.`;
}
