import { parseLong } from '../contract/scalars.ts';
import { badArgument, Problem } from '../problem.ts';

/** What the wire's words mean to the domain. */

/** How many are wanted: none for 0, at most what the service allows, and no negative number of things. */
export function cap(parameter: string, value: number, limit: number): number {
  if (value < 0) throw badArgument(parameter, 'must not be negative');
  return Math.min(value, limit);
}

/** The id that a text holds; null where it holds none, and so names nothing. */
export const idOf = (text: string | null): bigint | null => (text === null ? null : parseLong(text));

/** The ids of a list; null where one of its items holds none. */
export function idsOf(parameter: string, items: readonly (string | null)[] | null, itemsMax: number): bigint[] | null {
  if (!items || items.length === 0) throw badArgument(parameter, 'the list is missing or empty');
  if (items.length > itemsMax) throw badArgument(parameter, `the list has more than ${itemsMax} items`);
  const ids = items.map(idOf);
  return ids.includes(null) ? null : (ids as bigint[]);
}

/** Names the parameter in what the domain has against its value. */
export async function about<T>(parameter: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    if (thrown instanceof Problem && thrown.kind === 'bad-argument') throw badArgument(parameter, thrown.message);
    throw thrown;
  }
}
