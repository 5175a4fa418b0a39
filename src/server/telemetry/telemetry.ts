import { readFileSync } from 'node:fs';
import type { Handler, Request } from '../../exchange.ts';
import { createAccountLabel, createCallLog, type Observed } from './access-log.ts';
import type { Log } from './log.ts';
import type { LogOutput } from './log-stream.ts';
import type { Metrics, Sources, Stock } from './metrics.ts';
import { type MetricsServer, type MetricsSettings, serveMetrics } from './metrics-server.ts';
import type { Tracing } from './spans.ts';
import type { Watch } from './statement-observer.ts';
import { remoteSpan } from './trace-context.ts';

/** What the process tells about its work: a log line a call, metrics and traces, each only where it is wanted. */
export interface Telemetry {
  /** Undefined where nobody wants to know. */
  readonly observe: ((observed: Observed, account: bigint | undefined) => void) | undefined;
  readonly watch: Watch | undefined;
  around(handle: Handler): Handler;
  start(): Promise<void>;
  stop(): Promise<void>;
}

export interface TelemetrySettings extends MetricsSettings {
  readonly logKey: string;
}

export interface TelemetryParts {
  readonly log: Log;
  readonly output: LogOutput;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** One of several, whose metrics the first process serves. */
  readonly isWorker: boolean;
  readonly sources: Omit<Sources, 'linesLost'>;
  readonly stock: () => Promise<Stock>;
}

export async function createTelemetry(settings: TelemetrySettings, parts: TelemetryParts): Promise<Telemetry> {
  const { log, output, environment, isWorker, sources } = parts;
  const label = createAccountLabel(settings.logKey);
  const logCall = log.isLevelEnabled('info') ? createCallLog(output.writeLater) : undefined;
  const { version } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'));

  let metrics: Metrics | undefined;
  let tell: { last(): Promise<void> } | undefined;
  if (settings.metricsPort > 0) {
    const { addStock, createMetrics } = await import('./metrics.ts');
    metrics = createMetrics({ ...sources, linesLost: () => output.lost }, version);
    if (isWorker) tell = (await import('./metrics-aggregator.ts')).tellMetrics(metrics.registry);
    else addStock(metrics.registry, complaining(parts.stock, log));
  }
  let tracing: Tracing | undefined;
  if (tracesAreWanted(environment)) {
    const failed = (err: unknown) => log.warn({ err }, 'spans could not be sent');
    tracing = (await import('./spans.ts')).createTracing({ engine: sources.engine, version, failed });
  }

  const observe: Telemetry['observe'] = (observed, account) => {
    const named = account === undefined ? undefined : label(account);
    metrics?.observe(observed);
    tracing?.observe(observed, named);
    logCall?.(observed, named, tracing?.traceId() ?? traceIdOf(observed.request));
  };
  const watch: Watch = (name, kind) => {
    const startedAt = performance.now();
    const span = tracing?.watch(name, kind);
    return {
      within: span?.within,
      ended(failed) {
        metrics?.timed(kind, (performance.now() - startedAt) / 1_000);
        span?.ended(failed);
      },
    };
  };

  let server: MetricsServer | undefined;
  return {
    observe: logCall || metrics || tracing ? observe : undefined,
    watch: metrics || tracing ? watch : undefined,
    around: (handle) => tracing?.around(handle) ?? handle,
    async start() {
      if (!metrics || isWorker) return;
      const { registry } = metrics;
      server = await serveMetrics(settings, registry.contentType, () => registry.metrics());
      log.info({ metrics: server.address }, 'serving metrics');
    },
    async stop() {
      await server?.close();
      await tell?.last();
      await tracing?.stop();
    },
  };
}

const traceIdOf = ({ traceparent }: Request) =>
  traceparent === undefined ? undefined : remoteSpan(traceparent).traceId;

/** By the variables of OpenTelemetry: https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/ */
export function tracesAreWanted(environment: TelemetryParts['environment']): boolean {
  const given = (name: string) => environment[name]?.trim().toLowerCase() ?? '';
  if (given('OTEL_SDK_DISABLED') === 'true') return false;
  const exporters = given('OTEL_TRACES_EXPORTER');
  if (exporters !== '') return exporters.split(',').some((name) => name.trim() === 'otlp');
  return given('OTEL_EXPORTER_OTLP_ENDPOINT') !== '' || given('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT') !== '';
}

/** Once for each time that the database was asked in vain. */
function complaining(stock: () => Promise<Stock>, log: Log): () => Promise<Stock> {
  let latest: Promise<Stock> | undefined;
  return () => {
    const asked = stock();
    if (asked !== latest) asked.catch((err) => log.warn({ err }, 'the metrics lack what is in the database'));
    latest = asked;
    return asked;
  };
}

/** In the first process of several: the metrics of all of them, and how much there is in the database. */
export async function serveGathered(
  settings: MetricsSettings,
  log: Log,
  stock: () => Promise<Stock>,
): Promise<MetricsServer> {
  const { Registry } = await import('prom-client');
  const { addStock } = await import('./metrics.ts');
  const gather = (await import('./metrics-aggregator.ts')).gatherMetrics();
  const registry = new Registry();
  addStock(registry, complaining(stock, log));
  const text = async () => (await Promise.all([gather(), registry.metrics()])).join('\n');
  const server = await serveMetrics(settings, registry.contentType, text);
  log.info({ metrics: server.address }, 'serving metrics');
  return server;
}
