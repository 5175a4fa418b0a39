import { createServer, type IncomingMessage, type Server } from 'node:http';
import { type AddressInfo, Server as NetServer } from 'node:net';
import type { Reply, Request } from '../exchange.ts';
import { Problem } from '../problem.ts';
import { type Addresses, type AddressRules, createAddresses } from './addresses.ts';
import { pack, tooLarge, unpack } from './compression.ts';
import { type Connections, createConnections } from './connections.ts';
import { send } from './sending.ts';

/** The process's side of HTTP: sockets, limits, bodies. What is in them is nobody's business here. */
export interface HttpSettings extends AddressRules {
  readonly host: string;
  readonly port: number;
  readonly bodyBytesMax: number;
  readonly requestTimeoutMs: number;
  readonly sendTimeoutMs: number;
  readonly drainTimeoutMs: number;
}

export interface HttpServer {
  /** Where it listens, e.g. http://127.0.0.1:8080. */
  readonly address: string;
  /**
   * Takes no more connections and answers every request that still comes on the open ones, telling their clients to close
   * them. One that stays idle is closed in the end.
   */
  close(): Promise<void>;
}

// A GET with a list of 1,000 ids of 20 characters is about 40 KB long.
const HEADER_BYTES_MAX = 64 * 1024;

export async function listen(
  settings: HttpSettings,
  handle: (request: Request) => Promise<Reply>,
): Promise<HttpServer> {
  const addresses = createAddresses(settings);
  let closing = false;
  const connections = createConnections();
  const server = createServer(
    {
      maxHeaderSize: HEADER_BYTES_MAX,
      requestTimeout: settings.requestTimeoutMs,
      headersTimeout: settings.requestTimeoutMs,
      connectionsCheckingInterval: Math.min(settings.requestTimeoutMs, 5_000),
    },
    (incoming, response) => {
      const answer = (reply: Reply) => {
        connections.answering(incoming.socket, response);
        const last = closing ? { ...reply, headers: { ...reply.headers, Connection: 'close' } } : reply;
        send(incoming, response, last, settings.sendTimeoutMs);
      };
      const packed = (reply: Reply) => {
        const ready = pack(reply, incoming.headers['accept-encoding'] as string | undefined);
        return ready instanceof Promise ? ready.then(answer) : answer(ready);
      };
      // The endpoint answers everything; the last one is for what cannot be answered.
      handle(toRequest(incoming, settings.bodyBytesMax, addresses.of(incoming)))
        .then(packed)
        .catch(() => response.destroy());
    },
  );
  server.on('connection', connections.add);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(settings.port, settings.host, resolve);
  });
  return {
    address: addressOf(server),
    close: () => {
      closing = true;
      return drain(server, connections, settings.drainTimeoutMs);
    },
  };
}

function toRequest(incoming: IncomingMessage, bodyBytesMax: number, addresses: ReturnType<Addresses['of']>): Request {
  const { basePath, client } = addresses;
  const url = incoming.url ?? '/';
  // The absolute form of RFC 9112 §3.2.2, which servers must accept.
  const target = url.startsWith('/') ? url : url.replace(/^https?:\/\/[^/?]*/i, '');
  const mark = target.indexOf('?');
  const path = (mark < 0 ? target : target.slice(0, mark)) || '/';
  return {
    method: incoming.method ?? '',
    path: basePath && `${path}/`.startsWith(`${basePath}/`) ? path.slice(basePath.length) : path,
    query: mark < 0 ? '' : target.slice(mark + 1),
    headers: incoming.headers,
    get base() {
      return addresses.base;
    },
    client,
    body: () => readBody(incoming, bodyBytesMax),
  };
}

function readBody(incoming: IncomingMessage, bytesMax: number): Promise<Uint8Array> {
  if (Number(incoming.headers['content-length'] ?? 0) > bytesMax) return Promise.reject(tooLarge(bytesMax));
  const coding = incoming.headers['content-encoding'];
  const received = receive(incoming, bytesMax);
  return coding === undefined ? received : received.then((bytes) => unpack(bytes, coding, bytesMax));
}

/** By events: reading a stream as an async iterator costs as much as the rest of a small call. */
function receive(incoming: IncomingMessage, bytesMax: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    let ended = false;
    incoming.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > bytesMax) reject(tooLarge(bytesMax));
      else chunks.push(chunk);
    });
    incoming.on('end', () => {
      ended = true;
      resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks));
    });
    const brokenOff = (cause?: Error) => {
      if (!ended) reject(new Problem('malformed', 'The request body broke off.', { cause }));
    };
    incoming.on('error', brokenOff);
    incoming.on('close', () => brokenOff());
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
