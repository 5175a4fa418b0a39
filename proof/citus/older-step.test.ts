import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { systemClock } from '../../src/base/clock.ts';
import { createIndexer } from '../../src/domain/search/indexer.ts';
import { createSearch } from '../../src/domain/search/search.ts';
import { distributePostgres, openPostgres, readDistribution } from '../../src/store/postgres/database.ts';
import { type Migration, migrations } from '../../src/store/schema/migrations.ts';
import { KNOWN_EVERYWHERE } from '../../test/support/databases.ts';
import { type CitusCluster, createCluster, onCitus } from './cluster.ts';

/** The first step that can be distributed, and the last one before the index of search is made anew. */
const OLDER = [
  { step: 40, isKnown: false },
  { step: 40, isKnown: true },
  { step: 43, isKnown: false },
];
const ACCOUNTS = 8;
/** They have other rows after a migration: the index is filled again while the service runs. */
const MADE_ANEW = new Set(['search_entry', 'search_backfill', 'schema_version']);

/** A row of every account in every table, whose keys fit together: every number is that of the account. */
const FILL = `do $$
  declare target record;
  begin
    set local session_replication_role = replica;
    for target in
      select table_name as name, string_agg(case
          when data_type = 'text' then quote_literal('text ') || ' || n'
          when column_name like 'is\\_%' then 'n % 2'
          when column_name = 'generation' then '0'
          else 'n' end, ', ' order by ordinal_position) as list
      from information_schema.columns join information_schema.tables using (table_schema, table_name)
      where table_schema = 'public' and table_type = 'BASE TABLE' and table_name <> 'schema_version' group by table_name loop
      execute format('insert into %I select %s from generate_series(1, ${ACCOUNTS}) n on conflict do nothing', target.name, target.list);
    end loop;
  end $$`;

/**
 * Everything that a migration has to leave as it is in an installation that is distributed at the newest step. Citus writes
 * the condition of a trigger with more brackets. Tables of the coordinator that workers know are shards with a number.
 */
const SHAPE = `
  select 'column' as kind, table_name || '.' || column_name as name,
    concat_ws(' ', data_type, collation_name, is_nullable, column_default) as definition
    from information_schema.columns where table_schema = 'public'
  union all select 'index', indexname, indexdef from pg_indexes where schemaname = 'public'
  union all select 'constraint', conrelid::regclass || ' ' || conname, pg_get_constraintdef(oid) from pg_constraint
    where connamespace = 'public'::regnamespace and conname !~ '_[0-9]{6,}$'
  union all select 'trigger', tgrelid::regclass || ' ' || tgname, translate(pg_get_triggerdef(pg_trigger.oid), '()', '')
    from pg_trigger join pg_class on pg_class.oid = tgrelid
    where not tgisinternal and relnamespace = 'public'::regnamespace
  union all select 'function', proname, prosrc from pg_proc where pronamespace = 'public'::regnamespace
  union all select 'stored', logicalrelid::text, concat_ws(' ', partmethod, repmodel,
      colocationid = (select colocationid from pg_dist_partition where logicalrelid = 'account'::regclass))
    from pg_dist_partition where repmodel <> 's'`;
const ON_SHARDS = `
  select logicalrelid::text || ' ' || case when success then result else 'failed: ' || result end as shard
  from pg_dist_partition join pg_class on pg_class.oid = logicalrelid
    cross join lateral run_command_on_shards(logicalrelid, $$
      select json_build_array(
        (select count(*) from pg_attribute where attrelid = '%1$s'::regclass and attnum > 0 and not attisdropped),
        (select count(*) from pg_index where indrelid = '%1$s'::regclass),
        (select count(*) from pg_trigger where tgrelid = '%1$s'::regclass and not tgisinternal),
        (select count(*) from pg_constraint where conrelid = '%1$s'::regclass)) $$)
  where partmethod = 'h'`;

onCitus('an installation that was distributed at an older step', () => {
  let cluster: CitusCluster;
  let newest: Shape;
  before(async () => {
    cluster = await createCluster();
    const url = await cluster.database('newest');
    await open(url);
    await distributePostgres(settings(url), systemClock);
    newest = await shapeOf('newest');
  });
  after(() => cluster?.remove());

  type Shape = Record<string, readonly string[]>;
  async function shapeOf(name: string): Promise<Shape> {
    const { coordinator, workers } = cluster;
    const lines = async (text: string, of = coordinator) =>
      (await of.query(text, name)).map((row) => Object.values(row).join(' | ')).sort();
    return {
      coordinator: await lines(SHAPE),
      shards: await lines(ON_SHARDS),
      ...Object.fromEntries(
        await Promise.all(
          workers.map(async (worker, index) => [
            `functions of worker ${index + 1}`,
            await lines(
              "select proname, prosrc from pg_proc where pronamespace = 'public'::regnamespace order by 1, 2",
              worker,
            ),
          ]),
        ),
      ),
    };
  }

  for (const { step, isKnown } of OLDER) {
    const asked = isKnown ? ', whose workers know all tables' : '';
    test(`from step ${step}${asked}: every row is kept, and all tables, keys, triggers and functions are as in a new one`, async () => {
      const name = `from_${step}${isKnown ? '_known' : ''}`;
      const url = await cluster.database(name);
      const ask = (text: string) => cluster.coordinator.query(text, name);
      const columnsOf = async () =>
        ask(`select table_name::text as name, string_agg(column_name, ', ' order by ordinal_position) as columns
          from information_schema.columns join information_schema.tables using (table_schema, table_name)
          where table_schema = 'public' and table_type = 'BASE TABLE' group by table_name order by table_name`);
      const rowsOf = async (columns: readonly Record<string, unknown>[]) => {
        const content: Record<string, string[]> = {};
        for (const { name: table, columns: list } of columns) {
          if (MADE_ANEW.has(String(table))) continue;
          content[String(table)] = (await ask(`select ${list} from ${table}`)).map((row) => JSON.stringify(row)).sort();
        }
        return content;
      };

      await at(step, async () => {
        await open(url);
        await ask(FILL);
        await distributePostgres(settings(url), systemClock);
      });
      if (isKnown) await ask(KNOWN_EVERYWHERE);
      const columns = await columnsOf();
      const before = await rowsOf(columns);
      for (const [table, rows] of Object.entries(before)) assert.ok(rows.length > 0, `${table} has a row`);

      await open(url);
      assert.deepEqual((await readDistribution(settings(url), systemClock)).undistributed, []);
      assert.deepEqual(await rowsOf(columns), before);
      const shape = await shapeOf(name);
      for (const [part, lines] of Object.entries(newest)) {
        const found = shape[part] ?? [];
        assert.deepEqual(
          [lines.filter((line) => !found.includes(line)), found.filter((line) => !lines.includes(line))],
          [[], []],
          part,
        );
      }

      const database = await openPostgres(settings(url), systemClock);
      try {
        await createIndexer(database, async () => 'ZA').run(async () => {});
        const search = createSearch(database, async () => 'ZA');
        assert.equal(await search.isComplete(1n), true);
        assert.equal((await search.contacts(1n, 'text')).length, 1);
      } finally {
        await database.close();
      }
    });
  }
});

const settings = (url: string) => ({ url, connectionsMax: 2, timeoutMs: 60_000 });
const open = async (url: string) => (await openPostgres(settings(url), systemClock)).close();

/** As a program that knows the steps up to this one. */
async function at(step: number, work: () => Promise<void>): Promise<void> {
  const later = (migrations as Migration[]).splice(step);
  try {
    await work();
  } finally {
    (migrations as Migration[]).push(...later);
  }
}
