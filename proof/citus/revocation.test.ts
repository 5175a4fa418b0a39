import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { systemClock } from '../../src/base/clock.ts';
import { setDisabledAt } from '../../src/domain/accounts/accounts.sql.ts';
import { hashUserId } from '../../src/domain/accounts/credentials.ts';
import { revokeUserId } from '../../src/domain/accounts/user-ids.sql.ts';
import { distributePostgres, openPostgres } from '../../src/store/postgres/database.ts';
import { type Server, serving } from '../../test/support/command.ts';
import type { PostgresServer } from '../../test/support/postgres-server.ts';
import { addAccounts, type CitusCluster, createCluster, onCitus, userOf } from './cluster.ts';

const NAME = 'revoked';
const HASH = hashUserId(userOf(0));

/**
 * Who may call is on every node, and the version of an account is on one. A transaction over several nodes is committed on
 * each of them by itself, so for a moment, or until a node that has died is back, they differ.
 */
onCitus('a user_id that is revoked on a cluster', () => {
  let cluster: CitusCluster;
  let url: string;
  let service: Server;
  let account: bigint;
  before(async () => {
    cluster = await createCluster();
    url = await cluster.database(NAME);
    await addAccounts(url, 1, 3);
    await distributePostgres({ url, connectionsMax: 1, timeoutMs: 60_000 }, systemClock);
    const [{ id } = {}] = await cluster.coordinator.query('select account_id::text as id from account', NAME);
    account = BigInt(String(id));
    service = await serving(['--database', url, '--web-port', 'off']);
  });
  after(async () => {
    service?.child.kill('SIGKILL');
    await cluster?.remove();
  });

  const unread = async () =>
    (await fetch(`${service.address}/api/inbox.asmx/Unread?user_id=${encodeURIComponent(userOf(0))}&max_count=5`))
      .status;
  const home = async (): Promise<PostgresServer> => {
    const [{ nodeport } = {}] = await cluster.coordinator.query(
      `select nodeport from pg_dist_shard_placement
       where shardid = get_shard_id_for_distribution_column('account', ${account})`,
      NAME,
    );
    return cluster.workers.find(({ port }) => port === Number(nodeport)) as PostgresServer;
  };
  /** Changes rows of this node alone, as the commit of a transaction over several nodes does when it comes to this one. */
  async function changeOn(node: PostgresServer, table: string, change: string): Promise<void> {
    const found = await node.query(
      `select logicalrelid || '_' || shardid as shard from pg_dist_shard join pg_dist_shard_placement using (shardid)
       where logicalrelid = '${table}'::regclass and nodeport = ${node.port}`,
      NAME,
    );
    assert.ok(found.length > 0);
    const updates = found.map(({ shard }) => `update ${shard} set ${change}`);
    await node.query(`set citus.enable_manual_changes_to_shards = on; ${updates.join('; ')}`, NAME);
  }
  const REVOKED = `revoked_at = 1 where user_id_hash = '${HASH}'`;

  test('a change of who may call is one transaction on the node of the account, with its version', async (t) => {
    const database = await openPostgres({ url, connectionsMax: 1, timeoutMs: 60_000 }, systemClock);
    t.after(() => database.close());
    const node = await home();
    const open = async (): Promise<unknown> =>
      (
        await node.query(
          `select count(*)::int as total from pg_stat_activity
           where datname = '${NAME}' and state = 'idle in transaction' and application_name like 'citus_internal%'`,
        )
      )[0]?.total;
    assert.equal(await open(), 0);
    for (const change of [
      () => [revokeUserId, { account, hash: HASH, revokedAt: 1 }] as const,
      () => [setDisabledAt, { account, disabledAt: 1 }] as const,
    ]) {
      const undone = new Error('the change is undone');
      const [statement, parameters] = change();
      const work = database.transaction(account, async (queries) => {
        assert.equal(await queries.run(statement as never, parameters as never), 1);
        assert.equal(await open(), 1);
        throw undone;
      });
      await assert.rejects(work, undone);
    }
  });

  test('answers to a user_id that the node of its account no longer admits are not cached by its new version', async () => {
    assert.equal(await unread(), 200);
    const node = await home();
    for (const worker of cluster.workers) await changeOn(worker, 'credential', REVOKED);
    await changeOn(node, 'tally', `version = version + 1 where account_id = ${account}`);
    // The coordinator still admits the user_id.
    const asked = `select count(*)::int as total from credential where user_id_hash = '${HASH}' and revoked_at is null`;
    assert.deepEqual(await cluster.coordinator.query(asked, NAME), [{ total: 1 }]);
    assert.notEqual(await unread(), 200);
    await changeOn(cluster.coordinator, 'credential', REVOKED);
    assert.notEqual(await unread(), 200);
  });
});
