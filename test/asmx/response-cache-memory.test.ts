import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { contract } from '../../src/asmx/contract/contract.ts';
import { type CachedResponse, ResponseCache } from '../../src/asmx/response-cache.ts';
import type { Request } from '../../src/base/exchange.ts';

/** How much memory the cache takes, and which entries it evicts. */
const requestOf = (name: number | string, length = 200): Request => ({
  method: 'GET',
  path: '/api/inbox.asmx/Unread',
  query: String(name).padStart(length, 'k'),
  headers: {},
  base: 'http://127.0.0.1:18080',
  client: '192.0.2.1',
  body: () => NO_BYTES,
});
/** Of the text that names such a request in the cache. */
const KEY_LENGTH = 'GET /api/inbox.asmx/Unread?\n\n\n'.length + 200;
const NO_BYTES = new Uint8Array();
const responseOf = (bytes: number, account: unknown = 1): CachedResponse => ({
  protocol: 'get',
  group: 'inbox',
  operation: 'Unread',
  account,
  reply: { status: 200, headers: { 'Content-Type': 'text/xml' }, body: Buffer.from('x'.repeat(bytes)) },
});
const cacheOf = (bytesMax: number, isUnchanged = (_account: unknown) => true) =>
  new ResponseCache({ contract, bytesMax, isUnchanged });
const storeIn = (cache: ResponseCache, name: number | string, bytes = 1_000) =>
  cache.store(requestOf(name), NO_BYTES, responseOf(bytes));
const findIn = (cache: ResponseCache, name: number | string, length?: number) =>
  cache.find(requestOf(name, length), NO_BYTES) as CachedResponse | undefined;
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

describe('memory of the response cache', () => {
  // Answers of any size, from far below what an entry costs besides to the longest that is kept.
  for (const bytes of [0, 100, 1_000, 10_000, 60_000]) {
    test(`responses of ${bytes} bytes fill the memory of the cache, and never exceed it`, () => {
      const bytesMax = 2 ** 20;
      const cache = cacheOf(bytesMax);
      const count = Math.ceil((10 * bytesMax) / (bytes + 200));
      for (const name of numbers(count)) {
        storeIn(cache, name, bytes);
        assert.ok(cache.statistics.bytes <= bytesMax, `${cache.statistics.bytes} bytes are counted`);
      }
      const held = numbers(count)
        .filter((name) => findIn(cache, name))
        .map(() => bytes + KEY_LENGTH);
      const total = held.reduce((sum, each) => sum + each, 0);
      assert.ok(total <= cache.statistics.bytes, `${total} bytes are held`);
      // What an entry costs besides is at most 1,000 bytes; and one that does not fit any more leaves room.
      assert.ok(total + held.length * 1_500 + bytes + 1_700 >= bytesMax, `only ${total} bytes are held`);
    });
  }

  test('the memory of the cache includes keys as well as responses', () => {
    const bytesMax = 2 ** 18;
    const cache = cacheOf(bytesMax);
    for (const name of numbers(1_000)) cache.store(requestOf(name, 4_000), NO_BYTES, responseOf(10));
    const held = numbers(1_000).filter((name) => findIn(cache, name, 4_000));
    assert.ok(held.length * 4_000 <= bytesMax, `${held.length} are held`);
    assert.ok(held.length > 0);
  });

  test('the heap grows by at most twice the memory of the cache', async () => {
    const bytesMax = 8 * 2 ** 20;
    const before = await memoryInUse();
    const cache = cacheOf(bytesMax);
    for (const name of numbers(20_000)) {
      storeIn(cache, name, 300);
      // What a process writes into small buffers meanwhile, and forgets.
      for (const _ of numbers(20)) Buffer.from('y'.repeat(300));
    }
    const taken = (await memoryInUse()) - before;
    assert.ok(findIn(cache, 19_999));
    assert.ok(taken < 2 * bytesMax, `${(taken / bytesMax).toFixed(1)} times the room`);
  });

  test('entries in use stay while others are evicted', () => {
    const cache = cacheOf(2 ** 18);
    const polled = numbers(20);
    for (const name of polled) storeIn(cache, name);
    for (const name of numbers(10_000, 1_000)) {
      storeIn(cache, name);
      if (name % 50 === 0) for (const each of polled) assert.ok(findIn(cache, each), `${each} is gone at ${name}`);
    }
    assert.equal(findIn(cache, 1_000), undefined);
    assert.ok(findIn(cache, 10_999));
  });

  test('entries that are no longer used are evicted', () => {
    const cache = cacheOf(2 ** 18);
    for (const name of numbers(20)) storeIn(cache, name);
    for (const name of numbers(20)) findIn(cache, name);
    for (const name of numbers(2_000, 1_000)) storeIn(cache, name);
    assert.deepEqual(
      numbers(20).filter((name) => findIn(cache, name)),
      [],
    );
  });

  test('the cache keeps its limit when all entries are in use', () => {
    const bytesMax = 2 ** 17;
    const cache = cacheOf(bytesMax);
    for (const name of numbers(400)) {
      storeIn(cache, name);
      for (const each of numbers(name + 1)) findIn(cache, each);
    }
    const held = numbers(400).filter((name) => findIn(cache, name));
    assert.ok(held.length > 0 && held.length * 1_200 <= bytesMax, `${held.length} are held`);
  });

  test('a response replaces the older one of the same key', () => {
    let version = 1;
    const cache = cacheOf(20_000, (account) => account === version);
    storeIn(cache, 'other');
    for (const _ of numbers(1_000)) storeIn(cache, 'same');
    assert.ok(findIn(cache, 'other') && findIn(cache, 'same'));
    // Also where the older one does not hold any more.
    for (version = 2; version < 1_000; version++) cache.store(requestOf('same'), NO_BYTES, responseOf(1_000, version));
    version = 1;
    assert.ok(findIn(cache, 'other'));
  });

  test('a response cache of 0 bytes stores no response', () => {
    const cache = cacheOf(0);
    for (const name of numbers(100)) storeIn(cache, name, 0);
    assert.deepEqual(
      numbers(100).filter((name) => findIn(cache, name)),
      [],
    );
  });

  test('ResponseCache.find returns the response that store stored', () => {
    const cache = cacheOf(2 ** 20);
    storeIn(cache, 1, 10);
    const found = findIn(cache, 1);
    assert.equal(Buffer.from(found?.reply.body as Uint8Array).toString(), 'x'.repeat(10));
    assert.deepEqual(found?.reply.headers, { 'Content-Type': 'text/xml' });
    assert.equal(findIn(cache, 1)?.reply, found?.reply);
  });
});
