import type { Items } from '../contract/types.ts';

// About 3 ms of work, in which nobody else is served.
const PAGE = 500;

/**
 * Up to `limit` things: all at once where they are few, else page by page as the client takes them. What changes meanwhile
 * may be seen in later pages; nothing comes twice.
 */
export async function listed<M, T>(
  limit: number,
  read: (limit: number, after?: M) => Promise<M[]>,
  convert: (thing: M) => T,
): Promise<Items<T>> {
  const first = await read(Math.min(limit, PAGE));
  if (first.length < PAGE || limit === PAGE) return first.map(convert);
  return pages(first, limit, read, convert);
}

async function* pages<M, T>(
  first: M[],
  limit: number,
  read: (limit: number, after?: M) => Promise<M[]>,
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
