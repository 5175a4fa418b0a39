import { parentPort, workerData } from 'node:worker_threads';
import { createBackOff } from '../../base/back-off.ts';
import { systemClock } from '../../base/clock.ts';
import { createRepeat } from '../../base/repeat.ts';
import { type BackupSettings, openTarget } from './open-target.ts';
import { readSecretKey } from './sealed.ts';
import { createShipper } from './shipper.ts';
import { type BackupStatus, writeBackupStatus } from './status.ts';

/** The thread of backups.ts. It ships until it is told to end. */
export interface BackupWorkerData extends BackupSettings {
  readonly path: string;
  /** Of the process: a thread that ends closes its own. */
  readonly file: number;
  readonly generation: bigint;
}
export type BackupMessage =
  | { readonly begun: true }
  | { readonly failed: string }
  | { readonly works: true }
  | { readonly superseded: true };

/** How often the length of the log is looked at while the target is slow. */
const RELIEF_EVERY_MS = 1_000;
const STATUS_EVERY_MS = 5_000;
const BACK_OFF_MAX_MS = 60_000;
const PAUSE_MIN_MS = 10;

// No await at the top of the file: in the executable this is a CommonJS module.
if (parentPort) void run(workerData as BackupWorkerData);

async function run(settings: BackupWorkerData): Promise<void> {
  const { path, file, generation, backupLagMs } = settings;
  const clock = systemClock;
  let request = new AbortController();
  const target = openTarget(settings, { clock, signal: () => request.signal });
  // The first half of the lag passes before a segment is read, the second while it is written.
  const everyMs = Math.max(10, backupLagMs / 2);
  const shipper = createShipper({
    path,
    file,
    target,
    secret: readSecretKey(settings.backupKeyFile),
    generation,
    clock,
    everyMs,
    snapshotMs: settings.backupSnapshotHours * 3_600_000,
    keepMs: settings.backupKeepDays * 24 * 3_600_000,
    logBytesMax: settings.backupLogBytesMax,
  });
  const backOff = createBackOff(everyMs, BACK_OFF_MAX_MS);
  let error: string | null = null;
  let [isEnding, hasBegun, writtenAt] = [false, false, 0];
  let wake = () => {};
  parentPort?.on('message', () => {
    isEnding = true;
    wake();
  });

  const relief = createRepeat({
    clock,
    everyMs: RELIEF_EVERY_MS,
    failed: () => {},
    work: async () => {
      if (shipper.relieve()) request.abort();
    },
  });
  relief.start();

  const say = (message: BackupMessage) => parentPort?.postMessage(message);

  /** Returns the time until the next one: a slow disk does not add to what is missing. */
  async function attempt(): Promise<number> {
    const startedAt = clock.monotonic();
    request = new AbortController();
    try {
      await shipper.tick();
      if (error !== null) say({ works: true });
      if (!hasBegun) say({ begun: true });
      hasBegun = true;
      error = null;
      backOff.reset();
      return Math.max(PAUSE_MIN_MS, everyMs - (clock.monotonic() - startedAt));
    } catch (thrown) {
      const message = (thrown as Error).message;
      if (error !== message) say({ failed: message });
      error = message;
      return backOff.next();
    }
  }

  function note(): void {
    const now = clock.now();
    if (now - writtenAt < STATUS_EVERY_MS && error === null) return;
    const { coveredTo, snapshotAt } = shipper.state();
    const lagMs = coveredTo === null ? null : Math.max(0, now - coveredTo);
    const status: BackupStatus = { at: now, target: target.name, lagMs, coveredTo, snapshotAt, error };
    try {
      writeBackupStatus(path, status);
    } catch {} // a full disk: the service finds it too
    writtenAt = now;
  }

  for (;;) {
    const isLast = isEnding; // what was committed before the end is shipped by an attempt after it
    const pauseMs = await attempt();
    note();
    if (shipper.state().isSuperseded) say({ superseded: true });
    if (isLast || shipper.state().isSuperseded) break;
    if (isEnding) continue;
    await new Promise<void>((resolve) => {
      const cancel = clock.after(pauseMs, resolve);
      wake = () => {
        cancel();
        resolve();
      };
    });
  }
  await relief.stop();
  try {
    if (error === null) shipper.end();
  } catch {} // a full disk, or another program has the database: the next start takes a snapshot
  shipper.close();
  parentPort?.close();
}
