import { existsSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { Problem } from '../../base/problem.ts';
import { marksPath, syncFolderOf } from '../installation.ts';
import { generationKey, segmentsAfter } from './chain.ts';
import {
  applySegments,
  checkIntegrity,
  chooseRestorePoint,
  type Progress,
  type Restored,
  type RestorePoint,
  restoreSnapshot,
} from './restoring.ts';
import type { SecretKey } from './sealed.ts';
import { type BackupTarget, TargetProblem } from './target.ts';

/** Restores a database from a target to a path, or keeps a copy there for a standby. */
export interface Source {
  readonly target: BackupTarget;
  readonly secret: SecretKey;
}

/** TargetProblem, and a disk that is full, become a sentence of the command. */
export async function told<T>(work: () => Promise<T>, path?: string): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    if (thrown instanceof TargetProblem) throw new Problem('bad-argument', thrown.message);
    if (!isDiskFull(thrown)) throw thrown;
    const where = path === undefined ? 'The disk' : `The disk of ${path}`;
    throw new Problem('bad-argument', `${where} is full. Nothing was changed. Make room there, and try again.`, {
      cause: thrown instanceof Problem ? thrown.cause : thrown,
    });
  }
}

/** Whether the system or SQLite says so, in the error or in its cause. */
function isDiskFull(thrown: unknown): boolean {
  if (!(thrown instanceof Error)) return false;
  const { code, errcode = 0 } = thrown as { code?: string; errcode?: number };
  return code === 'ENOSPC' || code === 'EDQUOT' || (errcode & 0xff) === SQLITE_FULL || isDiskFull(thrown.cause);
}
const SQLITE_FULL = 13;

/** The last has the marks of the database. */
const FILES = ['', '-wal', '-shm', marksPath('')] as const;
export const removeDatabase = (path: string): void => {
  for (const end of FILES) rmSync(path + end, { force: true });
};

/** Writes the database of a moment to a new file, from a standby's copy if there is one. */
export async function restoreTo(
  source: Source,
  { at, temporary, standby }: { at: number | null; temporary: string; standby: string | null },
  progress: Progress,
): Promise<RestorePoint> {
  const { target, secret } = source;
  const point = await chooseRestorePoint(target, at);
  const { chain, last } = point;
  const followed = standby === null ? null : readFollowed(standby);
  const isUsable = followed !== null && followed.chain === chain.name && followed.number <= last.number;
  if (!isUsable) {
    const base = await restoreSnapshot(target, secret, chain, temporary, progress);
    await applySegments(target, secret, chain, temporary, base, last.number, progress);
    checkIntegrity(temporary);
    return point;
  }
  const following = lockFollowing(standby as string);
  renameSync(followPath(standby as string), temporary);
  try {
    await applySegments(target, secret, chain, temporary, followed, last.number, progress);
    checkIntegrity(temporary);
    rmSync(followedPath(standby as string), { force: true });
    return point;
  } catch (thrown) {
    renameSync(temporary, followPath(standby as string)); // the same pages may be applied again
    throw thrown;
  } finally {
    following.close();
    rmSync(lockPath(standby as string), { force: true });
  }
}

/** Throws Problem if a service or a command uses the database at this path. */
export function refuseInUse(path: string): void {
  if (!existsSync(path) || statSync(path).size === 0) return;
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(path, { timeout: 0 });
    // Every connection to a database with a write-ahead log holds a lock that this excludes.
    database.exec('pragma locking_mode = exclusive; begin exclusive; rollback');
  } catch (thrown) {
    if ((thrown as { errcode?: number }).errcode !== 5) return; // it is damaged, and is replaced
    throw new Problem('bad-argument', `${path}: a service or a command uses this database. Stop it first.`);
  } finally {
    database?.close();
  }
}

/**
 * Puts the restored file and its marks in their place. What was there stays beside it with its own
 * marks; returns its new path. If the process dies in between, `serve` finds marks without their
 * database and refuses to begin with an empty one.
 */
export function moveIntoPlace(temporary: string, path: string, now: number): string | null {
  const aside = `${path}.replaced-${new Date(now).toISOString().replace(/[:.]/g, '')}`;
  const isThere = existsSync(path);
  for (const end of FILES) if (existsSync(path + end)) renameSync(path + end, aside + end);
  for (const end of FILES.toReversed()) if (existsSync(temporary + end)) renameSync(temporary + end, path + end);
  syncFolderOf(path);
  return isThere ? aside : null;
}

/** From now on, a service of an older generation that uses this target stops. */
export const announce = (target: BackupTarget, generation: bigint, now: number): Promise<void> =>
  target.put(generationKey(generation), Buffer.from(String(now)));

const followPath = (path: string): string => `${path}.following`;
const lockPath = (path: string): string => `${path}.following-lock`;
const followedPath = (path: string): string => `${path}.following.json`;

/** Until it is closed, or the process ends, nobody else writes the copy of a standby. */
export function lockFollowing(path: string): { close(): void } {
  const database = new DatabaseSync(lockPath(path), { timeout: 0 });
  try {
    database.exec('begin exclusive');
    return database;
  } catch (cause) {
    database.close();
    throw new Problem('bad-argument', `columba follow keeps a copy beside ${path}. Stop it first.`, { cause });
  }
}

function readFollowed(path: string): Restored | null {
  try {
    if (!existsSync(followPath(path))) return null;
    return JSON.parse(readFileSync(followedPath(path), 'utf8')) as Restored;
  } catch {
    return null;
  }
}

/** Applies what the chain of a standby's copy got meanwhile. Null if there is no copy. */
export async function followChain({ target, secret }: Source, path: string): Promise<Restored | null> {
  const followed = readFollowed(path);
  if (!followed) return null;
  const segments = await segmentsAfter(target, followed.chain, followed.number);
  const last = segments.findLast(({ isComplete }) => isComplete);
  if (!last) return followed;
  const chain = { name: followed.chain, segments };
  return noteFollowed(path, await applySegments(target, secret, chain, followPath(path), followed, last.number));
}

function noteFollowed(path: string, followed: Restored): Restored {
  writeFileSync(followedPath(path), JSON.stringify(followed), { mode: 0o600 });
  return followed;
}

/**
 * Brings a standby's copy up to date, from the newest chain. After a crash, the same pages are
 * applied again.
 */
export async function followOnce({ target, secret }: Source, path: string, progress: Progress): Promise<Restored> {
  const { chain, last } = await chooseRestorePoint(target, null);
  let followed = readFollowed(path);
  if (followed?.chain !== chain.name) {
    rmSync(followedPath(path), { force: true });
    removeDatabase(followPath(path));
    followed = await restoreSnapshot(target, secret, chain, followPath(path), progress);
  }
  if (followed.number < last.number) {
    const applied = await applySegments(target, secret, chain, followPath(path), followed, last.number);
    followed = noteFollowed(path, applied);
  }
  return followed;
}
