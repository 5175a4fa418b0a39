import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createKeyedQueue, createTurns } from '../../src/base/keyed-queue.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

test('work of one key keeps its order, keys work concurrently, and a failure stops no other work', async () => {
  const done: string[] = [];
  const failures: unknown[] = [];
  const queue = createKeyedQueue(
    { itemsMax: 100, bytesMax: 100, concurrency: 2 },
    (thrown) => void failures.push(thrown),
  );
  for (let index = 0; index < 6; index++) {
    queue.offer(index % 2 === 0 ? 'even' : 'odd', 1, async () => {
      await new Promise((resolve) => setImmediate(resolve));
      if (index === 2) throw new Error('broken');
      done.push(String(index));
    });
  }
  const own = queue.run('odd', async () => 'after all odd ones');
  assert.equal(await own, 'after all odd ones');
  await queue.idle();
  assert.deepEqual(
    done.filter((each) => Number(each) % 2 === 1),
    ['1', '3', '5'],
  );
  assert.deepEqual(
    done.filter((each) => Number(each) % 2 === 0),
    ['0', '4'],
  );
  assert.equal(failures.length, 1);
});

test('a keyed queue refuses work beyond its items and bytes', async () => {
  const queue = createKeyedQueue({ itemsMax: 3, bytesMax: 100, concurrency: 1 }, () => {});
  const work = async () => {};
  assert.deepEqual(
    [queue.offer('a', 60, work), queue.offer('a', 60, work), queue.offer('a', 40, work)],
    [true, false, true],
  );
  assert.deepEqual([queue.offer('b', 0, work), queue.offer('b', 0, work)], [true, false]);
  await queue.idle();
  assert.equal(queue.offer('a', 100, work), true);
  await queue.idle();
});

test('no more keys work at once than are allowed, and a key with further work waits behind the others', async () => {
  const clock = createVirtualClock();
  const queue = createKeyedQueue({ itemsMax: 100, bytesMax: 100, concurrency: 2 }, (thrown) =>
    assert.fail(String(thrown)),
  );
  const begun: string[] = [];
  for (const key of ['a', 'a', 'b', 'c']) {
    queue.offer(key, 1, async () => {
      begun.push(`${key} at ${clock.now()}`);
      await clock.sleep(10);
    });
  }
  await clock.advance(100);
  assert.deepEqual(begun, ['a at 0', 'b at 0', 'c at 10', 'a at 10']);
  assert.equal(queue.waiting, 0);
});

test('turns of one key follow one another, also after a failure, and other keys do not wait', async () => {
  const clock = createVirtualClock();
  const inTurn = createTurns<bigint>();
  const log: string[] = [];
  const work =
    (name: string, fails = false) =>
    async () => {
      log.push(`${name} begins at ${clock.now()}`);
      await clock.sleep(10);
      if (fails) throw new Error(name);
      return name;
    };
  const first = inTurn(1n, work('first', true));
  const second = inTurn(1n, work('second'));
  const other = inTurn(2n, work('other'));
  first.catch(() => {});
  await clock.advance(30);
  await assert.rejects(first, /first/);
  assert.deepEqual([await second, await other], ['second', 'other']);
  assert.deepEqual(log, ['first begins at 0', 'other begins at 0', 'second begins at 10']);
});
