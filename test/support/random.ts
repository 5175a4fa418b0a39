import { createHash } from 'node:crypto';

/** Chance that can be repeated: SEED=… in the environment gives the same choices again, if not the same timing. */
export const SEED = Number(process.env.SEED ?? Date.now() % 1_000_000_000);

export interface Random {
  /** From 0 up to 1. */
  next(): number;
  /** A whole number from 0 to `bound` - 1. */
  below(bound: number): number;
  /** A whole number, both ends included. */
  between(least: number, most: number): number;
  pick<T>(items: readonly T[]): T;
  /** At least one of them, in any order. */
  some<T>(items: readonly T[]): T[];
  chance(probability: number): boolean;
  bytes(length: number): Buffer;
}

/**
 * Each name has a sequence of its own, and the same seed and name give the same one on every machine. So clients do not
 * depend on who comes first, and what is taken out of a plan does not change what becomes of the rest.
 */
export function createRandom(name: string, seed = SEED): Random {
  const hash = createHash('sha256').update(`${seed} ${name}`).digest();
  // sfc32: 128 bits of state, and only additions, shifts and xor of 32-bit numbers.
  let a = hash.readInt32LE(0);
  let b = hash.readInt32LE(4);
  let c = hash.readInt32LE(8);
  let counter = hash.readInt32LE(12);
  const word = (): number => {
    const sum = (((a + b) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (c << 21) | (c >>> 11);
    c = (c + sum) | 0;
    return sum >>> 0;
  };
  const next = (): number => word() / 2 ** 32;
  const below = (bound: number): number => Math.floor(next() * bound);
  return {
    next,
    below,
    between: (least, most) => least + below(most - least + 1),
    pick: <T>(items: readonly T[]) => items[below(items.length)] as T,
    some<T>(items: readonly T[]) {
      const rest = [...items];
      return Array.from({ length: 1 + below(items.length) }, () => rest.splice(below(rest.length), 1)[0] as T);
    },
    chance: (probability) => next() < probability,
    bytes(length) {
      const bytes = Buffer.alloc(length);
      for (let place = 0; place < length; place++) bytes[place] = word() & 0xff;
      return bytes;
    },
  };
}
