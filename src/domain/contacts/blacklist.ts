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
import type { AccountKey, Queries, Transaction } from '../../store/database.ts';
import { recordsOf } from '../../store/json.ts';
import { adopt, block, byEnds } from './blacklist.sql.ts';
import * as sql from './contacts.sql.ts';
import { BEFORE_ERASED, findErasedEntry, findErasedNumbers } from './erased-number.ts';

/** The origin of an entry: `user` is a call of the account or an action of the operator. */
export const BLACKLIST_ORIGINS = ['user', 'STOP', 'import'] as const;
export type BlacklistOrigin = (typeof BLACKLIST_ORIGINS)[number];

export interface NewEntry {
  readonly number: string;
  readonly sample: string | null;
  readonly origin: BlacklistOrigin;
}

/**
 * Adds a number to which nothing is sent from now on. False if it was on the blacklist. An entry
 * that a STOP made becomes the account's own when the account adds the number itself, so that a
 * START of the person does not remove it. What waits for the number is another matter: see
 * sending/opt-out.ts.
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
  if (isNew) await queries.run(block, { account, number, key: writtenKey(number), sample, blockedAt: at, origin });
  else if (origin === 'user') {
    await queries.run(adopt, { account, numbers: recordsOf(entries.map((each) => [each])), sample });
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
      const rows: { number: string }[] = await queries.all(sql.blockedByEnd, { account, end, after, limit: PAGE });
      entries.push(...rows.map(({ number }) => number).filter(matches));
      after = rows.length < PAGE ? undefined : rows.at(-1)?.number;
    }
  }
  return entries;
}

/** Those of the numbers, in E.164, that are on the blacklist. */
export async function blacklistedOf(
  queries: Queries,
  account: AccountKey,
  numbers: readonly string[],
  region: string | null,
): Promise<Set<string>> {
  if (numbers.length === 0) return new Set();
  const ends = recordsOf([...endsOfAll(numbers, region)].map((end) => [end]));
  const rows = await queries.all(byEnds, { account, ends, after: BEFORE_ERASED });
  if (rows.length === 0) return new Set();
  const entries = rows.map(({ number }) => number);
  const keys = new Set(entries.map((entry) => numberKey(entry, region)));
  const erased = await findErasedNumbers(queries, account, numbers, region, entries);
  return new Set(numbers.filter((number) => keys.has(number) || erased.has(number)));
}

// The number is stored as given and is part of a key.
const NUMBER_LENGTH_MAX = 200;

/** For what the contract does not know: it takes any number with a digit. */
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
