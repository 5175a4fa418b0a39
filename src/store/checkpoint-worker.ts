import { DatabaseSync } from 'node:sqlite';
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';

/** The thread of checkpoints.ts. https://www.sqlite.org/pragma.html#pragma_wal_checkpoint */

// While the rest is moved nobody else writes: others wait for their turn longer than this.
const BUSY_TIMEOUT_MS = 1_000;

if (parentPort) serve(parentPort, new DatabaseSync(workerData as string, { timeout: BUSY_TIMEOUT_MS }));

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
 * again from its start. It is not made shorter, as getting longer again costs more than what is in it.
 */
function move(database: DatabaseSync): void {
  for (const mode of ['passive', 'passive', 'restart']) database.exec(`pragma wal_checkpoint(${mode})`);
}
