/**
 * Whether anything about an account has changed, for the embedded database. What this process writes counts for its account;
 * what another process writes, for all of them, since nobody says whose it was.
 */
export interface Versions {
  of(account: unknown): number;
  /** A write about the account is decided; about any account, where it is not a number. */
  changed(account: unknown): void;
}

// Accounts that share a slot only count as changed together. 64 KB.
const SLOTS = 8_192;

/** `others` is another number after another process has written. */
export function createVersions(others: () => number): Versions {
  const own = new Float64Array(SLOTS);
  let all = 0;
  let seen = others();
  return {
    of(account) {
      const now = others();
      if (now !== seen) {
        seen = now;
        all += 1;
      }
      return all + (own[slotOf(account as bigint)] as number); // both only grow: the sum is new when one of them is
    },
    changed(account) {
      if (typeof account === 'bigint') own[slotOf(account)] = (own[slotOf(account)] as number) + 1;
      else all += 1;
    },
  };
}

const slotOf = (account: bigint): number => Number(BigInt.asUintN(13, account));
