import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { ProtocolName } from '../../asmx/protocols/protocol.ts';
import { Problem } from '../../base/problem.ts';

/**
 * Recorded exchanges: NDJSON with one exchange per line, compressed with gzip when the file is
 * closed. A recording never has a user_id: the name of its account replaces it. Passwords are
 * empty.
 */
export interface RecordedExchange {
  readonly version: 1;
  /** When the request had arrived, as RFC 3339 has it. */
  readonly at: string;
  /** `account-` and 16 digits of an HMAC of the user_id; null if no user_id was read. */
  readonly account: string | null;
  /** The group, operation and protocol of a call; null for another request, such as a WSDL. */
  readonly group: string | null;
  readonly operation: string | null;
  readonly protocol: ProtocolName | null;
  readonly request: RecordedRequest;
  /** The address of the client, if it is known and pseudonyms are off. */
  readonly client?: string;
  /** Null if the old server was not asked or did not answer. */
  readonly old: RecordedAnswer | null;
  /** Null if Columba was not asked or did not answer. */
  readonly ours: RecordedAnswer | null;
  readonly outcome: ExchangeOutcome;
  /** The names of the known differences that were found. */
  readonly knownDifferences: readonly string[];
  /** Whether numbers and texts are pseudonyms. */
  readonly pseudonyms?: true;
}

/**
 * `recorded`: only the old server was asked. `lag`: equal after a sync. `order`: equal except for
 * an order that neither server promises. `failed`: Columba did not answer, or answered with an
 * error of its own. `skipped`: a write that the old server refused, so it was not applied here.
 * `led`: Columba answered the client.
 */
export const EXCHANGE_OUTCOMES = [
  'recorded',
  'equal',
  'lag',
  'order',
  'by design',
  'different',
  'failed',
  'skipped',
  'led',
] as const;
export type ExchangeOutcome = (typeof EXCHANGE_OUTCOMES)[number];

/** Names and values in the order in which they were sent. */
export type RecordedFields = readonly (readonly [name: string, value: string])[];

export interface RecordedMessage {
  readonly headers: RecordedFields;
  /** The decompressed body without chunks; empty if it is withheld. */
  readonly body: string;
  /** How `body` becomes bytes again: UTF-8, or one byte for each character. */
  readonly encoding: 'utf8' | 'latin1';
  /** Why the body was left out. */
  readonly withheld?: 'too long' | 'not readable';
}

export interface RecordedRequest extends RecordedMessage {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
}

export interface RecordedAnswer extends RecordedMessage {
  readonly status: number;
  /** The time from the end of the request to the end of the answer. */
  readonly ms: number;
}

export const bodyBytes = ({ body, encoding }: RecordedMessage): Buffer => Buffer.from(body, encoding);

/** The first value of a field, whose name is given in lower case. */
export const fieldOf = (fields: RecordedFields, name: string): string | undefined =>
  fields.find(([each]) => each.toLowerCase() === name)?.[1];

/** One line, without its line feed. */
export const formatExchange = (exchange: RecordedExchange): string => JSON.stringify(exchange);

/** The longest line that is read: a request and two answers, in the worst notation of JSON. */
const LINE_LENGTH_MAX = 64 * 1_048_576;

/** Throws Problem `bad-argument`, which names the line, if it is no exchange. */
export function parseExchange(line: string, place: string): RecordedExchange {
  const wrong = (why: string) => new Problem('bad-argument', `${place}: ${why}`);
  if (line.length > LINE_LENGTH_MAX) throw wrong('the line is too long');
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    throw wrong('expected JSON');
  }
  value = withPresentNames(value);
  const mistake = mistakeIn(value);
  if (mistake !== undefined) throw wrong(mistake);
  return value as RecordedExchange;
}

type Json = Readonly<Record<string, unknown>>;
const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isTextOrNull = (value: unknown): boolean => value === null || typeof value === 'string';
const PROTOCOLS: readonly unknown[] = ['soap11', 'soap12', 'get', 'post', null];

/** Recordings of the previous version have `masks` instead of `knownDifferences`. */
function withPresentNames(value: unknown): unknown {
  if (!isObject(value) || !('masks' in value)) return value;
  const { masks, ...rest } = value;
  return { knownDifferences: masks, ...rest };
}

function mistakeIn(value: unknown): string | undefined {
  if (!isObject(value)) return 'expected an exchange';
  if (value.version !== 1) return 'expected an exchange of version 1';
  if (typeof value.at !== 'string' || Number.isNaN(Date.parse(value.at))) return 'at: expected an instant';
  for (const name of ['account', 'group', 'operation']) {
    if (!isTextOrNull(value[name])) return `${name}: expected a text or null`;
  }
  if (value.client !== undefined && typeof value.client !== 'string') return 'client: expected an address';
  if (!PROTOCOLS.includes(value.protocol)) return 'protocol: expected soap11, soap12, get, post or null';
  if (!(EXCHANGE_OUTCOMES as readonly unknown[]).includes(value.outcome)) return 'outcome: not known';
  if (!Array.isArray(value.knownDifferences) || !value.knownDifferences.every((each) => typeof each === 'string')) {
    return 'knownDifferences: expected a list of names';
  }
  const { request, old, ours } = value;
  if (!isMessage(request) || typeof request.method !== 'string' || typeof request.target !== 'string') {
    return 'request: expected method, target, headers, body and encoding';
  }
  for (const [name, answer] of Object.entries({ old, ours })) {
    if (answer === null) continue;
    if (!isMessage(answer) || !Number.isInteger(answer.status) || typeof answer.ms !== 'number') {
      return `${name}: expected status, headers, body, encoding and ms`;
    }
  }
  return undefined;
}

const isField = (value: unknown): boolean =>
  Array.isArray(value) && value.length === 2 && value.every((each) => typeof each === 'string');

const isMessage = (value: unknown): value is Json =>
  isObject(value) &&
  typeof value.body === 'string' &&
  (value.encoding === 'utf8' || value.encoding === 'latin1') &&
  Array.isArray(value.headers) &&
  value.headers.every(isField);

/** Reads a recording line by line, compressed or not. A last line that was cut off is left out. */
export async function* readRecording(path: string): AsyncGenerator<RecordedExchange> {
  let number = 0;
  for await (const { line, isLast } of linesOf(path)) {
    number += 1;
    if (line === '' || (isLast && !isWholeLine(line))) continue;
    yield parseExchange(line, `${path}:${number}`);
  }
}

async function* linesOf(path: string): AsyncGenerator<{ line: string; isLast: boolean }> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of bytesOf(path)) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() as string;
    if (rest.length > LINE_LENGTH_MAX) throw new Problem('bad-argument', `${path}: a line is too long`);
    for (const line of lines) yield { line, isLast: false };
  }
  yield { line: rest + decoder.decode(), isLast: true };
}

/** Reads the bytes of a file, decompressed if its name ends in .gz. */
export function bytesOf(path: string): AsyncIterable<Uint8Array> {
  const file = createReadStream(path);
  // The reader gets the error of either stream.
  return path.endsWith('.gz') ? pipeline(file, createGunzip(), () => {}) : file;
}

/** A killed process may have left half a line. */
function isWholeLine(line: string): boolean {
  try {
    JSON.parse(line);
    return true;
  } catch {
    return false;
  }
}
