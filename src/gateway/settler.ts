import type { Settlement, Settling } from '../domain/settling.ts';

/**
 * Collects what became of submissions and settles it in batches: while one batch is being written,
 * the next one gathers.
 */
export interface Settler {
  /** Resolves when it is on disk. */
  add(settlement: Settlement): Promise<void>;
  /** Resolves when nothing waits. */
  empty(): Promise<void>;
}

interface Waiting {
  readonly settlement: Settlement;
  readonly resolve: () => void;
}

// Bounds how long a transaction holds up the calls of its accounts.
const BATCH_MAX = 500;
const RETRY_MS = 1_000;

/**
 * A batch that cannot be written is tried again until it can: the results are known nowhere else.
 */
export function createSettler(
  settling: Settling,
  sleep: (ms: number) => Promise<void>,
  failed: (thrown: unknown) => void,
): Settler {
  const waiting: Waiting[] = [];
  let running: Promise<void> | undefined;

  async function settleAll(): Promise<void> {
    while (waiting.length > 0) {
      await new Promise(setImmediate); // results of this turn come along
      const batch = waiting.splice(0, BATCH_MAX);
      await settleBatch(batch.map(({ settlement }) => settlement));
      for (const { resolve } of batch) resolve();
    }
    running = undefined;
  }

  async function settleBatch(batch: readonly Settlement[]): Promise<void> {
    for (;;) {
      try {
        await settling.settle(batch);
        return;
      } catch (thrown) {
        failed(thrown);
        await sleep(RETRY_MS);
      }
    }
  }

  return {
    add: (settlement) =>
      new Promise((resolve) => {
        waiting.push({ settlement, resolve });
        running ??= settleAll();
      }),
    empty: async () => running,
  };
}
