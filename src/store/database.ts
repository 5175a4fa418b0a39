import type { Statement, Value } from './statement.ts';

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
   * All of `work` or nothing. Nobody else is in a transaction of the same account meanwhile; `null` for an account that is
   * only being made. On disk when the promise resolves.
   */
  transaction<T>(account: bigint | null, work: (queries: Writing) => Promise<T>): Promise<T>;
  /** Reads that all see the database at one moment. */
  snapshot<T>(work: (queries: Queries) => Promise<T>): Promise<T>;
  /** Whether it answers; throws Problem `unavailable` where it does not. */
  check(): Promise<void>;
  /** Writes a consistent copy to a file that does not exist yet, while others go on. */
  backup(path: string): Promise<void>;
  close(): Promise<void>;
}
