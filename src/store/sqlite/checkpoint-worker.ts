import { DatabaseSync } from 'node:sqlite';
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';

/** The thread of checkpointer.ts. https://www.sqlite.org/pragma.html#pragma_wal_checkpoint */

// A restart holds the write lock while it waits for readers. Without a time-out it gives up at
// once, so a writer never waits for a reader.
const BUSY_TIMEOUT_MS = 0;
// Other connections hold the write lock for some milliseconds, and read for less time than that, so
// one of these tries falls in between.
const RESTART_TRIES = 20;
const RESTART_PAUSE_MS = 5;
// 2 s in all.
const TRUNCATE_TRIES = 200;
const TRUNCATE_PAUSE_MS = 10;
// 256 MB. The log becomes this long only because of a reader of an old snapshot; its file is made
// short again then.
const LONG_LOG_FRAMES = 64_000;

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
    let answer: CheckpointAnswer = message === 'truncate' ? 'kept' : 'done';
    try {
      if (message === 'truncate') answer = truncateLog(database) ? 'truncated' : 'kept';
      else checkpointAll(database);
    } catch {} // a full disk: writers find it too, and the next checkpoint tries again
    port.postMessage(answer);
  });
}

/**
 * The answer to a checkpoint is `done`; the answer to a truncation is whether the log is empty now.
 */
export type CheckpointAnswer = 'done' | 'truncated' | 'kept';

/**
 * Called after an erasure, because the log contains pages as they were before. Returns false if a
 * reader needs them.
 */
export function truncateLog(database: DatabaseSync): boolean {
  for (let tries = 1; checkpoint(database, 'truncate').isBusy; tries++) {
    if (tries >= TRUNCATE_TRIES) return false;
    Atomics.wait(PAUSE, 0, 0, TRUNCATE_PAUSE_MS);
  }
  return true;
}

/**
 * Two passive checkpoints copy nearly all frames while others write. A restart copies the rest and
 * lets the log begin again at its start. The log is not truncated, because growing it again costs
 * more than its disk space. Frames that a reader of an old snapshot holds stay: the next checkpoint
 * after that reader copies them.
 */
export function checkpointAll(database: DatabaseSync): void {
  checkpoint(database, 'passive');
  const { log, checkpointed } = checkpoint(database, 'passive');
  if (checkpointed < log) return;
  const mode = log > LONG_LOG_FRAMES ? 'truncate' : 'restart';
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
  return { isBusy: busy !== 0, log, checkpointed };
}
