import type { Clock } from '../../src/base/clock.ts';
import type { Random } from '../../test/support/random.ts';
import type { Owner, Scheduler } from './scheduler.ts';

// Shorter waits are part of something that is under way.
const POLL_MS_MIN = 300;

/** The clock of one node. Its wall clock is wrong by `skewMs`, which may change at any time. */
export function createNodeClock(scheduler: Scheduler, owner: Owner, random: Random, skewMs: () => number): Clock {
  const startedAt = scheduler.now();
  const after: Clock['after'] = (ms, work) =>
    ms >= POLL_MS_MIN ? scheduler.poll(owner, ms, work) : scheduler.after(owner, ms, work);
  return {
    now: () => scheduler.now() + skewMs(),
    monotonic: () => scheduler.now() - startedAt,
    after,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted) return resolve();
        const end = () => {
          cancel();
          signal?.removeEventListener('abort', end);
          resolve();
        };
        const cancel = scheduler.after(owner, ms, end);
        signal?.addEventListener('abort', end, { once: true });
      }),
    timeout(ms) {
      const controller = new AbortController();
      scheduler.after(owner, ms, () => controller.abort(new Error('timeout')));
      return controller.signal;
    },
    random: random.next,
  };
}
