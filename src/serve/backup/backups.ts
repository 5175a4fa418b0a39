import type { Worker } from 'node:worker_threads';
import { createBackOff } from '../../base/back-off.ts';
import type { Clock } from '../../base/clock.ts';
import { startThread } from '../../base/program-files.ts';
import type { Log } from '../telemetry/log.ts';
import type { BackupMessage, BackupWorkerData } from './backup-worker.ts';

/** Runs the backup of an SQLite database in a thread of its own, in one process of the service. */
export interface Backups {
  /** Ships what is left, unless the target does not answer, and ends the thread. */
  stop(): Promise<void>;
}

const WORKER_OPTIONS = ['--disable-warning=ExperimentalWarning'];
const STOP_MAX_MS = 10_000;

export function startBackups(
  settings: BackupWorkerData,
  { log, clock, superseded }: { log: Log; clock: Pick<Clock, 'after'>; superseded: () => void },
): Backups {
  let isStopping = false;
  let worker: Worker | undefined;
  const backOff = createBackOff(1_000, 60_000);

  function start(): void {
    worker = startThread('serve/backup/backup-worker', { workerData: settings, execArgv: WORKER_OPTIONS });
    worker.unref();
    worker.on('message', (message: BackupMessage) => {
      if ('failed' in message) log.error({ reason: message.failed }, 'the backup does not work');
      else if ('works' in message) log.info('the backup works again');
      else {
        isStopping = true;
        superseded();
      }
    });
    worker.on('error', (err) => log.error({ err }, 'the backup thread died and is being restarted'));
    worker.once('exit', () => {
      worker = undefined;
      if (!isStopping) clock.after(backOff.next(), start, { background: true });
    });
  }

  start();
  return {
    async stop() {
      isStopping = true;
      const ending = worker;
      if (!ending) return;
      ending.ref();
      ending.postMessage('end');
      await new Promise<void>((resolve) => {
        const cancel = clock.after(STOP_MAX_MS, () => void ending.terminate());
        ending.once('exit', () => {
          cancel();
          resolve();
        });
      });
    },
  };
}
