import assert from 'node:assert/strict';
import { renameSync, rmSync, symlinkSync } from 'node:fs';
import { describe, test } from 'node:test';
import { systemClock } from '../../../src/base/clock.ts';
import { listChains, manifestKey, newChainName, segmentKey } from '../../../src/serve/backup/chain.ts';
import { writeBackupStatus } from '../../../src/serve/backup/status.ts';
import { scene } from './scene.ts';

const [MINUTE_MS, DAY_MS] = [60_000, 86_400_000];

describe('chains of a backup', () => {
  test('old chains are deleted when newer ones contain every moment of the retention time', async (t) => {
    const { insert, tick, clock, target } = scene(t);
    for (let day = 0; day < 5; day++) {
      insert();
      await tick();
      clock.at += 86_400_000;
    }
    await tick();
    const chains = await listChains(target);
    assert.deepEqual([chains.length, chains.every(({ isWhole }) => isWhole)], [3, true]);
  });

  test('a snapshot beside a service deletes no chain that a moment of the retention time is restored from', async (t) => {
    const { insert, tick, clock, another, restore, content } = scene(t);
    const snapshotBeside = async () => {
      const beside = another();
      await beside.snapshot();
      beside.close();
    };
    const states = new Map<number, string>();
    for (let count = 0; count < 8; count++) {
      insert();
      await tick();
      states.set(clock.at, content());
      clock.at += 20 * MINUTE_MS;
      if (count === 1) await snapshotBeside();
    }
    const [, , [at] = [0]] = [...states];
    clock.at = at + 2 * DAY_MS;
    await snapshotBeside();
    for (const [moment, expected] of [...states].slice(2)) assert.equal(await restore(moment), expected);
  });

  test('a snapshot beside a service leaves the chain that it writes, however old that is and although nothing was committed', async (t) => {
    const { insert, tick, clock, another, restore, content, shipper, path, target } = scene(t, {
      snapshotMs: 30 * DAY_MS,
    });
    insert();
    await tick();
    const status = { at: clock.at, target: target.name, lagMs: 0, error: null };
    writeBackupStatus(path, { ...status, ...shipper.state() });
    for (let count = 0; count < 5; count++) {
      clock.at += DAY_MS;
      const beside = another();
      await beside.snapshot();
      beside.close();
    }
    insert();
    await tick();
    assert.equal(await restore(), content());
  });

  test('a service that is started again and again fills the target with few snapshots, and the moments before stay', async (t) => {
    const { insert, tick, clock, target, another, shipper, restore, content } = scene(t);
    insert();
    await tick();
    clock.at += 20 * 60_000;
    insert();
    await tick();
    const [before, at] = [content(), clock.at];
    shipper.close();
    for (let start = 0; start < 40; start++) {
      clock.at += 10_000;
      insert();
      const again = another();
      await again.tick();
      again.close();
    }
    const chains = await listChains(target);
    assert.deepEqual([chains.length, chains.every(({ isWhole }) => isWhole)], [26, true]);
    assert.equal(await restore(at), before);
    assert.equal(await restore(), content());
  });

  test('chains that became full within minutes are not taken for those of starts', async (t) => {
    const { tick, target, clock } = scene(t);
    const names = Array.from({ length: 30 }, (_, number) => newChainName(1n, clock.at + number * 500_000));
    for (const chain of names) {
      const at = clock.at + 400_000;
      await target.put(manifestKey(chain), Buffer.from('{}'));
      const last = { chain, number: 10_000, previous: '', at, pageBytes: 4_096, databasePages: 1, isComplete: true };
      await target.put(segmentKey(last), Buffer.from(''));
      clock.at += 500_000;
    }
    await tick();
    const kept = new Set((await listChains(target)).map(({ name }) => name));
    assert.deepEqual(
      names.filter((name) => !kept.has(name)),
      [],
    );
  });

  test('commits are shipped while a snapshot is written and while old objects are deleted, however long that takes', async (t) => {
    let slow = /never/;
    const reached: string[] = [];
    let goOn = () => {};
    const hanging = (what: string) => {
      if (!slow.test(what)) return;
      reached.push(what);
      return new Promise<void>((resolve) => {
        goOn = resolve;
      });
    };
    const { insert, tick, clock, content, restore } = scene(t, {
      target: (target) => ({
        ...target,
        put: async (key, bytes) => {
          await hanging(`put ${key}`);
          return target.put(key, bytes);
        },
        remove: async (key) => {
          await hanging(`remove ${key}`);
          return target.remove(key);
        },
      }),
    });
    for (let day = 0; day < 3; day++) {
      await tick();
      clock.at += 86_400_000;
    }
    for (const work of [/^put .*snapshot-0/, /^remove/]) {
      slow = work;
      const ticking = tick();
      while (!reached.some((what) => work.test(what))) await systemClock.sleep(5);
      insert();
      const committed = content();
      while ((await restore()) !== committed) await systemClock.sleep(5);
      slow = /never/;
      goOn();
      await ticking;
      clock.at += 86_400_000;
    }
  });

  test('a target that was emptied, or whose folder was removed, gets a new snapshot, and is not said to have one before', async (t) => {
    const { insert, tick, plain, shipper, restore, content, clock } = scene(t);
    insert();
    await tick();
    for (const key of await plain.list('')) await plain.remove(key);
    insert();
    await tick(); // the folders are still there
    clock.at += 60_000;
    await assert.rejects(
      tick(),
      /^TargetProblem: The snapshot is not in the folder .*target any more\. A new one is begun\.$/,
    );
    assert.deepEqual(shipper.state(), { coveredTo: null, snapshotAt: null, isSuperseded: false });
    await tick();
    assert.equal(await restore(), content());
    rmSync(plain.name.replace('the folder ', ''), { recursive: true });
    insert();
    await assert.rejects(tick(), /the file is missing/);
    await assert.rejects(tick(), /A new one is begun/);
    await tick();
    assert.equal(await restore(), content());
  });

  test('a folder whose disk is not mounted any more gets no snapshot on the disk below it', async (t) => {
    const { insert, tick, plain, restore, content } = scene(t);
    insert();
    await tick();
    const folder = plain.name.replace('the folder ', '');
    renameSync(folder, `${folder}-of-the-disk`);
    symlinkSync('/dev', folder); // on another disk, everywhere
    insert();
    await assert.rejects(tick(), /^TargetProblem: Nothing is written: the folder .* is on another disk than when/);
    rmSync(folder);
    renameSync(`${folder}-of-the-disk`, folder);
    await tick();
    assert.equal(await restore(), content());
  });
});
