import { METHODS } from 'node:http';
import { BoundedMap } from '../base/bounded-map.ts';

/**
 * The head of a request, parsed strictly by RFC 9112. What a proxy may parse differently is
 * rejected and never repaired, because of request smuggling. Strings have one character per byte.
 */
export interface RequestHead {
  readonly method: string;
  readonly target: string;
  /** '1.1', '1.0' or another version; '' for HTTP/0.9. */
  readonly version: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The number of Host fields; `headers` has the first one. */
  readonly hosts: number;
  /** The length of the body, or chunked. NaN for an unknown transfer coding. */
  readonly length: number | 'chunked';
  /** Whether the client keeps the connection open (RFC 9112 §9.3). */
  readonly persists: boolean;
}

// A method is any token (RFC 9110 §9.1) of at most 32 characters: the longest registered one has
// 17. Old programs do not encode the query, so bytes beyond ASCII are accepted there and nowhere
// else.
const LINE =
  /^([!#$%&'*+\-.^_`|~0-9A-Za-z]{1,32}) ((?:\/|\*|[Hh][Tt][Tt][Pp][Ss]?:\/\/)[!->@-~]*(?:\?[!-~\x80-\xff]*)?)(?: HTTP\/(\d\.\d))?$/;
/** The authority form of RFC 9112 §3.2.3. */
const TUNNEL = /^(CONNECT) ([!-~]+) HTTP\/(1\.[01])$/;
const KNOWN_METHODS = new Set(METHODS);

// Control characters, and a CR or LF alone (RFC 9112 §2.2).
const INVALID = /[^\t\r\n -~\x80-\xff]|\r(?!\n)|(?<!\r)\n/;
const INVALID_SO_FAR = /[^\t\r\n -~\x80-\xff]|\r(?!\n|$)|(?<!\r)\n/;
const METHOD_START = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,32}(?: |$)/;
export const METHOD_START_BYTES = 33;

/** Whether a part of a head has bytes that no head may have. */
export const hasInvalidBytes = (part: string): boolean => INVALID_SO_FAR.test(part);
/** Whether the first bytes of a head may be a method. */
export const isMethodStart = (text: string): boolean => METHOD_START.test(text);

/** Parses a head without its final empty line. Undefined if it or its framing is not valid. */
export function readHead(text: string): RequestHead | undefined {
  if (INVALID.test(text)) return undefined;
  const lineEnd = text.indexOf('\r\n');
  const line = lineEnd < 0 ? text : text.slice(0, lineEnd);
  const [, method = '', target = '', version = ''] = LINE.exec(line) ?? TUNNEL.exec(line) ?? [];
  if (method === '') return undefined;
  const headers = new Fields();
  let hosts = 0;
  for (let at = line.length + 2; at < text.length; ) {
    const next = text.indexOf('\r\n', at);
    const end = next < 0 ? text.length : next;
    const colon = text.indexOf(':', at);
    const name = colon >= 0 && colon < end ? nameOf(text.slice(at, colon)) : undefined;
    if (name === undefined) return undefined;
    const value = trimmed(text, colon + 1, end);
    const before = headers[name];
    if (before === undefined) headers[name] = value;
    else if (!SINGLE.has(name)) headers[name] = `${before}, ${value}`;
    if (name === 'host') hosts += 1;
    at = end + 2;
  }
  const length = lengthOf(headers);
  if (length === undefined) return undefined;
  // A proxy may take `head` for HEAD and expect no body: then the response must be the last one.
  const mayGoOn = KNOWN_METHODS.has(method) && persists(version, headers.connection);
  return { method, target, version, headers, hosts, length, persists: mayGoOn };
}

/** Has no prototype: a field named `constructor` or `__proto__` is a field like any other. */
const Fields = function Fields() {} as unknown as new () => Record<string, string>;
Fields.prototype = Object.create(null); // `{ __proto__: null }` would be a slow dictionary in V8

/** RFC 9110 §6.5.1: a trailer must not have a length or a transfer coding. */
export function isTrailer(line: string): boolean {
  const colon = line.indexOf(':');
  const name = colon < 0 ? undefined : nameOf(line.slice(0, colon));
  return name !== undefined && name !== 'content-length' && name !== 'transfer-encoding' && !INVALID.test(line);
}

// Of these fields the first one counts, as in proxies. Repeated lengths and codings are rejected.
const SINGLE = new Set(['host', 'content-type', 'user-agent', 'authorization', 'referer']);

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** Field names in lower case, by the name as sent: clients use few. */
const names = new BoundedMap<string, string>(200);

/** The field name in lower case; undefined if it is not a token. */
function nameOf(given: string): string | undefined {
  const known = names.get(given);
  if (known !== undefined) return known;
  if (!TOKEN.test(given)) return undefined;
  const name = given.toLowerCase();
  if (given.length < 64) names.set(given, name);
  return name;
}

const isBlank = (code: number): boolean => code === 32 || code === 9;

/** In linear time: a regular expression takes quadratic time for many blanks. */
function trimmed(text: string, from: number, to: number): string {
  let [start, end] = [from, to];
  while (start < end && isBlank(text.charCodeAt(start))) start += 1;
  while (end > start && isBlank(text.charCodeAt(end - 1))) end -= 1;
  return text.slice(start, end);
}

const LENGTH = /^\d{1,19}$/;
/** RFC 9112 §6.1: the last transfer coding is `chunked`, and it occurs once. */
const CHUNKED_LAST = /^(?!(?:.*,)?[ \t]*chunked[ \t]*,)(?:.*,)?[ \t]*chunked$/i;

/** The message body length of RFC 9112 §6.3; undefined if it is ambiguous. */
function lengthOf(headers: RequestHead['headers']): RequestHead['length'] | undefined {
  const { 'content-length': length, 'transfer-encoding': coding } = headers;
  if (coding !== undefined) {
    if (length !== undefined || !CHUNKED_LAST.test(coding)) return undefined;
    return coding.length === 'chunked'.length ? 'chunked' : Number.NaN;
  }
  if (length === undefined) return 0;
  return LENGTH.test(length) ? Number(length) : undefined;
}

/** RFC 9112 §9.3: `close` overrides `keep-alive`, in every version. */
function persists(version: string, connection: string | undefined): boolean {
  if (connection === undefined) return version === '1.1';
  const options = connection.toLowerCase();
  return !hasOption(options, 'close') && (version === '1.1' || hasOption(options, 'keep-alive'));
}

const hasOption = (list: string, option: string): boolean =>
  list === option || (list.includes(option) && list.split(',').some((each) => each.trim() === option));
