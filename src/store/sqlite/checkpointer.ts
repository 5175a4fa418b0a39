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
// A thread that cannot start is tried again twice as late each time. Until it runs, the connection itself moves the log at 256 MB.
const BACKOFF_FIRST_MS = 500;
const BACKOFF_MAX_MS = 60_000;

/** A neighbour of this file, with the same extension: `.ts` in a checkout, `.js` in the npm package. */
const WORKER = new URL(`./checkpoint-worker${extname(import.meta.url)}`, import.meta.url);
/** node:sqlite prints a warning at the start of every thread. */
const WORKER_OPTIONS = ['--disable-warning=ExperimentalWarning'];

/** `died` is told of every thread that ended although nobody had asked it to. */
export function createCheckpoints(path: string, died: (thrown: unknown) => void = () => {}): Checkpoints {
  let worker: Worker | undefined;
  let isBusy = false;
  let isClosing = false;
  let moved = 0;
  let backoffMs = BACKOFF_FIRST_MS;
  let startAfter = 0;

  function start(): Worker {
    const started = new Worker(WORKER, { workerData: path, execArgv: WORKER_OPTIONS });
    let failure: unknown;
    started.unref();
    started.on('message', () => {
      isBusy = false;
      backoffMs = BACKOFF_FIRST_MS;
    });
    started.on('error', (thrown) => {
      failure = thrown;
    });
    started.on('exit', (code) => ended(failure ?? new Error(`The thread ended with code ${code}.`)));
    return started;
  }

  function ended(failure: unknown): void {
    worker = undefined;
    isBusy = false;
    if (isClosing) return;
    startAfter = performance.now() + backoffMs;
    backoffMs = Math.min(backoffMs * 2, BACKOFF_MAX_MS);
    moved -= ROWS; // what it was asked to move is still there
    died(failure);
  }

  return {
    wrote(rows) {
      if (isBusy || rows - moved < ROWS) return;
      if (!worker && performance.now() < startAfter) return;
      moved = rows;
      isBusy = true;
      try {
        worker ??= start();
        worker.postMessage('move');
      } catch (thrown) {
        ended(thrown); // no room for a thread
      }
    },
    async close() {
      isClosing = true;
      const ending = worker;
      if (!ending) return;
      ending.ref();
      ending.postMessage('end');
      await new Promise((resolve) => ending.once('exit', resolve));
    },
  };
}
