import type { DataSetReading, Row } from '../../test/support/contract-client.ts';
import type { Random } from '../../test/support/random.ts';
import type { Effect } from './history.ts';

/**
 * A part of an account, as simple as it can be said: its state is a text, and each call says what it does to that. Where
 * the state has one character for each id, `x` is what has been deleted.
 */
export interface Thing {
  readonly initial: string;
  readonly reads: readonly Planned[];
  /** By how often they are made: those that leave nothing to do least often. */
  readonly writes: readonly (readonly [number, (random: Random) => Planned])[];
}
export interface Planned {
  readonly group: string;
  readonly operation: string;
  readonly args: Readonly<Record<string, string | number | readonly string[]>>;
  apply(state: string): Effect;
  /** The answer in the model's words. */
  show(value: unknown): string;
}

export const IDS = ['1', '2', '3', '4', '5', '6'];
const UNKNOWN_ID = '77';
/** For the limits of lists that do not matter here. */
export const ALL = 100;

export function planned(
  address: `${string}.${string}`,
  args: Planned['args'],
  apply: Planned['apply'],
  show: Planned['show'] = String,
): Planned {
  const [group = '', operation = ''] = address.split('.');
  return { group, operation, args, apply, show };
}

export const anyId = (random: Random): string => (random.chance(0.1) ? UNKNOWN_ID : random.pick(IDS));
export const someIds = (random: Random): string[] => [
  ...random.some(IDS).slice(0, 3),
  ...(random.chance(0.15) ? [UNKNOWN_ID] : []),
];

export const yes = (state: string): Effect => ({ state, result: 'true' });
export const no = (state: string): Effect => ({ state, result: 'false' });
export const reading =
  (answer: (state: string) => string) =>
  (state: string): Effect => ({ state, result: answer(state) });

export const indexes = (state: string, wanted: (value: string) => boolean): number[] =>
  [...state].flatMap((value, index) => (wanted(value) ? [index] : []));
export const idsWhere =
  (wanted: (value: string) => boolean) =>
  (state: string): string =>
    indexes(state, wanted)
      .map((index) => IDS[index])
      .join();
export const isThere = (value: string): boolean => value !== 'x';
export const allDeleted = (state: string): Effect => yes('x'.repeat(state.length));

/** All of them get the value, or none where one is not there or not fit. */
export const change =
  (ids: readonly string[], value: string, isFit: (value: string) => boolean = () => true) =>
  (state: string): Effect => {
    const places = ids.map((id) => IDS.indexOf(id));
    const fit = places.every((place) => place >= 0 && isThere(state[place] as string) && isFit(state[place] as string));
    return fit ? yes([...state].map((old, place) => (places.includes(place) ? value : old)).join('')) : no(state);
  };

export const listed =
  (...fields: string[]) =>
  (value: unknown): string =>
    (value as Row[]).map((row) => fields.map((field) => row[field] ?? '0').join(':')).join();
export const tabled =
  (...columns: string[]) =>
  (value: unknown): string =>
    listed(...columns)((value as DataSetReading).rows);

export const day = (index: number): string => `2026-10-0${index + 1}T08:00:00Z`;
