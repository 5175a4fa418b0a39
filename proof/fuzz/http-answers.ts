import { gunzipSync } from 'node:zlib';
import { demand, shown } from './target.ts';

/** An answer as it came over the wire. */
export interface HttpAnswer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  readonly text: string;
}

const RULE = 'an answer that is no HTTP';
const STATUS_LINE = /^HTTP\/1\.1 ([1-5]\d\d) [\t -~]*$/;
const FIELD = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+): ([!-~](?:[\t -~]*[!-~])?)?$/;

/**
 * All answers on a connection that the server has closed, and nothing before, between and behind them. `methods` are those of the
 * requests that the server saw: the answer to HEAD has no body.
 */
export function answersIn(bytes: string, methods: readonly string[]): HttpAnswer[] {
  const answers: HttpAnswer[] = [];
  let finals = 0;
  for (let at = 0; at < bytes.length; ) {
    const end = bytes.indexOf('\r\n\r\n', at);
    demand(end >= 0, RULE, () => `no end of a head in ${shown(bytes.slice(at))}`);
    const [start = '', ...fields] = bytes.slice(at, end).split('\r\n');
    const status = Number(STATUS_LINE.exec(start)?.[1]);
    demand(status, RULE, () => `the status line ${shown(start)}`);
    const headers = headersOf(fields);
    // What ends the connection because it cannot be read is refused with words, whatever it began with.
    const isLastWords = () => status === 400 && Number(headers.get('content-length')) === bytes.length - end - 4;
    const isBare = status < 200 || status === 204 || status === 304 || (methods[finals] === 'HEAD' && !isLastWords());
    if (status >= 200) finals += 1;
    const { body, next } = isBare ? { body: '', next: end + 4 } : bodyAt(bytes, end + 4, headers);
    answers.push({ status, headers, text: isBare ? '' : unpacked(body, headers) });
    at = next;
  }
  return answers;
}

function headersOf(fields: readonly string[]): Map<string, string> {
  const headers = new Map<string, string>();
  for (const field of fields) {
    const [, name = '', value = ''] = FIELD.exec(field) ?? [];
    demand(name !== '', RULE, () => `the field ${shown(field)}`);
    demand(!headers.has(name.toLowerCase()), RULE, () => `${name} twice`);
    headers.set(name.toLowerCase(), value);
  }
  return headers;
}

function bodyAt(bytes: string, at: number, headers: Map<string, string>): { body: string; next: number } {
  const length = headers.get('content-length');
  if (headers.get('transfer-encoding') === 'chunked') {
    // Node's own answers without a body, and no others.
    demand(bytes.startsWith('0\r\n\r\n', at), RULE, () => `chunks: ${shown(bytes.slice(at))}`);
    return { body: '', next: at + 5 };
  }
  if (length === undefined) {
    demand(headers.get('connection') === 'close', RULE, () => 'neither a length nor an end');
    return { body: bytes.slice(at), next: bytes.length };
  }
  demand(/^\d+$/.test(length), RULE, () => `Content-Length: ${length}`);
  const next = at + Number(length);
  demand(next <= bytes.length, RULE, () => `${bytes.length - at} bytes of a body of ${length}`);
  return { body: bytes.slice(at, next), next };
}

function unpacked(body: string, headers: Map<string, string>): string {
  const bytes = Buffer.from(body, 'latin1');
  return (headers.get('content-encoding') === 'gzip' ? gunzipSync(bytes) : bytes).toString('utf8');
}
