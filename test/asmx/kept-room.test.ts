import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createKept, type Kept } from '../../src/asmx/response-cache.ts';

/** How much is kept, and what makes room for what. */
const keyOf = (name: number | string, length = 200): string => `GET /${String(name).padStart(length, 'k')}`;
const answered = (bytes: number) => ({
  ...{ form: 'get' as const, group: 'inbox', operation: 'Unread', account: 1 },
  reply: { status: 200, headers: { 'Content-Type': 'text/xml' }, body: 'x'.repeat(bytes) },
});
const keepIn = (kept: Kept, name: number | string, bytes = 1_000) => kept.keep(() => keyOf(name), answered(bytes), 1);
const numbers = (count: number, from = 0) => Array.from({ length: count }, (_, index) => from + index);

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** What is left when all is collected that can be; that of buffers goes on for a while after it was asked for. */
async function memoryInUse(): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let tries = 0; tries < 5; tries++) {
    collectGarbage();
    await sleep(20);
    const { heapUsed, external } = process.memoryUsage();
    least = Math.min(least, heapUsed + external);
  }
  return least;
}

describe('room for kept answers', () => {
  // Answers of any size, from far below what an entry costs besides to the longest that is kept.
  for (const bytes of [0, 100, 1_000, 10_000, 60_000]) {
    test(`answers of ${bytes} bytes take no more than there is room, and most of it`, () => {
      const bytesMax = 2 ** 20;
      const kept = createKept(bytesMax, () => 1);
      const count = Math.ceil((10 * bytesMax) / (bytes + 200));
      for (const name of numbers(count)) {
        keepIn(kept, name, bytes);
        assert.ok(kept.figures.bytes <= bytesMax, `${kept.figures.bytes} bytes are counted`);
      }
      const held = numbers(count)
        .filter((name) => kept.find(keyOf(name)))
        .map((name) => bytes + keyOf(name).length);
      const total = held.reduce((sum, each) => sum + each, 0);
      assert.ok(total <= kept.figures.bytes, `${total} bytes are held`);
      // What an entry costs besides is at most 1,000 bytes; and one that does not fit any more leaves room.
      assert.ok(total + held.length * 1_000 + bytes + 1_200 >= bytesMax, `only ${total} bytes are held`);
    });
  }

  test('long questions count as well as long answers', () => {
    const bytesMax = 2 ** 18;
    const kept = createKept(bytesMax, () => 1);
    for (const name of numbers(1_000)) kept.keep(() => keyOf(name, 4_000), answered(10), 1);
    const held = numbers(1_000).filter((name) => kept.find(keyOf(name, 4_000)));
    assert.ok(held.length * 4_000 <= bytesMax, `${held.length} are held`);
    assert.ok(held.length > 0);
  });

  test('the memory that is really taken is about what there is room for, also where most answers are not kept', async () => {
    const bytesMax = 8 * 2 ** 20;
    const before = await memoryInUse();
    const kept = createKept(bytesMax, () => 1);
    for (const name of numbers(20_000)) {
      keepIn(kept, name, 300);
      // What a process writes into small buffers meanwhile, and forgets.
      for (const _ of numbers(20)) Buffer.from('y'.repeat(300));
    }
    const taken = (await memoryInUse()) - before;
    assert.ok(kept.find(keyOf(19_999)));
    assert.ok(taken < 2 * bytesMax, `${(taken / bytesMax).toFixed(1)} times the room`);
  });

  test('those that are used stay while many others come and go', () => {
    const kept = createKept(2 ** 18, () => 1);
    const polled = numbers(20);
    for (const name of polled) keepIn(kept, name);
    for (const name of numbers(10_000, 1_000)) {
      keepIn(kept, name);
      if (name % 50 === 0) for (const each of polled) assert.ok(kept.find(keyOf(each)), `${each} is gone at ${name}`);
    }
    assert.equal(kept.find(keyOf(1_000)), undefined);
    assert.ok(kept.find(keyOf(10_999)));
  });

  test('those that are not used any more go in the end', () => {
    const kept = createKept(2 ** 18, () => 1);
    for (const name of numbers(20)) keepIn(kept, name);
    for (const name of numbers(20)) kept.find(keyOf(name));
    for (const name of numbers(2_000, 1_000)) keepIn(kept, name);
    assert.deepEqual(
      numbers(20).filter((name) => kept.find(keyOf(name))),
      [],
    );
  });

  test('where all are used, the room is still enough', () => {
    const bytesMax = 2 ** 17;
    const kept = createKept(bytesMax, () => 1);
    for (const name of numbers(400)) {
      keepIn(kept, name);
      for (const each of numbers(name + 1)) kept.find(keyOf(each));
    }
    const held = numbers(400).filter((name) => kept.find(keyOf(name)));
    assert.ok(held.length > 0 && held.length * 1_200 <= bytesMax, `${held.length} are held`);
  });

  test('an answer in place of an older one to the same question takes its room', () => {
    let version = 1;
    const kept = createKept(20_000, () => version);
    keepIn(kept, 'other');
    for (const _ of numbers(1_000)) kept.keep(() => keyOf('same'), answered(1_000), 1);
    assert.ok(kept.find(keyOf('other')) && kept.find(keyOf('same')));
    // Also where the older one does not hold any more.
    for (version = 2; version < 1_000; version++) kept.keep(() => keyOf('same'), answered(1_000), version);
    version = 1;
    assert.ok(kept.find(keyOf('other')));
  });

  test('without room nothing is kept', () => {
    const kept = createKept(0, () => 1);
    for (const name of numbers(100)) keepIn(kept, name, 0);
    assert.deepEqual(
      numbers(100).filter((name) => kept.find(keyOf(name))),
      [],
    );
  });

  test('what is found is what was kept', () => {
    const kept = createKept(2 ** 20, () => 1);
    keepIn(kept, 1, 10);
    const found = kept.find(keyOf(1));
    assert.equal(Buffer.from(found?.reply.body as Uint8Array).toString(), 'x'.repeat(10));
    assert.deepEqual(found?.reply.headers, { 'Content-Type': 'text/xml' });
    assert.equal(kept.find(keyOf(1))?.reply, found?.reply);
  });
});
