import { nextTurn } from '../base/event-loop.ts';
import type { Found } from '../domain/search/of-kind.ts';
import { type Cursor, cursorAfter, cursorBefore, FIRST, FIRST_ID, LAST, LAST_ID } from '../store/cursor.ts';

/**
 * Reads lists in pages by cursor. A filter that no index answers reads at most 20,000 rows and says
 * how far it came. So no page of the console costs more, however many messages an account has.
 */
export const PAGE_ROWS = 50;
export const SEARCHED_ROWS_MAX = 20_000;
const READ_AT_ONCE = 500;

export interface Scanned<R> {
  readonly rows: readonly R[];
  /** The last row that was looked at, if more may follow. */
  readonly next: Cursor | null;
  /** How many rows were read. */
  readonly read: number;
  /** Whether the search ended at its limit, before it had a page or reached the end. */
  readonly isCut: boolean;
}

export interface ScanOptions<R> {
  /** Reads at most `limit` rows after a row, or from the beginning. */
  readonly page: (limit: number, after: Cursor | undefined) => Promise<readonly R[]>;
  readonly cursorOf: (row: R) => Cursor;
  /** Undefined if every row is wanted. */
  readonly isWanted?: ((row: R) => boolean) | undefined;
  /** Called for each row that is read, in order. Returns the row as the page shows it. */
  readonly onRead?: ((row: R) => R) | undefined;
  /** Whether this row, and so all rows after it, are out of the range. */
  readonly isBeyond?: ((row: R) => boolean) | undefined;
  readonly after: Cursor | undefined;
  readonly rowsMax?: number;
  /** The most rows to read; 20,000 by default. */
  readonly readMax?: number;
}

export async function scan<R>({
  page,
  cursorOf,
  isWanted,
  isBeyond,
  onRead,
  after,
  rowsMax = PAGE_ROWS,
  readMax = SEARCHED_ROWS_MAX,
}: ScanOptions<R>): Promise<Scanned<R>> {
  const rows: R[] = [];
  const atOnce = isWanted ? READ_AT_ONCE : rowsMax + 1;
  let read = 0;
  for (let cursor = after; ; ) {
    // SQLite answers within a turn of the event loop, so calls of the contract are let in between
    // two pieces of a search.
    if (read > 0) await nextTurn();
    const found = await page(atOnce, cursor);
    for (const row of found) {
      if (isBeyond?.(row)) return { rows, next: null, read, isCut: false };
      // One row more than the page holds: the next page begins after the last row of this one.
      if (rows.length === rowsMax) {
        return { rows, next: cursorOf(rows.at(-1) as R), read, isCut: false };
      }
      read += 1;
      const seen = onRead ? onRead(row) : row;
      if (isWanted?.(row) ?? true) rows.push(seen);
      cursor = cursorOf(row);
      if (read >= readMax) return { rows, next: cursor, read, isCut: true };
    }
    if (found.length < atOnce) return { rows, next: null, read, isCut: false };
  }
}

export interface FoundOptions<R> extends Pick<ScanOptions<R>, 'cursorOf' | 'isWanted' | 'after'> {
  readonly found: Found<R>;
  readonly order: 'newest' | 'oldest';
  /** From a time on, and before a time. */
  readonly range: { readonly from: number | null; readonly to: number | null };
  readonly rowsMax?: number;
}

/** So many messages with one of the words are looked at for the other words: about 3 ms. */
const LOOKED_AT_MAX = 250;

/** What a search has found in a range of time, in pages by cursor. */
export async function scanFound<R>(options: FoundOptions<R>): Promise<Scanned<R>> {
  const { found, order, cursorOf, isWanted, range, rowsMax = PAGE_ROWS } = options;
  const isBeyond = ({ at }: Cursor): boolean =>
    order === 'newest' ? range.from !== null && at < range.from : range.to !== null && at >= range.to;
  const atOnce = found.isExact && !isWanted ? rowsMax + 1 : Math.max(LOOKED_AT_MAX, rowsMax);
  const { rows: read, last } = await found.read(order, startOf(options), atOnce);
  const rows: R[] = [];
  for (const row of read) {
    if (isBeyond(cursorOf(row))) return { rows, next: null, read: atOnce, isCut: false };
    if (isWanted && !isWanted(row)) continue;
    if (rows.length === rowsMax) return { rows, next: cursorOf(rows.at(-1) as R), read: atOnce, isCut: false };
    rows.push(row);
  }
  const next = last !== null && isBeyond(last) ? null : last;
  return { rows, next, read: atOnce, isCut: next !== null && rows.length < rowsMax };
}

function startOf<R>({ order, after, range: { from, to } }: FoundOptions<R>): Cursor {
  if (order === 'oldest') {
    if (after) return cursorAfter(after.at, after.id);
    return from === null ? FIRST : { at: from, id: FIRST_ID };
  }
  if (after) return cursorBefore(after.at, after.id);
  return to === null ? LAST : { at: to - 1, id: LAST_ID };
}

/** How many rows of a file are written at once. */
export const EXPORTED_AT_ONCE = 500;

/** Yields all matching rows in pieces, for a file, until the list ends or nobody reads on. */
export async function* matchingRows<R>(
  read: (after: Cursor | undefined, rowsMax: number) => Promise<Scanned<R>>,
  signal: AbortSignal,
): AsyncGenerator<readonly R[]> {
  for (let after: Cursor | undefined; !signal.aborted; ) {
    const { rows, next } = await read(after, EXPORTED_AT_ONCE);
    yield rows;
    if (next === null) return;
    after = next;
    await nextTurn();
  }
}

export const writeCursor = ({ at, id }: Cursor): string => `${at}.${id}`;

/** Returns undefined for an invalid cursor, so that the list starts at its beginning. */
export function readCursor(text: string | null): Cursor | undefined {
  const match = /^(-?\d{1,16})\.(-?\d{1,19})$/.exec(text ?? '');
  if (!match) return undefined;
  const id = BigInt(match[2] as string);
  return id === BigInt.asIntN(64, id) ? { at: Number(match[1]), id } : undefined;
}

/** A cursor before every entry of a time, for lists with the newest first that begin there. */
export const justAfter = (at: number | null): Cursor | undefined =>
  at === null ? undefined : { at: Math.min(at, LAST.at), id: -(2n ** 63n) };

/** A cursor before every entry of a time, for lists with the oldest first that begin there. */
export const justBefore = (at: number | null): Cursor | undefined =>
  at === null ? undefined : { at: at - 1, id: LAST_ID };
