import { DatabaseSync } from 'node:sqlite';
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';

/** The thread of checkpoints.ts. https://www.sqlite.org/pragma.html#pragma_wal_checkpoint */

// A restart waits for readers while it holds the write lock. Without a time-out it gives up at once,
// and so nobody who writes ever waits for somebody who reads.
const BUSY_TIMEOUT_MS = 0;
// Others hold the write lock for some milliseconds, and read for less: one of these tries falls in between.
const RESTART_TRIES = 20;
const RESTART_PAUSE_MS = 5;
// 256 MB, which only somebody who read for long can have made of it: the disk gets them back.
const LONG_FRAMES = 64_000;

if (parentPort) serve(parentPort, openForCheckpoints(workerData as string));

export function openForCheckpoints(path: string): DatabaseSync {
  return new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
}

function serve(port: MessagePort, database: DatabaseSync): void {
  port.on('message', (message) => {
    if (message === 'end') {
      database.close();
      port.close();
      return;
    }
    try {
      move(database);
    } catch {} // a full disk, which those who write find too; it is tried again
    port.postMessage('moved');
  });
}

/**
 * Nearly all of it while others write, what they have written meanwhile too, and the rest without them: then the log is used
 * again from its start. It is not made shorter, as getting longer again costs more than what is in it. Frames that are left
 * belong to somebody who reads an old snapshot: the log goes on until that one has ended, and the next move starts it again.
 */
export function move(database: DatabaseSync): void {
  checkpoint(database, 'passive');
  const { log, moved } = checkpoint(database, 'passive');
  if (moved < log) return;
  const mode = log > LONG_FRAMES ? 'truncate' : 'restart';
  for (let tries = 1; checkpoint(database, mode).isBusy && tries < RESTART_TRIES; tries++) {
    Atomics.wait(PAUSE, 0, 0, RESTART_PAUSE_MS);
  }
}

const PAUSE = new Int32Array(new SharedArrayBuffer(4));

function checkpoint(database: DatabaseSync, mode: 'passive' | 'restart' | 'truncate') {
  const { busy, log, checkpointed } = database.prepare(`pragma wal_checkpoint(${mode})`).get() as Record<
    'busy' | 'log' | 'checkpointed',
    number
  >;
  return { isBusy: busy !== 0, log, moved: checkpointed };
}
