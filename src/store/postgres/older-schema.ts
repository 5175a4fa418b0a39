import type pg from 'pg';
import type { Clock } from '../../base/clock.ts';
import { Problem } from '../../base/problem.ts';
import { columnsToCopy, type LeftOut, ownCopy, quoted } from '../schema/former-names.ts';
import { createFailoverPool, lockTimeoutOf, type PostgresSettings } from './pool.ts';

/** Gives the tables of an older version the rows of a newer one: see schema/former-names.ts. */

/** The schema to which the operator has moved the newer tables: see SCALING.md. */
export const NEWER = 'newer';

export interface Refilled {
  /** That of the older tables. */
  readonly version: number;
  readonly leftOut: LeftOut;
}

/** A large table is copied by one command. */
const TIMEOUT_MS = 24 * 3_600_000;

/**
 * Fills the tables of the dump from before an upgrade, in one transaction. Those in the schema
 * `newer` do not change.
 */
export async function refillOlder(settings: PostgresSettings, clock: Clock, dryRun: boolean): Promise<Refilled> {
  const pool = createFailoverPool({ ...settings, timeoutMs: TIMEOUT_MS }, clock);
  try {
    const client = await pool.connect();
    try {
      await client.query('begin');
      // A role may have a schema of its own name, with the tables of another installation.
      await client.query('set local search_path = public');
      await client.query(`set local lock_timeout = ${lockTimeoutOf(settings.timeoutMs)}`);
      const refilled = await refill(client);
      await client.query(dryRun ? 'rollback' : 'commit');
      return refilled;
    } finally {
      client.release(true);
    }
  } catch (thrown) {
    const said = refusals.find(([code]) => code.test(String((thrown as { code?: unknown }).code)))?.[1];
    if (said === undefined) throw thrown;
    throw new Problem('bad-argument', `${said} Nothing was changed.`, { cause: thrown });
  } finally {
    await pool.close();
  }
}

const refusals: readonly (readonly [RegExp, string])[] = [
  [/^23/, 'The tables of the version before cannot hold the data as it is now.'], // a constraint
  [/^0A000$/, 'A table that is not of Columba refers to tables that have to be filled again. Remove its foreign keys.'],
];

async function refill(client: pg.PoolClient): Promise<Refilled> {
  const all = async <R>(sql: string, values: unknown[] = []): Promise<R[]> =>
    (await client.query<never>(sql, values)).rows as R[];
  const version = await requireBoth(all);
  const tables = await all<Table>(TABLES, [NEWER]);
  const own = tables.filter(({ name, newer }) => name !== 'schema_version' && newer.length > 0);
  const names = own.map(({ name }) => quoted(name));
  // Triggers would count again what is copied with its counts.
  for (const name of names) await client.query(`alter table ${name} disable trigger user`);
  await client.query(`truncate ${names.join(', ')}`);
  const leftOut: Record<string, number> = {};
  for (const { name, older, newer } of inOrder(own, await all<Reference>(REFERENCES))) {
    const sql = ownCopy(name, { older: 'public', newer: NEWER, version });
    if (sql !== null) {
      await client.query(sql);
      continue;
    }
    const copied = columnsToCopy(name, { older, newer, version });
    const { rowCount } = await client.query(
      `insert into ${quoted(name)} (${copied.map(({ to }) => to).join(', ')})
       select ${copied.map(({ from }) => from).join(', ')} from ${NEWER}.${quoted(name)} on conflict do nothing`,
    );
    const [row] = await all<{ total: string }>(`select count(*) as total from ${NEWER}.${quoted(name)}`);
    const rows = Number(row?.total ?? 0) - (rowCount ?? 0);
    if (rows > 0) leftOut[name] = rows;
  }
  for (const name of names) await client.query(`alter table ${name} enable trigger user`);
  return { version, leftOut };
}

/** There the dump and the renamed schema are those of the coordinator alone. */
async function refuseDistributed(all: All): Promise<void> {
  const [{ is_citus } = {}] = await all<{ is_citus?: boolean }>(
    "select to_regclass('pg_catalog.pg_dist_partition') is not null as is_citus",
  );
  const spread = `select logicalrelid from pg_dist_partition
    where logicalrelid in (to_regclass('public.account'), to_regclass('${NEWER}.account'))`;
  if (!is_citus || (await all(spread)).length === 0) return;
  throw new Problem(
    'bad-argument',
    'The accounts are spread over the nodes of Citus, where tables cannot be filled again in this way. Restore all nodes to the point from before the upgrade: docs/SCALING.md has the steps.',
  );
}

type All = <R>(sql: string, values?: unknown[]) => Promise<R[]>;

/** Returns the version of the older tables. */
async function requireBoth(all: All): Promise<number> {
  await refuseDistributed(all);
  const [found] = await all<{ is_older: boolean; is_newer: boolean }>(
    `select to_regclass('public.schema_version') is not null as is_older,
       to_regclass('${NEWER}.schema_version') is not null as is_newer`,
  );
  if (!found?.is_newer) {
    throw new Problem(
      'bad-argument',
      `The database has no schema "${NEWER}" with the tables of this version. docs/SCALING.md has the commands of the way back.`,
    );
  }
  if (!found.is_older) {
    throw new Problem(
      'bad-argument',
      'The schema "public" has no tables. Restore the dump from before the upgrade into it first, with pg_restore.',
    );
  }
  const [row] = await all<{ older: string; newer: string }>(
    `select (select max(version) from public.schema_version) as older, (select max(version) from ${NEWER}.schema_version) as newer`,
  );
  const [older, newer] = [Number(row?.older), Number(row?.newer)];
  if (older < newer) return older;
  throw new Problem(
    'bad-argument',
    `The tables in the schema "public" have version ${older} and those in "${NEWER}" version ${newer}, so the dump is not from before the upgrade.`,
  );
}

interface Table {
  readonly name: string;
  readonly older: readonly string[];
  /** Empty where the newer version has no such table: it may be another program's. */
  readonly newer: readonly string[];
}
const TABLES = `
  select table_name::text as name,
    array(select column_name::text from information_schema.columns as own
      where own.table_schema = 'public' and own.table_name = tables.table_name order by ordinal_position) as older,
    array(select column_name::text from information_schema.columns as own
      where own.table_schema = $1 and own.table_name = tables.table_name order by ordinal_position) as newer
  from information_schema.tables as tables
  where table_schema = 'public' and table_type = 'BASE TABLE' order by table_name`;

interface Reference {
  readonly name: string;
  readonly to: string;
}
const REFERENCES = `
  select conrelid::regclass::text as name, confrelid::regclass::text as to from pg_constraint
  where contype = 'f' and connamespace = 'public'::regnamespace`;

/** A table comes after those that it refers to. */
function inOrder(tables: readonly Table[], references: readonly Reference[]): Table[] {
  const plain = (name: string) => name.replace(/^public\./, '').replaceAll('"', '');
  const done = new Set<string>();
  const ordered: Table[] = [];
  function add(table: Table): void {
    if (done.has(table.name)) return;
    done.add(table.name);
    for (const { name, to } of references) {
      const parent = plain(name) === table.name ? tables.find((each) => each.name === plain(to)) : undefined;
      if (parent) add(parent);
    }
    ordered.push(table);
  }
  for (const table of tables) add(table);
  return ordered;
}
