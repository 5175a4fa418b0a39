import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net';
import type { Reply, Request } from '../exchange.ts';
import type { AddressRules } from './addresses.ts';
import { pack } from './compression.ts';
import { type ConnectionLimits, type Connections, createConnections } from './connections.ts';
import { requestIdOf } from './correlation.ts';
import { isProbe } from './hosts.ts';
import { noRoom, noTunnel, wordsFor } from './last-words.ts';
import { createOverload, type OverloadSettings } from './overload.ts';
import { createRequests, type RequestLimits } from './requests.ts';
import { send } from './sending.ts';

/** The process's side of HTTP: sockets, limits, bodies. What is in them is nobody's business here. */
export interface HttpSettings extends AddressRules, ConnectionLimits, OverloadSettings, RequestLimits {
  readonly host: string;
  readonly port: number;
  readonly headerBytesMax: number;
  readonly headersTimeoutMs: number;
  readonly requestTimeoutMs: number;
  readonly sendTimeoutMs: number;
  readonly drainTimeoutMs: number;
}

export interface HttpServer {
  /** Where it listens, e.g. http://127.0.0.1:8080. */
  readonly address: string;
  /** Now, and since the start. */
  readonly traffic: { readonly connectionsOpen: number; readonly bytesSent: number; readonly refused: number };
  /** Waits with the answer of a request, which keeps us from nothing meanwhile. */
  holdBack(wait: () => Promise<void>): Promise<void>;
  /**
   * Takes no more connections and answers every request that still comes on the open ones, telling their clients to close
   * them. One that stays idle is closed in the end.
   */
  close(): Promise<void>;
}

export async function listen(
  settings: HttpSettings,
  handle: (request: Request) => Promise<Reply>,
): Promise<HttpServer> {
  let closing = false;
  let bytesSent = 0;
  const sending = {
    sendTimeoutMs: settings.sendTimeoutMs,
    sent: (bytes: number) => {
      bytesSent += bytes;
    },
  };
  const overload = createOverload(settings);
  // A request whose body is still on its way keeps us from nothing.
  const { addresses, toRequest } = createRequests(settings, { began: overload.ended, ended: overload.started });
  const connections = createConnections(settings, serve);
  const server = createServer(limitsOf(settings), connections.asked);
  // A client that says that it sends no more still waits for its answers; Node has this and does not document it.
  Object.assign(server, { httpAllowHalfOpen: true });
  server.on('clientError', (error, socket) => {
    const words = socket.writable ? wordsFor(error, settings.headerBytesMax) : undefined;
    if (words) connections.end(socket as Socket, words);
    else socket.destroy();
  });
  server.on('connect', (_, socket) => {
    socket.on('error', () => {}); // node:http has let go of it
    connections.end(socket as Socket, noTunnel());
  });
  server.on('checkExpectation', connections.asked); // RFC 9110 §10.1.1: what is expected of us besides 100 may be ignored
  admitOnly(server, (socket) => connections.admit(socket, addresses.countedAs(socket)));

  function serve(incoming: IncomingMessage, response: ServerResponse): void {
    const id = requestIdOf(incoming.headers['x-request-id']);
    const answer = (reply: Reply) => {
      const isLast = connections.answering(incoming.socket, response) || closing;
      // node:http loses what came in one packet with a request that asks for an upgrade: what follows cannot be trusted.
      const ends = isLast || incoming.headers.upgrade !== undefined;
      const last = ends ? { ...reply, headers: { ...reply.headers, Connection: 'close' } } : reply;
      send(incoming, response, last, id, sending);
    };
    const packed = (reply: Reply) => {
      const ready = pack(reply, incoming.headers['accept-encoding'] as string | undefined);
      if (ready instanceof Promise) ready.then(answer, () => response.destroy());
      else answer(ready);
    };
    if (!isProbe(incoming) && overload.refuses()) {
      answer(BUSY);
      return;
    }
    overload.started();
    handle(toRequest(incoming, id)).then(
      (reply) => {
        overload.ended();
        packed(reply);
      },
      () => {
        overload.ended();
        response.destroy(); // the endpoint answers everything: this is for what cannot be answered
      },
    );
  }

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(settings.port, settings.host, resolve);
  });
  return {
    address: addressOf(server),
    get traffic() {
      return { connectionsOpen: connections.size, bytesSent, refused: overload.refused };
    },
    async holdBack(wait) {
      overload.ended();
      await wait().finally(overload.started);
    },
    close: () => {
      closing = true;
      return drain(server, connections, settings.drainTimeoutMs);
    },
  };
}

const BUSY: Reply = {
  status: 503,
  headers: { 'Content-Type': 'text/plain; charset=utf-8', 'Cache-Control': 'private', 'Retry-After': '1' },
  body: 'There is more to do than can be done in time. Try again later.\n',
};

const limitsOf = ({ headerBytesMax, headersTimeoutMs, requestTimeoutMs }: HttpSettings) => {
  const headersTimeout = Math.min(headersTimeoutMs, requestTimeoutMs);
  return {
    maxHeaderSize: headerBytesMax,
    requestTimeout: requestTimeoutMs,
    headersTimeout,
    connectionsCheckingInterval: Math.min(headersTimeout, 5_000),
    requireHostHeader: false, // we ask for it ourselves, and say so in words
  };
};

/** A connection for which there is no room never gets to node:http. */
function admitOnly(server: Server, admit: (socket: Socket) => boolean): void {
  const [accept] = server.listeners('connection') as [(this: Server, socket: Socket) => void];
  server.removeListener('connection', accept);
  server.on('connection', (socket: Socket) => {
    if (admit(socket)) {
      accept.call(server, socket);
      return;
    }
    socket.on('error', () => {}); // whoever is gone already need not be told
    socket.write(noRoom());
    socket.destroySoon();
  });
}

function addressOf(server: Server): string {
  const { address, family, port } = server.address() as AddressInfo;
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}

/**
 * http.Server.close would cut idle connections at once, and with them a request that is on its way: only the listening
 * socket is closed, and the connections end by themselves or when the time is over.
 */
function drain(server: Server, connections: Connections, timeoutMs: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(connections.closeIdle, timeoutMs);
    NetServer.prototype.close.call(server, () => {
      clearTimeout(timer);
      server.close(() => resolve()); // ends the timers that http has of its own
    });
  });
}
