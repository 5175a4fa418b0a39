import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import pg from 'pg';
import { systemClock } from '../../src/base/clock.ts';
import { isUnavailable } from '../../src/base/problem.ts';
import { addUserId, credentialsOf, revokeUserId } from '../../src/domain/accounts/user-ids.ts';
import { countSessions, distributePostgres, openPostgres } from '../../src/store/postgres/database.ts';
import { until } from '../../test/support/postgres-engines.ts';
import { openSendingOn, type Sending } from '../../test/support/sending.ts';
import { type CitusCluster, createCluster, onCitus } from './cluster.ts';

const NAME = 'missing';
/** Their ids are random: with so many, both workers have some. */
const ACCOUNTS = 16;
const SHARE = { connector: 'loopback', isDefault: true };

onCitus('a cluster with a missing worker', () => {
  let cluster: CitusCluster;
  let sending: Sending;
  const byPort = new Map<number, bigint[]>();
  before(async () => {
    cluster = await createCluster();
    const url = await cluster.database(NAME);
    const settings = { url, connectionsMax: 1, timeoutMs: 60_000 };
    await (await openPostgres(settings, systemClock)).close();
    await distributePostgres(settings, systemClock);
    sending = await openSendingOn(url);
    for (let count = 0; count < ACCOUNTS; count++) {
      const account = await sending.addAccount({ priority: count % 2 });
      const [{ port } = {}] = await cluster.coordinator.query(
        `select nodeport as port from pg_dist_shard_placement
         where shardid = get_shard_id_for_distribution_column('account', ${account})`,
        NAME,
      );
      byPort.set(Number(port), [...(byPort.get(Number(port)) ?? []), account]);
    }
  });
  after(async () => {
    await sending?.database.close().catch(() => {}); // the last test has closed it
    await cluster?.remove();
  });

  test('messages of accounts on the other workers are sent, and those of its accounts when it is back', async () => {
    const [worker, other] = cluster.workers;
    const [away, there] = [worker, other].map((each) => byPort.get(each?.port as number) as bigint[]);
    assert.ok(away?.length && there?.length, 'both have accounts');
    for (const account of [...away, ...there]) await sending.accept(account);
    const claimAll = async () => {
      const found: bigint[] = [];
      for (let claimed = await sending.claim(); claimed.length > 0; claimed = await sending.claim()) {
        await sending.settle(claimed, { kind: 'submitted' });
        found.push(...claimed.map(({ account }) => account));
      }
      return found.sort();
    };
    await worker?.stop('immediate');
    // Connections that broke with the worker fail once.
    await sending.claiming.isAnythingDue(SHARE).catch(() => {});
    assert.deepEqual(await claimAll(), there.toSorted());
    assert.equal(await sending.claiming.isAnythingDue(SHARE), false);
    assert.ok(Number(await sending.claiming.nextDueAt(SHARE)) > sending.now());
    await worker?.start();
    assert.deepEqual(await claimAll(), away.toSorted());
    await sending.checkLedger();
  });

  test('a user_id cannot be revoked while a worker is missing, because every node has it, and can be afterwards', async () => {
    const { database, now } = sending;
    const [worker, other] = cluster.workers;
    const [account] = byPort.get(other?.port as number) as [bigint];
    const { added } = await addUserId(database, account, { userId: undefined, revokeOthers: false }, now());
    const revoke = () => revokeUserId(database, account, added.hash, now());
    const revokedAt = async () =>
      (await credentialsOf(database, account)).find(({ hash }) => hash === added.hash)?.revokedAt;
    await worker?.stop('immediate');
    await assert.rejects(revoke, isUnavailable);
    assert.equal(await revokedAt(), null);
    await worker?.start();
    await until(() =>
      revoke().then(
        () => true,
        (thrown) => !isUnavailable(thrown),
      ),
    );
    assert.equal(await revokedAt(), now());
    for (const node of [cluster.coordinator, ...cluster.workers]) {
      const asked = `select count(*)::int as total from credential where user_id_hash = '${added.hash}' and revoked_at is not null`;
      assert.deepEqual(await node.query(asked, NAME), [{ total: 1 }]);
    }
  });

  test('a worker that does not answer is named to whoever asks if the service is stopped, and not taken for stopped', async () => {
    const [worker, other] = cluster.workers;
    const settings = (url = cluster.coordinator.url(NAME)) => ({ url, connectionsMax: 1, timeoutMs: 60_000 });
    await sending.database.close();
    assert.equal(await countSessions(settings(), systemClock), 0);
    const service = new pg.Client({ connectionString: `${other?.url(NAME)}?application_name=columba` });
    await service.connect();
    assert.equal(await countSessions(settings(), systemClock), 1);
    await service.end();
    await worker?.stop('immediate');
    await assert.rejects(
      countSessions(settings(), systemClock),
      new RegExp(`The node 127\\.0\\.0\\.1:${worker?.port} of Citus did not answer`),
    );
    await worker?.start();
  });
});
