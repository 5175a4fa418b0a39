/**
 * Sending shares the event loop with the calls of the contract. While calls come, sending pauses
 * after each piece of work, until the event loop was idle for as long as it was busy before. So
 * most calls find an idle event loop. If calls leave no idle time, a pause takes 25 times as long
 * as the loop was busy; calls that follow one another at once then keep nine tenths of their rate
 * (bench/RESULTS.md). Without calls, sending does not pause.
 */
export interface ThrottleParts {
  /** Grows with every response to a call. */
  readonly bytesSent: () => number;
  /** The utilization of the event loop since its start, as perf_hooks measures it. */
  readonly utilization: () => { readonly idle: number; readonly active: number };
  /** A clock that is never put back. */
  readonly monotonicMs: () => number;
  readonly sleep: (ms: number) => Promise<void>;
}

/** Awaited before each piece of work. */
export type Throttle = () => Promise<void> | undefined;

// Sending pauses only if a call came within this time: a client that polls every second is no
// reason to pause.
const CALLS_WITHIN_MS = 250;
const PAUSE_LEAST_MS = 1;
const PAUSE_PER_EXCESS = 25;
// No pause is longer than this. Work that comes after this long without work does not pause at all,
// because calls alone kept the loop busy.
const PAUSE_MOST_MS = 2_000;
// A shorter sleep is useless: under load, every timer takes a turn of the event loop.
const SLEEP_LEAST_MS = 5;

export function createThrottle({ bytesSent, utilization, monotonicMs, sleep }: ThrottleParts): Throttle {
  let sentBefore = bytesSent();
  let lastCallAt = Number.NEGATIVE_INFINITY;
  let since = utilization();
  let grantedAt = monotonicMs();
  let pausing: Promise<void> | undefined;

  /** By how much longer the event loop was busy than idle since the last pause. */
  function excessMs(): number {
    const { active, idle } = utilization();
    return active - since.active - (idle - since.idle);
  }

  function grant(): void {
    since = utilization();
    grantedAt = monotonicMs();
  }

  async function pause(excess: number, mostMs: number): Promise<void> {
    const { idle: idleBefore } = utilization();
    const endsAt = monotonicMs() + mostMs;
    for (let ms = excess; ms >= PAUSE_LEAST_MS && monotonicMs() < endsAt; ) {
      await sleep(Math.max(SLEEP_LEAST_MS, Math.min(ms, endsAt - monotonicMs())));
      ms = excess - (utilization().idle - idleBefore);
    }
    grant();
  }

  return () => {
    if (pausing) return pausing;
    const sent = bytesSent();
    if (sent !== sentBefore) lastCallAt = monotonicMs();
    sentBefore = sent;
    const excess = excessMs();
    const leftMs = grantedAt + PAUSE_MOST_MS - monotonicMs();
    if (excess < 0 || leftMs <= 0 || monotonicMs() - lastCallAt > CALLS_WITHIN_MS) grant();
    else if (excess >= PAUSE_LEAST_MS) {
      pausing = pause(excess, Math.min(PAUSE_PER_EXCESS * excess, leftMs)).finally(() => {
        pausing = undefined;
      });
    }
    return pausing;
  };
}

export const NO_THROTTLE: Throttle = () => undefined;
