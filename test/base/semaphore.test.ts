import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSemaphore } from '../../src/base/semaphore.ts';
import { createVirtualClock, settled } from '../support/virtual-clock.ts';

test('at most as much work as there are places runs at a time, and waiting work is admitted in its order', async () => {
  const clock = createVirtualClock();
  const semaphore = createSemaphore(2);
  const begun: string[] = [];
  const work = (name: string) =>
    semaphore.run(async () => {
      begun.push(`${name} at ${clock.now()}`);
      await clock.sleep(10);
      if (name === 'b') throw new Error('broken');
      return name;
    });
  const all = Promise.allSettled(['a', 'b', 'c', 'd', 'e'].map(work));
  await settled();
  assert.deepEqual([semaphore.waiting, semaphore.isFull], [3, true]);
  await clock.advance(30);
  assert.deepEqual(begun, ['a at 0', 'b at 0', 'c at 10', 'd at 10', 'e at 20']);
  assert.deepEqual(
    (await all).map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled', 'fulfilled', 'fulfilled'],
  );
  assert.deepEqual([semaphore.waiting, semaphore.isFull], [0, false]);
});

test('a place is released once, however often its release function is called', async () => {
  const semaphore = createSemaphore(1);
  const leave = await semaphore.enter();
  leave();
  leave();
  await semaphore.enter();
  assert.equal(semaphore.isFull, true);
});

test('a caller that aborts while it waits gets null, takes no place and leaves nothing behind', async () => {
  const semaphore = createSemaphore(1);
  const leave = await semaphore.enter();
  const stop = new AbortController();
  const entering = semaphore.enter(stop.signal);
  stop.abort();
  assert.equal(await entering, null);
  assert.equal(await semaphore.enter(stop.signal), null);
  assert.equal(semaphore.waiting, 0);
  leave();
  assert.equal(semaphore.isFull, false);
});

test('a semaphore whose size has grown admits waiting work into the new places', async () => {
  let size = 1;
  const semaphore = createSemaphore(() => size);
  await semaphore.enter();
  let admitted = 0;
  for (let each = 0; each < 3; each++) semaphore.enter().then(() => admitted++);
  size = 3;
  semaphore.widened();
  await settled();
  assert.deepEqual([admitted, semaphore.waiting], [2, 1]);
});
