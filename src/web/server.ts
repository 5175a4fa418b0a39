import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import type { createWebApp } from './app.ts';

/** The second listener, on node:http, with a limit on everything that a client may take. */
export interface WebSettings {
  readonly webHost: string;
  readonly webPort: number;
  readonly headerBytesMax: number;
  readonly headersTimeoutMs: number;
  readonly requestTimeoutMs: number;
  readonly idleTimeoutMs: number;
  readonly sendTimeoutMs: number;
  readonly connectionsMax: number;
  readonly drainTimeoutMs: number;
}

export interface WebServer {
  readonly address: string;
  /** Finishes the requests that are under way. */
  close(): Promise<void>;
}

export async function listenWeb(settings: WebSettings, app: ReturnType<typeof createWebApp>): Promise<WebServer> {
  const underWay = new Set<Promise<unknown>>();
  const listener = getRequestListener(app.fetch, { overrideGlobalObjects: false });
  const server = createServer(
    {
      maxHeaderSize: settings.headerBytesMax,
      headersTimeout: settings.headersTimeoutMs,
      requestTimeout: settings.requestTimeoutMs,
      keepAliveTimeout: settings.idleTimeoutMs,
      connectionsCheckingInterval: 1_000,
    },
    (request: IncomingMessage, response: ServerResponse) => {
      const handled = Promise.resolve(listener(request, response)).catch(() => response.destroy());
      underWay.add(handled);
      handled.finally(() => underWay.delete(handled));
    },
  );
  server.maxConnections = settings.connectionsMax;
  server.timeout = settings.sendTimeoutMs; // of a connection on which nothing moves
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port: settings.webPort, host: settings.webHost, exclusive: true }, resolve);
  });
  const { address, family, port } = server.address() as AddressInfo;
  return {
    address: `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`,
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeIdleConnections();
      while (underWay.size > 0) await Promise.race(underWay);
      server.closeIdleConnections();
      const late = setTimeout(() => server.closeAllConnections(), settings.drainTimeoutMs);
      await closed;
      clearTimeout(late);
    },
  };
}
