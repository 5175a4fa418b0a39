import { createHmac, randomBytes } from 'node:crypto';
import { isWhole, type Reply, type Request } from '../../exchange.ts';

/** A request that was answered, as logs, metrics and traces see it. Names are those of the contract's table, or none. */
export interface Observed {
  readonly request: Request;
  readonly reply: Reply;
  readonly kind: string;
  readonly protocol: string | undefined;
  readonly group: string | undefined;
  readonly operation: string | undefined;
  readonly durationMs: number;
}

/** Accounts by names that only who has the key can tell, the same for the same account. */
export type AccountLabel = (account: bigint) => string;

const LABEL_DIGITS = 12;
const LABELS_MAX = 10_000;

export function createAccountLabel(key: string): AccountLabel {
  const secret = key === '' ? randomBytes(32) : key;
  const labels = new Map<bigint, string>();
  return (account) => {
    const known = labels.get(account);
    if (known !== undefined) return known;
    if (labels.size >= LABELS_MAX) labels.clear();
    const label = createHmac('sha256', secret).update(String(account)).digest('hex').slice(0, LABEL_DIGITS);
    labels.set(account, label);
    return label;
  };
}

export type CallLog = (observed: Observed, account: string | undefined, traceId: string | undefined) => void;

/**
 * One line a call, as pino writes them, at level info. Put together here: no value needs escaping, and pino takes 3.5 µs for
 * what takes 1 µs this way. The address's query is in none of it, nor is anything of the body.
 */
export function createCallLog(write: (line: string) => void): CallLog {
  const time = createClock();
  return ({ request, reply, kind, protocol, group, operation, durationMs }, account, traceId) => {
    const ids = `${field('request_id', request.id)}${field('trace_id', traceId)}`;
    const names = `${field('group', group)}${field('operation', operation)}${field('form', protocol)}`;
    const size = isWhole(reply.body) ? `,"bytes":${bytesOf(reply.body)}` : '';
    const took = Math.round(durationMs * 1_000) / 1_000;
    write(
      `{"level":30,"time":"${time()}"${ids}${names},"kind":"${kind}","status":${reply.status},"durationMs":${took}${size}${field(
        'client',
        PLAIN.test(request.client) ? request.client : undefined,
      )}${field('account', account)},"msg":"call"}\n`,
    );
  };
}

const PLAIN = /^[\w.:%-]+$/;

const field = (name: string, value: string | undefined): string => (value === undefined ? '' : `,"${name}":"${value}"`);

const bytesOf = (body: string | Uint8Array): number =>
  typeof body === 'string' ? Buffer.byteLength(body) : body.byteLength;

/** Writing a time takes 1 µs, and many calls come in the same millisecond. */
function createClock(): () => string {
  let at = 0;
  let text = '';
  return () => {
    const now = Date.now();
    if (now !== at) {
      at = now;
      text = new Date(now).toISOString();
    }
    return text;
  };
}
