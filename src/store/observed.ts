import type { Database, Queries, TransactionQueries } from './database.ts';
import type { SqlDialect } from './statement.ts';

/**
 * A database that reports the beginning and the end of every statement, for metrics and spans. It
 * reports the names of statements, never their values.
 */
export type StatementKind = 'read' | 'write' | 'transaction';
export type StatementObserver = (name: string, kind: StatementKind) => StatementSpan;
export interface StatementSpan {
  /** Observes the statements inside a transaction; undefined if they are not observed. */
  readonly within?: StatementObserver | undefined;
  ended(failed: boolean): void;
}

export function createObserved(database: Database, engine: SqlDialect['engine'], observe: StatementObserver): Database {
  return {
    ...database,
    ...observedQueries(database, observe),
    // PostgreSQL identifies the caller within the first statement, so there is nothing to observe.
    ...(engine === 'sqlite' && {
      identify: (...given) => observed(observe('accounts.identify', 'read'), () => database.identify(...given)),
    }),
    confirm(account) {
      const confirming = database.confirm(account);
      return confirming && observed(observe('accounts.identify', 'read'), () => confirming);
    },
    transaction: (account, work, lockWaitMs) =>
      observedTransaction(observe, work, (observedWork) => database.transaction(account, observedWork, lockWaitMs)),
    transactionWithoutLock: (work) => observedTransaction(observe, work, database.transactionWithoutLock),
  };
}

type Work<T> = (queries: TransactionQueries) => Promise<T>;

function observedTransaction<T>(observe: StatementObserver, work: Work<T>, run: (work: Work<T>) => Promise<T>) {
  const span = observe('transaction', 'transaction');
  const { within } = span;
  return observed(span, () => run(within ? (queries) => work(observedTransactionQueries(queries, within)) : work));
}

async function observed<T>(span: StatementSpan, work: () => T | Promise<T>): Promise<T> {
  let failed = true;
  try {
    const result = await work();
    failed = false;
    return result;
  } finally {
    span.ended(failed);
  }
}

const observedQueries = (queries: Queries, observe: StatementObserver): Queries => ({
  all: (statement, parameters) =>
    observed(observe(statement.name, kindOf(statement)), () => queries.all(statement, parameters)),
  first: (statement, parameters) =>
    observed(observe(statement.name, kindOf(statement)), () => queries.first(statement, parameters)),
  run: (statement, parameters) => observed(observe(statement.name, 'write'), () => queries.run(statement, parameters)),
});

const observedTransactionQueries = (queries: TransactionQueries, observe: StatementObserver): TransactionQueries => ({
  ...observedQueries(queries, observe),
  get isAwaited() {
    return queries.isAwaited;
  },
  runAll: (statement, parameters) =>
    observed(observe(statement.name, 'write'), () => queries.runAll(statement, parameters)),
});

const kindOf = ({ writes }: { writes: boolean }): StatementKind => (writes ? 'write' : 'read');
