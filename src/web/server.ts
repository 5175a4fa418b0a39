import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener, type HttpBindings } from '@hono/node-server';
import type { Clock } from '../base/clock.ts';
import type { Addresses } from '../http/client-address.ts';
import type { ConnectionLimits } from '../http/open-connections.ts';
import type { createWebApp } from './app.ts';
import { createWebConnections } from './connections.ts';

/** The web listener, on node:http, with a limit on everything that a client can use up. */
export interface WebSettings extends ConnectionLimits {
  readonly webHost: string;
  readonly webPort: number;
  readonly headerBytesMax: number;
  readonly headersTimeoutMs: number;
  readonly requestTimeoutMs: number;
  readonly idleTimeoutMs: number;
  readonly sendTimeoutMs: number;
  readonly drainTimeoutMs: number;
}

export interface WebServer {
  readonly address: string;
  /** Finishes the requests that are in progress. */
  close(): Promise<void>;
}

export async function listenWeb(
  settings: WebSettings,
  app: ReturnType<typeof createWebApp>,
  addresses: Addresses,
  clock: Pick<Clock, 'after'>,
): Promise<WebServer> {
  const connections = createWebConnections(settings, addresses, clock);
  const underWay = new Set<Promise<unknown>>();
  const listener = getRequestListener(
    (request, env) => {
      const bindings = env as HttpBindings; // this listener speaks HTTP/1.1 only
      return app.fetch(request, { ...bindings, admitted: () => connections.admit(bindings.incoming) });
    },
    { overrideGlobalObjects: false },
  );
  const handle = (request: IncomingMessage, response: ServerResponse) =>
    connections.handle(request, response, async () => {
      const handled = Promise.resolve(listener(request, response)).catch(() => response.destroy());
      underWay.add(handled);
      await handled;
      underWay.delete(handled);
    });
  const server = createServer(
    {
      maxHeaderSize: settings.headerBytesMax,
      headersTimeout: Math.min(settings.headersTimeoutMs, settings.requestTimeoutMs),
      requestTimeout: settings.requestTimeoutMs,
      keepAliveTimeout: settings.idleTimeoutMs,
      connectionsCheckingInterval: 1_000,
    },
    handle,
  );
  server.on('connection', connections.accept);
  server.on('checkContinue', handle); // the code that reads the body tells the client to send it
  server.timeout = settings.sendTimeoutMs; // closes a connection on which nothing is sent
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
      const cancel = clock.after(settings.drainTimeoutMs, () => server.closeAllConnections());
      await closed;
      cancel();
      connections.stop();
    },
  };
}
