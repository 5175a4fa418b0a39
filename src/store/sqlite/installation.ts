import { DatabaseSync } from 'node:sqlite';

/** What a database file says about its installation, before anything opens it to use it. */

function has(path: string, sql: string): boolean {
  const database = new DatabaseSync(path, { readOnly: true, timeout: 1_000 });
  try {
    return database.prepare(sql).get() !== undefined;
  } finally {
    database.close();
  }
}

export const hasInstallation = (path: string): boolean =>
  has(path, "select 1 from sqlite_schema where name = 'installation'");
export const wasRestored = (path: string): boolean =>
  has(path, 'select 1 from installation where restored_at is not null');
