import assert from 'node:assert/strict';
import { copyFileSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { describe, type TestContext, test } from 'node:test';
import { systemClock } from '../../../src/base/clock.ts';
import { startBackups } from '../../../src/serve/backup/backups.ts';
import { type Chain, generationKey, listChains } from '../../../src/serve/backup/chain.ts';
import { createLog } from '../../../src/serve/telemetry/log.ts';
import { checkpointAll } from '../../../src/store/sqlite/checkpoint-worker.ts';
import { ACCESS_KEY, BUCKET, REGION, SECRET_KEY, startS3Store } from '../../support/s3-store.ts';
import { scene } from './scene.ts';

/** A service that was stopped after a commit, and that is started again by `start`. */
async function stopped(t: TestContext, given: Parameters<typeof scene>[1] = {}) {
  const own = scene(t, given);
  const { insert, tick, shipper, clock, target, writer, other, open, another } = own;
  insert();
  await tick();
  insert(50_000);
  await tick();
  for (const each of [writer, other]) each.close();
  shipper.end();
  assert.equal(own.logBytes(), 0);
  const chains = async () => (await listChains(target)).filter(({ isWhole }) => isWhole);
  return {
    ...own,
    chains,
    /** The commit of a start comes before its backup. */
    async start(changed: object = {}) {
      const database = open();
      t.after(() => database.isOpen && database.close());
      insert(100, database);
      clock.at += 5_000;
      const next = another(changed);
      t.after(() => next.close());
      await next.tick();
      return {
        database,
        next,
        async tick() {
          clock.at += 1_000;
          await next.tick();
        },
        stop() {
          database.close();
          next.end();
        },
      };
    },
  };
}

describe('the chain of a service that was stopped', () => {
  test('a start continues the chain, and every moment before and after can be restored', async (t) => {
    const { start, chains, restore, content, insert, clock } = await stopped(t);
    const [before, at] = [content(), clock.at];
    const { database, next, tick } = await start();
    assert.equal(await restore(), content());
    insert(9_000, database);
    await tick();
    assert.equal(await restore(), content());
    assert.equal(await restore(at), before);
    assert.deepEqual(
      (await chains()).map(({ startedAt }) => startedAt),
      [next.state().snapshotAt], // by it, a snapshot beside the service knows the chain
    );
  });

  test('a chain is continued again and again, however much is written and removed between', async (t) => {
    const { start, chains, restore, content, insert } = await stopped(t, { secret: Buffer.alloc(32, 7) });
    for (let round = 0; round < 12; round++) {
      const { database, tick, stop } = await start();
      for (let count = 0; count < 5; count++) {
        insert(1 + ((round * 7_919 + count * 104_729) % 60_000), database);
        if (count % 2 === 0) await tick();
        if (count === 3) checkpointAll(database);
      }
      database.exec(
        round % 3 === 0 ? 'delete from entry where id % 3 = 0; vacuum' : 'delete from entry where id % 5 = 0',
      );
      await tick();
      assert.equal(await restore(), content(), `round ${round}`);
      stop();
    }
    assert.equal((await chains()).length, 1);
  });

  test('a commit that another program left in the log is in the backup', async (t) => {
    const { start, open, insert, restore, content } = await stopped(t);
    const foreign = open();
    t.after(() => foreign.close());
    insert(100, foreign);
    await start();
    assert.equal(await restore(), content());
  });

  test('a log that another program kept is shipped again, and no moment within it can be restored', async (t) => {
    const { insert, tick, shipper, writer, another, clock, target, restore, content } = scene(t);
    insert();
    await tick();
    for (let count = 0; count < 60; count++) insert(200_000);
    await tick();
    writer.close();
    shipper.end();
    const { segments: before } = (await listChains(target))[0] as Chain;
    const next = another();
    t.after(() => next.close());
    clock.at += 5_000;
    await next.tick();
    const [chain, second] = await listChains(target);
    const shipped = chain?.segments.slice(before.length).map(({ isComplete }) => isComplete);
    assert.deepEqual([shipped, second], [[false, true], undefined]);
    assert.equal(await restore(), content());
  });

  test('a chain that becomes too old while the service is stopped is followed by a snapshot', async (t) => {
    const { start, chains, clock } = await stopped(t);
    clock.at += 3_600_000;
    await start();
    assert.equal((await chains()).length, 2);
  });

  type Stopped = Awaited<ReturnType<typeof stopped>>;
  const firstOf = async ({ chains }: Stopped) => (await chains())[0] as Chain;
  const cases: readonly (readonly [string, (given: Stopped) => unknown, object?])[] = [
    [
      'after another program wrote to the database and closed it',
      ({ open, insert }) => {
        const foreign = open();
        insert(100, foreign);
        foreign.close();
      },
    ],
    [
      'after one byte of a page changed',
      ({ path }) => {
        const bytes = readFileSync(path);
        bytes[bytes.length - 1] = (bytes[bytes.length - 1] as number) ^ 1;
        writeFileSync(path, bytes);
      },
    ],
    [
      'after an older copy of the database was put into its place',
      async ({ path, start, insert }) => {
        copyFileSync(path, `${path}.copy`);
        const { database, tick, stop } = await start();
        insert(5_000, database);
        await tick();
        stop();
        copyFileSync(`${path}.copy`, path);
      },
    ],
    [
      'after the service was started again and killed',
      async ({ start, path }) => {
        const { next, database } = await start();
        next.close();
        database.close();
        assert.equal(existsSync(`${path}-backup-ended`), false);
      },
    ],
    [
      'after its end was put back with the disk, and the target is ahead',
      async ({ path, start }) => {
        for (const end of ['', '-backup-ended']) copyFileSync(path + end, `${path}.copy${end}`);
        const { next, database } = await start();
        next.close();
        database.close();
        for (const end of ['-wal', '-shm']) rmSync(path + end, { force: true });
        for (const end of ['', '-backup-ended']) copyFileSync(`${path}.copy${end}`, path + end);
      },
    ],
    ['of another generation', ({ target }) => target.put(generationKey(2n), Buffer.from('')), { generation: 2n }],
    ['whose backup is encrypted from now on', () => {}, { secret: Buffer.alloc(32, 8) }],
    [
      'whose target has lost the last segment',
      async (given) => given.target.remove((await firstOf(given)).segments.at(-1)?.key as string),
    ],
    [
      'whose target has lost the first segment',
      async (given) => given.target.remove((await firstOf(given)).segments[0]?.key as string),
    ],
    [
      'whose target has another last segment',
      async (given) => {
        const [first, last] = (await firstOf(given)).segments.map(({ key }) => key) as [string, string];
        await given.target.put(last, await given.target.get(first));
      },
    ],
    [
      'whose target has lost a part of the snapshot',
      async (given) => {
        const part = (await firstOf(given)).keys.find((key) => /snapshot-\d/.test(key));
        await given.target.remove(part as string);
      },
    ],
    ['whose end cannot be read', ({ path }) => writeFileSync(`${path}-backup-ended`, '{"chain"')],
  ];
  for (const [name, change, changed] of cases) {
    test(`a service ${name} begins with a snapshot`, async (t) => {
      const given = await stopped(t);
      await change(given);
      const before = (await given.chains()).length;
      await given.start(changed);
      assert.equal((await given.chains()).length, before + 1);
      if (!changed || !('secret' in changed)) assert.equal(await given.restore(), given.content());
    });
  }

  test('a commit while the last segment is on its way is shipped before the end', async (t) => {
    const { path, insert, writer, other, open, restore, content, target } = scene(t);
    const store = await startS3Store();
    t.after(() => store.close());
    const settings = {
      path,
      generation: 1n,
      backup: `s3://${BUCKET}`,
      backupKeyFile: '',
      backupLagMs: 100,
      backupSnapshotHours: 24,
      backupKeepDays: 7,
      backupLogBytesMax: 2 ** 24,
      backupS3Endpoint: store.endpoint,
      backupS3Region: REGION,
      backupS3PathStyle: true,
      backupS3AccessKey: ACCESS_KEY,
      backupS3SecretKey: SECRET_KEY,
    };
    const clock = systemClock;
    const start = () =>
      startBackups(settings, { clock, log: createLog('silent'), superseded: () => assert.fail('superseded') });
    const backups = start();
    await backups.begun;
    const [arrived, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    store.fault = ({ method, url }, response, sealed) => {
      if (method !== 'PUT') return false;
      store.fault = null;
      store.objects.set(decodeURIComponent(url as string).slice(`/${BUCKET}/`.length), sealed);
      arrived.resolve();
      void goOn.promise.then(() => response.writeHead(200).end());
      return true;
    };
    insert();
    await arrived.promise;
    insert();
    for (const each of [writer, other]) each.close();
    const stopping = backups.stop();
    await systemClock.sleep(200); // the thread is told meanwhile
    goOn.resolve();
    await stopping;
    for (const [key, sealed] of store.objects) await target.put(key, sealed);
    assert.equal(await restore(), content());
    assert.equal(existsSync(`${path}-backup-ended`), true);
    const database = open();
    const again = start();
    await again.begun;
    database.close();
    await again.stop();
    assert.equal([...store.objects.keys()].filter((key) => key.endsWith('snapshot.json')).length, 1);
  });

  test('a service that did not ship its last commit, or whose database another program reads, leaves no end', async (t) => {
    for (const what of ['unshipped', 'read']) {
      const { insert, tick, shipper, path, other } = scene(t);
      insert();
      await tick();
      if (what === 'read') {
        other.exec('begin');
        other.prepare('select * from entry').all();
        insert();
        await tick();
      } else insert();
      shipper.end();
      assert.equal(existsSync(`${path}-backup-ended`), false, what);
    }
  });
});
