import { monitorEventLoopDelay } from 'node:perf_hooks';
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { Traffic } from '../../base/exchange.ts';
import type { MessageCounts } from '../../domain/messages/counts.ts';
import type { CompletedCall } from './access-log.ts';
import { odditiesMetric } from './carrier-oddities.ts';
import { Counter, counterMetric, Histogram, histogramMetric } from './counters.ts';
import { failuresMetric } from './credential-failures.ts';

/** Metrics for Prometheus. Every label has few values, all of them ours: no client can add one. */
export interface Metrics {
  readonly registry: Registry;
  observe(call: CompletedCall): void;
  observeStatement(kind: string, seconds: number): void;
}

/** What other parts of the process count. */
export interface Sources {
  readonly engine: string;
  responseCache(): { readonly hits: number; readonly misses: number; readonly bytes: number };
  /** Undefined before the server listens. */
  traffic(): Traffic | undefined;
  linesLost(): number;
  /** Failures of the web listener, if this process serves it. */
  webFailures?(): Iterable<Counter>;
  /** What carriers sent, if this process has connectors. */
  oddities?(): Iterable<Counter>;
}

// From the time of a cached response to the time after which clients give up.
const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const STATEMENT_SECONDS = [0.00005, 0.0001, 0.00025, ...SECONDS];

export function createMetrics(sources: Sources, version: string): Metrics {
  const registry = new Registry();
  const calls = new CallCounters();
  const statements = new Map<string, Histogram>();
  const denials = new Counter({ listener: 'contract', reason: 'user_id' });

  collectDefaultMetrics({ register: registry });
  for (const { name } of registry.getMetricsAsArray()) {
    if (name.startsWith('nodejs_eventloop_lag')) registry.removeSingleMetric(name); // columba_event_loop_delay_seconds replaces it
  }
  for (const metric of [
    counterMetric(
      {
        name: 'columba_requests_total',
        help: 'Requests with a response, by group, operation, form (the protocol) and kind of result.',
      },
      calls.counts,
    ),
    histogramMetric(
      {
        name: 'columba_request_duration_seconds',
        help: 'Time from the head of a request until its response was ready, by group, operation and form; from 0.5 ms to 10 s.',
      },
      calls.durations,
    ),
    histogramMetric(
      {
        name: 'columba_database_seconds',
        help: 'Time for a statement (kind read or write) and for a whole transaction, by engine and kind.',
      },
      () => statements.values(),
    ),
    failuresMetric(() => [denials, ...(sources.webFailures?.() ?? [])]),
    odditiesMetric(() => sources.oddities?.() ?? []),
    ...countersOf(sources),
  ]) {
    registry.registerMetric(metric);
  }
  addGauges(registry, sources, version);
  watchEventLoop(registry);

  return {
    registry,
    observe(call) {
      calls.observe(call);
      if (call.kind === 'denied') denials.value += 1;
    },
    observeStatement(kind, seconds) {
      let histogram = statements.get(kind);
      if (!histogram) {
        histogram = new Histogram({ engine: sources.engine, kind }, STATEMENT_SECONDS);
        statements.set(kind, histogram);
      }
      histogram.observe(seconds);
    },
  };
}

/** What other parts of the process have counted since its start. */
const countersOf = (sources: Sources) => [
  ...total(
    'columba_response_bytes_total',
    'Bytes of responses, as they were sent.',
    () => sources.traffic()?.bytesSent ?? 0,
  ),
  ...total(
    'columba_refused_requests_total',
    'Requests that were shed with 503 under overload; the access log does not contain them.',
    () => sources.traffic()?.refused ?? 0,
  ),
  ...total(
    'columba_unsent_refused_total',
    'Requests for a long response that got 429, because the memory for responses that clients have not read was used up.',
    () => sources.traffic()?.unsentRefused ?? 0,
  ),
  ...total(
    'columba_response_cache_hits_total',
    'Calls that got a cached response.',
    () => sources.responseCache().hits,
    ['columba_kept_hits_total'],
  ),
  ...total(
    'columba_response_cache_misses_total',
    'Calls whose response was not in the cache.',
    () => sources.responseCache().misses,
    ['columba_kept_misses_total'],
  ),
  ...total(
    'columba_log_lines_lost_total',
    'Log lines that were dropped because nobody read standard error.',
    sources.linesLost,
  ),
];

function addGauges(registry: Registry, sources: Sources, version: string): void {
  gauge(
    registry,
    'columba_connections_open',
    'Open connections of clients.',
    () => sources.traffic()?.connectionsOpen ?? 0,
  );
  gauge(
    registry,
    'columba_unsent_bytes',
    'Memory of long responses that clients have not read yet; at least 192 KiB for each response.',
    () => sources.traffic()?.unsentBytes ?? 0,
  );
  const cacheBytes = () => sources.responseCache().bytes;
  gauge(registry, 'columba_response_cache_bytes', 'Memory of the response cache.', cacheBytes);
  gauge(registry, 'columba_kept_bytes', 'Now columba_response_cache_bytes.', cacheBytes);
  new Gauge({
    name: 'columba_build_info',
    help: 'Always 1, with the version of Columba and of Node.',
    registers: [registry],
    aggregator: 'first',
    labelNames: ['version', 'node'],
  }).set({ version, node: process.version }, 1);
}

/** A metric that was renamed keeps its former name beside the new one for one version. */
const total = (name: string, help: string, value: () => number, formerly: string[] = []) =>
  [name, ...formerly].map((each) =>
    counterMetric({ name: each, help: each === name ? help : `Now ${name}.` }, () => [{ labels: {}, value: value() }]),
  );

const gauge = (registry: Registry, name: string, help: string, value: () => number) =>
  new Gauge({
    name,
    help,
    registers: [registry],
    aggregator: 'sum' as const,
    collect() {
      this.set(value());
    },
  });

interface Outcomes {
  readonly duration: Histogram;
  readonly kinds: Map<string, Counter>;
}

/** By group, operation, protocol and kind, in nested maps: no key is joined per call. */
class CallCounters {
  readonly #groups = new Map<string, Map<string, Map<string, Outcomes>>>();

  observe({ group = 'none', operation: named, protocol = 'none', kind, durationMs }: CompletedCall): void {
    const operation = named ?? (kind === 'ok' ? 'none' : 'unknown'); // none: a page or a description
    const operations = found(this.#groups, group, () => new Map());
    const protocols = found(operations, operation, () => new Map());
    const { duration, kinds } = found(protocols, protocol, () => ({
      duration: new Histogram({ group, operation, form: protocol }, SECONDS),
      kinds: new Map(),
    }));
    duration.observe(durationMs / 1_000);
    found(kinds, kind, () => new Counter({ group, operation, form: protocol, kind })).value += 1;
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

/** The delay since the last scrape; the largest one if there are several processes. */
function watchEventLoop(registry: Registry): void {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delay.enable();
  new Gauge({
    name: 'columba_event_loop_delay_seconds',
    help: 'Delay of the event loop since the last scrape, of the worst process, by quantile.',
    registers: [registry],
    labelNames: ['quantile'],
    aggregator: 'max' as const,
    collect() {
      for (const quantile of QUANTILES) {
        // The monitor measures intervals, which have this length when nothing is late.
        const late = delay.percentile(quantile * 100) / 1e9 - RESOLUTION_MS / 1_000;
        this.set({ quantile: String(quantile) }, Math.max(0, late));
      }
      delay.reset();
    },
  });
}

/**
 * One process publishes the counts of messages in the database for all. If the database does not
 * answer, these metrics are left out.
 */
export function addMessageCounts(registry: Registry, messageCounts: () => Promise<MessageCounts>): void {
  new Gauge({
    name: 'columba_messages',
    help: 'Messages of all accounts, by state: unread, read, scheduled; of scheduled ones at most 100,000 are counted.',
    registers: [registry],
    labelNames: ['state'],
    async collect() {
      this.reset();
      const known = await messageCounts().catch(() => undefined);
      for (const state of ['unread', 'read', 'scheduled'] as const) if (known) this.set({ state }, known[state]);
    },
  });
  new Gauge({
    name: 'columba_purge_backlog_accounts',
    help: 'Accounts whose deleted inboxes are not yet purged from disk.',
    registers: [registry],
    async collect() {
      const known = await messageCounts().catch(() => undefined);
      if (known) this.set(known.toPurge);
      else this.remove();
    },
  });
}
