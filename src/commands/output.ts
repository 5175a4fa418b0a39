import { closeSync, existsSync, fsyncSync, openSync, realpathSync, renameSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { systemClock } from '../base/clock.ts';
import { Problem } from '../base/problem.ts';

/**
 * What a command writes: lines to standard output, remarks to standard error, and files that are
 * either complete or absent.
 */

export const print = (line: string): void => void process.stdout.write(`${line}\n`);
export const remark = (line: string): void => void process.stderr.write(`${line}\n`);

export interface Teller {
  /** Lines for people, and what they say as fields for programs. */
  tell(fields: Readonly<Record<string, unknown>>, ...lines: readonly string[]): void;
  /** Prints the fields as one object. */
  end(): void;
}

/** What a command has done: sentences as it goes on, or with --json one object at its end. */
export function createTeller(asJson: boolean): Teller {
  const told: Record<string, unknown> = {};
  const asText = (_name: string, value: unknown) => (typeof value === 'bigint' ? String(value) : value);
  return {
    tell(fields, ...lines) {
      if (asJson) Object.assign(told, fields);
      else for (const line of lines) print(line);
    },
    end() {
      if (asJson) print(JSON.stringify(told, asText, 2));
    },
  };
}

/**
 * Escapes a value, so that it cannot move the cursor, start a line, or reverse the direction of
 * text.
 */
export const harmless = (value: string): string =>
  value.replace(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu, '\ufffd');

/** Only for people; a program that reads standard error gets only errors. */
export function remarkOnTerminal(line: string): void {
  if (process.stderr.isTTY) remark(line);
}

// 128 + SIGPIPE, as for a program that the signal ended: the output is incomplete.
const CLOSED_PIPE_EXIT_CODE = 141;

/** In `columba export | head` nobody reads the rest, which is not an error. */
export function endAtClosedPipe(): void {
  process.stdout.on('error', (err: NodeJS.ErrnoException) => {
    if (err.code === 'EPIPE') process.exit(CLOSED_PIPE_EXIT_CODE);
    process.stderr.write(`columba: standard output cannot be written: ${err.message}\n`);
    process.exit(1);
  });
}

/** A database must not be replaced by a copy of itself, under whatever path. */
export function refuseDatabase(path: string, database: string | undefined): void {
  if (database === undefined) return;
  const isSame = [database, `${database}-wal`, `${database}-shm`].some((file) => isSameFile(path, file));
  if (isSame) throw new Problem('bad-argument', `${path}: this is the database itself. Choose another file.`);
}

function isSameFile(one: string, other: string): boolean {
  const [first, second] = [one, other].map((path) => statSync(path, { throwIfNoEntry: false }));
  return first && second ? first.dev === second.dev && first.ino === second.ino : resolve(one) === resolve(other);
}

/**
 * Writes a file under a temporary name in the same folder. Renames it when it is complete and on
 * disk. Until then, and after a failure, the old file is unchanged. `write` creates the file with
 * access for its owner only.
 */
export async function writeWhole(
  path: string,
  { force }: { readonly force: boolean },
  write: (temporary: string) => Promise<unknown>,
): Promise<void> {
  const target = existsSync(path) ? realpathSync(path) : path; // behind a symbolic link
  refuseExisting(path, force);
  const temporary = join(dirname(target), `.${basename(target)}.${process.pid}.tmp`);
  const remove = () => rmSync(temporary, { force: true });
  const onSignal = (signal: NodeJS.Signals) => {
    remove();
    process.kill(process.pid, signal); // our handler is removed, so the signal now has its default effect
  };
  for (const signal of SIGNALS) process.once(signal, onSignal);
  try {
    await write(temporary);
    syncToDisk(temporary, 'r+');
    refuseExisting(path, force); // the file may have been created in the meantime
    renameSync(temporary, target);
  } finally {
    for (const signal of SIGNALS) process.off(signal, onSignal);
    remove();
  }
  if (process.platform !== 'win32') syncToDisk(dirname(target), 'r'); // the name
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

export function refuseExisting(path: string, force: boolean): void {
  if (path === '') throw new Problem('bad-argument', 'Name a file to write to.');
  const found = statSync(path, { throwIfNoEntry: false });
  if (found?.isDirectory()) throw new Problem('bad-argument', `${path}: a folder is there`);
  if (found && !force) throw new Problem('bad-argument', `${path}: the file exists already. Replace it with --force.`);
  if (!existsSync(dirname(path)))
    throw new Problem('bad-argument', `${path}: its folder does not exist. Make it first.`);
}

function syncToDisk(path: string, flags: string): void {
  const fd = openSync(path, flags);
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** Whether it is a pipe, a terminal or /dev/null, which is written to directly. */
export const isDevice = (path: string): boolean => {
  const found = statSync(path, { throwIfNoEntry: false });
  return found !== undefined && !found.isFile() && !found.isDirectory();
};

/** Windows has no such bits. */
export const isOpenToOthers = (path: string): boolean =>
  process.platform !== 'win32' && ((statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & 0o007) !== 0;

/** In units that people read: 1.5 GB. */
export function formatBytes(bytes: number): string {
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB'];
  const power = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(bytes, 1)) / 3));
  const amount = bytes / 1000 ** power;
  return `${power === 0 ? amount : amount.toFixed(1)} ${units[power]}`;
}

/** On a terminal, one line that changes four times a second; elsewhere, a line every 10 seconds. */
export function progressLine(): (line: () => string) => void {
  const { isTTY } = process.stderr;
  let shownAt = systemClock.now();
  return (line) => {
    if (systemClock.now() - shownAt < (isTTY ? 250 : 10_000)) return;
    shownAt = systemClock.now();
    process.stderr.write(isTTY ? `\r${line()}\u001b[K\r` : `${line()}\n`);
  };
}
