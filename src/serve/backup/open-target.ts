import { Problem } from '../../base/problem.ts';
import { S3_TARGET } from '../../config/backup.ts';
import type { Config } from '../../config/settings.ts';
import { folderTarget } from './folder-target.ts';
import { type S3Dependencies, s3Target } from './s3-target.ts';
import type { BackupTarget } from './target.ts';

/** The settings of backups, which also a thread gets. */
export type BackupSettings = Pick<Config, Extract<keyof Config, `backup${string}`>>;

export const backupSettingsOf = (config: Config): BackupSettings =>
  Object.fromEntries(Object.entries(config).filter(([name]) => name.startsWith('backup'))) as BackupSettings;

export function openTarget(settings: BackupSettings, dependencies: S3Dependencies): BackupTarget {
  const { backup, backupS3AccessKey: accessKey, backupS3SecretKey: secretKey } = settings;
  if (/^file:./s.test(backup)) return folderTarget(backup.slice('file:'.length));
  const [, bucket, path = ''] = S3_TARGET.exec(backup) ?? [];
  if (bucket === undefined) {
    throw new Problem(
      'bad-argument',
      'Name the target of the backup with COLUMBA_BACKUP, such as file:/var/backups/columba or s3://BUCKET/columba.',
    );
  }
  if (accessKey === '' || secretKey === '') {
    throw new Problem(
      'bad-argument',
      `${backup}: set COLUMBA_BACKUP_S3_ACCESS_KEY and COLUMBA_BACKUP_S3_SECRET_KEY in the environment or in the settings file.`,
    );
  }
  const prefix = path.replace(/^\/+|\/+$/g, '');
  return s3Target(
    {
      bucket,
      prefix: prefix && `${prefix}/`,
      endpoint: settings.backupS3Endpoint,
      region: settings.backupS3Region,
      isPathStyle: settings.backupS3PathStyle,
      accessKey,
      secretKey,
    },
    dependencies,
  );
}
