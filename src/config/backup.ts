import { resolve } from 'node:path';
import { type Setting, setting, wholeNumber } from './setting.ts';

/** The settings of the continuous backup of SQLite. */

/** A bucket, and a path in it. */
export const S3_TARGET = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])((?:\/[\w.-]+)*)\/?$/;

const target = (value: string): string => {
  if (value === '' || /^file:.+/s.test(value) || S3_TARGET.test(value)) return value;
  throw new Error(
    'expected file: and a folder, such as file:/var/backups/columba, or a bucket, such as s3://BUCKET/columba',
  );
};

const endpoint = (value: string): string => {
  if (value === '') return value;
  const url = URL.parse(value);
  if (!url || !/^https?:$/.test(url.protocol) || url.search || url.hash || url.username) {
    throw new Error('expected an address such as https://s3.example:9000');
  }
  return value;
};

const named =
  (pattern: RegExp, expected: string) =>
  (value: string): string => {
    if (!pattern.test(value)) throw new Error(`expected ${expected}`);
    return value;
  };
/** The mistake itself is not told, because it would be printed. */
const secret = (value: string): string => value.trim();

export const backupSettings = {
  backup: {
    ...setting(
      'COLUMBA_BACKUP',
      '',
      'Where the service continuously copies its SQLite database: file: and a folder, best on another disk, or s3://BUCKET/PATH. Empty: no backup.',
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
  backupS3Endpoint: setting(
    'COLUMBA_BACKUP_S3_ENDPOINT',
    '',
    'Address of the S3-compatible store of the backup, such as https://s3.example:9000. Empty: that of Amazon.',
    endpoint,
  ),
  backupS3Region: setting(
    'COLUMBA_BACKUP_S3_REGION',
    'us-east-1',
    'Region of the S3-compatible store of the backup. Stores without regions take any.',
    named(/^[A-Za-z0-9-]{1,64}$/, 'a region such as eu-central-1'),
  ),
  backupS3PathStyle: {
    ...setting(
      'COLUMBA_BACKUP_S3_PATH_STYLE',
      'on',
      'Whether the bucket is written into the path of the URL. off: into its host name.',
      (value: string): boolean => named(/^(?:on|off)$/, 'on or off')(value) === 'on',
    ),
    format: (value: boolean) => (value ? 'on' : 'off'),
  } satisfies Setting<boolean>,
  backupS3AccessKey: {
    ...setting('COLUMBA_BACKUP_S3_ACCESS_KEY', '', 'Access key of the S3-compatible store of the backup.', secret),
    secret: true,
  },
  backupS3SecretKey: {
    ...setting(
      'COLUMBA_BACKUP_S3_SECRET_KEY',
      '',
      'Secret key of the S3-compatible store of the backup. It is given by the environment or the settings file, and has no flag.',
      secret,
    ),
    secret: true,
    hasFlag: false,
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
