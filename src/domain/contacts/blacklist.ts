import { Problem } from '../../base/problem.ts';
import {
  endsOfAll,
  exponentFault,
  hasDigit,
  numberKey,
  type SameNumber,
  sameNumber,
  writtenKey,
} from '../../sms/numbers.ts';
import type { AccountKey } from '../../store/caller.ts';
import type { Database, Queries, Transaction, TransactionQueries } from '../../store/database.ts';
import { recordsOf } from '../../store/json.ts';
import * as sql from './blacklist.sql.ts';
import { BEFORE_ERASED, findErasedEntry, findErasedNumbers, isErasedEntry, newErasedEntry } from './erased-number.ts';

/** The origin of an entry: `user` is a call of the account or an action of the operator. */
export const BLACKLIST_ORIGINS = ['user', 'STOP', 'import'] as const;
export type BlacklistOrigin = (typeof BLACKLIST_ORIGINS)[number];

/** A blacklist entry with all fields that an operator sees. */
export interface BlacklistEntry {
  /** Null if the person was erased: then only a hash is stored. */
  readonly number: string | null;
  readonly origin: BlacklistOrigin;
  /** The message that asked for the entry, if there was one. */
  readonly evidence: string | null;
  readonly blockedAt: number;
  /** The position after which the next page starts. */
  readonly position: string;
}

/** What an operator sees of the blacklist and takes off it. */
export function createBlacklist(database: Database, regionOfAccount: (account: AccountKey) => Promise<string | null>) {
  return {
    async list(account: AccountKey, limit: number, after: string | null): Promise<BlacklistEntry[]> {
      return (await database.all(sql.listed, { account, after: after ?? '', limit })).map((row) =>
        toEntry(sql.entryColumns.read(row)),
      );
    },

    /** Whether nothing is sent to the number, in whatever notation it is on the blacklist. */
    async holds(account: AccountKey, number: string): Promise<boolean> {
      return (await this.among(account, [number])).has(number);
    },

    /** Those of the numbers to which nothing is sent. */
    async among(account: AccountKey, numbers: readonly string[]): Promise<Set<string>> {
      const seenFrom = await regionOfAccount(account);
      const keys = new Map(numbers.map((number) => [number, numberKey(number, seenFrom)]));
      const found = await blacklistedOf(database, account, [...new Set(keys.values())], seenFrom);
      return new Set(numbers.filter((number) => found.has(keys.get(number) as string)));
    },

    /**
     * Removes the entries of the number, in any notation, for which `isWanted` holds. Returns how
     * many those were.
     */
    async remove(
      account: AccountKey,
      number: string,
      isWanted: (entry: Pick<BlacklistEntry, 'origin' | 'evidence'>) => boolean = () => true,
    ): Promise<number> {
      const seenFrom = await regionOfAccount(account);
      return database.transaction(account, async (queries) => {
        const entries = await entriesOf(queries, account, sameNumber(number, seenFrom));
        const erased = await findErasedEntry(queries, account, number, seenFrom);
        const all = erased ? [...entries, erased.number] : entries;
        let removed = 0;
        for (const entry of all) {
          const row = await queries.first(sql.entry, { account, number: entry });
          if (row && isWanted(toEntry(sql.entryColumns.read(row))))
            removed += await queries.run(sql.unblock, { account, number: entry });
        }
        return removed;
      });
    },
  };
}

/** An entry without an origin is older than that column; it came from an import or a call. */
const toEntry = ({ number, sample, blockedAt, origin }: sql.EntryValues): BlacklistEntry => ({
  number: isErasedEntry(number) ? null : number,
  origin: (origin ?? 'import') as BlacklistOrigin,
  evidence: sample,
  blockedAt,
  position: number,
});

export interface NewEntry {
  readonly number: string;
  readonly sample: string | null;
  readonly origin: BlacklistOrigin;
}

/**
 * Adds a number to which nothing is sent from now on. Returns false if it was on the blacklist. An
 * entry that a STOP made becomes the account's own when the account adds the number itself, so that
 * a START of the person does not remove it. sending/opt-out.ts ends what waits for the number.
 */
export async function addEntry(
  { queries, account, at }: Transaction,
  { number, sample, origin }: NewEntry,
  region: string | null,
): Promise<boolean> {
  const erased = await findErasedEntry(queries, account, number, region);
  const entries = [
    ...(await entriesOf(queries, account, sameNumber(number, region))),
    ...(erased ? [erased.number] : []),
  ];
  const isNew = entries.length === 0;
  if (isNew) await queries.run(sql.block, { account, number, key: writtenKey(number), sample, blockedAt: at, origin });
  else if (origin === 'user') {
    await queries.run(sql.adopt, { account, numbers: recordsOf(entries.map((each) => [each])), sample });
  }
  return isNew;
}

const PAGE = 1_000;

/** The entries of this number in any notation. */
export async function entriesOf(
  queries: Queries,
  account: AccountKey,
  { ends, matches }: SameNumber,
): Promise<string[]> {
  const entries: string[] = [];
  for (const end of ends) {
    for (let after: string | undefined = ''; after !== undefined; ) {
      const rows: { number: string }[] = await queries.all(sql.byEnd, { account, end, after, limit: PAGE });
      entries.push(...rows.map(({ number }) => number).filter(matches));
      after = rows.length < PAGE ? undefined : rows.at(-1)?.number;
    }
  }
  return entries;
}

/** Returns those of the E.164 numbers that are on the blacklist. */
export async function blacklistedOf(
  queries: Queries,
  account: AccountKey,
  numbers: readonly string[],
  region: string | null,
): Promise<Set<string>> {
  if (numbers.length === 0) return new Set();
  const ends = recordsOf([...endsOfAll(numbers, region)].map((end) => [end]));
  const rows = await queries.all(sql.byEnds, { account, ends, after: BEFORE_ERASED });
  if (rows.length === 0) return new Set();
  const entries = rows.map(({ number }) => number);
  const keys = new Set(entries.map((entry) => numberKey(entry, region)));
  const erased = await findErasedNumbers(queries, account, numbers, region, entries);
  return new Set(numbers.filter((number) => keys.has(number) || erased.has(number)));
}

// The number is stored as given and is part of a key.
const NUMBER_LENGTH_MAX = 200;

/** A stricter check than that of the contract, which takes any number with a digit. */
export function checkOperatorsNumber(number: string): void {
  checkNumber(number);
  const fault = exponentFault(number);
  if (fault) throw new Problem('bad-argument', fault.detail);
}

export function checkNumber(number: string): void {
  if (number.length > NUMBER_LENGTH_MAX) {
    throw new Problem('bad-argument', `a phone number has at most ${NUMBER_LENGTH_MAX} characters`);
  }
  if (!hasDigit(number)) throw new Problem('bad-argument', 'a phone number has at least one digit');
}

/** An entry as an archive has it. */
export type BlockedNumber = Pick<sql.EntryValues, 'number' | 'sample' | 'blockedAt'>;
type KeyedNumber = BlockedNumber & { readonly key: string };

/** Adds the key, the form of the number by which an entry is found. */
export const withNumberKey = (entry: BlockedNumber): KeyedNumber => ({ ...entry, key: writtenKey(entry.number) });

/** The whole blacklist, for an export. */
export const allBlocked = async (queries: Queries, account: bigint): Promise<BlockedNumber[]> =>
  (await queries.all(sql.all, { account }))
    .map(sql.entryColumns.read)
    .map(({ number, sample, blockedAt }) => ({ number, sample, blockedAt }));

/** Adds the entries of a new account. */
export const addBlocked = (
  queries: TransactionQueries,
  account: bigint,
  entries: readonly KeyedNumber[],
): Promise<void> =>
  queries.runAll(
    sql.add,
    entries.map((entry) => ({ account, ...entry, origin: null })),
  );

/** Adds an imported entry. Returns false if an entry with exactly this text exists. */
export const putBlocked = async (queries: TransactionQueries, account: bigint, entry: KeyedNumber): Promise<boolean> =>
  (await queries.run(sql.block, { account, ...entry, origin: 'import' })) > 0;

/** The entries with exactly these texts. */
export async function entriesNamed(
  queries: Queries,
  account: bigint,
  numbers: readonly string[],
): Promise<sql.EntryValues[]> {
  const found: sql.EntryValues[] = [];
  for (const number of numbers) {
    const row = await queries.first(sql.entry, { account, number });
    if (row) found.push(sql.entryColumns.read(row));
  }
  return found;
}

/**
 * Replaces the entries of a person by one without number and evidence. It has the time and the
 * origin of the earliest entry. But if one of the entries is the account's own, so is the new one,
 * and START does not remove it.
 */
export async function eraseEntries(
  queries: Queries,
  account: bigint,
  number: string,
  region: string | null,
  entries: readonly string[],
): Promise<void> {
  if (entries.length === 0) return;
  const found = await entriesNamed(queries, account, entries);
  for (const entry of entries) await queries.run(sql.unblock, { account, number: entry });
  found.sort((one, other) => one.blockedAt - other.blockedAt);
  const [first] = found;
  const entry = await newErasedEntry(queries, account, number, region);
  const origin = found.some((each) => each.origin === 'user') ? 'user' : (first?.origin ?? 'import');
  const key = entry.slice(-KEY_LENGTH);
  await queries.run(sql.block, { account, number: entry, key, sample: null, blockedAt: first?.blockedAt ?? 0, origin });
}

// The length of the key. Entries of erased persons are found by the whole entry, not by this key.
const KEY_LENGTH = 16;
