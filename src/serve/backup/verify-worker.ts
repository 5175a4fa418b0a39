import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../../base/clock.ts';
import type { BackupWorkerData } from './backup-worker.ts';
import { openTarget } from './open-target.ts';
import { removeDatabase, restoreTo, type Source } from './recover.ts';
import { readSecretKey } from './sealed.ts';
import { readVerification, type Verification, writeVerification } from './status.ts';

/**
 * Restores the newest backup into a temporary file and checks it, in a thread of its own: the check
 * of a large database takes minutes, and the backup goes on meanwhile.
 */
if (parentPort) void run(workerData as BackupWorkerData);

async function run(settings: BackupWorkerData): Promise<void> {
  const target = openTarget(settings, { clock: systemClock });
  const source = { target, secret: readSecretKey(settings.backupKeyFile) };
  const { fault } = await verifyBackup(settings.path, source, systemClock.now);
  parentPort?.postMessage({ fault });
  parentPort?.close();
}

/** Notes the result beside the database. */
export async function verifyBackup(path: string, source: Source, now: () => number): Promise<Verification> {
  const temporary = `${path}.verifying`;
  const before = readVerification(path);
  let result: Verification;
  try {
    removeDatabase(temporary);
    const { last } = await restoreTo(source, { at: null, temporary, standby: null }, () => {});
    result = { triedAt: now(), verifiedAt: now(), reachesTo: last.at, fault: null };
  } catch (thrown) {
    const kept = before ?? { verifiedAt: null, reachesTo: null };
    result = { ...kept, triedAt: now(), fault: (thrown as Error).message };
  } finally {
    removeDatabase(temporary);
  }
  writeVerification(path, result);
  return result;
}
