import { METHODS } from 'node:http';
import { detached } from '../../detached.ts';

/**
 * The head of a request, by RFC 9112 and strictly: what a server before us may have read in another way is refused, and
 * nothing is put right. Texts have one character a byte.
 */
export interface Head {
  readonly method: string;
  readonly target: string;
  /** '1.1', '1.0', another one, or '' where there is none. */
  readonly version: string;
  readonly headers: Readonly<Record<string, string>>;
  /** How many fields are named Host; the first one counts. */
  readonly hosts: number;
  /** Of the body, or that it comes in chunks. NaN where the codings are none that we know. */
  readonly length: number | 'chunked';
  /** Whether the client wants to use the connection again. */
  readonly persists: boolean;
}

// A method is any token of RFC 9110 §9.1, of 32 characters at most: the longest registered one has 17. Old programs put the
// query together without encoding it, so bytes beyond ASCII are taken there, and nowhere else in the target.
const LINE =
  /^([!#$%&'*+\-.^_`|~0-9A-Za-z]{1,32}) ((?:\/|\*|[Hh][Tt][Tt][Pp][Ss]?:\/\/)[!->@-~]*(?:\?[!-~\x80-\xff]*)?)(?: HTTP\/(\d\.\d))?$/;
/** RFC 9112 §3.2.3: whatever it names, we do not connect to it. */
const TUNNEL = /^(CONNECT) ([!-~]+) HTTP\/(1\.[01])$/;
const KNOWN_METHODS = new Set(METHODS);

// Besides what is in no text, line ends that are none (§2.2).
const BROKEN = /[^\t\r\n -~\x80-\xff]|\r(?!\n)|(?<!\r)\n/;
const BROKEN_SO_FAR = /[^\t\r\n -~\x80-\xff]|\r(?!\n|$)|(?<!\r)\n/;
const BEGINNING = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,32}(?: |$)/;
export const BEGINNING_BYTES = 33;

/** Whether a part of a head has something in it that is in none. */
export const isBroken = (part: string): boolean => BROKEN_SO_FAR.test(part);
/** Whether the first bytes that have come may be those of a head. */
export const isBeginning = (text: string): boolean => BEGINNING.test(text);

/** Without the empty line at its end. Undefined where it is none, or leaves in doubt where its body ends. */
export function readHead(text: string): Head | undefined {
  if (BROKEN.test(text)) return undefined;
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
  // Others on the way may read `head` as HEAD, and so see the end of our answer elsewhere: it is the last one.
  const mayGoOn = KNOWN_METHODS.has(method) && persists(version, headers.connection);
  return { method, target, version, headers, hosts, length, persists: mayGoOn };
}

/** Nothing is inherited: a field named `constructor` or `__proto__` is a field like any other. */
const Fields = function Fields() {} as unknown as new () => Record<string, string>;
Fields.prototype = Object.create(null); // with `{ __proto__: null }` for each head, V8 would keep them as slow dictionaries

/** Of a trailer, where a length or a coding would be too late (RFC 9110 §6.5.1). */
export function isTrailer(line: string): boolean {
  const colon = line.indexOf(':');
  const name = colon < 0 ? undefined : nameOf(line.slice(0, colon));
  return name !== undefined && name !== 'content-length' && name !== 'transfer-encoding' && !BROKEN.test(line);
}

// Fields that say one thing, of which others on the way take the first too. Lengths and codings must not be repeated.
const SINGLE = new Set(['host', 'content-type', 'user-agent', 'authorization', 'referer']);

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const NAMES_MAX = 200;
const names = new Map<string, string>();

/** In lower case; undefined where it is none. The few that clients use are known after their first request. */
function nameOf(given: string): string | undefined {
  const known = names.get(given);
  if (known !== undefined) return known;
  if (!TOKEN.test(given)) return undefined;
  const name = given.toLowerCase();
  if (names.size < NAMES_MAX && given.length < 64) names.set(detached(given), detached(name));
  return name;
}

const isBlank = (code: number): boolean => code === 32 || code === 9;

/** Step by step: a pattern would try very many blanks again and again. */
function trimmed(text: string, from: number, to: number): string {
  let [start, end] = [from, to];
  while (start < end && isBlank(text.charCodeAt(start))) start += 1;
  while (end > start && isBlank(text.charCodeAt(end - 1))) end -= 1;
  return text.slice(start, end);
}

const LENGTH = /^\d{1,19}$/;
/** §6.1: the last coding is `chunked`, and it is applied once. */
const CHUNKED_LAST = /^(?!(?:.*,)?[ \t]*chunked[ \t]*,)(?:.*,)?[ \t]*chunked$/i;

/** §6.3. Undefined where nobody can tell. */
function lengthOf(headers: Head['headers']): Head['length'] | undefined {
  const { 'content-length': length, 'transfer-encoding': coding } = headers;
  if (coding !== undefined) {
    if (length !== undefined || !CHUNKED_LAST.test(coding)) return undefined;
    return coding.length === 'chunked'.length ? 'chunked' : Number.NaN;
  }
  if (length === undefined) return 0;
  return LENGTH.test(length) ? Number(length) : undefined;
}

/** §9.3: `close` counts for more than `keep-alive`, in every version. */
function persists(version: string, connection: string | undefined): boolean {
  if (connection === undefined) return version === '1.1';
  const options = connection.toLowerCase();
  return !hasOption(options, 'close') && (version === '1.1' || hasOption(options, 'keep-alive'));
}

const hasOption = (list: string, option: string): boolean =>
  list === option || (list.includes(option) && list.split(',').some((each) => each.trim() === option));
