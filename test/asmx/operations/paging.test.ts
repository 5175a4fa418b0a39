import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Items } from '../../../src/asmx/contract/types.ts';
import { paged } from '../../../src/asmx/operations/paging.ts';
import { streamable } from '../../../src/asmx/results/result-writer.ts';

/** Keeps the process from everything else. */
function work(ms: number): void {
  for (const end = performance.now() + ms; performance.now() < end; );
}

const isPaged = <T>(list: Items<T>): list is AsyncIterable<T[]> => Symbol.asyncIterator in list;

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
  const lists = await Promise.all(Array.from({ length: times }, () => paged(limit, read, String)));
  isOver = true;
  await new Promise(setImmediate);
  for (const list of lists) assert.ok(Array.isArray(list) && list.length === limit);
  return turns.filter((count) => count > 0);
}

test('many callers who ask for long lists at the same moment are not all served in one turn of the event loop', async () => {
  const turns = await askAtOnce(20, 150, 3);
  assert.equal(
    turns.reduce((sum, count) => sum + count, 0),
    20,
  );
  assert.ok(Math.max(...turns) <= 2, `${turns} pages a turn`);
});

test('callers of short lists do not wait, nor do many callers whose lists take no time', async () => {
  assert.deepEqual(await askAtOnce(20, 50, 3), [20]);
  assert.ok((await askAtOnce(20, 150, 0)).length <= 2);
});

test('no part of a long list that was sent is held in memory while the client reads slowly', async () => {
  const read: number[][] = [];
  const list = await paged(
    1_000,
    async (wanted) => {
      read.push(Array.from({ length: wanted }, (_, index) => index));
      return read.at(-1) as number[];
    },
    String,
  );
  assert.ok(isPaged(list));
  for await (const page of list) {
    assert.ok(page.length <= 500);
    // The first three were put together.
    if (read.length > 3) assert.deepEqual(read.at(-1), [], 'who reads has given all of it to who writes');
  }
  assert.equal(read.length, 3 + 3);
});

interface Text {
  readonly id: number;
  readonly text: string;
}

/** So many texts of so many characters, read in pages; and what was asked for. */
function createTexts(count: number, length: number) {
  const asked: number[] = [];
  const read = async (limit: number, after?: Text) => {
    asked.push(limit);
    const from = after ? after.id + 1 : 0;
    const text = '&'.repeat(length);
    return Array.from({ length: Math.min(limit, count - from) }, (_, index): Text => ({ id: from + index, text }));
  };
  return { asked, read };
}

for (const [limit, what] of [
  [Number.POSITIVE_INFINITY, 'without a cap'],
  [150, 'with a cap below a page'],
] as const) {
  test(`at most 32,768 characters of long texts are held at a time, and each text is read once (${what})`, async () => {
    const { asked, read } = createTexts(1_000, 2_000);
    const list = await paged(limit, read, ({ id, text }) => ({ id, text }));
    assert.ok(isPaged(list));
    const ids: number[] = [];
    for await (const page of list) {
      assert.ok(page.length > 0 && page.length * 2_000 <= 32_768, `${page.length} texts`);
      ids.push(...page.map(({ id }) => id));
    }
    assert.deepEqual(
      ids,
      Array.from({ length: Math.min(limit, 1_000) }, (_, index) => index),
    );
    // The first time it is not known how long they are.
    assert.ok(asked.slice(1).every((wanted) => wanted <= 32));
  });
}

test('a text that is longer than what may be held at a time is read alone', async () => {
  const list = await paged(Number.POSITIVE_INFINITY, createTexts(3, 100_000).read, ({ id }) => id);
  assert.ok(isPaged(list));
  const pages: number[][] = [];
  for await (const page of list) pages.push([...page]);
  assert.deepEqual(pages, [[0], [1], [2]]);
});

/** Writes items of so many characters, and counts how many have been written. */
function createWriting(length: number) {
  const counts = { written: 0 };
  const write = streamable(
    () => '\0',
    (_, index) => {
      counts.written += 1;
      return `${index}`.padEnd(length, ' ');
    },
  );
  return { counts, write };
}

test('a piece ends with the item that makes it 32,768 characters long, whether items come in pages or at once', async () => {
  const items = Array.from({ length: 500 }, (_, index) => index);
  async function* paged() {
    for (let from = 0; from < items.length; from += 200) yield items.slice(from, from + 200);
  }
  for (const value of [items, paged()]) {
    const { counts, write } = createWriting(10_000);
    const body = write(value, '<', '>') as AsyncIterable<string>;
    assert.ok(typeof body !== 'string');
    let before = counts.written;
    assert.ok(before <= 7, `${before} items were written before anything was asked for`);
    let text = '';
    for await (const piece of body) {
      assert.ok(piece.length <= 80_000, `${piece.length} characters`);
      assert.ok(counts.written - before <= 4, `${counts.written - before} items for one piece`);
      before = counts.written;
      text += piece;
    }
    assert.ok(text === `<${items.map((index) => `${index}`.padEnd(10_000, ' ')).join('')}>`);
  }
});

test('a list that is no longer than a cacheable answer is written whole', () => {
  const { write } = createWriting(6_553);
  assert.equal(typeof write(Array(10).fill(0), '<', '>'), 'string');
  assert.equal(typeof write(Array(12).fill(0), '<', '>'), 'object');
});

test('a page of rows is emptied while it is written', async () => {
  const pages = [['a'.repeat(40_000), 'b'], ['c']];
  const body = streamable(() => '\0', String)(
    (async function* () {
      yield* pages;
    })(),
    '<',
    '>',
  ) as AsyncIterable<string>;
  const lefts: string[][][] = [];
  for await (const _ of body) lefts.push(structuredClone(pages));
  assert.deepEqual(lefts, [
    [['b'], ['c']],
    [[], []],
  ]);
});
