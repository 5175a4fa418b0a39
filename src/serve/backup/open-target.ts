import { Problem } from '../../base/problem.ts';
import { folderTarget } from './folder-target.ts';
import type { BackupTarget } from './target.ts';

/** The settings of backups, which also a thread gets. */
export interface BackupSettings {
  /** `file:FOLDER` or `s3://BUCKET/PREFIX`; empty for none. */
  readonly backup: string;
  readonly backupKeyFile: string;
  readonly backupLagMs: number;
  readonly backupSnapshotHours: number;
  readonly backupKeepDays: number;
  readonly backupLogBytesMax: number;
}

export function openTarget({ backup }: Pick<BackupSettings, 'backup'>): BackupTarget {
  if (backup.startsWith('file:')) return folderTarget(backup.slice('file:'.length));
  throw new Problem(
    'bad-argument',
    'Name the target of the backup with COLUMBA_BACKUP, such as file:/var/backups/columba.',
  );
}
