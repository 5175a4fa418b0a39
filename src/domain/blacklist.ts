import { Problem } from '../problem.ts';
import { hasDigit, numberKey } from '../sms/numbers.ts';
import * as accounts from '../store/accounts.ts';
import * as sql from '../store/contacts.ts';
import type { AccountKey, Database } from '../store/database.ts';
import * as outbox from '../store/outbox.ts';
import { heldParts } from './outbox.ts';

/** Numbers to which nothing is sent any more. */
export type Blacklist = ReturnType<typeof createBlacklist>;

export function createBlacklist(
  database: Database,
  now: () => number,
  regionOfAccount: (account: AccountKey) => Promise<string | null>,
) {
  return {
    /** Also cancels what is scheduled for the number and returns the credits held for it. */
    async add(account: AccountKey, number: string, sample: string | null): Promise<void> {
      checkNumber(number);
      const key = numberKey(number, await regionOfAccount(account));
      await database.transaction(account, async (queries) => {
        if (!(await queries.first(sql.blockedByKey, { account, key }))) {
          await queries.run(sql.addBlocked, { account, number, key, sample, blockedAt: now() });
        }
        const parts = heldParts(await queries.all(outbox.deleteScheduledTo, { account, key }));
        if (parts > 0n) await queries.run(accounts.returnCredits, { account, parts });
      });
    },
  };
}

// As given, in whatever notation; it is part of a key.
const NUMBER_LENGTH_MAX = 200;

export function checkNumber(number: string): void {
  if (number.length > NUMBER_LENGTH_MAX) {
    throw new Problem('bad-argument', `a phone number has at most ${NUMBER_LENGTH_MAX} characters`);
  }
  if (!hasDigit(number)) throw new Problem('bad-argument', 'a phone number has at least one digit');
}
