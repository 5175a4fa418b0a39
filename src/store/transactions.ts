import type { Database, Queries, TransactionQueries } from './database.ts';
import { statement } from './statement.ts';

type OfAccount = (queries: TransactionQueries, account: bigint) => Promise<void>;

/**
 * Runs a transaction for each account, several at once. Each of them succeeds or fails alone, and
 * no account waits for the lock of another one. Returns what was thrown, by account.
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

/** Throws the first error when all transactions have ended. */
export async function eachAccount(database: Database, accounts: Iterable<bigint>, work: OfAccount): Promise<void> {
  for (const thrown of (await failuresOfEach(database, accounts, work)).values()) throw thrown;
}

/** A row that every database has: its lock is that of everything that belongs to no account. */
const lockService = statement('transactions.lock-service', 'update schema_version set name = name where version = 1', {
  affects: 'none',
});

/**
 * Until its end, no other transaction that calls this continues: for a change of what belongs to no
 * account, which depends on what it has read. SQLite has one writer at a time anyway.
 */
export const waitForOthers = (queries: Pick<Queries, 'run'>): Promise<unknown> => queries.run(lockService, {});

/**
 * A database whose transactions become part of one open transaction, and are rolled back with it.
 */
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
