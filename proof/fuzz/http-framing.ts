import { METHODS } from 'node:http';

/**
 * Where the requests on a connection begin and end, by RFC 9112 and nothing else: what the server must see of them, written
 * without a look at how it does it. `bytes` has one character a byte.
 */
export interface Framing {
  /** The methods of the requests that are whole, in their order. */
  readonly whole: readonly string[];
  /**
   * What comes after them. open: nothing, and more may come. closed: the last one ended the connection. unfinished: the
   * beginning of another. refused: what is no request, or one whose length is in doubt. broken: a request whose chunks are none.
   * odd: what servers may take or leave.
   */
  readonly rest: 'open' | 'closed' | 'unfinished' | 'refused' | 'broken' | 'odd';
  /** Whether the rest starts with a whole head, so that an answer may come before its body. */
  readonly headOfRest: boolean;
}

export function framingOf(bytes: string): Framing {
  const whole: string[] = [];
  let at = 0;
  for (;;) {
    while (bytes.startsWith('\r\n', at)) at += 2; // §2.2: empty lines before a request are overlooked
    if (at >= bytes.length || bytes.slice(at) === '\r') return { whole, rest: 'open', headOfRest: false };
    const head = readHead(bytes, at);
    if (typeof head === 'string') return { whole, rest: head, headOfRest: false };
    if (head.isOdd) return { whole, rest: 'odd', headOfRest: true };
    if (head.isRefused) return { whole, rest: 'refused', headOfRest: true };
    const end = head.chunked ? endOfChunks(bytes, head.end) : head.end + head.length;
    if (typeof end === 'string') return { whole, rest: end, headOfRest: true };
    if (end > bytes.length) return { whole, rest: 'unfinished', headOfRest: true };
    whole.push(head.method);
    if (head.endsHere) return { whole, rest: end < bytes.length ? 'odd' : 'closed', headOfRest: true };
    if (head.closes) return { whole, rest: 'closed', headOfRest: false };
    at = end;
  }
}

interface Head {
  readonly method: string;
  /** Where the body begins, and how long it is where it is not in chunks. */
  readonly end: number;
  readonly length: number;
  readonly chunked: boolean;
  readonly closes: boolean;
  /** It has a length that nobody can tell. */
  readonly isRefused: boolean;
  /** CONNECT, and codings besides `chunked`: a server may not have them. */
  readonly isOdd: boolean;
  /** What is behind it may or may not be read: without Host, or with two, or with one that is none (§3.2), it is refused. */
  readonly endsHere: boolean;
}

/** Beyond these there may be limits. */
const LIMIT = 16_000;
const FIELDS_MAX = 1_000;

/**
 * RFC 9110 §9.1: a method is any token, and one of at most 32 characters is answered (405). RFC 9112 §3.2 has no bytes beyond
 * ASCII in a target, but old programs send them in the query, where no server can take them for the end of anything.
 */
const REQUEST_LINE =
  /^([!#$%&'*+\-.^_`|~0-9A-Za-z]{1,32}) (?=[!-~])([!->@-~]*(?:\?[!-~\x80-\xFF]*)?) HTTP\/(\d)\.(\d)$/;
/** HTTP/0.9, of which RFC 9112 does not speak any more, and blanks too many, which it leaves open (§3). */
const SIMPLE = /[!#$%&'*+\-.^_`|~0-9A-Za-z]+(?: {2,}[!-~]| +[!-~\x80-\xFF]+(?:\r?\n| {2,}HTTP))/y;
/** §3.2: what a server that is no proxy is asked for. */
const TARGET = /^(?:\/|\*$|https?:\/\/[\w.-]+(?::\d+)?(?:[/?]|$))/i;
const FIELD = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+):[ \t]*([\t -~\x80-\xFF]*?)[ \t]*$/;

function readHead(bytes: string, at: number): Head | 'unfinished' | 'refused' | 'odd' {
  SIMPLE.lastIndex = at;
  if (SIMPLE.test(bytes)) return 'odd';
  const end = bytes.indexOf('\r\n\r\n', at);
  const lines = bytes.slice(at, end < 0 ? bytes.length : end).split('\r\n');
  if (end < 0) lines.pop(); // it may go on
  if ((end < 0 ? bytes.length : end) - at > LIMIT || lines.length > FIELDS_MAX) return 'odd';
  const [start, ...fields] = lines;
  if (start === undefined) return 'unfinished';
  const [, method = '', target = '', major, minor] = REQUEST_LINE.exec(start) ?? [];
  const named = fields.map((field) => FIELD.exec(field));
  if (method === '' || named.includes(null)) return 'refused';
  if (!TARGET.test(target)) return 'odd';
  if (major !== '1' || (minor !== '0' && minor !== '1')) return 'odd'; // §2.5: it may try to read it as the version it knows
  if (end < 0) return 'unfinished';

  const values = (name: string) =>
    named.flatMap((field) => (field?.[1]?.toLowerCase() === name ? [field[2] as string] : []));
  const hosts = values('host');
  const lengths = values('content-length');
  const codings = values('transfer-encoding');
  // §6.1 and §6.3: neither both, nor more than one length.
  if (lengths.length > 1 || (lengths.length > 0 && codings.length > 0)) return 'refused';
  if (!lengths.every((length) => /^\d{1,19}$/.test(length))) return 'refused';
  const options = values('connection')
    .join(',')
    .toLowerCase()
    .split(',')
    .map((option) => option.trim());
  const persists = !options.includes('close') && (minor === '1' || options.includes('keep-alive'));
  const coding = codings.join(', ');
  const isLast = CHUNKED_LAST.test(coding);
  return {
    method,
    end: end + 4,
    length: Number(lengths[0] ?? 0),
    chunked: codings.length > 0,
    // What others may take for HEAD, such as `head`, has an end that they may see elsewhere (RFC 9112 §6.3): it is the last one.
    closes: !persists || (minor === '0' && codings.length > 0) || !METHODS.includes(method),
    isRefused: codings.length > 0 && !isLast,
    isOdd: method === 'CONNECT' || (codings.length > 0 && isLast && !/^chunked$/i.test(coding)),
    endsHere: hosts.length > 1 || (hosts[0] === undefined ? minor === '1' : !HOST.test(hosts[0])),
  };
}

const HOST = /^(?:[\w.-]+(?::\d{0,5})?)?$/;
const EXTENSIONS = /^(?:;[\w.-]+(?:=(?:[\w.-]+|"[^"\\]*"))?)*$/;
/** §6.1: the last coding is `chunked`, and it is not applied twice. */
const CHUNKED_LAST = /^(?!(?:.*,)?[ \t]*chunked[ \t]*,)(?:.*,)?[ \t]*chunked$/i;
const CHUNK = /^(0*[0-9A-Fa-f]{1,16})(;[\t -~\x80-\xFF]*)?$/;

/** §7.1: where a body in chunks ends, its trailer included. */
function endOfChunks(bytes: string, from: number): number | 'unfinished' | 'broken' | 'odd' {
  for (let at = from; ; ) {
    const lineEnd = bytes.indexOf('\r\n', at);
    if (lineEnd < 0)
      return /^0*[0-9A-Fa-f]{0,16}(;[\t -~\x80-\xFF]*)?\r?$/.test(bytes.slice(at)) ? 'unfinished' : 'broken';
    const [, size, extension = ''] = CHUNK.exec(bytes.slice(at, lineEnd)) ?? [];
    if (size === undefined) return 'broken';
    if (!EXTENSIONS.test(extension) || extension.length > LIMIT) return 'odd';
    at = lineEnd + 2;
    if (/^0+$/.test(size)) return endOfTrailer(bytes, at);
    at += Number.parseInt(size, 16);
    if (at >= bytes.length) return 'unfinished';
    if (!'\r\n'.startsWith(bytes.slice(at, at + 2))) return 'broken';
    at += 2;
  }
}

function endOfTrailer(bytes: string, from: number): number | 'unfinished' | 'broken' {
  for (let at = from; ; ) {
    const lineEnd = bytes.indexOf('\r\n', at);
    if (lineEnd < 0) return 'unfinished';
    if (lineEnd === at) return at + 2;
    const field = FIELD.exec(bytes.slice(at, lineEnd));
    if (!field || /^(?:content-length|transfer-encoding)$/i.test(field[1] as string)) return 'broken'; // §6.5.1: not in a trailer
    at = lineEnd + 2;
  }
}
