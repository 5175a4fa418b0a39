import { type LookupAddress, lookup as lookupName } from 'node:dns';
import { type Agent, type IncomingHttpHeaders, type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { urlToHttpOptions } from 'node:url';
import type { Clock } from './clock.ts';

/**
 * Makes one request to another server, and reports whether that server may have read it. Redirects
 * are not followed.
 */
export interface HttpPeer {
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
  /**
   * The certificate (PEM) that signed the peer's. Without it, the authorities of the system are
   * trusted.
   */
  readonly tlsCertificate?: string | undefined;
  /** Name and password, if the URL has them. */
  readonly auth?: string;
}

export interface HttpCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | string;
  readonly agent?: Agent | false;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
  readonly answerBytesMax: number;
  /**
   * What to do with an answer that has more bytes or ends early. `fail`: treat it as no answer.
   * `cut`: return its status and the bytes so far. `ignore`: return only its status, without
   * waiting for the body.
   */
  readonly beyond?: 'fail' | 'cut' | 'ignore';
  /** Throws Refused for an address that must not be connected to. */
  readonly check?: AddressCheck;
  /** Tests replace it. */
  readonly resolve?: Resolve;
}

/**
 * `unsent`: nothing has left this process. `unanswered`: the peer may have read the request, but
 * there was no answer. Reasons contain no address and no value of the request, because these may
 * contain a secret.
 */
export type HttpOutcome =
  | {
      readonly kind: 'answered';
      readonly status: number;
      readonly headers: IncomingHttpHeaders;
      readonly body: Buffer;
    }
  | { readonly kind: 'unsent'; readonly reason: string }
  | { readonly kind: 'unanswered'; readonly reason: string };

export type AddressCheck = (address: string) => void;
export type Resolve = (host: string) => Promise<readonly LookupAddress[]>;

/** The address must not be connected to. The message is for the operator. */
export class Refused extends Error {}

export function peerOf(url: URL): HttpPeer & Pick<HttpCall, 'path'> {
  const { hostname, auth, path } = urlToHttpOptions(url);
  const tls = url.protocol === 'https:';
  const port = Number(url.port) || (tls ? 443 : 80);
  return { host: hostname as string, port, tls, path: path as string, ...(auth && { auth }) };
}

/** Never rejects. */
export function callHttp(clock: Pick<Clock, 'timeout'>, peer: HttpPeer, call: HttpCall): Promise<HttpOutcome> {
  const { method, path, agent, signal: stopped, check, body = '' } = call;
  if (stopped?.aborted) return Promise.resolve({ kind: 'unsent', reason: 'aborted' });
  const late = clock.timeout(call.timeoutMs);
  return new Promise((resolve) => {
    let isSent = false;
    const failed = (thrown: unknown): void => {
      const reason = late.aborted ? 'no answer in time' : stopped?.aborted ? 'aborted' : reasonOf(thrown);
      resolve({ kind: isSent ? 'unanswered' : 'unsent', reason });
    };
    try {
      if (check && isIP(peer.host) > 0) check(peer.host); // a literal address is not looked up
      const request = (peer.tls ? requestHttps : requestHttp)({
        host: peer.host,
        port: peer.port,
        method,
        path,
        headers: { ...call.headers, ...(method !== 'GET' && { 'Content-Length': Buffer.byteLength(body) }) },
        ...(peer.auth !== undefined && { auth: peer.auth }),
        ...(agent !== undefined && { agent }),
        ...(check && { lookup: checkedLookup(check, call.resolve) }),
        ...(peer.tlsCertificate !== undefined && { ca: peer.tlsCertificate }),
        signal: stopped ? AbortSignal.any([stopped, late]) : late,
      });
      request.on('socket', (socket) => {
        // Once the connection is open, including TLS, the peer may read the request.
        const connected = () => {
          isSent = true;
        };
        if (request.reusedSocket || !socket.connecting) connected();
        else socket.once(peer.tls ? 'secureConnect' : 'connect', connected);
      });
      request.on('error', failed);
      request.on('response', (response) => {
        isSent = true;
        const { statusCode: status = 0, headers } = response;
        const answer = (read: Buffer) => resolve({ kind: 'answered', status, headers, body: read });
        if (call.beyond === 'ignore') {
          answer(Buffer.alloc(0));
          drain(response, call.answerBytesMax);
        } else readBody(response, call).then(answer, failed);
      });
      request.end(body);
    } catch (thrown) {
      failed(thrown);
    }
  });
}

async function readBody(answer: IncomingMessage, { answerBytesMax, beyond }: HttpCall): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      length += chunk.length;
      if (length > answerBytesMax) {
        if (beyond === 'cut') break;
        throw Object.assign(new Error('answer too large'), { code: 'ANSWER_TOO_LARGE' });
      }
      chunks.push(chunk);
    }
  } catch (thrown) {
    if (beyond !== 'cut') throw thrown;
    chunks.length = 0; // the status has arrived all the same
  }
  return Buffer.concat(chunks);
}

/** Reads some of the body, so that the connection ends cleanly. */
function drain(response: IncomingMessage, bytesMax: number): void {
  let bytes = 0;
  response.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > bytesMax) response.destroy();
  });
  response.on('error', () => {});
}

/**
 * Resolves a name and checks its addresses. The connection uses an address that was checked,
 * because the name may resolve to another one the next time.
 */
export function checkedLookup(check: AddressCheck, resolve: Resolve = resolveName): LookupFunction {
  return (host, options, done) => {
    resolve(host).then(
      (found) => {
        try {
          for (const { address } of found) check(address);
        } catch (thrown) {
          return done(thrown as Error, '', 0);
        }
        const [first] = found;
        if (!first) return done(new Refused('the name has no address'), '', 0);
        if (options.all) return done(null, [...found]);
        done(null, first.address, first.family);
      },
      (thrown) => done(thrown, '', 0),
    );
  };
}

const resolveName: Resolve = (host) =>
  new Promise((found, failed) => {
    lookupName(host, { all: true, verbatim: true }, (thrown, addresses) =>
      thrown ? failed(thrown) : found(addresses),
    );
  });

/** Describes an error without its URL, which may contain a secret. */
export function reasonOf(thrown: unknown): string {
  const { name, code, message } = thrown as NodeJS.ErrnoException;
  if (thrown instanceof Refused) return message;
  if (name === 'TimeoutError' || name === 'AbortError') return 'no answer in time';
  return code ?? 'the request failed';
}
