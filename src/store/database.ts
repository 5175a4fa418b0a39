import type { AccountKey, Caller } from './caller.ts';
import type { Statement, Value } from './statement.ts';

/** The statements of one database, of either engine. Whole numbers are returned as bigint. */
export interface Queries {
  all<P extends Record<keyof P, Value>, R>(statement: Statement<P, R>, parameters: P): Promise<R[]>;
  first<P extends Record<keyof P, Value>, R>(statement: Statement<P, R>, parameters: P): Promise<R | undefined>;
  /** Returns how many rows it changed. */
  run<P extends Record<keyof P, Value>, R>(statement: Statement<P, R>, parameters: P): Promise<number>;
}

/** The statements of an open transaction. */
export interface TransactionQueries extends Queries {
  /** Runs the statement once for each of the parameters, in their order. */
  runAll<P extends Record<keyof P, Value>>(statement: Statement<P>, parameters: readonly P[]): Promise<void>;
  /** Whether other writes wait for the end of this transaction. PostgreSQL does not know. */
  readonly isAwaited?: boolean | undefined;
}

/** An open transaction of an account, and the time that its changes get. */
export interface Transaction<A extends AccountKey = AccountKey> {
  readonly queries: TransactionQueries;
  readonly account: A;
  readonly at: number;
}

export interface Place {
  readonly id: string;
  readonly timeline: string;
}

export interface Database extends Queries {
  /**
   * The account of the user_id with this hash, where it is valid and admits the call. PostgreSQL
   * returns a Caller without an id: the first statement about the account identifies it, or throws
   * Problem `denied`.
   */
  identify(
    userIdHash: string,
    admits?: Caller['admits'],
    pollId?: number,
  ): Caller | undefined | Promise<Caller | undefined>;
  /**
   * The version of the account: a number that is new after each change of it, by any process. Every
   * write that was acknowledged before the call of this function is seen. Undefined where the
   * account does not exist. SQLite answers at once, and calls with the same `pollId` share one poll
   * of other processes. Without `poll`, SQLite sees their writes as of the last poll.
   */
  version(account: bigint, poll?: boolean, pollId?: number): number | undefined | Promise<number | undefined>;
  /** Identifies the account now, where no statement has. */
  confirm(account: AccountKey): Promise<void> | undefined;
  /**
   * Runs all of `work` or nothing. The transactions of one account run one after another; `null` is
   * for an account that is being added. When the promise resolves, the changes are on disk.
   * `lockWaitMs` limits how long it waits for other transactions of the account.
   */
  transaction<T>(
    account: AccountKey | null,
    work: (queries: TransactionQueries) => Promise<T>,
    lockWaitMs?: number,
  ): Promise<T>;
  /** For work that locks accounts itself, and skips those that others have locked. */
  transactionWithoutLock<T>(work: (queries: TransactionQueries) => Promise<T>): Promise<T>;
  /** How many transactions of different accounts should be started at once. */
  readonly transactionsAtOnce: number;
  /** All reads of `work` see the database at one moment. */
  snapshot<T>(work: (queries: Queries) => Promise<T>): Promise<T>;
  /**
   * Throws Problem `unavailable` if the database does not answer. After a write was refused, it
   * tries another write.
   */
  check(): Promise<void>;
  /**
   * Called after an erasure. SQLite empties its write-ahead log, which still contains the pages as
   * they were before. It tries for 2 s, and then every 10 s while a reader in another process
   * prevents it. PostgreSQL does nothing here: its vacuum and its own log decide.
   */
  scrub(): Promise<void>;
  /**
   * On PostgreSQL the cluster, the database and the timeline of its log. A restored dump is in
   * another place; a point in time or a failover begins another timeline. Both are empty on SQLite.
   */
  place(): Promise<Place>;
  /**
   * Writes a consistent copy to a file that does not exist yet. The service continues meanwhile.
   */
  backup(path: string): Promise<void>;
  close(): Promise<void>;
}
