import { createHmac } from 'node:crypto';
import { BoundedMap } from '../../base/bounded-map.ts';
import { isWhole, type Reply, type Request } from '../../base/exchange.ts';
import { randomBytes } from '../../base/random.ts';

/** An answered request, for the access log, metrics and spans. */
export interface CompletedCall {
  readonly request: Request;
  readonly reply: Reply;
  readonly kind: string;
  readonly protocol: string | undefined;
  readonly group: string | undefined;
  readonly operation: string | undefined;
  readonly durationMs: number;
}

/** A pseudonym of an account: an HMAC, which needs the key to be recomputed. */
export type AccountLabel = (account: bigint) => string;

const LABEL_DIGITS = 12;
const LABELS_MAX = 10_000;

export function createAccountLabel(key: string): AccountLabel {
  const secret = key === '' ? randomBytes(32) : key;
  const labels = new BoundedMap<bigint, string>(LABELS_MAX);
  return (account) => {
    const known = labels.get(account);
    if (known !== undefined) return known;
    const label = createHmac('sha256', secret).update(String(account)).digest('hex').slice(0, LABEL_DIGITS);
    labels.set(account, label);
    return label;
  };
}

export type AccessLog = (call: CompletedCall, account: string | undefined, traceId: string | undefined) => void;

/**
 * One JSON line per call, in pino's format, at level info. No value needs escaping, so the line is
 * joined here: that takes 1 µs, and pino takes 3.5 µs. It holds nothing of the query or the body.
 */
export function createAccessLog(write: (line: string) => void, now: () => number): AccessLog {
  const time = createTimeText(now);
  return ({ request, reply, kind, protocol, group, operation, durationMs }, account, traceId) => {
    const ids = `${field('request_id', request.id)}${field('trace_id', traceId)}`;
    const names = `${field('group', group)}${field('operation', operation)}${field('form', protocol)}`;
    const size = isWhole(reply.body) ? `,"bytes":${bytesOf(reply.body)}` : '';
    const took = Math.round(durationMs * 1_000) / 1_000;
    write(
      `{"level":30,"time":"${time()}"${ids}${names},"kind":"${kind}","status":${reply.status},"durationMs":${took}${size}${field(
        'client',
        IP_ADDRESS.test(request.client) ? request.client : undefined,
      )}${field('account', account)},"msg":"call"}\n`,
    );
  };
}

const IP_ADDRESS = /^[\w.:%-]+$/;

const field = (name: string, value: string | undefined): string => (value === undefined ? '' : `,"${name}":"${value}"`);

const bytesOf = (body: string | Uint8Array): number =>
  typeof body === 'string' ? Buffer.byteLength(body) : body.byteLength;

/** ISO 8601. Formatting takes 1 µs, and many calls end in the same millisecond. */
function createTimeText(now: () => number): () => string {
  let last = 0;
  let text = '';
  return () => {
    const at = now();
    if (at !== last) {
      last = at;
      text = new Date(at).toISOString();
    }
    return text;
  };
}
