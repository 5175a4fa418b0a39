import { Problem } from '../problem.ts';
import { exponentFault, hasDigit, numberKey, type SameNumber, sameNumber, writtenKey } from '../sms/numbers.ts';
import type { AccountKey, Database, Queries } from '../store/database.ts';
import { block, byEnds } from '../store/statements/blacklist.ts';
import * as sql from '../store/statements/contacts.ts';
import { recordsOf } from '../store/statements/json.ts';
import * as outbox from '../store/statements/outbox.ts';
import { pages } from './cursor.ts';
import { findErasedEntry, findErasedNumbers } from './erased-number.ts';
import { type HeldMessage, releaseHeld } from './ledger.ts';

/** The origin of an entry: `user` is a call of the account or an action of the operator. */
export const BLACKLIST_ORIGINS = ['user', 'STOP', 'import'] as const;
export type BlacklistOrigin = (typeof BLACKLIST_ORIGINS)[number];

/** Numbers to which nothing is sent. */
export type Blacklist = ReturnType<typeof createBlacklist>;

export function createBlacklist(
  database: Database,
  now: () => number,
  regionOfAccount: (account: AccountKey) => Promise<string | null>,
) {
  return {
    /**
     * Adds the number, cancels messages scheduled for it and returns their credits. `isNew` is
     * false if the number was on the blacklist.
     */
    async add(account: AccountKey, number: string, sample: string | null, origin: BlacklistOrigin = 'user') {
      checkNumber(number);
      const region = await regionOfAccount(account);
      const same = sameNumber(number, region);
      return database.transaction(account, async (queries) => {
        const isNew =
          (await entriesOf(queries, account, same)).length === 0 &&
          !(await findErasedEntry(queries, account, number, region));
        const key = writtenKey(number);
        if (isNew) await queries.run(block, { account, number, key, sample, blockedAt: now(), origin });
        const cancelled = await cancelScheduled(queries, account, same);
        if (cancelled.length > 0) await releaseHeld(queries, account, now(), cancelled, 'blacklisted');
        return { isNew, cancelled: cancelled.length };
      });
    },
  };
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
  const ends = new Set(numbers.flatMap((number) => sameNumber(number, region).ends));
  const rows = await queries.all(byEnds, { account, ends: recordsOf([...ends].map((end) => [end])) });
  const keys = new Set(rows.map(({ number }) => numberKey(number, region)));
  const erased = await findErasedNumbers(queries, account, numbers, region);
  return new Set(numbers.filter((number) => keys.has(number) || erased.has(number)));
}

/** Deletes messages scheduled for the number. Returns them with the credits held for each. */
export async function cancelScheduled(
  queries: Queries,
  account: AccountKey,
  { ends, matches }: SameNumber,
): Promise<HeldMessage[]> {
  const cancelled: HeldMessage[] = [];
  for (const end of ends) {
    const page = (from: bigint) => queries.all(outbox.scheduledByEnd, { account, end, from, limit: PAGE });
    for await (const rows of pages(PAGE, page, ({ message_id }) => message_id)) {
      const ids = rows.filter(({ recipient }) => matches(recipient)).map(({ message_id }) => message_id);
      if (ids.length === 0) continue;
      cancelled.push(...(await queries.all(outbox.deleteScheduledOf, { account, ids: `[${ids.join()}]` })));
    }
  }
  return cancelled;
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
