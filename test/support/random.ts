/** Chance that can be repeated: SEED=… in the environment gives the same choices again, if not the same timing. */
export const SEED = Number(process.env.SEED ?? Date.now() % 1_000_000_000);

export interface Random {
  /** From 0 to `bound` - 1. */
  below(bound: number): number;
  pick<T>(items: readonly T[]): T;
  /** At least one of them, in any order. */
  some<T>(items: readonly T[]): T[];
  chance(probability: number): boolean;
}

/** Each name has its own sequence, so that clients do not depend on who comes first. */
export function createRandom(name: string, seed = SEED): Random {
  // mulberry32, started with an FNV-1a hash of the name.
  let state = [...`${seed} ${name}`].reduce(
    (hash, letter) => Math.imul(hash ^ letter.charCodeAt(0), 16777619),
    2166136261,
  );
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (bound: number) => Math.floor(next() * bound);
  return {
    below,
    pick: <T>(items: readonly T[]) => items[below(items.length)] as T,
    some<T>(items: readonly T[]) {
      const rest = [...items];
      return Array.from({ length: 1 + below(items.length) }, () => rest.splice(below(rest.length), 1)[0] as T);
    },
    chance: (probability) => next() < probability,
  };
}
