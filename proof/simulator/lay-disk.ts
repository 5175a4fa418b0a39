import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { closeAll, isOpen } from './disk.ts';

/** The file of the worlds of this process. One world follows the other on it. */
export const folderOf = (): string => (existsSync('/dev/shm') ? '/dev/shm' : tmpdir());

let folder: string | undefined;
const PASSES_MAX = 6;

/** Puts the template on the disk, and returns its path there. */
export function layDisk(template: string): string {
  if (folder === undefined) {
    const made = mkdtempSync(join(folderOf(), 'columba-simulator-'));
    process.once('exit', () => rmSync(made, { recursive: true, force: true }));
    folder = made;
  }
  const path = join(folder, 'world.db');
  rmSync(`${path}.backup`, { force: true });
  rmSync(`${path}.backup-wal`, { force: true });
  if (isOpen() && existsSync(path) && isReset(path, template)) return path;
  closeAll();
  for (const end of ['', '-wal', '-shm']) rmSync(path + end, { force: true });
  copyFileSync(template, path);
  return path;
}

/**
 * Gives every table the rows of the template, so that the connections of the last world, with their
 * hundreds of statements, serve the next one. Triggers write into other tables, hence the passes.
 */
function isReset(path: string, template: string): boolean {
  const database = new DatabaseSync(path, { enableForeignKeyConstraints: false, timeout: 0 });
  try {
    database.prepare('attach ? as template').run(template);
    database.exec('begin immediate');
    const names = database
      .prepare("select name from template.sqlite_schema where type = 'table' and name not like 'sqlite!_%' escape '!'")
      .all()
      .map(({ name }) => String(name));
    const isSame = (name: string): boolean => database.prepare(SAME.replaceAll('$', name)).get()?.same === 1;
    for (let pass = 0; pass < PASSES_MAX; pass++) {
      const wrong = names.filter((name) => !isSame(name));
      if (wrong.length === 0) {
        database.exec('commit');
        const left = database.prepare('pragma main.wal_checkpoint(truncate)').get();
        return left?.busy === 0;
      }
      for (const name of wrong)
        database.exec(`delete from main.${name}; insert into main.${name} select * from template.${name}`);
    }
    return false;
  } finally {
    database.close();
  }
}

const SAME = `select (select count(*) from main.$) = (select count(*) from template.$)
  and not exists (select * from main.$ except select * from template.$) as same`;
