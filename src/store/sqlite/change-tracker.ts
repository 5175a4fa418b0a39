import { accountIdOf } from '../caller.ts';
import type { Statement } from '../statement.ts';

/**
 * Tells whether an account has changed since an answer was read. A write of this process counts for
 * the accounts that it affects. A write of another process counts for all accounts: SQLite does not
 * tell whose it was.
 */
export interface ChangeTracker {
  /**
   * Asks whether other processes have written. Calls of one poll batch ask once; without a
   * `pollId` a call asks by itself. Asking costs 4 µs, 25 % of a cached call.
   */
  pollOtherProcesses(pollId?: number): void;
  /** A number that is new after each change, as of the last poll of other processes. */
  versionOf(account: bigint): number;
  /** A statement has changed rows. It counts from the next `settle` on. */
  markChanged(statement: Statement<never>, parameters: object, rows: readonly unknown[] | number): void;
  /** The transaction was committed or rolled back: other connections see the same as this one. */
  settle(): void;
}

export interface ChangeSources {
  /** A number that is new after another process has written. */
  readonly dataVersion: () => number;
  /** The account that a user_id names may be another one. */
  readonly identitiesChanged: () => void;
}

// Accounts that share a slot count as changed together. The slots take 64 KB.
const SLOT_BITS = 13;

export function createChangeTracker({ dataVersion, identitiesChanged }: ChangeSources): ChangeTracker {
  const accountVersions = new Float64Array(2 ** SLOT_BITS);
  let allVersion = 0;
  let lastDataVersion = dataVersion();
  let lastPollId: number | undefined;
  /** What was marked and is not settled. */
  const accounts = new Set<bigint>();
  let all = false;
  let identities = false;

  return {
    pollOtherProcesses(pollId) {
      if (pollId !== undefined && pollId === lastPollId) return;
      const version = dataVersion();
      if (version !== lastDataVersion) {
        lastDataVersion = version;
        allVersion += 1;
        identitiesChanged();
      }
      lastPollId = pollId;
    },
    // Both terms only grow, so the sum is new when one of them is.
    versionOf: (account) => allVersion + (accountVersions[slotOf(account)] as number),
    markChanged({ affects, invalidatesIdentities }, parameters, rows) {
      if (rows === 0 || (typeof rows !== 'number' && rows.length === 0)) return;
      identities ||= invalidatesIdentities;
      if (affects === 'none') return;
      const keys =
        affects === 'own' ? [(parameters as { account?: unknown }).account] : returnedAccounts(affects, rows);
      for (const key of keys) {
        const account = accountIdOf(key);
        if (account === undefined) all = true;
        else accounts.add(account);
      }
    },
    settle() {
      if (all) allVersion += 1;
      for (const account of accounts) {
        const slot = slotOf(account);
        accountVersions[slot] = (accountVersions[slot] as number) + 1;
      }
      if (identities) identitiesChanged();
      accounts.clear();
      all = false;
      identities = false;
    },
  };
}

const slotOf = (account: bigint): number => Number(BigInt.asUintN(SLOT_BITS, account));

/** One undefined key stands for all accounts. */
const returnedAccounts = (affects: Statement['affects'], rows: readonly unknown[] | number): readonly unknown[] =>
  affects === 'returned' && typeof rows !== 'number'
    ? rows.map((row) => (row as { account_id?: unknown }).account_id)
    : [undefined];
