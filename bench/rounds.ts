import { say } from './report.ts';
import { ROUNDS } from './settings.ts';

/**
 * Measuring on machines that are never quiet. Candidates take turns, figure by figure, each round
 * in the other direction. Only ratios within one run count. Median of the rounds, and between which values they lay.
 */
export type Candidates<T> = Readonly<Record<string, Readonly<Record<string, () => Promise<T>>>>>;
/** By candidate and figure, round by round. */
export type Results<T> = Readonly<Record<string, Readonly<Record<string, readonly T[]>>>>;

export async function rounds<T>(
  candidates: Candidates<T>,
  before: () => void | Promise<void> = () => {},
  count = ROUNDS,
  slices: Slices<T> = { count: 1, join: ([only]) => only as T },
): Promise<Results<T>> {
  const names = Object.keys(candidates);
  const figures = [...new Set(Object.values(candidates).flatMap(Object.keys))];
  const results: Record<string, Record<string, T[]>> = Object.fromEntries(names.map((name) => [name, {}]));
  for (let round = 0; round <= count; round++) {
    await before();
    for (const figure of figures) {
      const parts = await takeTurns(candidates, figure, round % 2 === 0 ? names : names.toReversed(), slices.count);
      if (round === 0) continue; // it warms up
      for (const [name, values] of parts) {
        const own = results[name] as Record<string, T[]>;
        own[figure] ??= [];
        own[figure].push(slices.join(values));
      }
    }
    say(`round ${round} of ${count}`);
  }
  return results;
}

/** A round in parts, for each of which all candidates have their turn: a machine's speed changes within seconds. */
export interface Slices<T> {
  readonly count: number;
  readonly join: (parts: readonly T[]) => T;
}

async function takeTurns<T>(candidates: Candidates<T>, figure: string, names: readonly string[], slices: number) {
  const parts = new Map<string, T[]>();
  for (let slice = 0; slice < slices; slice++) {
    for (const name of names) {
      const value = await candidates[name]?.[figure]?.();
      if (value !== undefined) parts.set(name, [...(parts.get(name) ?? []), value]);
    }
  }
  return parts;
}

export const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

/** One of the numbers of each measurement. */
export const pick = <T>(results: Results<T>, number: (value: T) => number): Results<number> =>
  mapped(results, (figures) => mapped(figures, (values) => values.map(number)));

const mapped = <A, B>(from: Readonly<Record<string, A>>, convert: (each: A) => B): Record<string, B> =>
  Object.fromEntries(Object.entries(from).map(([name, each]) => [name, convert(each)]));

export const quantile = (values: ArrayLike<number>, part: number): number => {
  const sorted = Float64Array.from(values).sort();
  const place = (sorted.length - 1) * part;
  const below = sorted[Math.floor(place)] ?? Number.NaN;
  return below + ((sorted[Math.ceil(place)] ?? Number.NaN) - below) * (place % 1);
};
export const median = (values: ArrayLike<number>): number => quantile(values, 0.5);

/** How many times better than `base` in the same round; less is better. */
export const ratios = (base: readonly number[] = [], own: readonly number[] = []): number[] =>
  own.map((value, round) => (base[round] as number) / value);

/** The median, and between which values they lay. */
export const withSpread = (values: readonly number[], digits = 2): string =>
  values.length === 0
    ? '–'
    : `${median(values).toFixed(digits)} (${Math.min(...values).toFixed(digits)}–${Math.max(...values).toFixed(digits)})`;

/** Of figures in which less is better: the median, and how many times better than `base` each candidate was. */
export function comparison(results: Results<number>, base: string, digits = 1): { head: string[]; rows: string[][] } {
  const figures = Object.keys(results[base] ?? {});
  const cell = (name: string, figure: string) => {
    const own = results[name]?.[figure];
    return own ? `${median(own).toFixed(digits)}; ${withSpread(ratios(results[base]?.[figure], own))}` : '–';
  };
  return {
    head: ['', ...figures],
    rows: Object.keys(results).map((name) => [name, ...figures.map((figure) => cell(name, figure))]),
  };
}
