import type { Items } from '../contract/types.ts';

// About a millisecond of work, in which nobody else is served.
const PAGE = 200;
// As many or more are not put together before they are sent.
const MANY = 500;
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
    if (page.length < PAGE || first.length === limit) break;
    await nextTurn();
  }
  return first.length < MANY || first.length === limit ? first.map(convert) : pages(first, limit, read, convert);
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

async function* pages<M, T>(
  first: M[],
  limit: number,
  read: Read<M>,
  convert: (thing: M) => T,
): AsyncGenerator<readonly T[]> {
  let left = limit;
  for (let page = first; page.length > 0; ) {
    yield page.map(convert);
    left -= page.length;
    if (left <= 0 || page.length < PAGE) return;
    page = await read(Math.min(left, PAGE), page.at(-1));
  }
}
