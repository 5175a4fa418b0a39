import { DatabaseSync } from 'node:sqlite';
import { Problem } from '../../base/problem.ts';
import { columnsToCopy, type LeftOut, ownCopy, quoted } from '../schema/former-names.ts';

/** Gives the tables of an older version the rows of a newer one: see schema/former-names.ts. */

/** Throws if the file is not a database of Columba. Nothing is changed in it. */
export function schemaVersionOf(path: string): number {
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    return versionOf(database);
  } finally {
    database.close();
  }
}

const versionOf = (database: DatabaseSync): number =>
  Number(database.prepare('select max(version) as version from schema_version').get()?.version ?? 0);

/** Gives the tables of an older database the rows of a newer one, which does not change. */
export function refillOlder(path: string, newer: string): LeftOut {
  const database = new DatabaseSync(path, { enableForeignKeyConstraints: false });
  const leftOut: Record<string, number> = {};
  try {
    database.prepare('attach ? as newer').run(newer);
    database.exec('begin');
    // Triggers would count again what is copied with its counts.
    const triggers = entriesOf(database, 'main', 'trigger');
    for (const { name } of triggers) database.exec(`drop trigger main.${quoted(name)}`);
    const known = new Set(entriesOf(database, 'newer', 'table').map(({ name }) => name));
    const version = versionOf(database);
    for (const { name } of entriesOf(database, 'main', 'table')) {
      if (name === 'schema_version' || !known.has(name)) continue;
      const own = ownCopy(name, { older: 'main', newer: 'newer', version });
      if (own !== null) {
        database.exec(`delete from main.${quoted(name)}; ${own}`);
        continue;
      }
      const rows = refill(database, name, version);
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

/** Returns how many rows were left out. */
function refill(database: DatabaseSync, table: string, version: number): number {
  const columnsOf = (schema: string) =>
    database
      .prepare(`pragma ${schema}.table_info(${quoted(table)})`)
      .all()
      .map(({ name }) => String(name));
  const copied = columnsToCopy(table, { older: columnsOf('main'), newer: columnsOf('newer'), version });
  const columns = copied.map(({ to }) => to).join(', ');
  const values = copied.map(({ from }) => from).join(', ');
  const count = (schema: string) =>
    Number(database.prepare(`select count(*) as rows from ${schema}.${quoted(table)}`).get()?.rows);
  database.exec(`delete from main.${quoted(table)}`);
  database.exec(
    `insert or ignore into main.${quoted(table)} (${columns}) select ${values} from newer.${quoted(table)}`,
  );
  return count('newer') - count('main');
}
