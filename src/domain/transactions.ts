import type { Database, Writing } from '../store/database.ts';

export type { Database, Writing };

/**
 * A transaction for each account, several at once. Each one is done or fails alone: the first error
 * is thrown when all have ended. No account waits for another one's lock.
 */
export async function eachAccount(
  database: Database,
  accounts: Iterable<bigint>,
  work: (queries: Writing, account: bigint) => Promise<void>,
): Promise<void> {
  const waiting = accounts[Symbol.iterator]();
  const failures: unknown[] = [];
  async function next(): Promise<void> {
    for (let entry = waiting.next(); !entry.done; entry = waiting.next()) {
      const account = entry.value;
      await database.transaction(account, (queries) => work(queries, account)).catch((thrown) => failures.push(thrown));
    }
  }
  await Promise.all(Array.from({ length: database.transactionsAtOnce }, next));
  if (failures.length > 0) throw failures[0];
}

/** A database whose transactions join one open transaction. They are rolled back with it. */
export const joined = (database: Database, queries: Writing): Database => ({
  identify: (...parameters) => database.identify(...parameters),
  version: (...parameters) => database.version(...parameters),
  confirm: (account) => database.confirm(account),
  check: () => database.check(),
  backup: (path) => database.backup(path),
  close: () => database.close(),
  all: (statement, parameters) => queries.all(statement, parameters),
  first: (statement, parameters) => queries.first(statement, parameters),
  run: (statement, parameters) => queries.run(statement, parameters),
  transaction: (_account, work) => work(queries),
  transactionsAtOnce: 1,
  snapshot: (work) => work(queries),
});
