/**
 * Whether anything about an account has changed, for the embedded database. What this process writes counts for its account;
 * what another process writes, for all of them, since nobody says whose it was.
 */
export interface Versions {
  /** Sees what other processes have written: whether it was anything. */
  lookAround(): boolean;
  /** As of the last look around. */
  own(account: bigint): number;
  /** A write about the account is decided; about any account, where it is not known about which. */
  changed(account: bigint | undefined): void;
}

// Accounts that share a slot only count as changed together. 64 KB.
const SLOTS = 8_192;

/** `others` is another number after another process has written. */
export function createVersions(others: () => number): Versions {
  const own = new Float64Array(SLOTS);
  let all = 0;
  let seen = others();
  return {
    lookAround() {
      const now = others();
      if (now === seen) return false;
      seen = now;
      all += 1;
      return true;
    },
    own: (account) => all + (own[slotOf(account)] as number), // both only grow: the sum is new when one of them is
    changed(account) {
      if (account === undefined) all += 1;
      else own[slotOf(account)] = (own[slotOf(account)] as number) + 1;
    },
  };
}

const slotOf = (account: bigint): number => Number(BigInt.asUintN(13, account));
