import { BoundedMap } from '../../base/bounded-map.ts';
import type { Clock } from '../../base/clock.ts';
import { createRepeat } from '../../base/repeat.ts';
import { Caller } from '../../store/caller.ts';
import type { Database } from '../../store/database.ts';
import * as sql from './user-ids.sql.ts';

/**
 * Records when a user_id was last used, exact to a day. A call costs one lookup in a map. The
 * database is written later, outside of calls, at most once a day for each user_id and process.
 */
export interface UserIdUse {
  /** Notes that a call of this account succeeded. */
  note(account: unknown): void;
  start(): void;
  /** Writes what was noted. */
  flush(): Promise<void>;
  stop(): Promise<void>;
}

const DAY_MS = 24 * 3_600_000;
const FLUSH_EVERY_MS = 60_000;
/** The most user_ids whose day is remembered; others are written once more. */
const REMEMBERED_MAX = 100_000;

export function createUserIdUse(database: Database, clock: Clock, failed: (thrown: unknown) => void): UserIdUse {
  const days = new BoundedMap<string, number>(REMEMBERED_MAX);
  const pending = new Map<string, { account: bigint; usedAt: number }>();

  async function flush(): Promise<void> {
    for (const [hash, { account, usedAt }] of [...pending]) {
      pending.delete(hash);
      try {
        await database.run(sql.userIdUsed, { account, hash, usedAt });
      } catch (thrown) {
        failed(thrown); // the account may be gone; the next day notes it again
      }
    }
  }

  const flushes = createRepeat({ clock, everyMs: FLUSH_EVERY_MS, work: flush, failed });

  return {
    note(account) {
      if (!(account instanceof Caller) || account.id === undefined) return;
      const usedAt = clock.now();
      const day = Math.floor(usedAt / DAY_MS);
      if (days.get(account.userIdHash) === day) return;
      days.set(account.userIdHash, day);
      pending.set(account.userIdHash, { account: account.id, usedAt });
    },
    start: flushes.start,
    flush,
    async stop() {
      await flushes.stop();
      await flush();
    },
  };
}
