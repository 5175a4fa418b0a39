import { type Clock, within } from '../../base/clock.ts';
import { Problem } from '../../base/problem.ts';
import { sqlitePath } from '../../config/database-name.ts';
import type { Config } from '../../config/settings.ts';
import { readMarks } from '../installation.ts';
import type { Log } from '../telemetry/log.ts';
import { type Backups, startBackups } from './backups.ts';
import { generationsIn } from './chain.ts';
import { backupSettingsOf, openTarget } from './open-target.ts';
import { readSecretKey } from './sealed.ts';

/**
 * Starts the backup of a service whose installation was entered. Throws Problem if another machine
 * was restored from the same target since: then that one serves, and this one must not.
 */
export async function startBackup(
  config: Config,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): Promise<Backups | undefined> {
  if (config.backup === '') return undefined;
  const path = sqlitePath(config);
  if (path === undefined) {
    log.warn('COLUMBA_BACKUP is for SQLite only: back up PostgreSQL with its own tools');
    return undefined;
  }
  const generation = readMarks(path)?.generation ?? 0n;
  readSecretKey(config.backupKeyFile); // a wrong file is told at once
  const settings = backupSettingsOf(config);
  const asked = generationsIn(openTarget(settings, { clock })).catch((thrown: Error) => thrown.message);
  const noted = await within(clock, ANSWER_MAX_MS, asked, 'It did not answer in time.');
  if (typeof noted === 'string') log.warn({ reason: noted }, 'the target of the backup does not answer');
  else if (noted.includes(generation)) refuseSuperseded(generation, noted);
  const backups = startBackups(
    { ...settings, path, generation },
    {
      log,
      clock,
      superseded: () => {
        log.fatal('another machine was restored from the backup of this one and is newer: this service stops');
        process.kill(process.pid, 'SIGTERM');
      },
    },
  );
  await within(clock, SNAPSHOT_MAX_MS, backups.begun, undefined);
  return backups;
}

/** The service starts after this time, also if the target does not answer. */
const ANSWER_MAX_MS = 5_000;
/**
 * Until its first snapshot is complete, nothing of what the service writes is in the target. Small
 * databases are there within this time, before the first call is answered.
 */
const SNAPSHOT_MAX_MS = 5_000;

function refuseSuperseded(generation: bigint, noted: readonly bigint[]): void {
  const newer = noted.find((each) => each > generation);
  if (newer === undefined) return;
  throw new Problem(
    'bad-argument',
    `Another machine was restored from the backup of this one (generation ${newer}), and serves instead of it. ` +
      'If this one is to serve again, stop the other and run columba restore --force here.',
  );
}
