import type { AccountKey, Caller, Statement, Value } from './statement.ts';

export type { AccountKey, Caller };

/** What the rest of the program sees of a database, whichever engine it is. Whole numbers come as bigint. */
export interface Queries {
  all<P extends Record<keyof P, Value>, R>(statement: Statement<P, R>, parameters: P): Promise<R[]>;
  first<P extends Record<keyof P, Value>, R>(statement: Statement<P, R>, parameters: P): Promise<R | undefined>;
  /** How many rows it changed. */
  run<P extends Record<keyof P, Value>, R>(statement: Statement<P, R>, parameters: P): Promise<number>;
}

/** Inside a transaction. */
export interface Writing extends Queries {
  /** The statement for each of them, in their order, without a wait in between. */
  runAll<P extends Record<keyof P, Value>>(statement: Statement<P>, parameters: readonly P[]): Promise<void>;
}

export interface Database extends Queries {
  /**
   * The account that a user_id with this hash names, if it is valid and the account admits the call. Where it is not known yet, a statement about the account
   * throws Problem `denied` in the end.
   */
  identify(
    userIdHash: string,
    admits?: Caller['admits'],
    pollId?: number,
  ): Caller | undefined | Promise<Caller | undefined>;
  /**
   * A number that is another one after anything about the account has changed, whichever process did it: what was read
   * while it was the same still holds. Undefined where the engine cannot tell. Without a look it is as of the last one, as
   * far as other processes are concerned. Calls with the same `pollId` share one look.
   */
  version(account: Caller, look?: boolean, pollId?: number): number | undefined;
  /** Finds out now, if no statement about the account has. */
  confirm(account: AccountKey): Promise<void> | undefined;
  /**
   * All of `work` or nothing. Nobody else is in a transaction of the same account meanwhile; `null` for an account that is
   * only being made. On disk when the promise resolves.
   */
  transaction<T>(account: AccountKey | null, work: (queries: Writing) => Promise<T>): Promise<T>;
  /** Reads that all see the database at one moment. */
  snapshot<T>(work: (queries: Queries) => Promise<T>): Promise<T>;
  /** Whether it answers, and takes writes again if it did not; throws Problem `unavailable` where it does not. */
  check(): Promise<void>;
  /** Writes a consistent copy to a file that does not exist yet, while others go on. */
  backup(path: string): Promise<void>;
  close(): Promise<void>;
}
