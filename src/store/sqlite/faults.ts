import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/**
 * Tells the operator why SQLite cannot use its file, with the path and what to do.
 * https://www.sqlite.org/rescode.html
 */
export const BUSY = 5;

const ELSEWHERE = 'or choose another file';

const FAULTS: Readonly<Record<number, (path: string) => string>> = {
  [BUSY]: locked,
  6: locked,
  8: notWritten, // READONLY
  10: (path) => `The disk of the database ${path} fails. Check the disk, its quota and the system log.`,
  11: (path) => `The database ${path} is damaged. Stop the service, keep a copy of the file and restore a backup.`,
  13: (path) => `The disk of the database ${path} is full. Make room there; the service then continues by itself.`,
  14: notWritten, // CANTOPEN: so it ends too where the files beside the database cannot be made
  26: (path) => `The file ${path} is not an SQLite database. Restore a backup, ${ELSEWHERE}.`,
};

/** The low byte is the error; the others tell more about it. */
export const codeOf = (thrown: unknown): number => ((thrown as { errcode?: number } | undefined)?.errcode ?? 0) & 0xff;

/** READONLY, IOERR, FULL: the file can be read, but not written. */
export const keepsFromWriting = (thrown: unknown): boolean => [8, 10, 13].includes(codeOf(thrown));

/** Undefined for an error that is a bug of ours and not a state of the database. */
export const sqliteFault = (path: string, thrown: unknown): string | undefined =>
  FAULTS[codeOf(thrown)]?.(resolve(path));

/** A file that is missing and cannot be made. */
export const fileFault = (path: string): string => notWritten(resolve(path));

/** A file with tables, and none of them is ours. */
export const foreignFault = (path: string): string =>
  `The file ${resolve(path)} is a database of another program. It was not changed. Name the right one with --database.`;

/** A folder that is missing and cannot be made. */
export function folderFault(path: string): string {
  let made = dirname(resolve(path));
  while (!existsSync(made)) made = dirname(made);
  return accessProblem(made) === 'EROFS'
    ? readOnlyDisk(resolve(path))
    : `The folder of the database ${resolve(path)} cannot be created. Create it for this user, ${ELSEWHERE}.`;
}

function locked(path: string): string {
  return `Another process keeps the database ${path} locked. Wait until it is done, or find it with: fuser ${path}`;
}

const readOnlyDisk = (path: string): string =>
  `The database ${path} is on a disk that is read-only. Mount it for writing, ${ELSEWHERE}.`;

/** SQLite does not tell why; the system does. */
function notWritten(path: string): string {
  if (isFolder(path)) {
    return `The database ${path} is a folder. Choose a file in it.`;
  }
  const problem = accessProblem(dirname(path)) ?? accessProblem(path);
  if (problem === 'EROFS') return readOnlyDisk(path);
  if (problem === 'ENOENT')
    return `There is no file ${path}, and it cannot be created. Create its folder, ${ELSEWHERE}.`;
  return `The database ${path} cannot be written. Let this user read and write the file and its folder, ${ELSEWHERE}.`;
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false; // it is not there, or this user may not look
  }
}

function accessProblem(path: string): string | undefined {
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
    return undefined;
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code;
  }
}
