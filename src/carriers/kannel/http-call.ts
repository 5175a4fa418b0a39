import { type Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Clock } from '../../base/clock.ts';

/** A request to Kannel, with the knowledge whether it may have been read. */

export interface HttpPeer {
  readonly host: string;
  readonly port: number;
  readonly tls: boolean;
  readonly tlsCertificate?: string | undefined;
}

export interface HttpCall {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  readonly agent?: Agent;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
  readonly answerBytesMax: number;
}

/**
 * `unsent`: nothing left this process. `unanswered`: the request may have been read, and its answer
 * did not come. Reasons carry no address and no value of the request.
 */
export type HttpOutcome =
  | { readonly kind: 'answered'; readonly status: number; readonly body: Buffer }
  | { readonly kind: 'unsent'; readonly reason: string }
  | { readonly kind: 'unanswered'; readonly reason: string };

export function callHttp(clock: Pick<Clock, 'timeout'>, peer: HttpPeer, call: HttpCall): Promise<HttpOutcome> {
  if (call.signal?.aborted) return Promise.resolve({ kind: 'unsent', reason: 'aborted' });
  const late = clock.timeout(call.timeoutMs);
  const signal = call.signal ? AbortSignal.any([call.signal, late]) : late;
  return new Promise((resolve) => {
    let isSent = false;
    const failed = (error: NodeJS.ErrnoException): void => {
      const reason = late.aborted ? 'no answer in time' : call.signal?.aborted ? 'aborted' : (error.code ?? error.name);
      resolve({ kind: isSent ? 'unanswered' : 'unsent', reason });
    };
    const outgoing = (peer.tls ? httpsRequest : httpRequest)({
      host: peer.host,
      port: peer.port,
      method: call.method,
      path: call.path,
      headers: { ...call.headers, ...(call.body && { 'Content-Length': call.body.length }) },
      agent: call.agent,
      signal,
      ...(peer.tlsCertificate !== undefined && { ca: peer.tlsCertificate }),
    });
    outgoing.on('socket', (socket) => {
      // From the moment that it is connected the request is on its way.
      const connected = () => {
        isSent = true;
      };
      if (outgoing.reusedSocket) connected();
      else socket.once(peer.tls ? 'secureConnect' : 'connect', connected);
    });
    outgoing.on('error', failed);
    outgoing.on('response', (answer) => {
      isSent = true;
      readBody(answer, call.answerBytesMax).then((body) => {
        resolve({ kind: 'answered', status: answer.statusCode ?? 0, body });
      }, failed);
    });
    outgoing.end(call.body);
  });
}

async function readBody(answer: IncomingMessage, bytesMax: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > bytesMax) throw Object.assign(new Error('answer too large'), { code: 'ANSWER_TOO_LARGE' });
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, length);
}
