import type { Clock } from '../base/clock.ts';

/**
 * Slows a connector down after its carrier said that it is too fast, for all messages alike. The
 * rate is halved, and grows by a tenth every 10 seconds in which the carrier does not say it again.
 */
export interface AdaptiveRate {
  /** Resolves when the next submission may leave; undefined where it may at once. */
  wait(signal: AbortSignal): Promise<void> | undefined;
  /**
   * Halves the rate, because the carrier said that we are too fast. Nothing leaves for as long as
   * it wants.
   */
  slow(pauseMs?: number): void;
  /** The submissions per second; null for no limit. */
  readonly perSecond: number | null;
}

const RATE_MIN = 1;
const GROWS_EVERY_MS = 10_000;
const GROWTH = 1.1;
/** Answers to submissions that left together say it together: they count once. */
const SAME_MS = 1_000;

/** `limit` is never exceeded; null for none. */
export function createAdaptiveRate(
  clock: Pick<Clock, 'monotonic' | 'sleep'>,
  limit: number | null = null,
): AdaptiveRate {
  const sent = createRateMeter(clock.monotonic);
  const rateMin = Math.min(RATE_MIN, limit ?? RATE_MIN);
  let rate = limit;
  /** Twice the rate that was too fast: beyond it there is no limit. */
  let unlimitedFrom = 0;
  let changedAt = 0;
  let slowedAt = Number.NEGATIVE_INFINITY;
  let nextAt = 0;

  function grow(): void {
    if (rate === null) return;
    const steps = Math.floor((clock.monotonic() - changedAt) / GROWS_EVERY_MS);
    if (steps <= 0) return;
    changedAt += steps * GROWS_EVERY_MS;
    rate *= GROWTH ** steps;
    if (limit !== null) rate = Math.min(rate, limit);
    else if (rate >= unlimitedFrom) rate = null;
  }

  return {
    wait(signal) {
      grow();
      sent.add();
      if (rate === null) return undefined;
      const now = clock.monotonic();
      const at = Math.max(now, nextAt);
      nextAt = at + 1_000 / rate;
      return at > now ? clock.sleep(at - now, signal) : undefined;
    },
    slow(pauseMs = 0) {
      grow();
      const now = clock.monotonic();
      nextAt = Math.max(nextAt, now + pauseMs);
      if (now - slowedAt < SAME_MS) return;
      slowedAt = now;
      changedAt = now;
      const before = rate ?? sent.perSecond();
      if (rate === null) unlimitedFrom = 2 * Math.max(before, rateMin);
      rate = Math.max(rateMin, before / 2);
      nextAt = Math.max(nextAt, now + 1_000 / rate);
    },
    get perSecond() {
      grow();
      return rate;
    },
  };
}

/** How many there were in the last second, or in this one if those are more. */
function createRateMeter(monotonic: () => number) {
  let second = 0;
  let now = 0;
  let before = 0;
  function turn(): void {
    const current = Math.floor(monotonic() / 1_000);
    if (current === second) return;
    before = current === second + 1 ? now : 0;
    now = 0;
    second = current;
  }
  return {
    add(): void {
      turn();
      now++;
    },
    perSecond(): number {
      turn();
      return Math.max(now, before);
    },
  };
}
