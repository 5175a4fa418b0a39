import { existsSync } from 'node:fs';
import { mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { randomBytes } from '../../base/random.ts';
import { type BackupTarget, KEY, TargetProblem } from './target.ts';

/** A folder, best on another disk. An object is written under another name, synced and renamed. */
export function folderTarget(folder: string): BackupTarget {
  const name = `the folder ${folder}`;
  const made = new Set<string>();
  /** The disk that the first object was written to. */
  let disk: number | undefined;

  const told = (what: string, thrown: unknown): TargetProblem => {
    const { code, message } = thrown as NodeJS.ErrnoException;
    const isMissing = code === 'ENOENT';
    return new TargetProblem(`${what} in ${name} failed: ${REASONS[code ?? ''] ?? message}.`, {
      isMissing,
      cause: thrown,
    });
  };

  /** On a disk that is read-only, a recursive mkdir of Node says that something is missing. */
  async function makeFolder(path: string): Promise<void> {
    if (made.has(path)) return;
    try {
      await mkdir(path, { mode: 0o700 });
    } catch (thrown) {
      const { code } = thrown as NodeJS.ErrnoException;
      if (code === 'ENOENT' && dirname(path) !== path) {
        await makeFolder(dirname(path));
        await mkdir(path, { mode: 0o700 });
      } else if (code !== 'EEXIST') throw thrown;
    }
    made.add(path);
  }

  /** Without its own disk, the folder is on the disk below it, which a snapshot may fill. */
  async function requireSameDisk(): Promise<void> {
    if (disk !== undefined && (await diskOf(folder)) !== disk) throw new TargetProblem(otherDisk(name));
  }

  async function listIn(path: string, prefix: string): Promise<string[]> {
    const found = await readdir(path, { withFileTypes: true }).catch((thrown) => {
      if (thrown.code === 'ENOENT') return [];
      throw thrown;
    });
    const keys: string[] = [];
    for (const entry of found) {
      const key = `${prefix}${entry.name}`;
      if (entry.isDirectory()) keys.push(...(await listIn(join(path, entry.name), `${key}/`)));
      else if (KEY.test(key) && !key.endsWith(PARTIAL)) keys.push(key);
    }
    return keys;
  }

  return {
    name,
    exists: () => existsSync(folder),
    async put(key, content) {
      const path = join(folder, key);
      const partial = `${path}.${randomBytes(4).toString('hex')}${PARTIAL}`;
      try {
        await requireSameDisk();
        await makeFolder(dirname(path));
        disk ??= await diskOf(folder);
        const file = await open(partial, 'wx', 0o600);
        try {
          await file.writeFile(content);
          await file.sync();
        } finally {
          await file.close();
        }
        await rename(partial, path);
        await syncFolder(dirname(path));
      } catch (thrown) {
        made.clear(); // the folder may be gone, such as a disk that is not mounted any more
        await rm(partial, { force: true }).catch(() => {});
        if (thrown instanceof TargetProblem) throw thrown;
        throw told('Writing', thrown);
      }
    },
    get: (key) =>
      readFile(join(folder, key)).catch((thrown) => {
        throw told(`Reading ${key}`, thrown);
      }),
    async list(prefix, after = '') {
      const all = await listIn(join(folder, prefix), prefix).catch((thrown) => {
        throw told('Listing', thrown);
      });
      return all.filter((key) => key > after).sort();
    },
    remove: (key) =>
      rm(join(folder, key), { force: true }).catch((thrown) => {
        throw told(`Deleting ${key}`, thrown);
      }),
  };
}

/** Of the folder, or of the nearest one above it that exists. */
async function diskOf(path: string): Promise<number> {
  try {
    return (await stat(path)).dev;
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'ENOENT' || dirname(path) === path) throw thrown;
    return diskOf(dirname(path));
  }
}

const otherDisk = (name: string): string =>
  `Nothing is written: ${name} is on another disk than when the service was started. Mount its disk again, or restart the service if the folder has moved.`;

const PARTIAL = '.partial';
const REASONS: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full',
  EACCES: 'access is denied',
  EPERM: 'access is denied',
  EROFS: 'the disk is read-only',
  ENOENT: 'the file is missing',
  ENOTDIR: 'a file is in the place of a folder',
};

async function syncFolder(path: string): Promise<void> {
  if (process.platform === 'win32') return;
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
