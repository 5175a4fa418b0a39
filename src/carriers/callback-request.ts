import { type LookupAddress, lookup } from 'node:dns';
import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import { connect, isIP, type LookupFunction, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Clock } from '../base/clock.ts';
import { isPublicAddress } from '../base/public-address.ts';

/**
 * One POST, and how far it came. What decides is whether anything was sent: then the carrier may
 * have it, even where no answer came.
 */
export type Posted =
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly retryAfterMs: number | null;
      readonly body: string;
    }
  /** The carrier has nothing. `isDown`: it could not be reached. */
  | { readonly kind: 'not-sent'; readonly reason: string; readonly isDown: boolean }
  | { readonly kind: 'no-answer'; readonly reason: string };

export interface PosterSettings {
  readonly url: string;
  readonly timeoutMs: number;
  readonly allowPrivate: boolean;
}
export interface Poster {
  /** Never rejects. Redirects are not followed. */
  post(fields: Readonly<Record<string, string>>, body: string, signal: AbortSignal): Promise<Posted>;
  /** Connects, with TLS where the URL has it, and sends nothing. Null, or why it failed. */
  reach(): Promise<string | null>;
  close(): void;
}

const ANSWER_BYTES_MAX = 16_384;
// A connection that the carrier closes at the moment of a request makes it unsure. So idle ones are
// closed before servers usually do it, after 2 to 75 seconds.
const IDLE_MS = 1_000;

class Refused extends Error {}

export function createPoster({ url, timeoutMs, allowPrivate }: PosterSettings, clock: Pick<Clock, 'timeout'>): Poster {
  const target = new URL(url);
  const isEncrypted = target.protocol === 'https:';
  const agentOptions = { keepAlive: true, timeout: IDLE_MS };
  const agent = isEncrypted ? new HttpsAgent(agentOptions) : new HttpAgent(agentOptions);

  /** Checked at connect time, after the name was resolved: it may lead elsewhere the next time. */
  function check(address: string): void {
    if (allowPrivate) return;
    if (!isPublicAddress(address)) throw new Refused('the address is not public, and allowPrivate is off');
    if (!isEncrypted) throw new Refused('plain http is refused, because allowPrivate is off');
  }
  const lookupChecked: LookupFunction = (host, options, done) => {
    lookup(host, { all: true }, (failed, found: LookupAddress[]) => {
      try {
        if (failed) throw failed;
        for (const { address } of found) check(address);
      } catch (thrown) {
        return done(thrown as Error, '', 0);
      }
      const [first] = found;
      if (!first) return done(new Refused('the name has no address'), '', 0);
      if (options.all) return done(null, found);
      done(null, first.address, first.family);
    });
  };

  function post(fields: Readonly<Record<string, string>>, body: string, signal: AbortSignal): Promise<Posted> {
    return new Promise((resolve) => {
      let isSent = false;
      const failed = (thrown: unknown): void => {
        const isAborted = signal.aborted;
        const reason = isAborted ? 'stopped' : reasonOf(thrown);
        resolve(isSent ? { kind: 'no-answer', reason } : { kind: 'not-sent', reason, isDown: !isAborted });
      };
      try {
        const host = target.hostname.replace(/^\[|\]$/g, '');
        if (isIP(host) > 0) check(host); // a literal address is not looked up
        const request = (isEncrypted ? requestHttps : requestHttp)(target, {
          method: 'POST',
          agent,
          lookup: lookupChecked,
          signal: AbortSignal.any([signal, clock.timeout(timeoutMs)]),
          headers: { ...fields, 'Content-Length': Buffer.byteLength(body) },
        });
        request.on('socket', (socket) =>
          onceConnected(socket, isEncrypted, request.reusedSocket, () => {
            isSent = true;
          }),
        );
        request.on('error', failed);
        request.on('response', (response) => readAnswer(response).then(resolve, failed));
        request.end(body);
      } catch (thrown) {
        failed(thrown);
      }
    });
  }

  const reach = () => connects(target, { check, lookup: lookupChecked, timeoutMs });
  return { post, reach, close: () => agent.destroy() };
}

interface Connecting {
  readonly check: (address: string) => void;
  readonly lookup: LookupFunction;
  readonly timeoutMs: number;
}

/** An unsigned request could be an alarm at the gateway, and a signed one a message. */
function connects(target: URL, { check, lookup: lookupChecked, timeoutMs }: Connecting): Promise<string | null> {
  const isEncrypted = target.protocol === 'https:';
  return new Promise((resolve) => {
    try {
      const host = target.hostname.replace(/^\[|\]$/g, '');
      if (isIP(host) > 0) check(host);
      const port = Number(target.port) || (isEncrypted ? 443 : 80);
      const where = { host, port, lookup: lookupChecked, timeout: timeoutMs };
      const named = isIP(host) === 0 ? { servername: host } : {};
      const socket = isEncrypted ? connectTls({ ...where, ...named }) : connect(where);
      const end = (fault: string | null) => {
        socket.destroy();
        resolve(fault);
      };
      socket.once(isEncrypted ? 'secureConnect' : 'connect', () => end(null));
      socket.once('timeout', () => end('no answer in time'));
      socket.once('error', (thrown) => end(reasonOf(thrown)));
    } catch (thrown) {
      resolve(reasonOf(thrown));
    }
  });
}

/** Nothing leaves before the connection, with TLS, is there. */
function onceConnected(socket: Socket, isEncrypted: boolean, isReused: boolean, connected: () => void): void {
  if (isReused || !socket.connecting) connected();
  else socket.once(isEncrypted ? 'secureConnect' : 'connect', connected);
}

async function readAnswer(response: IncomingMessage): Promise<Posted> {
  const { statusCode: status = 0, headers } = response;
  const retryAfterMs = /^\d{1,6}$/.test(headers['retry-after'] ?? '') ? Number(headers['retry-after']) * 1_000 : null;
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of response) {
      length += chunk.length;
      if (length > ANSWER_BYTES_MAX) break; // the status says what is needed
      chunks.push(chunk);
    }
  } catch {
    chunks.length = 0; // the status has come all the same
  }
  return { kind: 'answer', status, retryAfterMs, body: Buffer.concat(chunks).toString('utf8') };
}

/** In words that name no secret: a URL may hold one. */
function reasonOf(thrown: unknown): string {
  const { name, code, message } = thrown as NodeJS.ErrnoException;
  if (thrown instanceof Refused) return message;
  if (name === 'TimeoutError' || name === 'AbortError' || code === 'ABORT_ERR') return 'no answer in time';
  return code ?? 'the request failed';
}
