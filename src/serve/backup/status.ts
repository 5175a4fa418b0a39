import { readFileSync, renameSync, writeFileSync } from 'node:fs';

/**
 * How the backup is doing, in a file beside the database: the thread that ships writes it, and
 * metrics, the overview and commands of any process read it.
 */
export interface BackupStatus {
  readonly at: number;
  readonly target: string;
  /** How many milliseconds of commits are missing in the target; null before the first snapshot. */
  readonly lagMs: number | null;
  readonly coveredTo: number | null;
  readonly snapshotAt: number | null;
  /** Why the last attempt failed. */
  readonly error: string | null;
}

const pathOf = (database: string): string => `${database}-backup`;

export function writeBackupStatus(database: string, status: BackupStatus): void {
  const temporary = `${pathOf(database)}.tmp`;
  writeFileSync(temporary, `${JSON.stringify(status)}\n`, { mode: 0o600 });
  renameSync(temporary, pathOf(database));
}

/** Null if no backup was running. The lag counts the time since the file was written. */
export function readBackupStatus(database: string, now: number): BackupStatus | null {
  try {
    const status = JSON.parse(readFileSync(pathOf(database), 'utf8')) as BackupStatus;
    const age = now - status.at;
    return age < FRESH_MS || status.lagMs === null ? status : { ...status, lagMs: status.lagMs + age };
  } catch {
    return null;
  }
}
/** The file is written every 5 s. */
const FRESH_MS = 15_000;
export const LATE_MS = 60_000;

/** What is wrong with the backup, in a sentence; null if nothing is. */
export function backupFault({ lagMs, error, target }: BackupStatus): string | null {
  if (lagMs !== null && lagMs < LATE_MS) return null;
  const since = lagMs === null ? 'has no complete snapshot yet' : `is ${Math.round(lagMs / 1_000)} s behind`;
  return lagMs === null && error === null ? null : `The backup to ${target} ${since}${error ? `: ${error}` : '.'}`;
}
