import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * `/health/live` and `/health/ready` on their own port, where calls and connections cannot delay
 * them.
 */
export interface HealthPort {
  readonly address: string;
  close(): Promise<void>;
}

export interface HealthSettings {
  readonly healthHost: string;
  /** 0: no health port. */
  readonly healthPort: number;
}

/** The last reported state of a process. */
export const STATES = ['starting', 'ready', 'stopping', 'the database does not answer'] as const;
export type State = (typeof STATES)[number];

export interface Pulse {
  readonly state: State;
  /** The age of the report. */
  readonly lagMs: number;
}

// A process reports five times a second, also under overload: its event-loop turns stay short.
export const READY_LAG_MS_MAX = 2_000;
// After this time a supervisor should restart the process. A healthy process never blocks for more
// than a second.
export const LIVE_LAG_MS_MAX = 15_000;

/** The service is ready if one process is ready. Undefined for other paths. */
export function judge(path: string, pulses: readonly Pulse[]): { status: number; text: string } | undefined {
  const within = (lagMsMax: number) => pulses.filter(({ lagMs }) => lagMs <= lagMsMax).map(({ state }) => state);
  if (path === '/health/live') {
    return within(LIVE_LAG_MS_MAX).length > 0
      ? { status: 200, text: 'live' }
      : { status: 503, text: 'the process does not respond' };
  }
  if (path !== '/health/ready') return undefined;
  const states = within(READY_LAG_MS_MAX);
  if (states.includes('ready')) return { status: 200, text: 'ready' };
  return { status: 503, text: states.at(-1) ?? 'the process does not respond' };
}

const TIMEOUT_MS = 5_000;
// Probes arrive one at a time, each on its own connection.
const CONNECTIONS_MAX = 100;

export async function serveHealth(
  { healthHost, healthPort }: HealthSettings,
  pulses: () => readonly Pulse[],
): Promise<HealthPort> {
  const times = { requestTimeout: TIMEOUT_MS, headersTimeout: TIMEOUT_MS, connectionsCheckingInterval: 1_000 };
  const server = createServer({ ...times, keepAlive: false, maxHeaderSize: 8_192 }, (request, response) => {
    request.resume();
    const path = request.url?.split('?', 1)[0] ?? '';
    const { status, text } = judge(path, pulses()) ?? {
      status: 404,
      text: 'Health is at /health/live and /health/ready.',
    };
    response.writeHead(status, {
      'Content-Type': 'text/plain; charset=utf-8',
      'Cache-Control': 'no-store',
      Connection: 'close',
      ...(status === 503 && { 'Retry-After': '5' }),
    });
    response.end(request.method === 'HEAD' ? '' : `${text}\n`);
  });
  server.maxConnections = CONNECTIONS_MAX;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port: healthPort, host: healthHost, exclusive: true }, resolve);
  });
  const { address, family, port } = server.address() as AddressInfo;
  return {
    address: `http://${family === 'IPv6' ? `[${address}]` : address}:${port}/health/ready`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
