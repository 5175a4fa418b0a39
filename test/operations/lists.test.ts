import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listed } from '../../src/operations/lists.ts';
import { framed } from '../../src/wire/values.ts';

/** Keeps the process from everything else. */
function work(ms: number): void {
  for (const end = performance.now() + ms; performance.now() < end; );
}

/** Asks so often in one moment for as many, and counts how many pages are read in each turn of the event loop. */
async function askAtOnce(times: number, limit: number, pageMs: number): Promise<number[]> {
  let isOver = false;
  let reads = 0;
  const turns: number[] = [];
  const watch = () => {
    turns.push(reads);
    reads = 0;
    if (!isOver) setImmediate(watch);
  };
  setImmediate(watch);
  const read = async (wanted: number) => {
    reads += 1;
    work(pageMs);
    return Array.from({ length: wanted }, (_, index) => index);
  };
  const lists = await Promise.all(Array.from({ length: times }, () => listed(limit, read, String)));
  isOver = true;
  await new Promise(setImmediate);
  for (const list of lists) assert.ok(Array.isArray(list) && list.length === limit);
  return turns.filter((count) => count > 0);
}

test('many that ask for much at the same moment are not all served in one turn of the event loop', async () => {
  const turns = await askAtOnce(20, 150, 3);
  assert.equal(
    turns.reduce((sum, count) => sum + count, 0),
    20,
  );
  assert.ok(Math.max(...turns) <= 2, `${turns} pages a turn`);
});

test('those that ask for little do not wait, and neither do many whose lists take no time', async () => {
  assert.deepEqual(await askAtOnce(20, 50, 3), [20]);
  assert.ok((await askAtOnce(20, 150, 0)).length <= 2);
});

test('of a long list nothing is held that was sent, while the client takes its time', async () => {
  const read: number[][] = [];
  const list = await listed(
    1_000,
    async (wanted) => {
      read.push(Array.from({ length: wanted }, (_, index) => index));
      return read.at(-1) as number[];
    },
    String,
  );
  assert.ok(!Array.isArray(list));
  const pieces = framed(
    () => '\0',
    (items) => `${items.length} `,
  )(list, '', '') as AsyncIterable<string>;
  const sent: string[] = [];
  for await (const piece of pieces) {
    sent.push(piece);
    if (sent.length === 7)
      assert.deepEqual(read.at(-1), [], 'both pieces of the first page after the beginning were sent');
  }
  assert.deepEqual(sent, [...Array(10).fill('100 '), '']);
});

test('a page is emptied by whoever has written it', async () => {
  const pages = [[1, 2], [3]];
  const pieces = framed(
    () => '\0',
    (items) => items.join(),
  )(
    (async function* () {
      yield* pages;
    })(),
    '<',
    '>',
  ) as AsyncIterable<string>;
  for await (const piece of pieces) if (piece === '<1,2') assert.deepEqual(pages, [[], [3]]);
  assert.deepEqual(pages, [[], []]);
});
