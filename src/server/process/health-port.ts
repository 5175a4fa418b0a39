import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * `/health/live` and `/health/ready` on a port of their own, where calls and their connections
 * cannot delay them.
 */
export interface HealthPort {
  readonly address: string;
  close(): Promise<void>;
}

export interface HealthSettings {
  readonly healthHost: string;
  /** 0 for none. */
  readonly healthPort: number;
}

/** What a process last said of itself. */
export const STATES = ['starting', 'ready', 'stopping', 'the database does not answer'] as const;
export type State = (typeof STATES)[number];

export interface Pulse {
  readonly state: State;
  /** How long ago it said so. */
  readonly lagMs: number;
}

// A process says it five times a second. One that is overloaded does so too: a turn of its event
// loop stays short.
export const READY_LAG_MS_MAX = 2_000;
// A supervisor ends it then. The longest that a process has to stand still by itself is a second.
export const LIVE_LAG_MS_MAX = 15_000;

/** Of several processes one that serves is enough. Undefined for other addresses. */
export function judge(path: string, pulses: readonly Pulse[]): { status: number; text: string } | undefined {
  const within = (lagMsMax: number) => pulses.filter(({ lagMs }) => lagMs <= lagMsMax).map(({ state }) => state);
  if (path === '/health/live') {
    return within(LIVE_LAG_MS_MAX).length > 0
      ? { status: 200, text: 'live' }
      : { status: 503, text: 'the process stands still' };
  }
  if (path !== '/health/ready') return undefined;
  const states = within(READY_LAG_MS_MAX);
  if (states.includes('ready')) return { status: 200, text: 'ready' };
  return { status: 503, text: states.at(-1) ?? 'the process stands still' };
}

const TIMEOUT_MS = 5_000;
// Probes come one at a time, each on a connection of its own.
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
      ...{ 'Content-Type': 'text/plain; charset=utf-8', 'Cache-Control': 'no-store', Connection: 'close' },
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
