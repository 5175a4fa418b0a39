import type { Database } from '../../store/database.ts';
import * as sql from './purge.sql.ts';

/** Deletes the rows of emptied inboxes in small batches. Other calls are served in the pauses. */
export interface Purge {
  /** Starts the purge, because there may be rows to delete. */
  wake(): void;
  /** Resolves when the purge has ended. */
  stop(): Promise<void>;
}

// A batch delays other calls by about 1 ms on SQLite. A million messages take about a minute.
const BATCH = 100;
const PAUSE_MS = 5;

export function createPurge(
  database: Database,
  sleep: (ms: number) => Promise<void>,
  failed: (thrown: unknown) => void,
): Purge {
  let stopping = false;
  let woken = false;
  let running: Promise<void> | undefined;

  async function purgeAll(): Promise<void> {
    while (!stopping) {
      const next = await database.first(sql.next, {});
      if (!next) return;
      const { account_id: account, generation } = next;
      const gone = await database.run(sql.deleteSome, { account, generation, limit: BATCH });
      if (gone < BATCH) await database.run(sql.done, { account, generation });
      await sleep(PAUSE_MS);
    }
  }

  /** A wake during a run starts another run, because an inbox may have been emptied meanwhile. */
  async function run(): Promise<void> {
    while (woken && !stopping) {
      woken = false;
      await purgeAll().catch(failed); // the next wake or the next start continues it
    }
    running = undefined;
  }

  return {
    wake() {
      woken = true;
      running ??= run();
    },
    async stop() {
      stopping = true;
      await running;
    },
  };
}
