/** A position in a list that is ordered by time, then by id. Each page of a list starts at one. */
export interface Cursor {
  readonly at: number;
  readonly id: bigint;
}

export const FIRST_ID = -(2n ** 63n);
export const LAST_ID = 2n ** 63n - 1n;
// The largest integer that a number holds exactly, later than every date.
const END_OF_TIME = 2 ** 53 - 1;
export const FIRST_AT = -END_OF_TIME;

/** The range of a list that is read completely. */
export const EVERYTHING = { from: FIRST_ID, limit: 2 ** 31 - 1 };

export const FIRST: Cursor = { at: FIRST_AT, id: FIRST_ID };
export const LAST: Cursor = { at: END_OF_TIME, id: LAST_ID };

/** The first position after an entry, for lists with the oldest entry first. */
export const cursorAfter = (at: number, id: bigint): Cursor =>
  id === LAST_ID ? { at: at + 1, id: FIRST_ID } : { at, id: id + 1n };

/** The last position before an entry, for lists with the newest entry first. */
export const cursorBefore = (at: number, id: bigint): Cursor =>
  id === FIRST_ID ? { at: at - 1, id: LAST_ID } : { at, id: id - 1n };

/** Reads a list that is ordered by id, page by page. */
export async function* pages<R>(
  limit: number,
  page: (from: bigint) => Promise<R[]>,
  idOf: (row: R) => bigint,
): AsyncGenerator<R[]> {
  for (let from = FIRST_ID; ; ) {
    const rows = await page(from);
    yield rows;
    const last = rows.at(-1);
    if (rows.length < limit || last === undefined || idOf(last) === LAST_ID) return;
    from = idOf(last) + 1n;
  }
}

/** The ids below an entry, highest first; null if there is none. */
export const below = (id: bigint | undefined): bigint | null => {
  if (id === undefined) return LAST_ID;
  return id === FIRST_ID ? null : id - 1n;
};
/** The ids above an entry, lowest first. */
export const above = (id: bigint | undefined): bigint | null => {
  if (id === undefined) return FIRST_ID;
  return id === LAST_ID ? null : id + 1n;
};
