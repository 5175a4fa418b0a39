import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after } from 'node:test';
import { type Server, serving } from './command.ts';
import type { Engine } from './engines.ts';

/** The program as an operator watches it: its log lines, its metrics, and a collector for its spans. */
export interface ObservedServer extends Server {
  readonly database: string;
  lines(): LogLine[];
  /** The lines about calls. */
  calls(): LogLine[];
  /** Ends it, and waits until all that it had to say is there. */
  stop(): Promise<{ code: number | null; stderr: string }>;
}
export interface LogLine extends Readonly<Record<string, unknown>> {
  readonly level: number;
  readonly msg: string;
}

export interface ObservedServerOptions {
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

export async function startObserved(
  database: string,
  { args = [], env = {} }: ObservedServerOptions = {},
): Promise<ObservedServer> {
  const server = await serving(['--database', database, ...args], { env });
  const lines = (): LogLine[] =>
    server.output.stderr
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line));
  return {
    ...server,
    database,
    lines,
    calls: () => lines().filter(({ msg }) => msg === 'call'),
    async stop() {
      server.child.kill('SIGTERM');
      return server.ended;
    },
  };
}

/** A service with the sample data for the length of some work. */
export async function withObservedServer(
  engine: Engine,
  watching: ObservedServerOptions,
  work: (server: ObservedServer) => Promise<void>,
): Promise<ObservedServer> {
  const database = await engine.fresh('sample');
  const server = await startObserved(database, watching);
  try {
    await work(server);
  } finally {
    await server.stop();
    engine.release(database);
  }
  return server;
}

export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export const metricsText = async (port: number): Promise<string> =>
  (await fetch(`http://127.0.0.1:${port}/metrics`)).text();

/** https://prometheus.io/docs/instrumenting/exposition_formats/: a line that is neither a comment nor a sample is an error. */
export function parseMetrics(text: string): Sample[] {
  const lines = text.split('\n').filter((line) => line !== '' && !/^# (HELP|TYPE) \w+ /.test(line));
  return lines.map((line) => {
    const [, name, inner = '', value] = /^([a-z_][a-z0-9_]*)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
    const number = value === '+Inf' ? Number.POSITIVE_INFINITY : Number(value);
    if (name === undefined || Number.isNaN(number)) throw new Error(`no sample: ${line}`);
    const labels = Object.fromEntries([...inner.matchAll(/([a-z_]+)="((?:[^"\\]|\\.)*)"/g)].map(([, a, b]) => [a, b]));
    return { name, labels, value: number };
  });
}

export const scrape = async (port: number): Promise<Sample[]> => parseMetrics(await metricsText(port));

/** The value of a sample with these labels; 0 where there is none. */
export const sampleOf = (samples: readonly Sample[], name: string, labels: Sample['labels'] = {}): number =>
  samples.find(
    (sample) => sample.name === name && Object.entries(labels).every(([key, value]) => sample.labels[key] === value),
  )?.value ?? 0;

export interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly name: string;
  readonly kind: number;
  readonly status: { readonly code: number; readonly message?: string };
  readonly attributes: Readonly<Record<string, unknown>>;
}

export interface Collector {
  readonly address: string;
  /** Whole bodies, as they came. */
  readonly bodies: string[];
  readonly paths: string[];
  spans(): Span[];
}

type Attribute = { key: string; value: Record<string, unknown> };
type Sent = {
  resourceSpans: { scopeSpans: { spans: (Omit<Span, 'attributes'> & { attributes: Attribute[] })[] }[] }[];
};

/** Takes spans as any collector of OpenTelemetry does: OTLP over HTTP, in JSON. */
export async function startCollector(status = 200): Promise<Collector> {
  const bodies: string[] = [];
  const paths: string[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      bodies.push(Buffer.concat(chunks).toString('utf8'));
      paths.push(`${request.method} ${request.url} ${request.headers['content-type']}`);
      response.writeHead(status, { 'Content-Type': 'application/json' }).end('{}');
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  after(() => {
    server.close();
    server.closeAllConnections();
  });
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    bodies,
    paths,
    spans: () =>
      bodies
        .flatMap((body) => (JSON.parse(body) as Sent).resourceSpans)
        .flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans))
        .map((span) => ({
          ...span,
          attributes: Object.fromEntries(span.attributes.map(({ key, value }) => [key, Object.values(value)[0]])),
        })),
  };
}
