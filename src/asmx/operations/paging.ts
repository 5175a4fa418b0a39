import { createTurnBudget, nextTurn } from '../../base/event-loop.ts';
import type { Items } from '../contract/types.ts';

// Reading this many rows takes half a millisecond, during which the process serves nobody else.
const PAGE_ROWS = 200;
// A list with this many rows or characters is streamed. A shorter list can be cached.
const STREAM_FROM_ROWS = 500;
const STREAM_FROM_LENGTH = 65_536;
// A streamed page is about as long as one piece. With twice this length, the service held 131 KB
// for a slow client.
const PAGE_LENGTH = 32_768;
// A call for more rows than this waits for the read budget.
const UNTHROTTLED_ROWS = 50;

// How long all long lists together may read in one event-loop turn: many at once would delay short
// calls.
const READ_BUDGET_MS = 2;
const withinReadBudget = createTurnBudget(READ_BUDGET_MS);

type Read<M> = (limit: number, after?: M) => Promise<M[]>;

/**
 * Reads up to `limit` rows: a short list whole, a long one page by page as the client takes it.
 * Later pages may show changes made meanwhile. No row comes twice.
 */
export async function paged<M, T>(limit: number, read: Read<M>, convert: (row: M) => T): Promise<Items<T>> {
  const rows: M[] = [];
  for (;;) {
    const wanted = Math.min(limit, STREAM_FROM_ROWS) - rows.length;
    const readPage = () => read(Math.min(wanted, PAGE_ROWS), rows.at(-1));
    const page = await (limit > UNTHROTTLED_ROWS ? withinReadBudget(readPage) : readPage());
    rows.push(...page);
    const isComplete = page.length < Math.min(wanted, PAGE_ROWS) || rows.length === limit;
    const isLong = countWithin(STREAM_FROM_LENGTH, rows) < rows.length;
    if (isComplete && !isLong) return rows.map(convert);
    if (isLong || rows.length === STREAM_FROM_ROWS) return stream(rows, isComplete, limit, read, convert);
    await nextTurn();
  }
}

/** Counts the first rows whose texts have at most `lengthMax` characters in all; at least 1. */
function countWithin(lengthMax: number, rows: readonly unknown[]): number {
  let length = 0;
  for (let index = 0; index < rows.length; index++) {
    const row = rows[index] as Record<string, unknown>;
    for (const name in row) {
      const value = row[name];
      if (typeof value === 'string') length += value.length;
    }
    if (length > lengthMax) return Math.max(index, 1);
  }
  return rows.length;
}

/** Holds at most one page for a slow client. Rows beyond the page are read again later. */
async function* stream<M, T>(
  first: M[],
  isComplete: boolean,
  limit: number,
  read: Read<M>,
  convert: (row: M) => T,
): AsyncGenerator<T[]> {
  let left = limit;
  let isLast = isComplete;
  for (let rows = first; rows.length > 0; ) {
    const count = countWithin(PAGE_LENGTH, rows);
    const last = rows[count - 1];
    isLast &&= count === rows.length;
    left -= count;
    const page = rows.slice(0, count).map(convert);
    rows.length = 0; // nothing is held while the client takes the page
    yield page;
    if (left <= 0 || isLast) return;
    // After long rows more long rows are likely, so not many more than fit into a page are read.
    const wanted = Math.min(left, PAGE_ROWS, 2 * count);
    rows = await read(wanted, last);
    isLast = rows.length < wanted;
  }
}
