import { DatabaseSync } from 'node:sqlite';
import { Problem } from '../../base/problem.ts';

/**
 * The tables of an older version. Migrations add tables and columns, so whatever an older table
 * holds is also in the newer one; what was renamed gets its former name again.
 */

interface Renamed {
  /** The first version that has the new names. */
  readonly version: number;
  /** By table and former column: the column that it is now. */
  readonly columns: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** By table and column: the former value for each new one. */
  readonly values: Readonly<Record<string, Readonly<Record<string, Readonly<Record<string, string>>>>>>;
}
const RENAMED: readonly Renamed[] = [
  {
    version: 27,
    columns: {
      account: { unsure_policy: 'unknown_outcome_policy' },
      carrier_connector: { unsure: 'unknown_outcome' },
    },
    values: {
      // `held` is that of the spend guard, which an older version does not have: a person decides.
      dispatch: { state: { 'unknown-outcome': 'unsure', 'needs-decision': 'undecided', held: 'undecided' } },
      attempt: { state: { 'unknown-outcome': 'unsure' } },
      taken_message: { state: { activated: 'armed' } },
      carrier_connector: { kind: { callback: 'webhook' } },
    },
  },
  { version: 32, columns: {}, values: { dispatch: { state: { held: 'needs-decision' } } } },
];

/** Before this version an account had one row in it, and not one for each way of its messages. */
const WAYS_VERSION = 31;
const ONE_WAY = `
  insert into main.dispatch_account (account_id, next_due_at, served_at, connector_key, priority)
  select account.account_id, min(way.next_due_at), min(way.served_at),
    case when account.disabled_at is null then coalesce(account.connector, '') end, account.priority
  from newer.dispatch_account as way join newer.account on account.account_id = way.account_id
  group by account.account_id`;

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

/** How many rows the older tables do not accept, by table. */
export type LeftOut = Readonly<Record<string, number>>;

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
    const renamed = RENAMED.find((each) => version < each.version);
    for (const { name } of entriesOf(database, 'main', 'table')) {
      if (name === 'schema_version' || !known.has(name)) continue;
      if (name === 'dispatch_account' && version < WAYS_VERSION) {
        database.exec(`delete from main.dispatch_account; ${ONE_WAY}`);
        continue;
      }
      const rows = refill(database, name, renamed);
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
function refill(database: DatabaseSync, table: string, renamed: Renamed | undefined): number {
  const columnsOf = (schema: string) =>
    database.prepare(`pragma ${schema}.table_info(${quoted(table)})`).all() as unknown as { name: string }[];
  const newer = new Set(columnsOf('newer').map(({ name }) => name));
  const copied = columnsOf('main').flatMap(({ name }) => {
    const from = renamed?.columns[table]?.[name] ?? name;
    return newer.has(from) ? [{ to: quoted(name), from: formerly(quoted(from), renamed?.values[table]?.[name]) }] : [];
  });
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

/** The former value of a column whose values were renamed. */
function formerly(column: string, values: Readonly<Record<string, string>> = {}): string {
  const cases = Object.entries(values).map(([now, former]) => `when '${now}' then '${former}'`);
  return cases.length === 0 ? column : `case ${column} ${cases.join(' ')} else ${column} end`;
}
