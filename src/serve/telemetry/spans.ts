import { AsyncLocalStorage } from 'node:async_hooks';
import { type Context, ROOT_CONTEXT, type Span, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { type Clock, within } from '../../base/clock.ts';
import { detached } from '../../base/detached.ts';
import type { Handler, Request } from '../../base/exchange.ts';
import type { StatementObserver, StatementSpan } from '../../store/observed.ts';
import type { CompletedCall } from './access-log.ts';
import { remoteSpan } from './trace-context.ts';

/**
 * OpenTelemetry spans: one per request, with one child per statement. They contain names of the
 * contract and no values, so there is no parameter and no URL, which would include the query.
 */
export interface Spans {
  wrap(handler: Handler): Handler;
  /** Adds the outcome to the span of the current request. */
  observe(call: CompletedCall, account: string | undefined): void;
  /** The trace id of the current request. */
  traceId(): string | undefined;
  readonly observeStatement: StatementObserver;
  stop(): Promise<void>;
}

export interface SpanSettings {
  readonly engine: string;
  readonly version: string;
  readonly clock: Pick<Clock, 'monotonic' | 'after'>;
  readonly onFailed: (thrown: unknown) => void;
}

// The time for the last export before the process ends.
const LAST_EXPORT_MS = 3_000;

export function createSpans({ engine, version, clock, onFailed }: SpanSettings): Spans {
  const failed = atMostOncePerMinute(onFailed, clock);
  const own = resourceFromAttributes({
    'service.name': 'columba',
    'service.version': version,
    'process.pid': process.pid,
  });
  const provider = new BasicTracerProvider({
    resource: defaultResource()
      .merge(own)
      .merge(detectResources({ detectors: [envDetector] })),
    spanProcessors: [new BatchSpanProcessor(createExporter(failed))],
  });
  const tracer = provider.getTracer('columba', version);
  const current = new AsyncLocalStorage<Span>();
  const database = { 'db.system.name': engine === 'postgres' ? 'postgresql' : engine };

  function startStatement(name: string, parent: Span | undefined): StatementSpan {
    if (!parent?.isRecording()) return NO_SPAN;
    const attributes = { ...database, 'db.query.summary': name };
    const span = tracer.startSpan(name, { kind: SpanKind.CLIENT, attributes }, trace.setSpan(ROOT_CONTEXT, parent));
    return {
      within: (inner) => startStatement(inner, span),
      ended(hasFailed) {
        if (hasFailed) span.setStatus({ code: SpanStatusCode.ERROR });
        span.end();
      },
    };
  }

  return {
    wrap: (handler) => (request) => {
      const span = tracer.startSpan('request', { kind: SpanKind.SERVER }, parentOf(request));
      return current.run(span, () => {
        const reply = handler(request);
        if (reply instanceof Promise) return reply.finally(() => span.end());
        span.end();
        return reply;
      });
    },
    observe(call, account) {
      const span = current.getStore();
      if (span?.isRecording()) describe(span, call, account);
    },
    traceId: () => current.getStore()?.spanContext().traceId,
    observeStatement: (name) => startStatement(name, current.getStore()),
    stop: () => within(clock, LAST_EXPORT_MS, provider.shutdown().catch(failed), undefined, { background: true }),
  };
}

/** What is known of a request when it is answered. */
function describe(span: Span, call: CompletedCall, account: string | undefined): void {
  const { request, reply, kind, protocol, group, operation } = call;
  span.updateName(operation ? `${group}.${operation}` : (group ?? 'page'));
  const names = {
    'rpc.service': group,
    'rpc.method': operation,
    'columba.form': protocol,
    'columba.account': account,
  };
  const route =
    group && `/api/${group}.asmx${operation && protocol?.startsWith('soap') === false ? `/${operation}` : ''}`;
  for (const [name, value] of Object.entries({ ...names, 'http.route': route, 'columba.request_id': request.id })) {
    if (value !== undefined) span.setAttribute(name, detached(value)); // spans wait to be sent
  }
  span.setAttributes({
    'http.request.method': METHODS.has(request.method) ? request.method : '_OTHER',
    'http.response.status_code': reply.status,
    'client.address': detached(request.client),
    'columba.kind': kind,
  });
  if (kind === 'ok') return;
  span.setAttribute('error.type', kind);
  // By OpenTelemetry's conventions, a mistake of the client is not an error of a server span.
  if (SERVER_ERRORS.has(kind)) span.setStatus({ code: SpanStatusCode.ERROR, message: kind });
}

const NO_SPAN: StatementSpan = { ended() {} };
const SERVER_ERRORS = new Set(['internal', 'unavailable']);
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH', 'TRACE', 'CONNECT', 'QUERY']);

function parentOf({ traceparent }: Request): Context {
  if (traceparent === undefined) return ROOT_CONTEXT;
  const { traceId, spanId, flags } = remoteSpan(detached(traceparent));
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags: flags, isRemote: true });
}

const MINUTE_MS = 60_000;

function atMostOncePerMinute(
  report: (thrown: unknown) => void,
  { monotonic }: Pick<Clock, 'monotonic'>,
): (thrown: unknown) => void {
  let reportedAt = Number.NEGATIVE_INFINITY;
  return (thrown) => {
    if (monotonic() - reportedAt < MINUTE_MS) return;
    reportedAt = monotonic();
    report(thrown);
  };
}

/** OTLP over HTTP in JSON, configured by the OTEL_EXPORTER_OTLP variables. */
function createExporter(failed: (thrown: unknown) => void): OTLPTraceExporter {
  const exporter = new OTLPTraceExporter();
  const send = exporter.export.bind(exporter);
  exporter.export = (spans, done) =>
    send(spans, (result) => {
      if (result.error) failed(result.error);
      done(result);
    });
  return exporter;
}
