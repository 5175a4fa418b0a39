import { backOffMs } from '../../base/back-off.ts';
import { detached } from '../../base/detached.ts';
import { customerNetwork } from '../../base/networks.ts';

/**
 * Counts the calls and the failed identifications of each client and account. Workers ask the
 * primary process, so that all workers count together.
 */
export interface RateLimiter {
  /**
   * Whether asking is a message to another process. Then admission asks for several calls at once.
   */
  readonly remote?: boolean;
  /** Grants up to `wanted` calls for the key. If it grants none, it tells how long to wait. */
  take(key: string, rate: Rate, wanted: number): Lease | Promise<Lease>;
  /** Counts a failed identification. Returns the delay of its response in milliseconds. */
  failed(client: string): number | Promise<number>;
}
/** A token bucket: it holds at most `burst` tokens and gains `perSecond` tokens each second. */
export interface Rate {
  readonly perSecond: number;
  readonly burst: number;
}
export interface Lease {
  readonly granted: number;
  readonly waitMs: number;
}

// A program with an outdated user_id fails a few times before a person looks at it. These failures
// have no delay.
const FREE_FAILURES = 10;
// For one customer network (/24 or /64): a company with a few addresses has several such programs.
const FREE_FAILURES_OF_NETWORK = 100;
const DELAY_FIRST_MS = 100;
const DELAY_MAX_MS = 2_000;
const FORGET_AFTER_MS = 60_000;
// A map of each size takes about 10 MB when it is full.
const CLIENTS_MAX = 10_000;
const BUCKETS_MAX = 100_000;
// Buckets count thousandths of a call. Whole rates and whole milliseconds then give whole numbers,
// so there is no rounding error.
const CALL = 1_000;

export function createRateLimiter(now: () => number) {
  const failures = createRecentMap<{ count: number; lastAt: number }>(CLIENTS_MAX);
  const buckets = createRecentMap<{ level: number; at: number }>(BUCKETS_MAX);

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
      const elapsed = before ? Math.max(at - before.at, 0) : 0; // a clock that was set back adds no tokens
      const level = Math.min(burst * CALL, before ? before.level + elapsed * perSecond : burst * CALL);
      const granted = Math.min(Math.floor(level / CALL), wanted);
      buckets.set(key, { level: level - granted * CALL, at });
      return { granted, waitMs: granted > 0 ? 0 : Math.ceil((CALL - level) / perSecond) };
    },

    /** Puts unused tokens back into the bucket. */
    giveBack(key: string, { burst }: Rate, count: number): void {
      const bucket = buckets.get(key);
      if (bucket) buckets.set(key, { ...bucket, level: Math.min(burst * CALL, bucket.level + count * CALL) });
    },

    failed(client: string): number {
      const beyond = Math.max(
        countFailure(client) - FREE_FAILURES,
        countFailure(`network ${customerNetwork(client)}`) - FREE_FAILURES_OF_NETWORK,
      );
      return beyond > 0 ? backOffMs(beyond, DELAY_FIRST_MS, DELAY_MAX_MS) : 0;
    },
  } satisfies RateLimiter & { giveBack(key: string, rate: Rate, count: number): void };
}

/**
 * A map of at most `sizeMax` entries that keeps the entries set most recently. It has two
 * generations of half the size. When the newer one is full, the older one is dropped.
 * A BoundedMap would drop all entries, and an attacker with many addresses would have no delay.
 */
export function createRecentMap<T>(sizeMax: number) {
  // Deleting the oldest entry of one Map is slower: after 100,000 deletions each takes 0.2 ms.
  let newer = new Map<string, T>();
  let older = new Map<string, T>();
  return {
    get: (key: string): T | undefined => newer.get(key) ?? older.get(key),
    set(key: string, value: T): void {
      newer.set(detached(key), value);
      if (newer.size < sizeMax / 2) return;
      older = newer;
      newer = new Map();
    },
  };
}
