import { closeSync, copyFileSync, existsSync, openSync, readdirSync, renameSync, statfsSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Problem } from '../../base/problem.ts';
import type { LeftOut } from '../../store/schema/former-names.ts';
import { hasInstallation } from '../../store/sqlite/installation.ts';
import { refillOlder } from '../../store/sqlite/older-schema.ts';
import { marksPath, syncFolderOf } from '../installation.ts';
import { removeDatabase } from './recover.ts';
import { checkIntegrity } from './restoring.ts';

/**
 * The way back after an upgrade. Before a database is migrated, a copy of it is kept beside it. A
 * migration only adds tables and columns, so the older tables can be filled with everything that
 * the newer database has by then, and nothing that was sent is sent again.
 */
const copyPath = (path: string, version: number): string => `${path}.before-upgrade-${version}`;

export function sizeOnDisk(path: string): number {
  return ['', '-wal'].reduce((sum, end) => sum + (statSync(path + end, { throwIfNoEntry: false })?.size ?? 0), 0);
}

/** Copies a database while others use it. Throws Problem if the disk has no room for it. */
export function copyDatabase(path: string, to: string): void {
  const needed = sizeOnDisk(path);
  const { bavail, bsize } = statfsSync(dirname(path));
  if (bavail * bsize < needed) {
    const mb = (bytes: number) => `${Math.ceil(bytes / 1_000_000).toLocaleString('en')} MB`;
    throw new Problem(
      'bad-argument',
      `The disk of ${path} has no room for a copy of the database: ${mb(needed)} are needed, and ${mb(bavail * bsize)} are free.`,
    );
  }
  removeDatabase(to);
  closeSync(openSync(to, 'wx', 0o600)); // SQLite writes into an empty file, and keeps it private
  const source = new DatabaseSync(path, { timeout: 5_000 });
  try {
    source.exec(`vacuum into '${to.replaceAll("'", "''")}'`);
  } finally {
    source.close();
  }
}

/** Keeps a copy of a database that is about to be migrated from this version. */
export async function keepBeforeUpgrade(path: string, version: number): Promise<void> {
  const partial = `${path}.before-upgrade.partial`;
  try {
    copyDatabase(path, partial);
    renameSync(partial, copyPath(path, version));
    syncFolderOf(path);
  } finally {
    removeDatabase(partial);
  }
}

/** The newest copy that was kept, or null. */
export function findBeforeUpgrade(path: string): { readonly copy: string; readonly version: number } | null {
  const prefix = `${basename(path)}.before-upgrade-`;
  const versions = readdirSync(dirname(path))
    .filter((name) => name.startsWith(prefix) && /^\d{1,6}$/.test(name.slice(prefix.length)))
    .map((name) => Number(name.slice(prefix.length)));
  if (versions.length === 0) return null;
  const version = Math.max(...versions);
  return { copy: join(dirname(path), `${prefix}${version}`), version };
}

/** Writes a database with the tables of `copy` and the data of `newer`, which does not change. */
export function writeOlder({ copy, newer, to }: { copy: string; newer: string; to: string }): LeftOut {
  copyDatabase(copy, to);
  const leftOut = refillOlder(to, newer);
  checkIntegrity(to);
  // An older version that has marks compares them with what it finds; the first ones have none.
  if (existsSync(marksPath(newer)) && hasInstallation(to)) copyFileSync(marksPath(newer), marksPath(to));
  return leftOut;
}
