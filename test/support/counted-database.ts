import type { Database } from '../../src/store/database.ts';
import { joined } from '../../src/store/transactions.ts';

interface Cost {
  statements: number;
  rows: number;
  readonly byName: Map<string, number>;
}

/** The same database, which writes down which statements were asked, and how many rows they gave. */
export function counting(database: Database): { database: Database; read: Cost } {
  const read: Cost = { statements: 0, rows: 0, byName: new Map() };
  const count = ({ name }: { readonly name: string }) => {
    read.statements += 1;
    read.byName.set(name, (read.byName.get(name) ?? 0) + 1);
  };
  const counted: Database = {
    ...joined(database, database as never),
    transaction: (account, work) => database.transaction(account, work),
    snapshot: (work) => database.snapshot(work),
    run: (statement, parameters) => database.run(statement, parameters),
    first: (statement, parameters) => {
      count(statement);
      return database.first(statement, parameters);
    },
    all: async (statement, parameters) => {
      const rows = await database.all(statement, parameters);
      count(statement);
      read.rows += rows.length;
      return rows;
    },
  };
  return { database: counted, read };
}
