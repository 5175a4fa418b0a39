import type { Statement, Value } from './statement.ts';

/** What the rest of the program sees of a database, whichever engine it is. Whole numbers come as bigint. */
export interface Queries {
  all<P extends Record<keyof P, Value>, R>(statement: Statement<P, R>, parameters: P): Promise<R[]>;
  first<P extends Record<keyof P, Value>, R>(statement: Statement<P, R>, parameters: P): Promise<R | undefined>;
  /** How many rows it changed. */
  run<P extends Record<keyof P, Value>, R>(statement: Statement<P, R>, parameters: P): Promise<number>;
}

export interface Database extends Queries {
  /** All of `work` or nothing; nobody else writes in between. On disk when the promise resolves. */
  transaction<T>(work: (queries: Queries) => Promise<T>): Promise<T>;
  /** Reads that all see the database at one moment. */
  snapshot<T>(work: (queries: Queries) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}
