import { nextTurn } from '../base/event-loop.ts';
import { type Cursor, cursorAfter, cursorBefore, FIRST, FIRST_ID, LAST, LAST_ID } from '../store/cursor.ts';
import type { Page } from './action.ts';
import { instant } from './schemas.ts';

/** How lists that are ordered by time are filtered and sorted. Every one of them does it alike. */
export const since = instant.optional().describe('Only from this time on.');
export const until = instant.optional().describe('Only before this time.');
export type Order = 'newest' | 'oldest';

export const FILTERED =
  'A page of a search may have fewer items than `limit`, even none, although more follow: as long as `next` is not null, there is more.';

/** Rows that a search reads for one page: about 20 ms. The next page continues behind them. */
const READ_MAX = 5_000;
const READ_AT_ONCE = 500;

/** `last` is the position of the last row that was looked at; null at the end. */
export interface Rows<R> {
  readonly rows: readonly R[];
  readonly last: Cursor | null;
}

export interface TimedList<R> {
  readonly page: Page<[number, bigint]>;
  readonly order: Order;
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  /** Reads at most `limit` rows from a position on, which is included. */
  readonly read: (from: Cursor, limit: number) => Promise<Rows<R>>;
  readonly cursorOf: (row: R) => Cursor;
  /** Undefined if every row is wanted. */
  readonly isWanted?: ((row: R) => boolean) | undefined;
}

/** A page of a list in the order of time, within a range of time. */
export async function timedPage<R, I>(list: TimedList<R>, toItem: (row: R) => I) {
  const { page, cursorOf, isWanted = () => true, read } = list;
  const atOnce = list.isWanted ? READ_AT_ONCE : page.limit + 1;
  const rows: R[] = [];
  let looked: [number, bigint] | null = null;
  const done = (next: [number, bigint] | null) => ({ items: rows.map(toItem), next });
  let from = startOf(list);
  for (let count = 0; count < READ_MAX; ) {
    if (count > 0) await nextTurn(); // SQLite answers within a turn of the event loop
    const found = await read(from, atOnce);
    for (const row of found.rows) {
      const { at, id } = cursorOf(row);
      if (isBeyond(at, list)) return done(null);
      if (rows.length === page.limit) return done(looked);
      looked = [at, id];
      if (isWanted(row)) rows.push(row);
    }
    if (found.last === null) return done(null);
    looked = [found.last.at, found.last.id];
    from = nextOf(looked, list.order);
    count += atOnce;
  }
  return done(looked);
}

/** A source that ends with the first page that is not full. */
export const rowsOf = <R>(rows: readonly R[], limit: number, cursorOf: (row: R) => Cursor): Rows<R> => {
  const last = rows.at(-1);
  return { rows, last: rows.length < limit || last === undefined ? null : cursorOf(last) };
};

function startOf<R>({ page: { after }, order: by, since: first, until: end }: TimedList<R>): Cursor {
  if (after !== null) return nextOf(after, by);
  if (by === 'oldest') return first === undefined ? FIRST : { at: first, id: FIRST_ID };
  return end === undefined ? LAST : { at: end - 1, id: LAST_ID };
}

const nextOf = ([at, id]: readonly [number, bigint], by: Order): Cursor =>
  by === 'oldest' ? cursorAfter(at, id) : cursorBefore(at, id);

const isBeyond = <R>(at: number, { order: by, since: first, until: end }: TimedList<R>): boolean =>
  by === 'oldest' ? end !== undefined && at >= end : first !== undefined && at < first;
