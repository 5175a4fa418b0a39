import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createPostgresServer, type PostgresServer } from '../test/support/postgres-server.ts';
import { childrenOf } from './proc.ts';
import { removeFolder } from './processes.ts';
import { say } from './report.ts';

/** A PostgreSQL of npm's, as an operator has it: what is answered is on disk. */
export interface DatabaseServer {
  readonly version: string;
  readonly port: number;
  /** A new database, as a setting of Columba. */
  create(): Promise<string>;
  /** Every process of it. */
  pids(): number[];
  stop(): Promise<void>;
}

// What an operator sets first: a quarter of a small machine's memory, and room between two checkpoints.
const SETTINGS = ['shared_buffers=1GB', 'max_wal_size=4GB'];

/** Undefined, and a line that says why, where there is none for this machine. */
export async function startDatabaseServer(): Promise<DatabaseServer | undefined> {
  let server: PostgresServer;
  try {
    server = await createPostgresServer(SETTINGS);
    // After the handler of the server's own, which ends it.
    process.once('exit', () => removeFolder(server.folder));
    await server.start();
  } catch (thrown) {
    say(`no PostgreSQL could be started, left out: ${thrown}`);
    return undefined;
  }
  const [first] = await server.query('show server_version');
  let count = 0;
  return {
    version: String(first?.server_version),
    port: server.port,
    async create() {
      const name = `bench_${++count}`;
      await server.query(`create database ${name}`);
      return server.url(name);
    },
    pids() {
      const pid = Number(readFileSync(join(server.folder, 'data', 'postmaster.pid'), 'utf8').split('\n', 1)[0]);
      return [pid, ...childrenOf(pid)];
    },
    stop: () => server.remove(),
  };
}
