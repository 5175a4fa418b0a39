import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';

/**
 * Moves what was committed from the write-ahead log into the database file, in a thread of its own: it reads and writes
 * thousands of pages and waits for the disk, and meanwhile this one serves.
 */
export interface Checkpoints {
  /** So many rows were changed since the start, and committed. */
  wrote(rows: number): void;
  close(): Promise<void>;
}

// The longer the log, the oftener a page that changes often is written to it before it is moved once, and the longer it is read after a
// crash. After 6,000 messages that were marked it has 30 MB, after 6,000 that were deleted 80 MB, which is read in a quarter of a second.
const ROWS = 6_000;

/** A neighbour of this file, with the same extension: `.ts` in a checkout, `.js` in the npm package. */
const WORKER = new URL(`./checkpoint-worker${extname(import.meta.url)}`, import.meta.url);
/** node:sqlite prints a warning at the start of every thread. */
const WORKER_OPTIONS = ['--disable-warning=ExperimentalWarning'];

export function createCheckpoints(path: string): Checkpoints {
  let worker: Worker | undefined;
  let isBusy = false;
  let moved = 0;

  function start(): Worker {
    const started = new Worker(WORKER, { workerData: path, execArgv: WORKER_OPTIONS });
    started.unref();
    started.on('message', () => {
      isBusy = false;
    });
    // Without it the connection itself moves the log, when it is much longer.
    started.on('error', () => {});
    started.on('exit', () => {
      worker = undefined;
    });
    return started;
  }

  return {
    wrote(rows) {
      if (isBusy || rows - moved < ROWS) return;
      moved = rows;
      isBusy = true;
      try {
        worker ??= start();
        worker.postMessage('move');
      } catch {} // no room for a thread
    },
    async close() {
      const ending = worker;
      if (!ending) return;
      ending.ref();
      ending.postMessage('end');
      await new Promise((resolve) => ending.once('exit', resolve));
    },
  };
}
