/** How the continuous backup of SQLite is doing. Times are in milliseconds. */
export interface BackupState {
  readonly target: string | null;
  readonly lagMs: number | null;
  readonly snapshotAt: number | null;
  readonly verifiedAt: number | null;
  readonly fault: string | null;
}

export interface BackupReader {
  /** Null without a backup. */
  readonly backup: () => BackupState | null;
}
