import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import type { Archive } from '../domain/archive.ts';
import { Problem } from '../problem.ts';
import { parseJson } from './fields.ts';
import { readAccount } from './format.ts';

/** Import of accounts from a file: each whole or not at all, and the mistakes of one do not stop the others. */
export interface ImportResult {
  accounts: number;
  messages: number;
  /** Which account, which field, what is wrong. */
  readonly mistakes: string[];
}

export async function importFile(
  path: string,
  archive: Archive,
  now: () => number,
  progress: (result: ImportResult) => void = () => {},
): Promise<ImportResult> {
  const result: ImportResult = { accounts: 0, messages: 0, mistakes: [] };
  for await (const { value, place } of accountsOf(path)) {
    try {
      if (value instanceof Problem) throw value;
      const account = await readAccount(value, now());
      await archive.load(account);
      result.accounts += 1;
      result.messages += account.received.length + account.sent.length + account.scheduled.length;
    } catch (thrown) {
      if (!(thrown instanceof Problem) || thrown.kind !== 'bad-argument') throw thrown;
      result.mistakes.push(`${place}${nameOf(value)}: ${thrown.message}`);
    }
    progress(result);
  }
  return result;
}

interface Candidate {
  readonly value: unknown;
  readonly place: string;
}

const nameOf = (value: unknown): string => {
  const name = (value as { username?: unknown } | null)?.username;
  return typeof name === 'string' ? ` (${name})` : '';
};

/** A JSON file is parsed whole; of NDJSON only one account at a time is in memory. */
async function* accountsOf(path: string): AsyncGenerator<Candidate> {
  if (await isNdjson(path)) yield* accountsOfLines(path);
  else yield* accountsOfJson(path);
}

// V8 has no texts of more than 512 MiB, and a tree takes several times its text.
const JSON_BYTES_MAX = 256 * 1024 * 1024;
const FIRST_BYTES = 64 * 1024;

/** One account a line: the file starts with an object that is no list of accounts. */
async function isNdjson(path: string): Promise<boolean> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(FIRST_BYTES), 0, FIRST_BYTES, 0);
    const start = buffer
      .subarray(0, bytesRead)
      .toString('utf8')
      .replace(/^\uFEFF/, '')
      .trimStart();
    if (start === '') throw new Problem('bad-argument', `${path}: the file is empty`);
    return !/^\{\s*"accounts"\s*:/.test(start) && !/^\{[ \t]*\r?\n/.test(start);
  } finally {
    await file.close();
  }
}

async function* accountsOfJson(path: string): AsyncGenerator<Candidate> {
  const file = await open(path);
  let root: unknown;
  try {
    if ((await file.stat()).size > JSON_BYTES_MAX) {
      throw new Problem('bad-argument', `${path}: too large to read at once; write it as NDJSON, one account a line`);
    }
    root = parseJson((await file.readFile('utf8')).replace(/^\uFEFF/, ''));
  } catch (thrown) {
    if (thrown instanceof SyntaxError) throw new Problem('bad-argument', `${path}: not JSON${positionIn(thrown)}`);
    throw thrown;
  } finally {
    await file.close();
  }
  const accounts = (root as { accounts?: unknown } | null)?.accounts;
  if (!Array.isArray(accounts)) throw new Problem('bad-argument', `${path}: expected {"accounts": [ … ]}`);
  for (const [index, value] of accounts.entries()) yield { value, place: `accounts[${index}]` };
}

async function* accountsOfLines(path: string): AsyncGenerator<Candidate> {
  let number = 0;
  for await (const line of linesOf(createReadStream(path, 'utf8'))) {
    number += 1;
    const text = number === 1 ? line.replace(/^\uFEFF/, '') : line;
    if (text.trim() !== '') yield { value: parseLine(text), place: `line ${number}` };
  }
}

/** At line feeds only: readline would also split at U+2028, which JSON leaves bare inside its texts. */
async function* linesOf(chunks: AsyncIterable<string>): AsyncGenerator<string> {
  let pending: string[] = [];
  for await (const chunk of chunks) {
    const pieces = chunk.split('\n');
    for (const piece of pieces.slice(0, -1)) {
      yield pending.join('') + piece;
      pending = [];
    }
    pending.push(pieces.at(-1) as string);
  }
  yield pending.join('');
}

function parseLine(line: string): unknown {
  try {
    return parseJson(line);
  } catch (thrown) {
    return new Problem('bad-argument', `not JSON${positionIn(thrown as Error)}`);
  }
}

/** Where it broke, without V8's quotation of the text, which may hold secrets. */
const positionIn = ({ message }: Error): string => {
  const position = /position (\d+)(?: \(line \d+ column \d+\))?/.exec(message);
  return position ? ` (${position[0]})` : '';
};
