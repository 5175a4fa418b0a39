import { detached } from '../../detached.ts';
import { neighbourhood } from '../../networks.ts';

/**
 * Who has done how much of late. Processes that share a port ask one of them, so that they count
 * together.
 */
export interface Authority {
  /** Asking takes a message to another process: better for some calls at once. */
  readonly remote?: boolean;
  /**
   * Up to `wanted` calls for whoever the key names. Where there are none, how long until there is
   * one.
   */
  take(key: string, rate: Rate, wanted: number): Lease | Promise<Lease>;
  /** Counts a failed identification; for how long its answer is to be held back. */
  failed(client: string): number | Promise<number>;
}
/** A token bucket: full it holds `burst`, and `perSecond` come in. */
export interface Rate {
  readonly perSecond: number;
  readonly burst: number;
}
export interface Lease {
  readonly granted: number;
  readonly waitMs: number;
}

// A program with an outdated user_id fails a few times before a person looks at it: those are free.
const FREE_FAILURES = 10;
// Of all addresses of one neighbourhood together: a company behind a few addresses has several such
// programs.
const FREE_FAILURES_NEARBY = 100;
const DELAY_FIRST_MS = 100;
const DELAY_MAX_MS = 2_000;
const FORGET_AFTER_MS = 60_000;
// About 10 MB each when full.
const CLIENTS_MAX = 10_000;
const BUCKETS_MAX = 100_000;
// Buckets count in thousandths: whole rates and whole milliseconds make whole numbers, so nothing
// is lost by rounding.
const CALL = 1_000;

export function createAuthority(now: () => number) {
  const failures = createMemory<{ count: number; lastAt: number }>(CLIENTS_MAX);
  const buckets = createMemory<{ level: number; at: number }>(BUCKETS_MAX);

  function countFailure(key: string): number {
    const before = failures.get(key);
    const age = before ? now() - before.lastAt : 0;
    const count = (before && age < FORGET_AFTER_MS ? before.count : 0) + 1;
    failures.set(key, { count, lastAt: now() });
    return count;
  }

  return {
    take(key: string, { perSecond, burst }: Rate, wanted: number): Lease {
      const at = now();
      const before = buckets.get(key);
      const elapsed = before ? Math.max(at - before.at, 0) : 0; // a clock that was set back gives nothing
      const level = Math.min(burst * CALL, before ? before.level + elapsed * perSecond : burst * CALL);
      const granted = Math.min(Math.floor(level / CALL), wanted);
      buckets.set(key, { level: level - granted * CALL, at });
      return { granted, waitMs: granted > 0 ? 0 : Math.ceil((CALL - level) / perSecond) };
    },

    /** Takes back what was taken and not used up. */
    giveBack(key: string, { burst }: Rate, count: number): void {
      const bucket = buckets.get(key);
      if (bucket) buckets.set(key, { ...bucket, level: Math.min(burst * CALL, bucket.level + count * CALL) });
    },

    failed(client: string): number {
      const beyond = Math.max(
        countFailure(client) - FREE_FAILURES,
        countFailure(`near ${neighbourhood(client)}`) - FREE_FAILURES_NEARBY,
      );
      return beyond > 0 ? Math.min(DELAY_FIRST_MS * 2 ** Math.min(beyond - 1, 10), DELAY_MAX_MS) : 0;
    },
  } satisfies Authority & { giveBack(key: string, rate: Rate, count: number): void };
}

/**
 * At most so many values by their keys; of those that were not set of late, half are forgotten at a
 * time.
 */
export function createMemory<T>(most: number) {
  // Not one by one: finding the first of a Map takes as long as there were deletions, 0.2 ms for a
  // hundred thousand.
  let recent = new Map<string, T>();
  let before = new Map<string, T>();
  return {
    get: (key: string): T | undefined => recent.get(key) ?? before.get(key),
    set(key: string, value: T): void {
      recent.set(detached(key), value);
      if (recent.size < most / 2) return;
      before = recent;
      recent = new Map();
    },
  };
}
