import { DatabaseSync } from 'node:sqlite';
import { Problem } from '../../base/problem.ts';

/**
 * The tables of an older version. Migrations only add tables and columns, so whatever an older
 * table holds is also in the newer one.
 */

/** Throws if the file is not a database of Columba. Nothing is changed in it. */
export function schemaVersionOf(path: string): number {
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    return Number(database.prepare('select max(version) as version from schema_version').get()?.version ?? 0);
  } finally {
    database.close();
  }
}

export function hasInstallation(path: string): boolean {
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    return database.prepare("select 1 from sqlite_schema where name = 'installation'").get() !== undefined;
  } finally {
    database.close();
  }
}

/** How many rows the older tables do not accept, by table. */
export type LeftOut = Readonly<Record<string, number>>;

/** Gives the tables of an older database the rows of a newer one, which does not change. */
export function refillOlder(path: string, newer: string): LeftOut {
  const database = new DatabaseSync(path, { enableForeignKeyConstraints: false });
  const leftOut: Record<string, number> = {};
  try {
    database.prepare('attach ? as newer').run(newer);
    database.exec('begin');
    // They would count again what is copied with its counts.
    const triggers = entriesOf(database, 'main', 'trigger');
    for (const { name } of triggers) database.exec(`drop trigger main.${quoted(name)}`);
    const known = new Set(entriesOf(database, 'newer', 'table').map(({ name }) => name));
    for (const { name } of entriesOf(database, 'main', 'table')) {
      if (name === 'schema_version' || !known.has(name)) continue;
      const rows = refill(database, name);
      if (rows > 0) leftOut[name] = rows;
    }
    for (const { sql } of triggers) database.exec(sql);
    if (database.prepare('pragma main.foreign_key_check').get()) {
      throw new Problem('bad-argument', 'The tables of the version before cannot hold the data as it is now.');
    }
    database.exec('commit');
  } finally {
    database.close();
  }
  return leftOut;
}

interface Entry {
  readonly name: string;
  readonly sql: string;
}
const entriesOf = (database: DatabaseSync, schema: 'main' | 'newer', type: 'table' | 'trigger'): Entry[] =>
  database
    .prepare(
      `select name, sql from ${schema}.sqlite_schema where type = ? and name not like 'sqlite!_%' escape '!' order by rowid`,
    )
    .all(type) as unknown as Entry[];

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/** Returns how many rows were left out. */
function refill(database: DatabaseSync, table: string): number {
  const columnsOf = (schema: string) =>
    database.prepare(`pragma ${schema}.table_info(${quoted(table)})`).all() as unknown as { name: string }[];
  const newer = new Set(columnsOf('newer').map(({ name }) => name));
  const columns = columnsOf('main')
    .filter(({ name }) => newer.has(name))
    .map(({ name }) => quoted(name))
    .join(', ');
  const count = (schema: string) =>
    Number(database.prepare(`select count(*) as rows from ${schema}.${quoted(table)}`).get()?.rows);
  database.exec(`delete from main.${quoted(table)}`);
  database.exec(
    `insert or ignore into main.${quoted(table)} (${columns}) select ${columns} from newer.${quoted(table)}`,
  );
  return count('newer') - count('main');
}
