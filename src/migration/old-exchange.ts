import { type Agent, type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';

/** One HTTP exchange with the old server: its time and the size of its answer are limited. */
export interface ExchangeInit {
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}
interface ExchangeLimits {
  readonly agent: Agent;
  readonly timeoutMs: number;
  readonly answerBytesMax: number;
  readonly signal?: AbortSignal | undefined;
}
interface ExchangeAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly retryAfter: string | undefined;
  readonly body: Uint8Array;
}

/** No whole answer came. Whether the call was done is not known. */
export class OldServerUnreachable extends Error {
  /** Whether the same call may succeed later. */
  readonly isTemporary: boolean;

  constructor(message: string, isTemporary: boolean, cause?: unknown) {
    super(message, { cause });
    this.isTemporary = isTemporary;
  }
}

export function exchange(
  target: string,
  { method, headers, body, agent, timeoutMs, answerBytesMax, signal }: ExchangeInit & ExchangeLimits,
): Promise<ExchangeAnswer> {
  const deadline = AbortSignal.timeout(timeoutMs);
  const ends = signal ? AbortSignal.any([signal, deadline]) : deadline;
  const request = target.startsWith('https:') ? requestHttps : requestHttp;
  return new Promise((resolve, reject) => {
    const fail = (thrown: Error) => {
      if (signal?.aborted) reject(signal.reason);
      else if (deadline.aborted) reject(new OldServerUnreachable(`No answer in ${timeoutMs / 1_000} seconds.`, true));
      else reject(unreachable(thrown));
    };
    const length = body === null ? {} : { 'Content-Length': String(Buffer.byteLength(body)) };
    const outgoing = request(target, {
      agent,
      method,
      headers: { Accept: '*/*', 'Accept-Encoding': 'identity', ...headers, ...length },
      signal: ends,
    });
    outgoing.on('error', fail);
    outgoing.on('response', (response) => {
      receive(response, answerBytesMax).then(resolve, fail);
    });
    outgoing.end(body ?? undefined);
  });
}

async function receive(response: IncomingMessage, answerBytesMax: number): Promise<ExchangeAnswer> {
  const coding = response.headers['content-encoding'] ?? 'identity';
  if (coding !== 'identity') {
    response.destroy();
    throw new OldServerUnreachable(`The answer has the content coding ${coding}, which was not asked for.`, false);
  }
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of response) {
    length += chunk.length;
    if (length > answerBytesMax) {
      response.destroy();
      throw new OldServerUnreachable(`The answer has more than ${answerBytesMax} bytes.`, false);
    }
    chunks.push(chunk);
  }
  return {
    status: response.statusCode ?? 0,
    contentType: response.headers['content-type'] ?? '',
    retryAfter: response.headers['retry-after'],
    body: Buffer.concat(chunks),
  };
}

const CERTIFICATE = /CERT|SELF_SIGNED|UNABLE_TO_VERIFY|ALTNAME/;

/** The code of the system says what to look at; the message may have an address. */
function unreachable(thrown: Error): OldServerUnreachable {
  if (thrown instanceof OldServerUnreachable) return thrown;
  const code = (thrown as NodeJS.ErrnoException).code ?? thrown.name;
  if (CERTIFICATE.test(code)) {
    const advice = 'Name its authority with --old-ca FILE, or take any certificate with --old-insecure-certificate.';
    return new OldServerUnreachable(
      `The certificate of the old server is not trusted (${code}). ${advice}`,
      false,
      thrown,
    );
  }
  return new OldServerUnreachable(`The old server does not answer (${code}).`, true, thrown);
}
