import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rowsOf, timedPage } from '../../src/operator/filters.ts';
import type { Cursor } from '../../src/store/cursor.ts';

test('a search that finds nothing in 5,000 rows answers an empty page with a next one, which continues behind them', async () => {
  const rows = Array.from({ length: 12_000 }, (_, index) => ({ at: 12_000 - index, id: 1n }));
  let read = 0;
  const list = (after: [number, bigint] | null) => ({
    page: { limit: 10, after },
    order: 'newest' as const,
    since: undefined,
    until: undefined,
    cursorOf: (row: Cursor) => row,
    isWanted: ({ at }: Cursor) => at <= 3,
    read: async (from: Cursor, limit: number) => {
      const found = rows.filter(({ at, id }) => at < from.at || (at === from.at && id <= from.id)).slice(0, limit);
      read += found.length;
      return rowsOf(found, limit, (row) => row);
    },
  });
  const pages: number[][] = [];
  for (let after: [number, bigint] | null | undefined; after !== null; ) {
    const { items, next } = await timedPage(list(after ?? null), ({ at }) => at);
    pages.push(items);
    after = next;
  }
  assert.deepEqual(pages, [[], [], [3, 2, 1]]);
  assert.equal(read, rows.length);
});
