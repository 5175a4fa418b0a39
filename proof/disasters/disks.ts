import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { createPostgresServer, debianBinaries, type PostgresServer } from '../../test/support/postgres-server.ts';

/** Where the database of a machine is, which can be lost and restored. */
export interface Disk {
  /** Each account has an order of commits of its own. */
  readonly isSpread?: true;
  /** COLUMBA_DATABASE. After a restore it may be another one. */
  setting(): string;
  /** Takes a backup where the service does not do that itself. */
  backUp?(): Promise<void>;
  /** All of it is gone, without warning. */
  lose(): Promise<void>;
  restore(columba: (...args: string[]) => Promise<unknown>): Promise<void>;
  /** The tokens of all messages, and the blocked numbers. */
  stored(): Promise<Set<string>>;
  end(): Promise<void>;
}

export const TOKENS = 'select text as token from sent union select number from blocked_number';
export const tokensOf = (rows: readonly Record<string, unknown>[]): Set<string> =>
  new Set(rows.map(({ token }) => String(token)));

/** An SQLite database, whose backup is that of the service. */
export function sqliteDisk(folder: string): Disk {
  const data = join(folder, 'data');
  const path = join(data, 'columba.db');
  mkdirSync(data);
  return {
    setting: () => `sqlite:${path}`,
    async lose() {
      rmSync(data, { recursive: true });
      mkdirSync(data);
    },
    restore: async (columba) => void (await columba('restore')),
    async stored() {
      const database = new DatabaseSync(path, { readOnly: true });
      try {
        return tokensOf(database.prepare(TOKENS).all());
      } finally {
        database.close();
      }
    },
    end: async () => {},
  };
}

// The servers end with the machine's memory intact.
const SETTINGS = ['fsync=off'];
const NAME = 'columba';

/**
 * A PostgreSQL server of Debian, with a copy by `pg_basebackup` or by `pg_dump`, of which each is
 * taken while messages are sent. Writes since the last copy are lost with the server.
 */
export async function postgresDisk(folder: string, by: 'basebackup' | 'dump'): Promise<Disk> {
  const binaries = debianBinaries();
  if (!binaries) throw new Error('the Debian package postgresql is not installed');
  const copy = join(folder, 'copy');
  const tool = (name: string, ...args: string[]) => execFileSync(join(binaries, name), args, { stdio: 'pipe' });
  const start = async (from?: string): Promise<PostgresServer> => {
    const started = await createPostgresServer(SETTINGS, from, binaries);
    await started.start();
    return started;
  };
  let server = await start();
  await server.query(`create database ${NAME}`);
  return {
    setting: () => server.url(NAME),
    async backUp() {
      rmSync(copy, { recursive: true, force: true });
      mkdirSync(copy);
      if (by === 'dump') tool('pg_dump', '--format=custom', '--file', join(copy, 'dump'), server.url(NAME));
      else {
        const to = ['--pgdata', join(copy, 'data'), '--wal-method=stream', '--checkpoint=fast', '--no-sync'];
        tool('pg_basebackup', '--dbname', server.url(), ...to);
      }
    },
    async lose() {
      await server.stop('immediate');
      await server.remove();
    },
    async restore(columba) {
      server = await start(by === 'basebackup' ? copy : undefined);
      if (by === 'dump') {
        await server.query(`create database ${NAME}`);
        tool('pg_restore', '--dbname', server.url(NAME), join(copy, 'dump'));
      }
      await columba('restore', '--adopt');
    },
    stored: async () => tokensOf(await server.query(TOKENS, NAME)),
    end: () => server.remove(),
  };
}
