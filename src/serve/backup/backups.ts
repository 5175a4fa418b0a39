import { closeSync, openSync } from 'node:fs';
import type { Worker } from 'node:worker_threads';
import { createBackOff } from '../../base/back-off.ts';
import type { Clock } from '../../base/clock.ts';
import { startThread } from '../../base/program-files.ts';
import { createRepeat } from '../../base/repeat.ts';
import type { Log } from '../telemetry/log.ts';
import type { BackupMessage, BackupWorkerData } from './backup-worker.ts';
import { readBackupStatus, readVerification } from './status.ts';

/** Runs the backup of an SQLite database in a thread of its own, in one process of the service. */
export interface Backups {
  /** Resolves when the first snapshot is complete, or when the target does not take it. */
  readonly begun: Promise<void>;
  /**
   * Ships what is left, unless the target does not answer, and ends the thread. The process has
   * closed the database.
   */
  stop(): Promise<void>;
}

const WORKER_OPTIONS = ['--disable-warning=ExperimentalWarning'];
const STOP_MAX_MS = 10_000;
/** Looks whether a verification is due, first after this time. */
const VERIFY_LOOK_MS = 10 * 60_000;
const VERIFY_EVERY_MS = 7 * 24 * 3_600_000;
const VERIFY_AGAIN_MS = 24 * 3_600_000;

export function startBackups(
  settings: Omit<BackupWorkerData, 'file'>,
  { log, clock, superseded }: { log: Log; clock: Pick<Clock, 'after' | 'now'>; superseded: () => void },
): Backups {
  const file = openSync(settings.path, 'r');
  let isStopping = false;
  let worker: Worker | undefined;
  let verifier: Worker | undefined;
  const backOff = createBackOff(1_000, 60_000);
  const begun = Promise.withResolvers<void>();

  function start(): void {
    worker = startThread('serve/backup/backup-worker', { workerData: { ...settings, file }, execArgv: WORKER_OPTIONS });
    worker.unref();
    worker.on('message', (message: BackupMessage) => {
      begun.resolve();
      if ('failed' in message) log.error({ reason: message.failed }, 'the backup does not work');
      else if ('begun' in message) return;
      else if ('works' in message) log.info('the backup works again');
      else {
        isStopping = true;
        superseded();
      }
    });
    worker.on('error', (err) => log.error({ err }, 'the backup thread died and is being restarted'));
    worker.once('exit', () => {
      worker = undefined;
      begun.resolve();
      if (!isStopping) clock.after(backOff.next(), start, { background: true });
    });
  }

  /** Restores the backup once a week and checks it. A failure is tried again after a day. */
  const verifying = createRepeat({
    clock,
    everyMs: VERIFY_LOOK_MS,
    failed: (err) => log.error({ err }, 'the backup could not be verified'),
    work: async () => {
      const last = readVerification(settings.path);
      const isDue =
        clock.now() - (last?.triedAt ?? 0) >= (last && last.fault === null ? VERIFY_EVERY_MS : VERIFY_AGAIN_MS);
      if (!isDue || readBackupStatus(settings.path, clock.now())?.coveredTo == null) return;
      const thread = startThread('serve/backup/verify-worker', { workerData: settings, execArgv: WORKER_OPTIONS });
      thread.unref();
      verifier = thread;
      thread.once('message', ({ fault }: { fault: string | null }) => {
        if (fault !== null) log.error({ reason: fault }, 'the backup could not be verified');
        else log.info('the backup was restored into a temporary file and is whole');
      });
      await new Promise<void>((resolve) => {
        thread.once('error', (err) => log.error({ err }, 'the backup could not be verified'));
        thread.once('exit', () => resolve());
      });
    },
  });

  async function ended(ending: Worker): Promise<void> {
    ending.ref();
    ending.postMessage('end');
    await new Promise<void>((resolve) => {
      const cancel = clock.after(STOP_MAX_MS, () => void ending.terminate());
      ending.once('exit', () => {
        cancel();
        resolve();
      });
    });
  }

  start();
  verifying.start();
  return {
    begun: begun.promise,
    async stop() {
      isStopping = true;
      void verifier?.terminate();
      await verifying.stop();
      if (worker) await ended(worker);
      closeSync(file);
    },
  };
}
