import { AsyncLocalStorage } from 'node:async_hooks';
import { type Context, ROOT_CONTEXT, type Span, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { detached } from '../../detached.ts';
import type { Handler, Request } from '../../exchange.ts';
import type { Observed } from './access-log.ts';
import type { Watch, Watched } from './statement-observer.ts';
import { remoteSpan } from './trace-context.ts';

/**
 * Spans for OpenTelemetry, as its own variables say: one for each request, and below it one for each statement. They hold
 * names of ours and no value of anybody's: no address, since the query is part of it, and no parameter.
 */
export interface Tracing {
  around(handle: Handler): Handler;
  /** What became of the request that is being answered. */
  observe(observed: Observed, account: string | undefined): void;
  /** Of the request that is being answered. */
  traceId(): string | undefined;
  readonly watch: Watch;
  stop(): Promise<void>;
}

export interface TracingSettings {
  readonly engine: string;
  readonly version: string;
  readonly failed: (thrown: unknown) => void;
}

// What is still to be sent when the process is to end may take so long, and no longer.
const LAST_EXPORT_MS = 3_000;

export function createTracing({ engine, version, failed: complain }: TracingSettings): Tracing {
  const failed = seldom(complain);
  const own = resourceFromAttributes({
    ...{ 'service.name': 'columba', 'service.version': version, 'process.pid': process.pid },
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

  function watch(name: string, parent: Span | undefined): Watched {
    if (!parent?.isRecording()) return UNWATCHED;
    const attributes = { ...database, 'db.query.summary': name };
    const span = tracer.startSpan(name, { kind: SpanKind.CLIENT, attributes }, trace.setSpan(ROOT_CONTEXT, parent));
    return {
      within: (inner) => watch(inner, span),
      ended(hasFailed) {
        if (hasFailed) span.setStatus({ code: SpanStatusCode.ERROR });
        span.end();
      },
    };
  }

  return {
    around: (handle) => (request) => {
      const span = tracer.startSpan('request', { kind: SpanKind.SERVER }, parentOf(request));
      return current.run(span, () => {
        const reply = handle(request);
        if (reply instanceof Promise) return reply.finally(() => span.end());
        span.end();
        return reply;
      });
    },
    observe({ request, reply, kind, protocol, group, operation }, account) {
      const span = current.getStore();
      if (!span?.isRecording()) return;
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
      // What the client did wrong is no error of the service's, says OpenTelemetry.
      if (OURS.has(kind)) span.setStatus({ code: SpanStatusCode.ERROR, message: kind });
    },
    traceId: () => current.getStore()?.spanContext().traceId,
    watch: (name) => watch(name, current.getStore()),
    stop: () =>
      Promise.race([
        provider.shutdown().catch(failed),
        new Promise<void>((resolve) => setTimeout(resolve, LAST_EXPORT_MS).unref()),
      ]),
  };
}

const UNWATCHED: Watched = { ended() {} };
const OURS = new Set(['internal', 'unavailable']);
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH', 'TRACE', 'CONNECT', 'QUERY']);

function parentOf({ traceparent }: Request): Context {
  if (traceparent === undefined) return ROOT_CONTEXT;
  const { traceId, spanId, flags } = remoteSpan(detached(traceparent));
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags: flags, isRemote: true });
}

const COMPLAINT_EACH_MS = 60_000;

function seldom(complain: (thrown: unknown) => void): (thrown: unknown) => void {
  let complainedAt = Number.NEGATIVE_INFINITY;
  return (thrown) => {
    if (performance.now() - complainedAt < COMPLAINT_EACH_MS) return;
    complainedAt = performance.now();
    complain(thrown);
  };
}

/** OTLP over HTTP in JSON. Where it is sent and how comes from the variables. */
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
