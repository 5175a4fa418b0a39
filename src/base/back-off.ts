/** Pauses between attempts that fail: each is twice as long as the one before, up to a limit. */

/** The pause after an attempt that failed. The first attempt is number 1. */
export const backOffMs = (attempt: number, firstMs: number, lastMs: number): number =>
  Math.min(firstMs * 2 ** Math.max(0, attempt - 1), lastMs);

/** Half of the pause is random, so that attempts that failed together are not repeated together. */
export const spread = (ms: number, random: () => number): number => ms / 2 + (ms / 2) * random();

export interface BackOff {
  /** The pause that comes next. */
  readonly ms: number;
  /** Returns this pause; the next one is longer. */
  next(): number;
  /** After a success. */
  reset(): void;
}

/** A back-off that counts the attempts itself. */
export function createBackOff(firstMs: number, lastMs: number): BackOff {
  let ms = firstMs;
  return {
    get ms() {
      return ms;
    },
    next() {
      const now = ms;
      ms = Math.min(ms * 2, lastMs);
      return now;
    },
    reset() {
      ms = firstMs;
    },
  };
}
