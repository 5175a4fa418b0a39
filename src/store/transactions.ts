import type { Database, TransactionQueries } from './database.ts';

type OfAccount = (queries: TransactionQueries, account: bigint) => Promise<void>;

/**
 * A transaction for each account, several at once. Each one is done or fails alone. No account
 * waits for another one's lock. Returns what was thrown, by account.
 */
export async function failuresOfEach(
  database: Database,
  accounts: Iterable<bigint>,
  work: OfAccount,
): Promise<Map<bigint, unknown>> {
  const waiting = accounts[Symbol.iterator]();
  const failures = new Map<bigint, unknown>();
  async function next(): Promise<void> {
    for (let entry = waiting.next(); !entry.done; entry = waiting.next()) {
      const account = entry.value;
      await database
        .transaction(account, (queries) => work(queries, account))
        .catch((thrown) => failures.set(account, thrown));
    }
  }
  await Promise.all(Array.from({ length: database.transactionsAtOnce }, next));
  return failures;
}

/** The first error is thrown when all have ended. */
export async function eachAccount(database: Database, accounts: Iterable<bigint>, work: OfAccount): Promise<void> {
  for (const thrown of (await failuresOfEach(database, accounts, work)).values()) throw thrown;
}

/** A database whose transactions join one open transaction. They are rolled back with it. */
export const joined = (database: Database, queries: TransactionQueries): Database => ({
  identify: (...parameters) => database.identify(...parameters),
  version: (...parameters) => database.version(...parameters),
  confirm: (account) => database.confirm(account),
  check: () => database.check(),
  scrub: async () => {}, // there is nothing to remove before the commit
  place: () => database.place(),
  backup: (path) => database.backup(path),
  close: () => database.close(),
  all: (statement, parameters) => queries.all(statement, parameters),
  first: (statement, parameters) => queries.first(statement, parameters),
  run: (statement, parameters) => queries.run(statement, parameters),
  transaction: (_account, work) => work(queries),
  transactionWithoutLock: (work) => work(queries),
  transactionsAtOnce: 1,
  snapshot: (work) => work(queries),
});
