import type { Database } from '../../src/store/database.ts';
import { joined } from '../../src/store/transactions.ts';

/** The same database, which writes down how many rows each read has given. */
export function counting(database: Database): { database: Database; read: { statements: number; rows: number } } {
  const read = { statements: 0, rows: 0 };
  const counted: Database = {
    ...joined(database, database as never),
    transaction: (account, work) => database.transaction(account, work),
    snapshot: (work) => database.snapshot(work),
    run: (statement, parameters) => database.run(statement, parameters),
    first: (statement, parameters) => {
      read.statements += 1;
      return database.first(statement, parameters);
    },
    all: async (statement, parameters) => {
      const rows = await database.all(statement, parameters);
      read.statements += 1;
      read.rows += rows.length;
      return rows;
    },
  };
  return { database: counted, read };
}
