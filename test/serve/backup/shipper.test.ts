import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { describe, test } from 'node:test';
import { listChains } from '../../../src/serve/backup/chain.ts';
import { followOnce, lockFollowing, restoreTo } from '../../../src/serve/backup/recover.ts';
import { chooseRestorePoint, restoreSnapshot } from '../../../src/serve/backup/restoring.ts';
import type { BackupTarget } from '../../../src/serve/backup/target.ts';
import { checkpointAll } from '../../../src/store/sqlite/checkpoint-worker.ts';
import { contentOf, scene } from './scene.ts';

describe('the backup of SQLite', () => {
  test('every commit is in the target after a tick, whichever process writes and however the log is checkpointed', async (t) => {
    const { insert, tick, restore, content, writer, other } = scene(t);
    await tick();
    let random = 7;
    const draw = (below: number) => {
      random = (random * 1_103_515_245 + 12_345) % 2 ** 31;
      return random % below;
    };
    for (let round = 0; round < 40; round++) {
      for (let step = draw(6); step >= 0; step--) {
        const by = draw(2) === 0 ? writer : other;
        const kind = draw(8);
        if (kind === 0) checkpointAll(other);
        else if (kind === 1) other.prepare('pragma wal_checkpoint(truncate)').get();
        else if (kind === 2) by.exec('delete from entry where id % 7 = 3');
        else if (kind === 3) by.exec('begin; update entry set content = randomblob(5000); rollback');
        else insert(draw(20_000), by);
      }
      await tick();
      if (round % 6 === 0) assert.equal(await restore(), content(), `round ${round}`);
    }
    assert.equal(await restore(), content());
  });

  test('the locks of SQLite on the database stay, so no other process takes itself for the last that closes it', async (t) => {
    const { insert, tick, path } = scene(t);
    const tried = `
      const database = new (require('node:sqlite').DatabaseSync)(process.argv[1], { timeout: 0 });
      try {
        database.exec('pragma locking_mode = exclusive; begin exclusive');
        process.stdout.write('alone');
      } catch (thrown) {
        process.stdout.write(String(thrown.errcode));
      }`;
    insert();
    await tick();
    const options = ['--disable-warning=ExperimentalWarning', '-e', tried, path];
    assert.equal(String(execFileSync(process.execPath, options)), '5');
  });

  test('a commit between two ticks that a checkpoint copies and a writer overwrites in the log is not lost', async (t) => {
    const { insert, tick, restore, content, other } = scene(t);
    for (let round = 0; round < 30; round++) {
      await tick();
      insert();
      truncateSoon(other);
      insert();
      truncateSoon(other);
      insert(5_000, other);
    }
    await tick();
    assert.equal(await restore(), content());
  });

  test('an earlier moment is restored as it was, and a time before the first snapshot is refused', async (t) => {
    const { insert, tick, restore, content, clock } = scene(t);
    insert();
    await tick();
    const [early, at] = [content(), clock.at];
    insert();
    await tick();
    insert();
    await tick();
    assert.equal(await restore(at), early);
    assert.equal(await restore(), content());
    await assert.rejects(restore(at - 1), /begin at 1970-01-01T00:16:41.000Z, which is later than the given time/);
  });

  test('the write-ahead log starts again, so it stays short although every commit is shipped', async (t) => {
    const { insert, tick, clock, logBytes, restore, content } = scene(t);
    for (let round = 0; round < 40; round++) {
      for (let count = 0; count < 10; count++) insert(8_000);
      await tick();
      if (round % 10 === 9) clock.at += 60_000;
    }
    await tick();
    assert.ok(logBytes() < 2_000_000, `${logBytes()}`);
    assert.equal(await restore(), content());
  });

  test('a transaction that is longer than a segment is restored whole or not at all', async (t) => {
    const { insert, tick, restore, content, writer, clock } = scene(t);
    insert();
    await tick();
    const [before, at] = [content(), clock.at];
    writer.exec('begin');
    for (let count = 0; count < 45; count++) insert(200_000);
    writer.exec('commit');
    await tick();
    assert.equal(await restore(), content());
    assert.equal(await restore(at), before);
  });

  test('while the target does not answer, writes go on, the log stays within its limit, and a new snapshot follows', async (t) => {
    let isAway = false;
    const away = (target: BackupTarget): BackupTarget => ({
      ...target,
      put: (key, content) => (isAway ? Promise.reject(new Error('away')) : target.put(key, content)),
    });
    const { insert, tick, restore, content, logBytes, other, target } = scene(t, { target: away });
    insert();
    await tick();
    isAway = true;
    for (let round = 0; round < 25; round++) {
      for (let count = 0; count < 5; count++) insert(80_000);
      checkpointAll(other);
      await assert.rejects(tick(), /away/);
      assert.ok(logBytes() < 8 * 1024 * 1024, `${logBytes()}`);
    }
    isAway = false;
    await tick();
    assert.equal(await restore(), content());
    assert.equal((await listChains(target)).filter(({ isWhole }) => isWhole).length, 2);
  });

  test('a segment that the target took without answering is sent again under the same key, and the chain stays whole', async (t) => {
    let isSilent = false;
    const silent = (target: BackupTarget): BackupTarget => ({
      ...target,
      async put(key, content) {
        await target.put(key, content);
        if (isSilent) throw new Error('no answer');
      },
    });
    const { insert, tick, restore, content, target } = scene(t, { target: silent, secret: Buffer.alloc(32, 7) });
    for (let round = 0; round < 4; round++) {
      insert();
      isSilent = true;
      await assert.rejects(tick(), /no answer/);
      insert();
      await assert.rejects(tick(), /no answer/);
      isSilent = false;
      await tick();
      assert.equal(await restore(), content(), `round ${round}`);
    }
    for (const { segments, isWhole } of await listChains(target)) {
      const numbers = segments.map(({ number }) => number);
      if (isWhole) assert.deepEqual(numbers, [...new Set(numbers)]);
    }
  });

  test('a log that grows beyond its limit while the target hangs is let go, and the next snapshot is whole', async (t) => {
    let hang: PromiseWithResolvers<void> | null = null;
    const slow = (target: BackupTarget): BackupTarget => ({
      ...target,
      async put(key, content) {
        await hang?.promise;
        await target.put(key, content);
      },
    });
    const { insert, tick, restore, content, shipper, other, logBytes } = scene(t, { target: slow });
    insert();
    await tick();
    for (const during of ['segment', 'snapshot']) {
      hang = Promise.withResolvers();
      insert();
      const ticking = during === 'segment' ? tick() : shipper.snapshot();
      ticking.catch(() => {});
      assert.equal(shipper.relieve(), false, 'the log is short');
      for (let count = 0; count < 60; count++) insert(80_000);
      assert.equal(shipper.relieve(), true);
      checkpointAll(other);
      for (let count = 0; count < 5; count++) insert(80_000);
      assert.ok(logBytes() < 8 * 1024 * 1024, `${logBytes()}`);
      hang.resolve();
      hang = null;
      await ticking.catch((thrown: Error) => assert.match(thrown.message, /grew beyond COLUMBA_BACKUP_LOG_BYTES_MAX/));
      await tick();
      assert.equal(await restore(), content(), during);
    }
  });

  test('an encrypted backup is restored with its key alone', async (t) => {
    const { insert, tick, restore, content, target } = scene(t, { secret: Buffer.alloc(32, 7) });
    insert();
    await tick();
    assert.equal(await restore(), content());
    const { chain } = await chooseRestorePoint(target, null);
    await assert.rejects(restoreSnapshot(target, null, chain, '/nowhere'), /is encrypted\. Name the file of the key/);
    await assert.rejects(restoreSnapshot(target, Buffer.alloc(32, 8), chain, '/nowhere'), /encrypted with another key/);
  });

  for (const [name, change, sentence] of [
    ['damaged', (sealed: Buffer) => Buffer.concat([sealed.subarray(0, -1), Buffer.from([0xff])]), /its hash is wrong/],
    ['cut', (sealed: Buffer) => sealed.subarray(0, sealed.length / 2), /damaged or cut off/],
    ['empty', () => Buffer.alloc(0), /is cut off or empty/],
    ['foreign', () => Buffer.from('SQLite format 3 and a lot of other bytes that follow'), /is not part of a backup/],
  ] as const) {
    test(`a segment that is ${name} is refused with a sentence`, async (t) => {
      const { insert, tick, restore, target } = scene(t);
      insert();
      await tick();
      insert();
      await tick();
      const { last } = await chooseRestorePoint(target, null);
      await target.put(last.key, change(await target.get(last.key)));
      await assert.rejects(restore(), sentence);
    });
  }

  test('a target that returns an older object in place of another, or has lost one, is detected', async (t) => {
    const { insert, tick, restore, content, target } = scene(t);
    let early = '';
    for (let round = 0; round < 3; round++) {
      insert();
      await tick();
      if (round === 0) early = content();
    }
    const { chain } = await chooseRestorePoint(target, null);
    const [first, second] = chain.segments.map(({ key }) => key) as [string, string];
    await target.put(second, await target.get(first));
    await assert.rejects(restore(), /its hash is wrong/);
    await target.remove(second);
    let at = 0;
    await assert.rejects(restore(), ({ message }: Error) => {
      const [, time = ''] =
        /^Segment 2 .* is missing\. The last moment before it can be restored with --at (20\S+|19\S+)$/.exec(message) ??
        [];
      at = Date.parse(time);
      return true;
    });
    assert.equal(await restore(at), early);
  });

  test('a restore that fails leaves the copy of a standby, which the next one continues', async (t) => {
    const { insert, tick, target, path, content } = scene(t);
    const source = { target, secret: null };
    const standby = `${path}.standby`;
    const restored = `${path}.restored`;
    const restore = () => restoreTo(source, { at: null, temporary: restored, standby }, () => {});
    insert();
    await tick();
    await followOnce(source, standby, () => {});
    for (let round = 0; round < 2; round++) {
      insert();
      await tick();
    }
    const { chain } = await chooseRestorePoint(target, null);
    const [first, second] = chain.segments.slice(-2).map(({ key }) => key) as [string, string];
    const kept = await target.get(second);
    const lock = lockFollowing(standby);
    await assert.rejects(restore(), /columba follow keeps a copy beside .* Stop it first/);
    lock.close();
    await target.put(second, await target.get(first));
    await assert.rejects(restore(), /its hash is wrong/);
    assert.deepEqual([existsSync(`${standby}.following`), existsSync(restored)], [true, false]);
    await target.put(second, kept);
    for (const { key } of chain.segments.slice(0, -2)) await target.remove(key); // they are in the copy
    await restore();
    assert.equal(contentOf(restored), content());
    assert.deepEqual(
      readdirSync(dirname(path)).filter((name) => name.includes('following')),
      [],
    );
  });

  test('a service whose generation is older than that of the target ships nothing', async (t) => {
    const { insert, tick, shipper, target, clock } = scene(t);
    await tick();
    await target.put('generation/0000000000000002', Buffer.from('x'));
    clock.at += 60_000;
    insert();
    await tick();
    assert.equal(shipper.state().isSuperseded, true);
  });
});

/** As an erasure does, without waiting for a reader that is in the way. */
function truncateSoon(database: DatabaseSync): void {
  checkpointAll(database);
  database.prepare('pragma wal_checkpoint(truncate)').get();
}
