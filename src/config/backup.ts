import { resolve } from 'node:path';
import { type Setting, setting, wholeNumber } from './setting.ts';

/** The settings of the continuous backup of SQLite. */

const target = (value: string): string => {
  if (value === '' || /^file:.+/s.test(value)) return value;
  throw new Error('expected file: and a folder, such as file:/var/backups/columba');
};

export const backupSettings = {
  backup: {
    ...setting(
      'COLUMBA_BACKUP',
      '',
      'Where the service continuously copies its SQLite database: file: and a folder, best on another disk. Empty: no backup.',
      target,
    ),
    within: (value: string, folder: string) =>
      value.startsWith('file:') ? `file:${resolve(folder, value.slice('file:'.length))}` : value,
  } satisfies Setting<string>,
  backupKeyFile: {
    ...setting(
      'COLUMBA_BACKUP_KEY_FILE',
      '',
      'File with the key that encrypts the backup: 64 hexadecimal digits. Empty: the backup is not encrypted.',
      (value: string) => value,
    ),
    within: (value: string, folder: string) => (value === '' ? '' : resolve(folder, value)),
  } satisfies Setting<string>,
  backupLagMs: setting(
    'COLUMBA_BACKUP_LAG_MS',
    '1000',
    'How many milliseconds of commits the backup may lack while its target works.',
    wholeNumber(100, 3_600_000),
  ),
  backupSnapshotHours: setting(
    'COLUMBA_BACKUP_SNAPSHOT_HOURS',
    '24',
    'Hours after which the backup begins again with a new snapshot.',
    wholeNumber(1, 720),
  ),
  backupKeepDays: setting(
    'COLUMBA_BACKUP_KEEP_DAYS',
    '7',
    'For how many days every moment can be restored. The last two snapshots stay in any case.',
    wholeNumber(1, 3_650),
  ),
  backupLogBytesMax: setting(
    'COLUMBA_BACKUP_LOG_BYTES_MAX',
    '268435456',
    'How long the write-ahead log may grow, in bytes, while the target of the backup does not answer. Then the backup begins again with a snapshot.',
    wholeNumber(2 ** 24, 2 ** 40),
  ),
};
