import type { Clock } from '../../src/base/clock.ts';

/** A clock that stands still until the test moves it. Nothing that it runs uses a real timer. */
export interface VirtualClock extends Clock {
  /** Moves on. What falls due is run in the order of its times, and what follows from it too. */
  advance(ms: number): Promise<void>;
  /** Moves on at once, as a machine that slept. What fell due meanwhile runs late, and a repetition once. */
  leap(ms: number): Promise<void>;
  /** When each timer that waits is due, in order. */
  waiting(): number[];
}

interface Timer {
  readonly at: number;
  readonly work: () => void;
}

export function createVirtualClock(start = 0, random: () => number = () => 0): VirtualClock {
  let now = start;
  const timers = new Set<Timer>();
  const earliest = (until: number) =>
    [...timers]
      .filter(({ at }) => at <= until)
      .reduce<Timer | undefined>((a, b) => (a && a.at <= b.at ? a : b), undefined);

  const after: Clock['after'] = (ms, work) => {
    const timer = { at: now + Math.max(0, ms), work };
    timers.add(timer);
    return () => void timers.delete(timer);
  };

  async function runUntil(until: number): Promise<void> {
    await settled();
    for (let next = earliest(until); next; next = earliest(until)) {
      timers.delete(next);
      now = Math.max(now, next.at);
      next.work();
      await settled();
    }
    now = until;
  }

  return {
    now: () => now,
    monotonic: () => now - start,
    after,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted) return resolve();
        const end = () => {
          cancel();
          signal?.removeEventListener('abort', end);
          resolve();
        };
        const cancel = after(ms, end);
        signal?.addEventListener('abort', end, { once: true });
      }),
    timeout(ms) {
      const controller = new AbortController();
      after(ms, () => controller.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError')));
      return controller.signal;
    },
    random,
    waiting: () => [...timers].map(({ at }) => at).sort((a, b) => a - b),
    advance: (ms) => runUntil(now + ms),
    leap: (ms) => {
      now += ms;
      return runUntil(now);
    },
  };
}

/** Lets promises, and what they wait for in other turns of the event loop, come to rest. */
export async function settled(turns = 3): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve));
}
