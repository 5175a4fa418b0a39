import type { Worker } from 'node:worker_threads';
import { createBackOff } from '../../base/back-off.ts';
import type { Clock } from '../../base/clock.ts';
import { startThread } from '../../base/program-files.ts';
import type { CheckpointAnswer } from './checkpoint-worker.ts';

/**
 * Runs checkpoints of the write-ahead log in a thread of its own. A checkpoint reads and writes
 * thousands of pages and waits for the disk; this thread serves meanwhile.
 */
export interface Checkpointer {
  /** Tells that `rows` have been changed and committed since the start. */
  rowsWritten(rows: number): void;
  /** Copies the whole log and makes its file empty. Resolves after 2 s at most. */
  truncate(): Promise<void>;
  close(): Promise<void>;
}

// A longer log takes fewer writes of pages that change often, and more time to read after a crash.
// After 6,000 marked messages it has about 30 MB, or 75 where each has a commit of its own. After
// 6,000 deleted ones it has 80 MB, read in 0.25 s.
const ROWS = 6_000;
// After a failed start the pause doubles. Meanwhile the connection itself does a checkpoint at 256
// MB.
const BACKOFF_FIRST_MS = 500;
const BACKOFF_MAX_MS = 60_000;

// Another process may read an old snapshot for minutes, for example an export.
const TRUNCATE_AGAIN_MS = 10_000;

/** node:sqlite prints a warning at the start of every thread. */
const WORKER_OPTIONS = ['--disable-warning=ExperimentalWarning'];

/** `died` is called for every thread that ended by itself. */
export function createCheckpointer(
  path: string,
  clock: Pick<Clock, 'monotonic' | 'after'>,
  died: (thrown: unknown) => void = () => {},
): Checkpointer {
  let worker: Worker | undefined;
  let isBusy = false;
  let isClosing = false;
  let checkpointedRows = 0;
  const backOff = createBackOff(BACKOFF_FIRST_MS, BACKOFF_MAX_MS);
  let startAfter = 0;
  const truncations = createTruncations(clock, () => {
    try {
      worker ??= start();
      worker.postMessage('truncate');
    } catch (thrown) {
      ended(thrown); // the system has no thread left
    }
  });

  function start(): Worker {
    const started = startThread('store/sqlite/checkpoint-worker', { workerData: path, execArgv: WORKER_OPTIONS });
    let failure: unknown;
    started.unref();
    started.on('message', (message: CheckpointAnswer) => {
      backOff.reset();
      if (message === 'done') isBusy = false;
      else truncations.answered(message === 'truncated');
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
    truncations.answered(false);
    if (isClosing) return;
    startAfter = clock.monotonic() + backOff.next();
    checkpointedRows -= ROWS; // these are still in the log
    died(failure);
  }

  return {
    rowsWritten(rows) {
      if (isBusy || rows - checkpointedRows < ROWS) return;
      if (!worker && clock.monotonic() < startAfter) return;
      checkpointedRows = rows;
      isBusy = true;
      try {
        worker ??= start();
        worker.postMessage('checkpoint');
      } catch (thrown) {
        ended(thrown); // the system has no thread left
      }
    },
    truncate: truncations.begin,
    async close() {
      isClosing = true;
      truncations.stop();
      const ending = worker;
      if (!ending) return;
      ending.ref();
      ending.postMessage('end');
      await new Promise((resolve) => ending.once('exit', resolve));
    },
  };
}

/** Calls of `truncate` that the thread has not answered, and those that have to be repeated. */
function createTruncations({ after }: Pick<Clock, 'after'>, ask: () => void) {
  const waiting: (() => void)[] = [];
  let cancel = () => {};
  let isStopped = false;

  const begin = (): Promise<void> =>
    new Promise((resolve) => {
      waiting.push(resolve);
      ask();
    });

  return {
    begin,
    answered(isDone: boolean): void {
      if (waiting.length === 0) return;
      cancel();
      if (!isDone && !isStopped) cancel = after(TRUNCATE_AGAIN_MS, () => void begin(), { background: true });
      for (const resolve of waiting.splice(0)) resolve();
    },
    stop(): void {
      isStopped = true;
      cancel();
    },
  };
}
