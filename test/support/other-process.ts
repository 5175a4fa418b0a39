import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import pg from 'pg';
import { postgresDialect } from '../../src/store/postgres/dialect.ts';
import { type Migratable, type Migration, migrate } from '../../src/store/schema/migrations.ts';
import { sqliteDialect } from '../../src/store/sqlite/connection.ts';
import { render, type SqlDialect, type Statement } from '../../src/store/statement.ts';
import { pathOf, TABLES } from './opened-database.ts';

/** A database as another program sees it, while the service has it open or not. Numbers are bigints, as in the service. */
export interface Outside {
  query(sql: string): Promise<Cells[]>;
  /** All that is stored, table by table, to be compared. */
  content(): Promise<Readonly<Record<string, readonly Cells[]>>>;
  /** Brings an empty database to the schema of these steps. */
  migrate(steps: readonly Migration[]): Promise<void>;
  columns(table: string): Promise<string[]>;
  insert(table: string, rows: readonly Cells[]): Promise<void>;
  close(): Promise<void>;
}
export type Cells = Readonly<Record<string, SQLInputValue>>;
/** To sort rows: a cluster returns those with the same beginning of their key in any order. */
const textOf = (cells: Cells): string => Object.values(cells).join('\u0000');

type Ask = (sql: string, values?: readonly unknown[]) => Promise<Cells[]>;

export async function openOutside(setting: string): Promise<Outside> {
  if (!setting.startsWith('sqlite:')) {
    const types = {
      getTypeParser: ((oid, format) =>
        oid === 20 ? BigInt : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
    };
    const client = new pg.Client({ connectionString: setting, types });
    await client.connect();
    const ask: Ask = async (sql, values) => (await client.query(sql, values as unknown[] | undefined)).rows ?? [];
    return outside(
      ask,
      async (sql) => void (await client.query(sql)),
      postgresDialect,
      () => client.end(),
    );
  }
  const database = new DatabaseSync(pathOf(setting), { timeout: 5_000 });
  const ask: Ask = async (sql, values = []) => {
    const prepared = database.prepare(sql);
    prepared.setReadBigInts(true);
    return prepared.all(...(values as SQLInputValue[])).map((row) => ({ ...row }));
  };
  return outside(
    ask,
    async (sql) => database.exec(sql),
    sqliteDialect,
    async () => database.close(),
  );
}

function outside(
  ask: Ask,
  exec: (sql: string) => Promise<void>,
  dialect: SqlDialect,
  close: Outside['close'],
): Outside {
  const execute = (statement: Statement<never>, parameters: Readonly<Record<string, unknown>>) =>
    ask(
      render(statement.text, statement.parameters, dialect),
      (statement.parameters as readonly string[]).map((name) => parameters[name]),
    );
  const connection: Migratable = {
    exec,
    all: async (statement, parameters) => (await execute(statement as Statement<never>, parameters)) as never,
    first: async (statement, parameters) => (await execute(statement as Statement<never>, parameters))[0] as never,
    run: async (statement, parameters) => (await execute(statement as Statement<never>, parameters)).length,
  };
  return {
    query: (sql) => ask(sql),
    async content() {
      const tables: Record<string, Cells[]> = {};
      for (const table of [...TABLES, 'schema_version'])
        tables[table] = (await ask(`select * from ${table}`)).sort((one, other) =>
          textOf(one) < textOf(other) ? -1 : 1,
        );
      return tables;
    },
    migrate: (steps) => migrate(connection, dialect, () => 0, steps),
    async columns(table) {
      const rows = await ask(
        dialect.engine === 'sqlite'
          ? `select name from pragma_table_info('${table}')`
          : `select column_name as name from information_schema.columns where table_name = '${table}'`,
      );
      return rows.map(({ name }) => String(name));
    },
    async insert(table, rows) {
      await exec('begin'); // so that the disk is waited for once
      for (const row of rows) {
        const names = Object.keys(row);
        const places = names.map((_, index) => dialect.parameter(index + 1));
        await ask(`insert into ${table} (${names}) values (${places})`, Object.values(row));
      }
      await exec('commit');
    },
    close,
  };
}
