import { BoundedMap } from '../../base/bounded-map.ts';
import { accountIdOf, type Caller, isAdmitted } from '../caller.ts';
import type { Statement } from '../statement.ts';

/**
 * The versions of accounts (schema/account-version.ts) as this process last read them, and the
 * account that a user_id names at that version. A version is valid until a process writes to the
 * account, and is then read again, which takes 5 µs; the answer itself takes 100 µs.
 */
export interface AccountVersions {
  /**
   * Asks whether other processes have written. Calls of one poll batch ask once; without a
   * `pollId` a call asks by itself. Asking costs 4 µs, 25 % of a cached call.
   */
  pollOtherProcesses(pollId?: number): void;
  /**
   * The version as of the last poll of other processes. Undefined if the account does not exist.
   */
  versionOf(account: bigint): number | undefined;
  /**
   * The account of the user_id with this hash, if the call is admitted. Only known user_ids are
   * remembered, because asking the database takes 10 µs.
   */
  identify(userIdHash: string, admits?: Caller['admits']): Identity | undefined;
  /** Notes that a statement has changed rows. The change counts from the next `settle` on. */
  markChanged(statement: Statement<never>, parameters: object, rows: readonly unknown[] | number): void;
  /**
   * Called when the transaction was committed or rolled back, so that other connections see the
   * same as this one.
   */
  settle(): void;
}

export interface Identity {
  readonly id: bigint;
  /** The networks to which the account is restricted. */
  readonly networks: string | null;
  readonly version: number;
}

export interface AccountChange {
  readonly change_id: bigint;
  readonly account_id: bigint;
  readonly mark: bigint;
}

/** The questions that are asked of the database. */
export interface VersionSource {
  /** A number that is new after another process has written. */
  readonly dataVersion: () => number;
  readonly version: (account: bigint) => number | undefined;
  readonly identity: (userIdHash: string) => Identity | undefined;
  /** The changes of accounts from this one on, oldest first: see schema/account-change.ts. */
  readonly changesFrom: (changeId: bigint) => readonly AccountChange[];
  /** Called when another process has written since the last poll. */
  readonly onForeignWrite?: () => void;
}

// An identity takes about 200 bytes, a version 50.
const ACCOUNTS_MAX = 50_000;

export function createAccountVersions(source: VersionSource): AccountVersions {
  const versions = new BoundedMap<bigint, number>(ACCOUNTS_MAX);
  const identities = new BoundedMap<string, Identity>(ACCOUNTS_MAX);
  let lastDataVersion = source.dataVersion();
  let lastPollId: number | undefined;
  /** The changes that were noted and are not settled yet. */
  const changed = new Set<bigint>();
  let isAllChanged = false;

  let lastRead: AccountChange | undefined;

  /** Drops the versions of accounts that other processes have changed. */
  function dropChanged(): void {
    const rows = source.changesFrom(lastRead?.change_id ?? 0n);
    // The change that was read last is there, unless too many came after it.
    const isComplete = lastRead && rows[0]?.change_id === lastRead.change_id && rows[0].mark === lastRead.mark;
    if (isComplete) for (const { account_id } of rows) versions.delete(account_id);
    else versions.clear();
    lastRead = rows.at(-1);
  }

  return {
    pollOtherProcesses(pollId) {
      if (pollId !== undefined && pollId === lastPollId) return;
      const dataVersion = source.dataVersion();
      if (dataVersion !== lastDataVersion) {
        dropChanged();
        lastDataVersion = dataVersion; // not if it failed: then the next call tries again
        source.onForeignWrite?.();
      }
      lastPollId = pollId;
    },
    versionOf(account) {
      const known = versions.get(account);
      if (known !== undefined) return known;
      const version = source.version(account);
      if (version !== undefined) versions.set(account, version);
      return version;
    },
    identify(userIdHash, admits) {
      const remembered = identities.get(userIdHash);
      const cached = remembered && versions.get(remembered.id) === remembered.version ? remembered : undefined;
      if (cached && isAdmitted(admits, cached.networks)) return cached;
      // The database is asked for a refusal of a remembered user_id too, so that every refusal
      // takes the same time.
      const identity = source.identity(userIdHash);
      if (cached || !isAdmitted(admits, identity?.networks) || !identity) return undefined;
      identities.set(userIdHash, identity);
      versions.set(identity.id, identity.version);
      return identity;
    },
    markChanged({ affects }, parameters, rows) {
      if (affects === 'none' || rows === 0 || (typeof rows !== 'number' && rows.length === 0)) return;
      for (const key of changedKeys(affects, parameters, rows)) {
        const account = accountIdOf(key);
        if (account === undefined) isAllChanged = true;
        else changed.add(account);
      }
    },
    settle() {
      if (isAllChanged) versions.clear();
      for (const account of changed) versions.delete(account);
      changed.clear();
      isAllChanged = false;
    },
  };
}

/** One undefined key stands for all accounts. */
function changedKeys(affects: Statement['affects'], parameters: object, rows: readonly unknown[] | number) {
  if (affects === 'own') return [(parameters as { account?: unknown }).account];
  if (affects !== 'returned' || typeof rows === 'number') return [undefined];
  return rows.map((row) => (row as { account_id?: unknown }).account_id);
}
