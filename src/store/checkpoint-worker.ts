import { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';

/** The thread of checkpoints.ts. https://www.sqlite.org/pragma.html#pragma_wal_checkpoint */

// While the rest is moved nobody else writes: others wait for their turn longer than this.
const BUSY_TIMEOUT_MS = 1_000;

const database = new DatabaseSync(workerData as string, { timeout: BUSY_TIMEOUT_MS });

/**
 * Nearly all of it while others write, what they have written meanwhile too, and the rest without them: then the log is used
 * again from its start. It is not made shorter, as getting longer again costs more than what is in it.
 */
function move(): void {
  for (const mode of ['passive', 'passive', 'restart']) database.exec(`pragma wal_checkpoint(${mode})`);
}

parentPort?.on('message', (message) => {
  if (message === 'end') {
    database.close();
    parentPort?.close();
    return;
  }
  try {
    move();
  } catch {} // a full disk, which those who write find too; it is tried again
  parentPort?.postMessage('moved');
});
