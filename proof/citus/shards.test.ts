import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { columba } from '../../test/support/command.ts';
import { SAMPLE } from '../../test/support/templates.ts';
import { type CitusCluster, createCluster, onCitus } from './cluster.ts';

const NAME = 'divided';

onCitus('the number of shards of an installation that is distributed', () => {
  let cluster: CitusCluster;
  let database: string;
  before(async () => {
    cluster = await createCluster();
    database = await cluster.database(NAME);
  });
  after(() => cluster?.remove());

  const run = async (...args: string[]) => {
    const { code, stdout, stderr } = await columba([...args, '--database', database]);
    assert.equal(code, 0, stderr);
    return stdout;
  };
  /** What Citus knows of our tables: how many shards each has, and how many triggers, keys and indexes there are. */
  const stored = async () => {
    const shards = await cluster.coordinator.query(
      `select distinct count(*)::int as shards from pg_dist_shard join pg_dist_partition using (logicalrelid)
       where partmethod = 'h' group by logicalrelid`,
      NAME,
    );
    const [made] = await cluster.coordinator.query(
      `select (select count(*)::int from pg_trigger join pg_class on pg_class.oid = tgrelid
                 where relnamespace = 'public'::regnamespace and not tgisinternal) as triggers,
         (select count(*)::int from pg_constraint where connamespace = 'public'::regnamespace) as constraints,
         (select count(*)::int from pg_indexes where schemaname = 'public') as indexes`,
      NAME,
    );
    return { shards: shards.map((row) => row.shards), made };
  };

  test('more shards can be made while the service is stopped: rows, triggers, keys and the ledger stay', async () => {
    await run('import', SAMPLE);
    await run('citus', 'distribute');
    const exported = await run('export', '--ndjson');
    const { shards, made } = await stored();
    assert.deepEqual(shards, [4]);
    await cluster.coordinator.query(
      `select alter_distributed_table('account', shard_count := 8, cascade_to_colocated := true)`,
      NAME,
    );
    assert.deepEqual(await stored(), { shards: [8], made });
    assert.equal(await run('export', '--ndjson'), exported);
    const checked = await run('check', '--ledger');
    assert.match(checked, /Citus: the accounts are spread over 2 worker nodes/);
    assert.match(checked, /all add up/);
  });
});
