import { Problem } from '../base/problem.ts';
import { readAccount } from './account-json.ts';
import type { Archive } from './archive.ts';
import { invalidUtf8, linesOf, readSource, sourceName } from './import-source.ts';
import { jsonErrorAt, locationOf } from './json-error.ts';
import { InvalidAccount, Mistakes, parseJson } from './json-fields.ts';

/**
 * Imports accounts from a file. Each account is imported whole or not at all. Mistakes in one
 * account do not stop the others.
 */
export interface ImportResult {
  accounts: number;
  /** The number of imported accounts that existed before. */
  updated: number;
  messages: number;
  /** Accounts that were not imported. */
  refused: number;
  /** The first mistakes, each with its account and field, and the number of the others. */
  readonly mistakes: readonly string[];
  mistakesLeftOut: number;
}

export interface ImportOptions {
  /** A label of the WHATWG Encoding Standard. */
  readonly encoding?: string;
  /** Adds to existing accounts instead of refusing them. */
  readonly update?: boolean;
  readonly progress?: (result: ImportResult) => void;
}

/** The path `-` means standard input. */
export async function importFile(
  path: string,
  archive: Archive,
  now: () => number,
  { encoding = 'utf-8', update = false, progress = () => {} }: ImportOptions = {},
): Promise<ImportResult> {
  const mistakes = new Mistakes();
  const result: ImportResult = {
    accounts: 0,
    updated: 0,
    messages: 0,
    refused: 0,
    mistakes: mistakes.told,
    mistakesLeftOut: 0,
  };
  for await (const { value, location } of accountsOf(path, encoding)) {
    try {
      if (value instanceof Problem) throw value;
      const account = await readAccount(value, now(), update);
      if (!update) await archive.load(account);
      else if ((await archive.update(account)) === 'updated') result.updated += 1;
      result.accounts += 1;
      result.messages += account.received.length + account.sent.length + account.scheduled.length;
    } catch (thrown) {
      if (!(thrown instanceof Problem) || !['bad-argument', 'conflict'].includes(thrown.kind)) throw thrown;
      const found = thrown instanceof InvalidAccount ? thrown.mistakes : new Mistakes([thrown.message]);
      mistakes.addAll(found, `${location}${nameOf(value)}: `);
      result.refused += 1;
      result.mistakesLeftOut = mistakes.leftOut;
    }
    progress(result);
  }
  return result;
}

interface Candidate {
  readonly value: unknown;
  readonly location: string;
}

const nameOf = (value: unknown): string => {
  const name = (value as { username?: unknown } | null)?.username;
  return typeof name === 'string' ? ` (${name})` : '';
};

// V8 strings have at most 512 MiB, and the parsed tree takes several times its text.
const JSON_BYTES_MAX = 256 * 1024 * 1024;
const FIRST_BYTES = 64 * 1024;

/** A JSON file is parsed whole. Of NDJSON only one account at a time is in memory. */
async function* accountsOf(path: string, encoding: string): AsyncGenerator<Candidate> {
  const chunks = readSource(path, encoding);
  const first: Buffer[] = [];
  for (let bytes = 0; bytes < FIRST_BYTES; ) {
    const { value, done } = await chunks.next();
    if (done) break;
    first.push(value);
    bytes += value.length;
  }
  const all = chained(first, chunks);
  yield* isNdjson(path, Buffer.concat(first)) ? accountsOfLines(all) : accountsOfJson(path, all);
}

async function* chained(first: Iterable<Buffer>, rest: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield* first;
  yield* rest;
}

/** NDJSON: the file starts with an object that has no list of accounts. */
function isNdjson(path: string, first: Buffer): boolean {
  const start = withoutMark(first.toString('utf8')).trimStart();
  if (start === '') throw new Problem('bad-argument', `${sourceName(path)}: the file is empty`);
  return !/^\{\s*"accounts"\s*:/.test(start) && !/^\{[ \t]*\r?\n/.test(start);
}

const withoutMark = (text: string): string => text.replace(/^\uFEFF/, '');

async function* accountsOfJson(path: string, chunks: AsyncIterable<Buffer>): AsyncGenerator<Candidate> {
  const name = sourceName(path);
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    length += chunk.length;
    if (length > JSON_BYTES_MAX) {
      throw new Problem('bad-argument', `${name}: too large to read at once; write it as NDJSON, one account a line`);
    }
    pieces.push(chunk);
  }
  const bytes = Buffer.concat(pieces);
  const invalid = invalidUtf8(bytes);
  if (invalid) {
    const { byte, line, column } = invalid;
    throw new Problem('bad-argument', `${name}: not UTF-8 at byte ${byte} (line ${line}, column ${column})${HINT}`);
  }
  const text = withoutMark(bytes.toString('utf8'));
  const root = parsed(text, ({ line, column }) => ` (line ${line}, column ${column})`);
  if (root instanceof Problem) throw new Problem('bad-argument', `${name}: ${root.message}`);
  const accounts = (root as { accounts?: unknown } | null)?.accounts;
  if (!Array.isArray(accounts)) throw new Problem('bad-argument', `${name}: expected {"accounts": [ … ]}`);
  for (const [index, value] of accounts.entries()) yield { value, location: `accounts[${index}]` };
}

async function* accountsOfLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<Candidate> {
  for await (const { bytes, number, offset } of linesOf(chunks, JSON_BYTES_MAX)) {
    const location = `line ${number}`;
    const invalid = invalidUtf8(bytes);
    if (invalid) {
      const at = `not UTF-8 at byte ${offset + invalid.byte} (column ${invalid.column})${HINT}`;
      yield { value: new Problem('bad-argument', at), location };
      continue;
    }
    const text = number === 1 ? withoutMark(bytes.toString('utf8')) : bytes.toString('utf8');
    if (text.trim() !== '') yield { value: parsed(text, ({ column }) => ` (column ${column})`), location };
  }
}

const HINT = '; save the file as UTF-8, or name its encoding, such as windows-1252';

/** Parses the text, or returns a Problem. */
function parsed(text: string, tell: (location: { line: number; column: number }) => string): unknown {
  try {
    return parseJson(text);
  } catch (thrown) {
    if (!(thrown instanceof SyntaxError)) throw thrown;
    if (thrown.cause) return new Problem('bad-argument', `not JSON: ${thrown.message}`);
    return new Problem('bad-argument', `not JSON${tell(locationOf(text, jsonErrorAt(text)))}`);
  }
}
