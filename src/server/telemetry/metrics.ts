import { monitorEventLoopDelay } from 'node:perf_hooks';
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { Traffic } from '../../exchange.ts';
import type { Observed } from './access-log.ts';
import { Count, counterOf, Distribution, histogramOf } from './counters.ts';

/** What Prometheus is told. Labels have few values each, all of them ours: no client can make more of them. */
export interface Metrics {
  readonly registry: Registry;
  observe(observed: Observed): void;
  /** A statement took so long. */
  timed(kind: string, seconds: number): void;
}

/** What is counted elsewhere, as of now. */
export interface Sources {
  readonly engine: string;
  kept(): { readonly hits: number; readonly misses: number; readonly bytes: number };
  /** Undefined before anything is served. */
  traffic(): Traffic | undefined;
  linesLost(): number;
}

// From what a kept answer takes nobody notices, up to where clients give up.
const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const STATEMENT_SECONDS = [0.00005, 0.0001, 0.00025, ...SECONDS];

export function createMetrics(sources: Sources, version: string): Metrics {
  const registry = new Registry();
  const calls = new CallSeries();
  const statements = new Map<string, Distribution>();
  const refusals = new Count({});

  collectDefaultMetrics({ register: registry });
  for (const { name } of registry.getMetricsAsArray()) {
    if (name.startsWith('nodejs_eventloop_lag')) registry.removeSingleMetric(name); // we have one of our own
  }
  for (const metric of [
    counterOf(
      { name: 'columba_requests_total', help: 'Requests that were answered, by what became of them.' },
      calls.counts,
    ),
    histogramOf(
      { name: 'columba_request_duration_seconds', help: 'Time from the head of a request to the start of its answer.' },
      calls.durations,
    ),
    histogramOf({ name: 'columba_database_seconds', help: 'Time for a statement or a transaction.' }, () =>
      statements.values(),
    ),
    counterOf({ name: 'columba_credential_failures_total', help: 'Calls with a user_id that is not valid.' }, () => [
      refusals,
    ]),
    total(
      'columba_response_bytes_total',
      'Bytes of answers, as they were sent.',
      () => sources.traffic()?.bytesSent ?? 0,
    ),
    total(
      'columba_refused_requests_total',
      'Requests that got 503 for overload.',
      () => sources.traffic()?.refused ?? 0,
    ),
    total(
      'columba_unsent_refused_total',
      'Long answers that got 429 because too much was unsent.',
      () => sources.traffic()?.unsentRefused ?? 0,
    ),
    total('columba_kept_hits_total', 'Calls that got a kept answer.', () => sources.kept().hits),
    total('columba_kept_misses_total', 'Calls whose answer was made anew.', () => sources.kept().misses),
    total('columba_log_lines_lost_total', 'Log lines that standard error did not take.', sources.linesLost),
  ]) {
    registry.registerMetric(metric);
  }
  gauge(
    registry,
    'columba_connections_open',
    'Open connections of clients.',
    () => sources.traffic()?.connectionsOpen ?? 0,
  );
  gauge(
    registry,
    'columba_unsent_bytes',
    'Memory for long answers that clients have not taken yet.',
    () => sources.traffic()?.unsentBytes ?? 0,
  );
  gauge(registry, 'columba_kept_bytes', 'Memory that kept answers take.', () => sources.kept().bytes);
  new Gauge({
    ...{ name: 'columba_build_info', help: 'Always 1.', registers: [registry], aggregator: 'first' },
    labelNames: ['version', 'node'],
  }).set({ version, node: process.version }, 1);
  watchEventLoop(registry);

  return {
    registry,
    observe(observed) {
      calls.observe(observed);
      if (observed.kind === 'denied') refusals.value += 1;
    },
    timed(kind, seconds) {
      let distribution = statements.get(kind);
      if (!distribution) {
        distribution = new Distribution({ engine: sources.engine, kind }, STATEMENT_SECONDS);
        statements.set(kind, distribution);
      }
      distribution.observe(seconds);
    },
  };
}

const total = (name: string, help: string, value: () => number) =>
  counterOf({ name, help }, () => [{ labels: {}, value: value() }]);

const gauge = (registry: Registry, name: string, help: string, value: () => number) =>
  new Gauge({
    ...{ name, help, registers: [registry], aggregator: 'sum' as const },
    collect() {
      this.set(value());
    },
  });

interface Outcomes {
  readonly duration: Distribution;
  readonly kinds: Map<string, Count>;
}

/** By group, operation, protocol and kind: one look-up each, of names that are there already, and nothing is put together. */
class CallSeries {
  readonly #groups = new Map<string, Map<string, Map<string, Outcomes>>>();

  observe({ group = 'none', operation: named, protocol = 'none', kind, durationMs }: Observed): void {
    const operation = named ?? (kind === 'ok' ? 'none' : 'unknown'); // none: a page or a description
    const operations = found(this.#groups, group, () => new Map());
    const protocols = found(operations, operation, () => new Map());
    const { duration, kinds } = found(protocols, protocol, () => ({
      duration: new Distribution({ group, operation, form: protocol }, SECONDS),
      kinds: new Map(),
    }));
    duration.observe(durationMs / 1_000);
    found(kinds, kind, () => new Count({ group, operation, form: protocol, kind })).value += 1;
  }

  readonly durations = () => this.#outcomes().map(({ duration }) => duration);
  readonly counts = () => this.#outcomes().flatMap(({ kinds }) => [...kinds.values()]);

  #outcomes(): Outcomes[] {
    return [...this.#groups.values()].flatMap((operations) =>
      [...operations.values()].flatMap((protocols) => [...protocols.values()]),
    );
  }
}

function found<T>(map: Map<string, T>, name: string, make: () => T): T {
  const known = map.get(name);
  if (known !== undefined) return known;
  const made = make();
  map.set(name, made);
  return made;
}

const RESOLUTION_MS = 10;
const QUANTILES = [0.5, 0.99, 1];

/** Since it was last asked for; across processes the worst of them. */
function watchEventLoop(registry: Registry): void {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delay.enable();
  new Gauge({
    name: 'columba_event_loop_delay_seconds',
    help: 'How late the process gets to what is due, since the last scrape.',
    ...{ registers: [registry], labelNames: ['quantile'], aggregator: 'max' as const },
    collect() {
      for (const quantile of QUANTILES) {
        // It measures from one look to the next, which are so far apart even when nothing is late.
        const late = delay.percentile(quantile * 100) / 1e9 - RESOLUTION_MS / 1_000;
        this.set({ quantile: String(quantile) }, Math.max(0, late));
      }
      delay.reset();
    },
  });
}

/** How much there is in the database: asked by one process for all. */
export interface Stock {
  readonly unread: number;
  readonly read: number;
  readonly scheduled: number;
  readonly toPurge: number;
}

/** Where the database does not answer, these are left out. */
export function addStock(registry: Registry, stock: () => Promise<Stock>): void {
  new Gauge({
    name: 'columba_messages',
    help: 'Messages of all accounts, by state; of scheduled ones at most 100000 are counted.',
    ...{ registers: [registry], labelNames: ['state'] },
    async collect() {
      this.reset();
      const now = await stock().catch(() => undefined);
      for (const state of ['unread', 'read', 'scheduled'] as const) if (now) this.set({ state }, now[state]);
    },
  });
  new Gauge({
    name: 'columba_purge_backlog_accounts',
    help: 'Accounts whose emptied inboxes are still on disk.',
    registers: [registry],
    async collect() {
      const now = await stock().catch(() => undefined);
      if (now) this.set(now.toPurge);
      else this.remove();
    },
  });
}
