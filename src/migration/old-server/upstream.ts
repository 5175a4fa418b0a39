import { type ClientRequest, Agent as HttpAgent, type IncomingMessage, request as requestHttp } from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import type { Socket } from 'node:net';
import { type Clock, systemClock } from '../../base/clock.ts';
import type { RawAnswer } from '../compare/redaction.ts';
import { hostOf, type OldServerTls, tlsOptions } from './server-tls.ts';

/** The HTTP client for both servers. Header fields keep their case and order. */
export interface UpstreamSettings {
  /** The name for the log: the old server, or Columba. */
  readonly name: string;
  readonly url: string;
  readonly tls?: OldServerTls;
  /** The answer is given up after this long without a byte. */
  readonly timeoutMs: number;
  /** The most connections for whole exchanges. */
  readonly socketsMax?: number;
  readonly watch?: UpstreamWatch;
  readonly clock?: Clock;
}

/** Called for every call, by whether it got an answer. */
export interface UpstreamWatch {
  answered(): void;
  failed(thrown: unknown): void;
}

export interface OutgoingRequest {
  readonly method: string;
  /** Path and query, as sent. */
  readonly target: string;
  /** Names and values in turn. */
  readonly rawHeaders: readonly string[];
}

export interface Upstream {
  /** Begins a request. The caller writes the body and listens to `response` and `error`. */
  begin(request: OutgoingRequest, agent: HttpAgent): ClientRequest;
  /** Makes connections for one client, which live as long as those of the client. */
  createAgent(): HttpAgent;
  /** Makes a whole exchange on connections that belong to no client. */
  exchange(request: OutgoingRequest, body: Uint8Array, options?: ExchangeOptions): Promise<RawAnswer>;
  /** Begins an exchange whose answer is read as it arrives. The caller reads or ends its body. */
  stream(request: OutgoingRequest, body: Uint8Array, signal?: AbortSignal): Promise<StreamedAnswer>;
  close(): void;
}
export interface StreamedAnswer extends Pick<RawAnswer, 'status' | 'rawHeaders'> {
  /** Ends without an error only after the last byte. Leaving the iteration ends the connection. */
  readonly body: AsyncIterable<Uint8Array>;
}
export interface ExchangeOptions {
  /** The most bytes of an answer. The body of a longer answer is undefined. */
  readonly bytesMax?: number;
  /** Whether the connection ends instead of reading the rest of a longer answer. */
  readonly isCut?: boolean;
  readonly signal?: AbortSignal;
}

// The limit that the stored copies of the proxy have, too.
export const ANSWER_BYTES_MAX = 4 * 1_048_576;
const SOCKETS_MAX = 16;

export function createUpstream(settings: UpstreamSettings): Upstream {
  const { name, url, tls = {}, timeoutMs, socketsMax = SOCKETS_MAX, watch, clock = systemClock } = settings;
  const base = new URL(url);
  const server = `${name} at ${base.host}`;
  const isTls = base.protocol === 'https:';
  const host = hostOf(base);
  const prefix = base.pathname.replace(/\/+$/, '');
  const secured = isTls ? tlsOptions(tls, host) : {};
  const agentOf = (options: { maxSockets: number }): HttpAgent =>
    isTls
      ? new HttpsAgent({ keepAlive: true, ...options, ...secured })
      : new HttpAgent({ keepAlive: true, ...options });
  const own = agentOf({ maxSockets: socketsMax });

  function begin(
    { method, target, rawHeaders }: OutgoingRequest,
    agent: HttpAgent,
    signal?: AbortSignal,
  ): ClientRequest {
    const send = isTls ? requestHttps : requestHttp;
    const sent = send({
      host,
      port: base.port || (isTls ? 443 : 80),
      method,
      path: prefix + target,
      headers: endToEnd(rawHeaders) as string[],
      setHost: false,
      agent,
      timeout: timeoutMs,
      ...secured,
      ...(signal ? { signal } : {}),
    });
    sent.on('timeout', () => sent.destroy(new UpstreamTimeout()));
    // Added before any other listener, so that the log can name the server of the error.
    sent.on('error', (thrown) => {
      Object.assign(thrown, { server });
      watch?.failed(thrown);
    });
    if (watch) sent.on('response', () => watch.answered());
    return sent;
  }

  return {
    begin,
    createAgent: () => agentOf({ maxSockets: 1 }),
    exchange(request, body, { bytesMax = ANSWER_BYTES_MAX, isCut = false, signal } = {}) {
      const startedAt = clock.monotonic();
      return new Promise((resolve, reject) => {
        const sent = begin(withLength(request, body), own, signal);
        sent.on('error', reject);
        sent.on('response', (response) => {
          collect(response, bytesMax, isCut)
            .then((bytes) =>
              resolve({
                status: response.statusCode ?? 0,
                rawHeaders: response.rawHeaders,
                body: bytes,
                ms: clock.monotonic() - startedAt,
              }),
            )
            .catch(reject);
        });
        sent.end(body);
      });
    },
    stream(request, body, signal) {
      return new Promise((resolve, reject) => {
        const sent = begin(withLength(request, body), own, signal);
        const cancel = clock.after(timeoutMs, () => sent.destroy(new UpstreamTimeout()));
        sent.on('error', reject);
        sent.on('close', cancel);
        sent.on('response', (response) => {
          cancel();
          sent.setTimeout(0); // a connection is also idle while the bytes that came are processed
          const { statusCode = 0, rawHeaders } = response;
          resolve({ status: statusCode, rawHeaders, body: received(response, timeoutMs, clock) });
        });
        sent.end(body);
      });
    },
    close: () => own.destroy(),
  };
}

// A server may send slowly, at 300 kB a second, but not a byte a minute.
const BYTES_IN_TIME = 16 * 1_048_576;

/** Counts only the time spent waiting: `timeoutMs` for each BYTES_IN_TIME. */
async function* received(response: IncomingMessage, timeoutMs: number, clock: Clock): AsyncGenerator<Uint8Array> {
  const chunks: AsyncIterator<Uint8Array> = response[Symbol.asyncIterator]();
  let length = 0;
  let waitedMs = 0;
  try {
    for (;;) {
      const leftMs = timeoutMs * (1 + Math.floor(length / BYTES_IN_TIME)) - waitedMs;
      const startedAt = clock.monotonic();
      const onTimeout = () => void response.destroy(new UpstreamTimeout());
      const cancel = clock.after(Math.max(0, Math.min(timeoutMs, leftMs)), onTimeout);
      const { done, value } = await chunks.next().finally(cancel);
      waitedMs += clock.monotonic() - startedAt;
      if (done) break;
      length += value.length;
      yield value;
    }
    if (!response.complete) throw cutOff();
  } finally {
    response.destroy();
  }
}

export class UpstreamTimeout extends Error {
  readonly code = 'ETIMEDOUT';

  constructor() {
    super('no answer in time');
  }
}

export const cutOff = (): Error => Object.assign(new Error('the answer was cut off'), { code: 'ECONNRESET' });

/** Whether no connection was made, so that the server cannot have done anything. */
export const isRefused = (thrown: unknown): boolean =>
  ['ECONNREFUSED', 'ENOTFOUND', 'EHOSTUNREACH', 'ENETUNREACH', 'EAI_AGAIN'].includes(
    (thrown as NodeJS.ErrnoException)?.code ?? '',
  );

/** Whether a server, or a proxy in front of it, says that it cannot answer now. */
export const isUnavailableStatus = (status: number): boolean => status === 502 || status === 503 || status === 504;
/** Whether the same call may be answered later. */
export const isTemporary = (status: number): boolean => status === 429 || isUnavailableStatus(status);

const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'upgrade',
  'expect', // answered by the proxy
]);
const FRAMING = new Set(['transfer-encoding', 'content-length']);

/** Removes the fields of one connection (RFC 9110 §7.6.1), such as `Transfer-Encoding`. */
export function endToEnd(rawHeaders: readonly string[]): string[] {
  const pairs = pairsOf(rawHeaders);
  const named = new Set<string>();
  for (const [field, value] of pairs) {
    if (field.toLowerCase() !== 'connection') continue;
    for (const name of value.split(',')) named.add(name.trim().toLowerCase());
  }
  const isKept = (name: string): boolean => !HOP_BY_HOP.has(name) && (!named.has(name) || FRAMING.has(name));
  return pairs.filter(([field]) => isKept(field.toLowerCase())).flat();
}

/** Whether the server ends the connection after this answer. */
export const isClosing = (rawHeaders: readonly string[]): boolean =>
  pairsOf(rawHeaders).some(([name, value]) => name.toLowerCase() === 'connection' && /\bclose\b/i.test(value));

/** Pairs names with their values. */
export function pairsOf(raw: readonly string[]): [string, string][] {
  const pairs: [string, string][] = [];
  for (let at = 0; at + 1 < raw.length; at += 2) pairs.push([raw[at] as string, raw[at + 1] as string]);
  return pairs;
}

/** Adds the length of the body, which is complete. */
function withLength(request: OutgoingRequest, body: Uint8Array): OutgoingRequest {
  const kept = pairsOf(request.rawHeaders).filter(([name]) => !FRAMING.has(name.toLowerCase()));
  const hasBody = body.length > 0 || request.method === 'POST';
  return { ...request, rawHeaders: [...kept.flat(), ...(hasBody ? ['Content-Length', String(body.length)] : [])] };
}

/** Collects the whole body; undefined if it is longer than `bytesMax`. */
async function collect(response: IncomingMessage, bytesMax: number, isCut: boolean): Promise<Uint8Array | undefined> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of response) {
    length += (chunk as Uint8Array).length;
    if (length <= bytesMax) chunks.push(chunk as Uint8Array);
    else if (isCut)
      return undefined; // this destroys the response
    else chunks.length = 0;
  }
  if (!response.complete) throw cutOff();
  return length > bytesMax ? undefined : Buffer.concat(chunks);
}

export interface Beginning {
  readonly bytes: Buffer;
  readonly isWhole: boolean;
}

/** Reads a whole body, or the beginning of a longer one, which is then paused. */
export function beginningOf(body: IncomingMessage, bytesMax: number, gone: () => Error): Promise<Beginning> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const done = (isWhole: boolean) => {
      body.off('data', onData).off('end', onEnd).off('close', onClose).off('error', reject);
      resolve({ bytes: Buffer.concat(chunks), isWhole });
    };
    const onData = (chunk: Buffer) => {
      chunks.push(chunk);
      length += chunk.length;
      if (length <= bytesMax) return;
      body.pause();
      done(false);
    };
    const onEnd = () => done(true);
    const onClose = () => reject(gone());
    body.on('data', onData).on('end', onEnd).on('close', onClose).on('error', reject);
  });
}

/** The connections to upstreams that belong to one connection of a client. */
export class ClientConnection {
  readonly #agents = new Map<Upstream, HttpAgent>();
  readonly #socket: Socket;
  #requests = 0;

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.once('close', () => {
      for (const agent of this.#agents.values()) agent.destroy();
    });
  }

  agentFor(upstream: Upstream): HttpAgent {
    const found = this.#agents.get(upstream);
    if (found) return found;
    const agent = upstream.createAgent();
    this.#agents.set(upstream, agent);
    return agent;
  }

  began(): void {
    this.#requests += 1;
  }
  ended(): void {
    this.#requests -= 1;
  }

  /** If the upstream ends an idle connection, that of the client ends too. */
  follow(upstreamSocket: Socket): void {
    if (upstreamSocket.listenerCount('close', this.#onClose) > 0) return;
    upstreamSocket.once('close', this.#onClose);
  }

  readonly #onClose = (): void => {
    if (this.#requests === 0) this.#socket.end();
  };
}
