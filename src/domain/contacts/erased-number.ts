import { createHash } from 'node:crypto';
import { randomBytes } from '../../base/random.ts';
import { numberKey } from '../../sms/numbers.ts';
import type { AccountKey } from '../../store/caller.ts';
import type { Queries } from '../../store/database.ts';
import { recordsOf } from '../../store/json.ts';
import * as sql from './blacklist.sql.ts';

/**
 * A blacklist entry of an erased person: `erased:SALT:SHA-256`. The number is not stored, and still
 * nothing is sent to it. All entries of an account share one salt, so that one query finds a
 * number. The salt is part of the entry, so that an export contains it.
 */
const PREFIX = 'erased:';
const ENTRY = /^erased:([0-9a-f]{32}):[0-9a-f]{64}$/;
const SALT_BYTES = 16;

export const isErasedEntry = (entry: string): boolean => ENTRY.test(entry);

const entryOf = (salt: string, number: string, region: string | null): string =>
  `${PREFIX}${salt}:${createHash('sha256')
    .update(`${salt}:${numberKey(number, region)}`)
    .digest('hex')}`;

/** In an ordered list, the entries of erased persons follow this text. */
export const BEFORE_ERASED = PREFIX;

/** The salt of one of the entries; undefined if none of them is of an erased person. */
const saltAmong = (entries: readonly string[]): string | undefined =>
  entries.map((entry) => ENTRY.exec(entry)?.[1]).find((salt) => salt !== undefined);

async function saltOf(queries: Queries, account: AccountKey): Promise<string | undefined> {
  return saltAmong((await queries.all(sql.listed, { account, after: PREFIX, limit: 1 })).map(({ number }) => number));
}

/** Finds the entry of a number that was erased and is still on the blacklist. */
export async function findErasedEntry(
  queries: Queries,
  account: AccountKey,
  number: string,
  region: string | null,
): Promise<sql.EntryValues | undefined> {
  const salt = await saltOf(queries, account);
  if (salt === undefined) return undefined;
  const row = await queries.first(sql.entry, { account, number: entryOf(salt, number, region) });
  return row && sql.entryColumns.read(row);
}

/**
 * Returns those of the numbers that were erased and are still on the blacklist. `entries` includes
 * at least the first entry after BEFORE_ERASED.
 */
export async function findErasedNumbers(
  queries: Queries,
  account: AccountKey,
  numbers: readonly string[],
  region: string | null,
  entries: readonly string[],
): Promise<Set<string>> {
  const salt = saltAmong(entries);
  if (salt === undefined) return new Set();
  const numberOf = new Map(numbers.map((number) => [entryOf(salt, number, region), number]));
  const wanted = recordsOf([...numberOf.keys()].map((entry) => [entry]));
  const rows = await queries.all(sql.entries, { account, numbers: wanted });
  return new Set(rows.map(({ number }) => numberOf.get(number) ?? number));
}

export async function newErasedEntry(
  queries: Queries,
  account: AccountKey,
  number: string,
  region: string | null,
): Promise<string> {
  const salt = (await saltOf(queries, account)) ?? randomBytes(SALT_BYTES).toString('hex');
  return entryOf(salt, number, region);
}
