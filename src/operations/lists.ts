import type { Items } from '../contract/types.ts';

// Half a millisecond of reading, in which nobody else is served.
const PAGE = 200;
// What is sent in one piece: less than 128 KB of text, from which on V8 counts it as large and collects it late.
const PIECE = 100;
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

async function* pages<M, T>(first: M[], limit: number, read: Read<M>, convert: (thing: M) => T): AsyncGenerator<T[]> {
  let left = limit;
  for (let rows = first; rows.length > 0; ) {
    const last = rows.at(-1);
    const isEnd = rows.length < PAGE;
    left -= rows.length;
    // Taken out: what was sent would be kept until more is wanted, and with many clients grow old meanwhile.
    while (rows.length > 0) yield rows.splice(0, PIECE).map(convert);
    if (left <= 0 || isEnd) return;
    rows = await read(Math.min(left, PAGE), last);
  }
}
