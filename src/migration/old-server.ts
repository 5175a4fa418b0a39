import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { type ConnectionOptions, rootCertificates } from 'node:tls';
import type { ProtocolName } from '../asmx/protocols/protocol.ts';
import { type Dialect, NO_DIALECT } from '../contract/dialect.ts';
import { operationOf, type ReadAnswer, readAnswer } from './answer.ts';
import { encodeCall } from './old-call.ts';
import { type ExchangeInit, exchange, OldServerUnreachable } from './old-exchange.ts';

/**
 * The client of the old server. It calls an operation of the contract in any protocol. It is
 * gentle: it keeps to a rate, and stops where the server asks for a pause.
 */
export interface OldServer {
  /**
   * Resolves with what the server answered, a fault too. Rejects with OldServerBusy at 429 and 503,
   * and with OldServerUnreachable where no whole answer came.
   */
  call(
    group: string,
    operation: string,
    args: Readonly<Record<string, unknown>>,
    options?: CallOptions,
  ): Promise<OldAnswer>;
  /** Any page below the base, such as `/api/account.asmx?WSDL`. */
  page(path: string, signal?: AbortSignal): Promise<OldPage>;
  /** How many requests were sent. */
  readonly requests: number;
  readonly url: string;
  close(): void;
}
export interface CallOptions {
  readonly protocol?: ProtocolName;
  readonly signal?: AbortSignal;
}
export interface OldPage {
  readonly status: number;
  readonly contentType: string;
  readonly body: Uint8Array;
}
export interface OldAnswer extends OldPage {
  readonly protocol: ProtocolName;
  readonly durationMs: number;
  readonly result: ReadAnswer;
}

export interface OldServerOptions {
  /** The base: operations are at `<base>/api/<group>.asmx`. */
  readonly url: string;
  readonly dialect?: Dialect;
  /** Where neither dialect nor call say it. */
  readonly namespace?: string;
  readonly protocol?: ProtocolName;
  /** The zone of dates without one, where the dialect names none. */
  readonly zone?: string;
  /** The most calls in a second; 0 for no limit. */
  readonly rate?: number;
  readonly timeoutMs?: number;
  readonly answerBytesMax?: number;
  readonly tls?: OldServerTls;
  /** How often a read is tried again after a pause that the server asked for, or no answer. */
  readonly retriesMax?: number;
  /** Every call that was answered, with what was sent. It has the user_id. */
  readonly observed?: (call: ObservedCall) => void;
  readonly now?: () => number;
  readonly sleep?: (ms: number, signal?: AbortSignal) => Promise<void>;
}
export interface ObservedCall {
  readonly group: string;
  readonly operation: string;
  readonly target: string;
  readonly request: ExchangeInit;
  readonly answer: OldAnswer;
}
export interface OldServerTls {
  /** PEM certificates that are trusted besides those of the system. */
  readonly ca?: string;
  /** Takes any certificate. Only where the operator said so. */
  readonly insecure?: boolean;
  /** Speaks TLS 1.0 and 1.1 too, with the ciphers of their time. */
  readonly legacy?: boolean;
}

// A list of 100,000 messages has about 30 MB.
export const ANSWER_BYTES_MAX = 64 * 1024 * 1024;
export const TIMEOUT_MS = 60_000;
// Longer pauses end the command: a person runs it again later.
const PAUSE_MAX_MS = 120_000;
const FIRST_PAUSE_MS = 1_000;
const SOCKETS_MAX = 4;

/** The server asks for a pause, with 429 or 503. */
export class OldServerBusy extends Error {
  readonly status: number;
  readonly retryAfterMs: number | null;

  constructor(status: number, retryAfterMs: number | null) {
    const wait = retryAfterMs === null ? '' : ` It asks to wait ${Math.ceil(retryAfterMs / 1000)} seconds.`;
    super(`The old server answered ${status}.${wait}`);
    this.status = status;
    this.retryAfterMs = retryAfterMs;
  }
}

export function createOldServer(options: OldServerOptions): OldServer {
  const { dialect = NO_DIALECT, retriesMax = 0, zone = 'UTC', tls = {} } = options;
  const { timeoutMs = TIMEOUT_MS, answerBytesMax = ANSWER_BYTES_MAX } = options;
  const { now = Date.now, sleep = wait } = options;
  const base = baseOf(options.url);
  const namespace = dialect.namespace ?? options.namespace ?? DEFAULT_NAMESPACE;
  const agent = base.startsWith('https:')
    ? new HttpsAgent({ keepAlive: true, maxSockets: SOCKETS_MAX, ...tlsOptions(tls) })
    : new HttpAgent({ keepAlive: true, maxSockets: SOCKETS_MAX });
  const pace = createPace(options.rate ?? 0, now, sleep);
  let requests = 0;

  const once = async (target: string, init: ExchangeInit, signal?: AbortSignal) => {
    await pace(signal);
    requests += 1;
    const answer = await exchange(target, { ...init, agent, timeoutMs, answerBytesMax, signal });
    const { status } = answer;
    if (status === 429 || status === 503) throw new OldServerBusy(status, retryAfter(answer.retryAfter, now()));
    if (status === 502 || status === 504) throw new OldServerUnreachable(`A gateway answered ${status}.`, true);
    return answer;
  };
  /** Only reads are tried again: nobody knows whether a write without an answer was done. */
  const patiently = async <T>(isRead: boolean, signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> => {
    for (let tried = 0; ; tried++) {
      try {
        return await work();
      } catch (thrown) {
        const pause = pauseAfter(thrown, tried);
        if (!isRead || tried >= retriesMax || pause === null) throw thrown;
        await sleep(pause, signal);
      }
    }
  };
  return {
    url: base,
    get requests() {
      return requests;
    },
    async call(group, operation, args, { protocol = options.protocol ?? 'soap11', signal } = {}) {
      const { target, ...init } = encodeCall({ base, namespace, dialect, zone }, group, operation, protocol, args);
      return patiently(isReading(group, operation), signal, async () => {
        const startedAt = performance.now();
        const { status, contentType, body } = await once(target, init, signal);
        const durationMs = performance.now() - startedAt;
        const result = readAnswer(group, operation, protocol, { status, contentType, body }, dialect, zone);
        const safe = withoutSecret(result, args.user_id);
        const answer = { protocol, status, contentType, body, durationMs, result: safe };
        options.observed?.({ group, operation, target, request: init, answer });
        return answer;
      });
    },
    page: (path, signal) =>
      patiently(true, signal, () => once(base + path, { method: 'GET', headers: {}, body: null }, signal)),
    close: () => agent.destroy(),
  };
}

const DEFAULT_NAMESPACE = 'http://tempuri.org';

/** A fault may repeat the user_id, and its text is shown and logged. */
const withoutSecret = (result: ReadAnswer, userId: unknown): ReadAnswer =>
  result.kind === 'fault' && typeof userId === 'string' && userId !== ''
    ? { ...result, text: result.text.replaceAll(userId, '…') }
    : result;

export const isReading = (group: string, operation: string): boolean =>
  operationOf(group, operation)?.changes === false;

/** Without the path of a service: people copy the address of one. */
export function baseOf(url: string): string {
  const { protocol, origin, pathname } = new URL(url);
  if (protocol !== 'http:' && protocol !== 'https:') throw new TypeError('expected an address with http or https');
  return origin + pathname.replace(/\/api(\/[^/]*\.asmx)?\/?$/i, '').replace(/\/+$/, '');
}

/** For every connection to the old server, the proxy's too. */
export const tlsOptions = ({ ca, insecure, legacy }: OldServerTls): ConnectionOptions => ({
  rejectUnauthorized: insecure !== true,
  ...(ca === undefined ? {} : { ca: [...rootCertificates, ca] }),
  ...(legacy ? { minVersion: 'TLSv1', ciphers: 'DEFAULT@SECLEVEL=0' } : {}),
});

function pauseAfter(thrown: unknown, tried: number): number | null {
  const backoff = FIRST_PAUSE_MS * 2 ** tried;
  if (thrown instanceof OldServerUnreachable) return thrown.isTemporary ? backoff : null;
  if (!(thrown instanceof OldServerBusy)) return null;
  const pause = thrown.retryAfterMs ?? backoff;
  return pause > PAUSE_MAX_MS ? null : pause;
}

/** Seconds or a date (RFC 9110 §10.2.3). */
export function retryAfter(field: string | undefined, now: number): number | null {
  if (field === undefined) return null;
  if (/^\d{1,9}$/.test(field.trim())) return Number(field) * 1_000;
  const at = Date.parse(field);
  return Number.isNaN(at) ? null : Math.max(0, at - now);
}

/** Calls leave one after the other, at most `rate` in a second. */
function createPace(rate: number, now: () => number, sleep: (ms: number, signal?: AbortSignal) => Promise<void>) {
  if (rate <= 0) return async () => {};
  const intervalMs = 1_000 / rate;
  let nextAt = 0;
  return async (signal?: AbortSignal): Promise<void> => {
    const at = Math.max(nextAt, now());
    nextAt = at + intervalMs;
    if (at > now()) await sleep(at - now(), signal);
  };
}

const wait = (ms: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    }, ms);
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    signal?.addEventListener('abort', onAbort, { once: true });
  });
