import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { Problem } from '../base/problem.ts';
import { randomBytes } from '../base/random.ts';
import { sqlitePath } from '../config/database-name.ts';
import type { Config } from '../config/settings.ts';
import {
  type Installation,
  nextGeneration,
  readInstallation,
  writeInstallation,
} from '../domain/accounts/installation.ts';
import type { Database, Place } from '../store/database.ts';
import type { Log } from './telemetry/log.ts';

/**
 * A database that was replaced by an older copy of itself would send again what was sent since. So
 * the service recognizes a copy before it serves: by a file beside an SQLite database, and by the
 * cluster and the database on PostgreSQL. See schema/installation.ts.
 */
export interface Marks {
  readonly generation: bigint;
  /** The run of the database. While a service starts, also the one before. */
  readonly runs: readonly string[];
}

export const newRun = (): string => randomBytes(8).toString('hex');
export const marksPath = (path: string): string => `${path}-generation`;

/** Null if there is no such file. */
export function readMarks(path: string): Marks | null {
  let text: string;
  try {
    text = readFileSync(marksPath(path), 'latin1');
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw thrown;
  }
  const [, generation, runs = ''] = /^(\d{1,19}) ((?:[0-9a-f]{16} ?){1,2})\n$/.exec(text) ?? [];
  if (generation === undefined) return { generation: -1n, runs: [] };
  return { generation: BigInt(generation), runs: runs.trim().split(' ') };
}

/** The file is complete and on disk, or it is as it was before. */
export function writeMarks(path: string, { generation, runs }: Marks): void {
  const temporary = `${marksPath(path)}.tmp`;
  const file = openSync(temporary, 'w', 0o600);
  try {
    writeSync(file, `${generation} ${runs.join(' ')}\n`);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(temporary, marksPath(path));
  syncFolderOf(path);
}

/** After it, the names of the files beside `path` are on disk, such as after a rename. */
export function syncFolderOf(path: string): void {
  if (process.platform === 'win32') return;
  const folder = openSync(dirname(path), 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

const REMEDY =
  'Run columba restore --adopt: messages that may have been sent since are then held for your decision, and ids are skipped. ' +
  'If nothing was lost, because the service was stopped before the database was moved, run columba restore --adopt --nothing-lost.';
const refused = (why: string): Problem => new Problem('bad-argument', `${why} ${REMEDY}`);

/** Why this database must not be served as it is; null if it is the one that was served last. */
function faultOf(found: Installation | undefined, marks: Marks | null, place: Place, path: string | undefined) {
  if (found && found.copiedAt !== null) {
    return `The database is a copy that was made at ${new Date(found.copiedAt).toISOString()}.`;
  }
  if (path === undefined) {
    const isElsewhere = found !== undefined && found.place !== place.id;
    return isElsewhere ? 'The database is in another place than before, so it is a restored dump or was moved.' : null;
  }
  if (!found && !marks) return null; // it was never served
  if (!marks) return `The file ${marksPath(path)} is missing, so the database may be an older copy.`;
  if (found?.generation === marks.generation && marks.runs.includes(found.run)) return null;
  return `The database ${path} is not the one that was served here last, but an older or another one.`;
}

/**
 * Draws the run of a service that starts. Throws Problem if the database must not be served as it
 * is. The marks are written before and after the commit, so that a process that dies in between
 * leaves a pair that matches.
 */
export async function enterInstallation(
  database: Database,
  config: Pick<Config, 'database'>,
  { clock, log }: { readonly clock: Pick<Clock, 'now'>; readonly log: Log },
): Promise<void> {
  const path = sqlitePath(config);
  const place = await database.place();
  const run = newRun();
  const entered = await database.transaction(null, async (queries) => {
    const found = await readInstallation(queries);
    const fault = faultOf(found, path === undefined ? null : readMarks(path), place, path);
    if (fault !== null) throw refused(fault);
    if (path === undefined && found && found.timeline !== place.timeline) {
      log.warn(
        'PostgreSQL has begun a new timeline. If this was a restore to a point in time, or a failover to a standby that may have lost writes, stop the service and run columba restore --adopt.',
      );
    }
    const base = { copiedAt: null, restoredAt: null, generation: nextGeneration(0n, clock.now()), ...found };
    const next: Installation = { ...base, run, place: place.id, timeline: place.timeline };
    if (path !== undefined) {
      writeMarks(path, { generation: next.generation, runs: found ? [run, found.run] : [run] });
    }
    await writeInstallation(queries, next);
    return next;
  });
  if (path === undefined) return;
  await database.transaction(null, async (queries) => {
    const isOwn = (await readInstallation(queries))?.run === run; // else another service has started since
    if (isOwn) writeMarks(path, { generation: entered.generation, runs: [run] });
  });
}
