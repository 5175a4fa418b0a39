import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../../../src/base/clock.ts';
import { Problem } from '../../../src/base/problem.ts';
import { createWriteQueue, type Transactional } from '../../../src/store/sqlite/write-queue.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

/** A connection that only remembers what it was told, and can refuse a statement. */
function remembering(refuse: (sql: string) => boolean = () => false) {
  const told: string[] = [];
  let inTransaction = false;
  const lose = () => {
    inTransaction = false;
  };
  const connection: Transactional = {
    tryBegin() {
      inTransaction = !refuse('begin');
      return inTransaction;
    },
    exec(sql) {
      told.push(sql);
      if (refuse(sql)) throw new Problem('unavailable', `refused: ${sql}`);
      if (sql === 'commit' || sql === 'rollback') inTransaction = false;
    },
    lockedOut: () => new Problem('unavailable', 'locked'),
    get inTransaction() {
      return inTransaction;
    },
  };
  return { connection, told, lose };
}

const settled = async (work: Promise<unknown>[]) =>
  (await Promise.allSettled(work)).map((each) =>
    each.status === 'fulfilled' ? each.value : String(each.reason.message),
  );

test('writes that are asked for together share one commit, in their order', async () => {
  const { connection, told } = remembering();
  const queue = createWriteQueue(connection, systemClock);
  const order: number[] = [];
  const answers = Array.from({ length: 32 }, (_, number) => queue.add(async () => order.push(number)));
  assert.deepEqual(
    await settled(answers),
    order.map((_, number) => number + 1),
  );
  assert.deepEqual(order, [...order.keys()]);
  assert.equal(told.filter((sql) => sql === 'commit').length, 1);
});

test('a commit does not wait for long turns of the event loop, whatever each of them brings', async () => {
  const { connection, told } = remembering();
  const queue = createWriteQueue(connection, systemClock);
  const work: Promise<unknown>[] = [];
  const counts: number[] = [];
  const slowTurn = (left: number) => {
    if (left > 0) setImmediate(slowTurn, left - 1); // before the queue waits for that turn
    for (const end = performance.now() + 30; performance.now() < end; );
    work.push(queue.add(async () => counts.push(told.filter((sql) => sql === 'commit').length)));
  };
  slowTurn(7);
  while (work.length < 8) await new Promise(setImmediate);
  await settled(work);
  assert.ok((counts.at(-1) ?? 0) >= 3, `the last of 8 writes came after ${counts.at(-1)} commits`);
});

test('writes under load do not wait for a whole turn of the event loop after each half millisecond', async () => {
  const { connection } = remembering();
  const queue = createWriteQueue(connection, systemClock);
  const spin = (ms: number) => {
    for (const end = performance.now() + ms; performance.now() < end; );
  };
  let turns = 0;
  let isOver = false;
  const turn = () => {
    if (isOver) return;
    turns += 1;
    setImmediate(turn);
    spin(8);
  };
  setImmediate(turn);
  const writes = Array.from({ length: 200 }, () => queue.add(async () => spin(0.25)));
  await Promise.all(writes);
  isOver = true;
  // 50 ms of work: some 10 turns, where it was 100.
  assert.ok(turns < 50, `${turns} turns`);
});

test('no write is answered before the commit', async () => {
  const { connection, told } = remembering();
  const queue = createWriteQueue(connection, systemClock);
  const seen = [1, 2].map((number) => queue.add(async () => number).then(() => told.at(-1)));
  assert.deepEqual(await Promise.all(seen), ['commit', 'commit']);
});

test('a write that fails is rolled back alone, and the others are kept', async () => {
  const { connection, told } = remembering();
  const queue = createWriteQueue(connection, systemClock);
  const failing = queue.add(async () => {
    throw new Error('mine');
  });
  assert.deepEqual(await settled([queue.add(async () => 'a'), failing, queue.add(async () => 'b')]), [
    'a',
    'mine',
    'b',
  ]);
  assert.deepEqual(
    told.filter((sql) => sql.startsWith('rollback')),
    ['rollback to job'],
  );
  assert.equal(told.at(-1), 'commit');
});

test('a commit that fails rejects all of its writes, and the next ones continue', async () => {
  let commits = 0;
  const { connection } = remembering((sql) => sql === 'commit' && ++commits === 1);
  const queue = createWriteQueue(connection, systemClock);
  const first = await settled([queue.add(async () => 1), queue.add(async () => 2)]);
  assert.deepEqual(first, ['refused: commit', 'refused: commit']);
  assert.equal(await queue.add(async () => 3), 3);
});

test('an error that has ended the transaction rejects all of its writes', async () => {
  const { connection, lose } = remembering();
  const queue = createWriteQueue(connection, systemClock);
  const full = queue.add(async () => {
    lose(); // as SQLite does when the disk is full
    throw new Problem('unavailable', 'full');
  });
  assert.deepEqual(await settled([queue.add(async () => 1), full, queue.add(async () => 3)]), ['full', 'full', 'full']);
});

test('empty waits for all writes that were requested before', async () => {
  const { connection } = remembering();
  const queue = createWriteQueue(connection, systemClock);
  let done = false;
  void queue.add(async () => {
    done = true;
  });
  await queue.empty();
  assert.ok(done);
});

test('a write waits for another process that is in a transaction', async () => {
  let tries = 0;
  const { connection } = remembering((sql) => sql === 'begin' && ++tries < 4);
  const clock = createVirtualClock();
  const done = createWriteQueue(connection, clock).add(async () => 'done');
  await clock.advance(14);
  assert.equal(tries, 3);
  await clock.advance(1);
  assert.equal(await done, 'done');
  assert.equal(tries, 4);
});

test('a write fails where another process is in its transaction for longer than five seconds of the clock', async () => {
  const { connection } = remembering((sql) => sql === 'begin');
  const clock = createVirtualClock();
  const refused = settled([createWriteQueue(connection, clock).add(async () => 'done')]);
  await clock.advance(4_999);
  assert.deepEqual(clock.waiting(), [5_000]);
  await clock.advance(1);
  assert.deepEqual(await refused, ['locked']);
});

test('a rollback that fails as well does not keep the writes waiting', async () => {
  const { connection } = remembering((sql) => sql === 'commit' || sql === 'rollback');
  const queue = createWriteQueue(connection, systemClock);
  assert.deepEqual(await settled([queue.add(async () => 1)]), ['refused: commit']);
  assert.deepEqual(await settled([queue.add(async () => 2)]), ['refused: commit']);
});

test('a transaction is told that other writes wait for its end, and only those that follow it', async () => {
  const { connection } = remembering();
  const queue = createWriteQueue(connection, systemClock);
  const seen: (boolean | undefined)[] = [];
  const others: Promise<unknown>[] = [];
  await queue.add(async () => {
    seen.push(connection.isAwaited);
    others.push(queue.add(() => seen.push(connection.isAwaited)));
    seen.push(connection.isAwaited);
  });
  await Promise.all(others);
  assert.deepEqual(seen, [false, true, false]);
});
