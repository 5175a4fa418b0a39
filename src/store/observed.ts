import type { Database, Queries, Writing } from './database.ts';
import type { Dialect } from './statement.ts';

/**
 * A database that tells when statements begin and end: for metrics and traces. Told are their
 * names, never their values.
 */
export type StatementKind = 'read' | 'write' | 'transaction';
export type StatementObserver = (name: string, kind: StatementKind) => StatementSpan;
export interface StatementSpan {
  /** For what is done inside of it. Without one, nobody wants to know. */
  readonly within?: StatementObserver | undefined;
  ended(failed: boolean): void;
}

export function createTimed(database: Database, engine: Dialect['engine'], watch: StatementObserver): Database {
  return {
    ...database,
    ...timedQueries(database, watch),
    // PostgreSQL finds out along with the first statement.
    ...(engine === 'sqlite' && {
      identify: (...given) => timed(watch('accounts.identify', 'read'), () => database.identify(...given)),
    }),
    confirm(account) {
      const confirming = database.confirm(account);
      return confirming && timed(watch('accounts.identify', 'read'), () => confirming);
    },
    transaction(account, work) {
      const watched = watch('transaction', 'transaction');
      const { within } = watched;
      return timed(watched, () =>
        database.transaction(account, within ? (queries) => work(timedWriting(queries, within)) : work),
      );
    },
  };
}

async function timed<T>(watched: StatementSpan, work: () => T | Promise<T>): Promise<T> {
  let failed = true;
  try {
    const result = await work();
    failed = false;
    return result;
  } finally {
    watched.ended(failed);
  }
}

const timedQueries = (queries: Queries, watch: StatementObserver): Queries => ({
  all: (statement, parameters) =>
    timed(watch(statement.name, kindOf(statement)), () => queries.all(statement, parameters)),
  first: (statement, parameters) =>
    timed(watch(statement.name, kindOf(statement)), () => queries.first(statement, parameters)),
  run: (statement, parameters) => timed(watch(statement.name, 'write'), () => queries.run(statement, parameters)),
});

const timedWriting = (queries: Writing, watch: StatementObserver): Writing => ({
  ...timedQueries(queries, watch),
  runAll: (statement, parameters) => timed(watch(statement.name, 'write'), () => queries.runAll(statement, parameters)),
});

const kindOf = ({ writes }: { writes: boolean }): StatementKind => (writes ? 'write' : 'read');
