import type { Items } from '../contract/types.ts';

// Half a millisecond of reading, in which nobody else is served.
const PAGE = 200;
// As many or more are not put together before they are sent, nor those with longer texts: an answer that is kept
// has no more characters.
const MANY = 500;
const LONG_LENGTH = 65_536;
// Of characters, for one page: about what one piece of the answer takes. Up to 131 KB were held with twice as many.
const PAGE_LENGTH = 32_768;
// More than that wait until there is time for them.
const FEW = 50;

type Read<M> = (limit: number, after?: M) => Promise<M[]>;

/**
 * Up to `limit` things: all at once where they are few, else page by page as the client takes them. What changes meanwhile
 * may be seen in later pages; nothing comes twice.
 */
export async function listed<M, T>(limit: number, read: Read<M>, convert: (thing: M) => T): Promise<Items<T>> {
  const first: M[] = [];
  for (;;) {
    const wanted = Math.min(limit, MANY) - first.length;
    const next = () => read(Math.min(wanted, PAGE), first.at(-1));
    const page = await (limit > FEW ? whenThereIsTime(next) : next());
    first.push(...page);
    const isEnd = page.length < Math.min(wanted, PAGE) || first.length === limit;
    const isLong = fitting(first, LONG_LENGTH) < first.length;
    if (isEnd && !isLong) return first.map(convert);
    if (isLong || first.length === MANY) return pages(first, isEnd, limit, read, convert);
    await nextTurn();
  }
}

/** How many of them have no more than so many characters together, but at least one. */
function fitting(things: readonly unknown[], lengthMax: number): number {
  let length = 0;
  for (let index = 0; index < things.length; index++) {
    const thing = things[index] as Record<string, unknown>;
    for (const name in thing) {
      const value = thing[name];
      if (typeof value === 'string') length += value.length;
    }
    if (length > lengthMax) return Math.max(index, 1);
  }
  return things.length;
}

const nextTurn = () => new Promise(setImmediate);

// In which nobody else is served, and then until the page is read that was begun.
const TURN_MS = 2;
let turnStartedAt: number | undefined;
const endTurn = () => {
  turnStartedAt = undefined;
};

/** Many that ask for much at the same moment must not keep everybody else waiting: those that come late wait a turn. */
async function whenThereIsTime<T>(read: () => Promise<T>): Promise<T> {
  while (turnStartedAt !== undefined && performance.now() - turnStartedAt > TURN_MS) await nextTurn();
  if (turnStartedAt === undefined) {
    turnStartedAt = performance.now();
    setImmediate(endTurn);
  }
  return read();
}

/** A client may take its time, and little is to be held for it meanwhile: what was read beyond that is read again. */
async function* pages<M, T>(
  first: M[],
  isWhole: boolean,
  limit: number,
  read: Read<M>,
  convert: (thing: M) => T,
): AsyncGenerator<T[]> {
  let left = limit;
  let isEnd = isWhole;
  for (let rows = first; rows.length > 0; ) {
    const count = fitting(rows, PAGE_LENGTH);
    const last = rows[count - 1];
    isEnd &&= count === rows.length;
    left -= count;
    const page = rows.slice(0, count).map(convert);
    rows.length = 0; // while more is waited for, nothing is kept
    yield page;
    if (left <= 0 || isEnd) return;
    // Where these are long, so are the next as a rule: not many more than there is room for.
    const wanted = Math.min(left, PAGE, 2 * count);
    rows = await read(wanted, last);
    isEnd = rows.length < wanted;
  }
}
