import { setTimeout as wait } from 'node:timers/promises';

/**
 * Time, as the parts of the program see it. A clock is passed to everything that waits, times out
 * or spreads its retries, so that a test or a simulator can control it. The functions need no
 * `this`, so a part may take only `now`.
 */
export interface Clock {
  /** Milliseconds since 1970. An operator may put it forward or back. */
  readonly now: () => number;
  /** Milliseconds since some moment. It never goes back, so it measures how long something took. */
  readonly monotonic: () => number;
  /**
   * Resolves after the time, or as soon as the signal aborts, and never rejects. It keeps the
   * process alive unless `background` is set.
   */
  readonly sleep: (ms: number, signal?: AbortSignal, options?: TimerOptions) => Promise<void>;
  /** Runs the work once, after the time. The returned function cancels it. */
  readonly after: (ms: number, work: () => void, options?: TimerOptions) => () => void;
  /** A signal that aborts with a TimeoutError after the time, and keeps no process alive. */
  readonly timeout: (ms: number) => AbortSignal;
  /** From 0 up to 1, to spread retries. Ids and secrets come from random.ts. */
  readonly random: () => number;
}

export interface TimerOptions {
  /** The timer does not keep the process alive. */
  readonly background?: boolean;
}

/**
 * The clock of the machine. Only the entry points of the program use it; everything else is given a
 * clock.
 */
export const systemClock: Clock = {
  now: Date.now,
  monotonic: () => performance.now(),
  sleep: (ms, signal, { background = false } = {}) =>
    wait(ms, undefined, { ref: !background, ...(signal && { signal }) }).catch(() => {}), // aborted
  after(ms, work, { background = false } = {}) {
    const timer = setTimeout(work, ms);
    if (background) timer.unref();
    return () => clearTimeout(timer);
  },
  timeout: (ms) => AbortSignal.timeout(ms),
  random: Math.random,
};

/** The result of the work, or `late` if that takes longer. The work itself continues. */
export function within<T, L>(
  clock: Pick<Clock, 'after'>,
  ms: number,
  work: Promise<T>,
  late: L,
  options?: TimerOptions,
): Promise<T | L> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(ms, () => resolve(late), options);
    work.then(resolve, reject).finally(cancel);
  });
}
