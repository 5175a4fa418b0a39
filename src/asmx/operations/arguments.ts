import { badArgument, Problem } from '../../base/problem.ts';
import { parseLong } from '../contract/scalars.ts';

/** Arguments of the contract, converted for the domain. */

/** The wanted number of rows, at most `limit`. 0 means none; a negative number is refused. */
export function cap(parameter: string, value: number, limit: number): number {
  if (value < 0) throw badArgument(parameter, 'must not be negative');
  return Math.min(value, limit);
}

/** The id in a text; null if the text is no id, and so names nothing. */
export const idOf = (text: string | null): bigint | null => (text === null ? null : parseLong(text));

/** The ids of a list; null if one of its items is no id. */
export function idsOf(parameter: string, items: readonly (string | null)[] | null, itemsMax: number): bigint[] | null {
  if (!items || items.length === 0) throw badArgument(parameter, 'the list is missing or empty');
  if (items.length > itemsMax) throw badArgument(parameter, `the list has more than ${itemsMax} items`);
  const ids = items.map(idOf);
  return ids.includes(null) ? null : (ids as bigint[]);
}

/** Adds the name of the parameter when the domain refuses its value. */
export async function about<T>(parameter: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    if (thrown instanceof Problem && thrown.kind === 'bad-argument') throw badArgument(parameter, thrown.message);
    throw thrown;
  }
}
