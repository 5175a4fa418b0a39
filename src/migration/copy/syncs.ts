import { BoundedMap } from '../../base/bounded-map.ts';
import { type Clock, within } from '../../base/clock.ts';
import type { KeyedQueue } from '../../base/keyed-queue.ts';
import { createRepeat } from '../../base/repeat.ts';
import type { SyncOptions } from './sync.ts';

/** Copies what is at the old server, for the account of a user_id. */
export type Sync = (userId: string, options?: SyncOptions) => Promise<void>;

/**
 * Decides when accounts are brought up to date with the old server. Each sync waits for its turn in
 * the queue of its account, so it never runs beside a write.
 */
export interface Syncs {
  /**
   * Called for each call of an account that is compared: while it has calls, it syncs every 15 s.
   */
  touch(userId: string): void;
  /** Called before the answer to a poll: waits for a sync if the last one is too old. */
  freshen(userId: string): Promise<void>;
  /** Waits for a sync that begins now. Rejects if the old server does not answer. */
  readonly whole: Sync;
  /** Syncs at once, for a caller that already has its turn in the queue. */
  readonly now: Sync;
  start(): void;
  stop(): void;
}

export interface SyncSettings {
  /** Copies what arrived. Never marks or deletes at the old server. */
  readonly sync: Sync;
  readonly queue: Pick<KeyedQueue, 'run'>;
  readonly clock: Clock;
  readonly failed: (thrown: unknown) => void;
}

export const SYNC_EVERY_MS = 15_000;
export const FRESH_MS = 5_000;
/** An old server that is slow or down delays an answer by no more than this. */
const WAIT_MS_MAX = 2_000;
const ACTIVE_MS = 600_000;
const ACCOUNTS_MAX = 10_000;

export function createSyncs({ sync, queue, clock, failed }: SyncSettings): Syncs {
  const { now } = clock;
  const syncedAt = new BoundedMap<string, number>(ACCOUNTS_MAX);
  const touchedAt = new BoundedMap<string, number>(ACCOUNTS_MAX);
  const running = new Map<string, Promise<void>>();

  async function syncNow(userId: string, options?: SyncOptions): Promise<void> {
    const begunAt = now();
    await sync(userId, options);
    syncedAt.set(userId, begunAt);
  }
  function inTurn(userId: string): Promise<void> {
    const found = running.get(userId);
    if (found) return found;
    const started = queue
      .run(userId, () => syncNow(userId))
      .catch(failed)
      .finally(() => void running.delete(userId));
    running.set(userId, started);
    return started;
  }
  const isOlder = (userId: string, ms: number): boolean =>
    now() - (syncedAt.get(userId) ?? Number.NEGATIVE_INFINITY) > ms;

  async function tick(): Promise<void> {
    for (const [userId, at] of touchedAt) {
      if (now() - at > ACTIVE_MS) touchedAt.delete(userId);
      else if (isOlder(userId, SYNC_EVERY_MS - 1)) inTurn(userId);
    }
  }

  const ticks = createRepeat({ clock, everyMs: 1_000, work: tick, failed });

  return {
    touch: (userId) => void touchedAt.set(userId, now()),
    async freshen(userId) {
      if (isOlder(userId, FRESH_MS)) await within(clock, WAIT_MS_MAX, inTurn(userId), undefined, { background: true });
    },
    whole: (userId, options) => queue.run(userId, () => syncNow(userId, options)),
    now: syncNow,
    start: ticks.start,
    stop: () => void ticks.stop(),
  };
}
