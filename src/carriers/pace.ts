/**
 * Sending shares the event loop with the calls of the contract. While calls come, sending rests
 * after each piece of work, until the event loop was idle for as long as it was busy before. So
 * most calls find an idle event loop. If calls leave no idle time, a rest takes 25 times as long as
 * the loop was busy; calls without a pause then keep nine tenths of their rate (bench/RESULTS.md).
 * Without calls, sending does not rest.
 */
export interface PaceParts {
  /** Grows with every response to a call. */
  readonly bytesSent: () => number;
  /** The utilization of the event loop since its start, as perf_hooks measures it. */
  readonly utilization: () => { readonly idle: number; readonly active: number };
  /** A clock that is never put back. */
  readonly monotonicMs: () => number;
  readonly sleep: (ms: number) => Promise<void>;
}

/** Awaited before each piece of work. */
export type Pace = () => Promise<void> | undefined;

// Sending rests only if a call came within this time: a client that polls every second is no
// reason to rest.
const CALLS_WITHIN_MS = 250;
const REST_LEAST_MS = 1;
const RESTS_PER_WORK = 25;
// No rest is longer than this. Work that comes after this long without work does not rest at all,
// because calls alone kept the loop busy.
const REST_MOST_MS = 2_000;
// A shorter pause is useless: under load, every timer takes a turn of the event loop.
const PAUSE_LEAST_MS = 5;

export function createPace({ bytesSent, utilization, monotonicMs, sleep }: PaceParts): Pace {
  let sentBefore = bytesSent();
  let lastCallAt = Number.NEGATIVE_INFINITY;
  let since = utilization();
  let grantedAt = monotonicMs();
  let resting: Promise<void> | undefined;

  /** By how much longer the event loop was busy than idle since the last rest. */
  function owedMs(): number {
    const { active, idle } = utilization();
    return active - since.active - (idle - since.idle);
  }

  function grant(): void {
    since = utilization();
    grantedAt = monotonicMs();
  }

  async function rest(owed: number, mostMs: number): Promise<void> {
    const { idle: idleBefore } = utilization();
    const endsAt = monotonicMs() + mostMs;
    for (let ms = owed; ms >= REST_LEAST_MS && monotonicMs() < endsAt; ) {
      await sleep(Math.max(PAUSE_LEAST_MS, Math.min(ms, endsAt - monotonicMs())));
      ms = owed - (utilization().idle - idleBefore);
    }
    grant();
  }

  return () => {
    if (resting) return resting;
    const sent = bytesSent();
    if (sent !== sentBefore) lastCallAt = monotonicMs();
    sentBefore = sent;
    const owed = owedMs();
    const leftMs = grantedAt + REST_MOST_MS - monotonicMs();
    if (owed < 0 || leftMs <= 0 || monotonicMs() - lastCallAt > CALLS_WITHIN_MS) grant();
    else if (owed >= REST_LEAST_MS) {
      resting = rest(owed, Math.min(RESTS_PER_WORK * owed, leftMs)).finally(() => {
        resting = undefined;
      });
    }
    return resting;
  };
}

export const NO_PACE: Pace = () => undefined;
