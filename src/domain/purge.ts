import type { Database } from '../store/database.ts';
import * as sql from '../store/statements/purge.ts';

/**
 * Takes away what emptied inboxes have left on disk: in small batches, with pauses in which others
 * are served.
 */
export interface Purge {
  /** There is something to take away, or may be. */
  wake(): void;
  /** Resolves when nothing of it runs any more. */
  stop(): Promise<void>;
}

// A batch holds up others for about 1 ms in the embedded database; a million messages are gone
// after about a minute.
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

  /**
   * Woken once more while it runs, it looks once more: the inbox may have been emptied after it
   * looked.
   */
  async function run(): Promise<void> {
    while (woken && !stopping) {
      woken = false;
      await purgeAll().catch(failed); // a later wake, or the next start, goes on with it
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
