/**
 * Sending shares the event loop with the calls of the contract. While calls come, it rests after
 * each piece of work for as long as the piece took. So most calls find an idle event loop. Where
 * calls fill these rests, a rest is nine times as long: sending takes a tenth of a busy process.
 * Without calls nothing rests.
 */
export interface PaceParts {
  /** Grows with every response to a call. */
  readonly bytesSent: () => number;
  /** Of the event loop since its start, as perf_hooks measures it. */
  readonly utilization: () => { readonly idle: number; readonly active: number };
  /** A clock that is never put back. */
  readonly monotonicMs: () => number;
  readonly sleep: (ms: number) => Promise<void>;
}

/** Awaited before each piece of work. */
export type Pace = () => Promise<void> | undefined;

// A caller that polls every second is no reason to rest.
const CALLS_WITHIN_MS = 250;
const REST_LEAST_MS = 1;
const REST_MOST_MS = 100;
const LONGEST_REST = 9;

export function createPace({ bytesSent, utilization, monotonicMs, sleep }: PaceParts): Pace {
  let sentBefore = bytesSent();
  let lastCallAt = Number.NEGATIVE_INFINITY;
  let workedSince = utilization().active;
  let timesAsLong = 1;
  let resting: Promise<void> | undefined;

  async function rest(ms: number): Promise<void> {
    const start = utilization();
    await sleep(ms);
    const end = utilization();
    const active = end.active - start.active;
    const filled = active / Math.max(active + end.idle - start.idle, REST_LEAST_MS);
    timesAsLong = 1 + (LONGEST_REST - 1) * Math.min(filled, 1) ** 2;
    workedSince = end.active;
    resting = undefined;
  }

  return () => {
    if (resting) return resting;
    const sent = bytesSent();
    if (sent !== sentBefore) lastCallAt = monotonicMs();
    sentBefore = sent;
    const { active } = utilization();
    if (monotonicMs() - lastCallAt > CALLS_WITHIN_MS) {
      workedSince = active;
      return undefined;
    }
    const ms = Math.min((active - workedSince) * timesAsLong, REST_MOST_MS);
    if (ms < REST_LEAST_MS) return undefined;
    resting = rest(ms);
    return resting;
  };
}

export const NO_PACE: Pace = () => undefined;
