import { copyFileSync, existsSync, rmSync } from 'node:fs';
import type { Clock } from '../../src/base/clock.ts';
import { adopt } from '../../src/serve/adopt.ts';
import { openSqlite } from '../../src/store/sqlite/database.ts';
import { closeAll } from './disk.ts';

/** A backup of the disk, and the same disk after the backup was put in its place. */
const BACKUP = '.backup';
const LOG = '-wal';

/** Nothing runs between two steps, so the file and its log fit together. */
export function copyOf(from: string, to: string): void {
  copyFileSync(from, to);
  if (existsSync(from + LOG)) copyFileSync(from + LOG, to + LOG);
  else rmSync(to + LOG, { force: true });
}

export const takeBackup = (path: string): void => copyOf(path, path + BACKUP);
export const hasBackup = (path: string): boolean => existsSync(path + BACKUP);

/** Every process is gone. */
export function putBack(path: string): void {
  closeAll();
  rmSync(`${path}-shm`, { force: true });
  copyOf(path + BACKUP, path);
}

/** What `columba restore` does with a copy before anything serves it. */
export async function adoptCopy(path: string, clock: Clock, holdScheduled: boolean): Promise<void> {
  const database = await openSqlite(path, clock);
  await adopt(database, {
    path,
    clock,
    actorName: 'simulator',
    nothingLost: false,
    holdScheduled,
    dryRun: false,
    restored: [],
  });
  await database.close();
}
