import type { Database, Writing } from '../store/database.ts';

export type { Database, Writing };

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
  snapshot: (work) => work(queries),
});
