import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import type { BackupState } from '../../operator/backup-state.ts';

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

export function writeState(path: string, state: object): void {
  const temporary = `${path}.tmp`;
  writeFileSync(temporary, `${JSON.stringify(state)}\n`, { mode: 0o600 });
  renameSync(temporary, path);
}

export const writeBackupStatus = (database: string, status: BackupStatus): void => writeState(pathOf(database), status);

/** The last time that the service restored its own backup and checked it. */
export interface Verification {
  readonly triedAt: number;
  /** Null if it never succeeded. */
  readonly verifiedAt: number | null;
  /** The newest moment that was in the backup then. */
  readonly reachesTo: number | null;
  /** Why the last attempt failed. */
  readonly fault: string | null;
}

const verificationPath = (database: string): string => `${database}-backup-verified`;
export const writeVerification = (database: string, verification: Verification): void =>
  writeState(verificationPath(database), verification);

/** Null if it was never tried. */
export function readVerification(database: string): Verification | null {
  try {
    return JSON.parse(readFileSync(verificationPath(database), 'utf8')) as Verification;
  } catch {
    return null;
  }
}

export function readBackupState(database: string, now: number): BackupState {
  const status = readBackupStatus(database, now);
  const verification = readVerification(database);
  const { target = null, lagMs = null, snapshotAt = null } = status ?? {};
  const failed = verification?.fault ?? null;
  const fault = (status && backupFault(status)) ?? (failed && `The backup could not be verified: ${failed}`);
  return { target, lagMs, snapshotAt, verifiedAt: verification?.verifiedAt ?? null, fault };
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
