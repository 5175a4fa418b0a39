import { type Agent, type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { isIP } from 'node:net';
import { connect } from 'node:tls';

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
      else if (isCertificate(thrown)) refusedCertificate(target, thrown).then(reject);
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

/** The code of the system says what to look at; the message may have an address. */
function unreachable(thrown: Error): OldServerUnreachable {
  if (thrown instanceof OldServerUnreachable) return thrown;
  const code = (thrown as NodeJS.ErrnoException).code ?? thrown.name;
  return new OldServerUnreachable(`The old server does not answer (${code}).`, true, thrown);
}

const CERTIFICATE = /CERT|SELF_SIGNED|UNABLE_TO_VERIFY|ALTNAME|KEY_TOO_SMALL|MD_TOO_WEAK/;
/** Node has no code of its own for what is too weak by today's rules. */
const WEAK = /certificate.*(?:too weak|too small)|(?:key|md).too.(?:weak|small)/i;

const isCertificate = (thrown: Error): boolean =>
  CERTIFICATE.test((thrown as NodeJS.ErrnoException).code ?? '') || WEAK.test(thrown.message);

/** No later try changes it, so a person gets both ways out, and what the certificate says. */
async function refusedCertificate(target: string, thrown: Error): Promise<OldServerUnreachable> {
  const { code } = thrown as NodeJS.ErrnoException;
  const isWeak = WEAK.test(thrown.message) || /TOO_(?:SMALL|WEAK)/.test(code ?? '');
  const why = isWeak ? 'is too weak by the rules of today' : `is not trusted (${code})`;
  const ca = isWeak
    ? 'Trust this one alone, and allow its weakness, with --old-ca FILE --old-legacy-tls'
    : 'Name its authority, or itself where it is self-signed, with --old-ca FILE';
  const shown = await certificateOf(target);
  return new OldServerUnreachable(
    `The certificate of the old server ${why}${shown === null ? '' : `: ${shown}`}. ${ca}, or take any certificate with --old-insecure-certificate.`,
    false,
    thrown,
  );
}

const LOOK_MS_MAX = 5_000;

/** What the server shows, in words; null where it shows none. Nothing is sent to it. */
function certificateOf(target: string): Promise<string | null> {
  const { hostname, port } = new URL(target);
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  return new Promise((resolve) => {
    const socket = connect({
      host,
      port: Number(port || 443),
      ...(isIP(host) === 0 ? { servername: host } : {}),
      rejectUnauthorized: false,
      minVersion: 'TLSv1',
      ciphers: 'DEFAULT@SECLEVEL=0',
      timeout: LOOK_MS_MAX,
    });
    const end = (shown: string | null): void => {
      socket.destroy();
      resolve(shown);
    };
    socket.on('error', () => end(null)).on('timeout', () => end(null));
    socket.on('secureConnect', () => {
      const { subject, issuer, valid_to, bits, fingerprint256 } = socket.getPeerCertificate();
      const issued = subject?.CN === issuer?.CN ? 'issued by itself' : `issued by ${issuer?.CN}`;
      end(`${subject?.CN}, ${issued}, a key of ${bits} bits, valid until ${valid_to}, SHA-256 ${fingerprint256}`);
    });
  });
}
