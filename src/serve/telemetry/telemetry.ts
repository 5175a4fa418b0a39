import type { Registry } from 'prom-client';
import type { Clock } from '../../base/clock.ts';
import type { Handler, Request } from '../../base/exchange.ts';
import { version } from '../../base/version.ts';
import type { MessageCounts } from '../../domain/messages/counts.ts';
import type { SendingCounts } from '../../domain/queue/counts.ts';
import type { StatementObserver } from '../../store/observed.ts';
import { type CompletedCall, createAccessLog, createAccountLabel } from './access-log.ts';
import { type CarrierOddities, odditiesMetric } from './carrier-oddities.ts';
import { type CredentialFailures, failuresMetric } from './credential-failures.ts';
import type { Log } from './log.ts';
import type { LogStream } from './log-stream.ts';
import type { Metrics, Sources } from './metrics.ts';
import { type MetricsServer, type MetricsSettings, serveMetrics } from './metrics-server.ts';
import type { Spans } from './spans.ts';
import { remoteSpan } from './trace-context.ts';

/** Access log, metrics and spans of a process, each only where it is configured. */
export interface Telemetry {
  /** Undefined if nothing is configured. */
  readonly observe: ((call: CompletedCall, account: bigint | undefined) => void) | undefined;
  readonly observeStatement: StatementObserver | undefined;
  wrap(handler: Handler): Handler;
  start(): Promise<void>;
  stop(): Promise<void>;
}

export interface TelemetrySettings extends MetricsSettings {
  readonly logKey: string;
}

export interface TelemetryParts {
  readonly log: Log;
  readonly clock: Clock;
  readonly output: LogStream;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** A worker's metrics are served by the primary process. */
  readonly isWorker: boolean;
  readonly sources: Omit<Sources, 'linesLost'>;
  readonly messageCounts: () => Promise<MessageCounts>;
  readonly sendingCounts?: () => Promise<SendingCounts>;
  readonly backupLagMs?: () => number | null;
  readonly backupVerifiedAt?: () => number | null;
}

export async function createTelemetry(settings: TelemetrySettings, parts: TelemetryParts): Promise<Telemetry> {
  const { log, clock, output, environment, isWorker, sources } = parts;
  const label = createAccountLabel(settings.logKey);
  const logCall = log.isLevelEnabled('info') ? createAccessLog(output.writeLater, clock.now) : undefined;

  let metrics: Metrics | undefined;
  let report: { last(): Promise<void> } | undefined;
  if (settings.metricsPort > 0) {
    const { addMessageCounts, createMetrics } = await import('./metrics.ts');
    metrics = createMetrics({ ...sources, linesLost: () => output.lost }, version);
    if (isWorker) report = (await import('./metrics-aggregator.ts')).reportMetrics(metrics.registry);
    else {
      addMessageCounts(metrics.registry, logFailures(parts.messageCounts, log));
      await addSending(metrics.registry, parts, log);
    }
  }
  let spans: Spans | undefined;
  if (tracesAreWanted(environment)) {
    const onFailed = (err: unknown) => log.warn({ err }, 'spans could not be sent');
    spans = (await import('./spans.ts')).createSpans({ engine: sources.engine, version, clock, onFailed });
  }

  const observe: Telemetry['observe'] = (call, account) => {
    const named = account === undefined ? undefined : label(account);
    metrics?.observe(call);
    spans?.observe(call, named);
    logCall?.(call, named, spans?.traceId() ?? traceIdOf(call.request));
  };
  const observeStatement: StatementObserver = (name, kind) => {
    const startedAt = clock.monotonic();
    const span = spans?.observeStatement(name, kind);
    return {
      within: span?.within,
      ended(failed) {
        metrics?.observeStatement(kind, (clock.monotonic() - startedAt) / 1_000);
        span?.ended(failed);
      },
    };
  };

  let server: MetricsServer | undefined;
  return {
    observe: logCall || metrics || spans ? observe : undefined,
    observeStatement: metrics || spans ? observeStatement : undefined,
    wrap: (handler) => spans?.wrap(handler) ?? handler,
    async start() {
      if (!metrics || isWorker) return;
      const { registry } = metrics;
      server = await serveMetrics(settings, registry.contentType, () => registry.metrics());
      log.info({ metrics: server.address }, 'serving metrics');
    },
    async stop() {
      await server?.close();
      await report?.last();
      await spans?.stop();
    },
  };
}

const traceIdOf = ({ traceparent }: Request) =>
  traceparent === undefined ? undefined : remoteSpan(traceparent).traceId;

/**
 * By the variables of OpenTelemetry:
 * https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/
 */
export function tracesAreWanted(environment: TelemetryParts['environment']): boolean {
  const given = (name: string) => environment[name]?.trim().toLowerCase() ?? '';
  if (given('OTEL_SDK_DISABLED') === 'true') return false;
  const exporters = given('OTEL_TRACES_EXPORTER');
  if (exporters !== '') return exporters.split(',').some((name) => name.trim() === 'otlp');
  return given('OTEL_EXPORTER_OTLP_ENDPOINT') !== '' || given('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT') !== '';
}

/** Logs each failed query once, however many metrics wait for it. */
function logFailures<T>(counts: () => Promise<T>, log: Log): () => Promise<T> {
  let latest: Promise<T> | undefined;
  return () => {
    const asked = counts();
    if (asked !== latest)
      asked.catch((err) => log.warn({ err }, 'the counts in the database could not be read for the metrics'));
    latest = asked;
    return asked;
  };
}

async function addSending(
  registry: Registry,
  {
    sendingCounts,
    backupLagMs,
    backupVerifiedAt,
  }: Pick<TelemetryParts, 'sendingCounts' | 'backupLagMs' | 'backupVerifiedAt'>,
  log: Log,
): Promise<void> {
  if (!sendingCounts) return;
  const { addBackupMetric, addSendingMetrics } = await import('./sending-metrics.ts');
  addSendingMetrics(registry, logFailures(sendingCounts, log));
  if (backupLagMs) addBackupMetric(registry, backupLagMs, backupVerifiedAt);
}

export interface AggregatedParts
  extends Pick<
    TelemetryParts,
    'log' | 'clock' | 'messageCounts' | 'sendingCounts' | 'backupLagMs' | 'backupVerifiedAt'
  > {
  readonly credentialFailures: CredentialFailures;
  readonly oddities: CarrierOddities;
}

/** In the primary process: the metrics of all workers, and the counts in the database. */
export async function serveAggregatedMetrics(
  settings: MetricsSettings,
  { log, clock, messageCounts, credentialFailures, oddities, ...others }: AggregatedParts,
): Promise<MetricsServer> {
  const { Registry } = await import('prom-client');
  const { addMessageCounts } = await import('./metrics.ts');
  const counted = new Registry();
  counted.registerMetric(failuresMetric(credentialFailures.counters));
  counted.registerMetric(odditiesMetric(oddities.counters));
  const aggregate = (await import('./metrics-aggregator.ts')).aggregateMetrics(clock, () => counted.getMetricsAsJSON());
  const registry = new Registry();
  addMessageCounts(registry, logFailures(messageCounts, log));
  await addSending(registry, others, log);
  const text = async () => (await Promise.all([aggregate(), registry.metrics()])).join('\n');
  const server = await serveMetrics(settings, registry.contentType, text);
  log.info({ metrics: server.address }, 'serving metrics');
  return server;
}
