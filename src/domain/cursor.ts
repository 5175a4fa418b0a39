/**
 * Where in a list a page begins: lists are read some at a time, and each page begins behind the
 * last of the one before.
 */
export interface Place {
  readonly at: number;
  readonly id: bigint;
}

export const FIRST_ID = -(2n ** 63n);
export const LAST_ID = 2n ** 63n - 1n;
// Far beyond every date, and exact in a number.
const END_OF_TIME = 2 ** 53 - 1;

export const START: Place = { at: -END_OF_TIME, id: FIRST_ID };
export const END: Place = { at: END_OF_TIME, id: LAST_ID };

/** Right behind a message, where the oldest come first. */
export const behind = (at: number, id: bigint): Place =>
  id === LAST_ID ? { at: at + 1, id: FIRST_ID } : { at, id: id + 1n };

/** Right before it, where the newest come first. */
export const before = (at: number, id: bigint): Place =>
  id === FIRST_ID ? { at: at - 1, id: LAST_ID } : { at, id: id - 1n };

/** The rows of a list that goes by id, read some at a time for as long as more are wanted. */
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
