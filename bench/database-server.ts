import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createPostgresServer, debianBinaries, type PostgresServer } from '../test/support/postgres-server.ts';
import { childrenOf, cpuUs, endedChildrenUs } from './proc.ts';
import { removeFolder } from './processes.ts';
import { say } from './report.ts';

/** A PostgreSQL as an operator has it: what is answered is on disk. */
export interface DatabaseServer {
  readonly name: string;
  readonly version: string;
  readonly port: number;
  /** A new database, as a setting of Columba. */
  create(): Promise<string>;
  /** Every process of it. */
  pids(): number[];
  /** CPU of all its processes so far, with those that have ended. */
  cpuUs(): number;
  stop(): Promise<void>;
}

// What an operator sets first: a quarter of a small machine's memory, and room between two checkpoints.
const SETTINGS = ['shared_buffers=1GB', 'max_wal_size=4GB'];

/** Where the package is installed: its JIT compiler is on, which npm's server does not have. */
export async function startDebianServer(): Promise<DatabaseServer | undefined> {
  const binaries = debianBinaries();
  if (!binaries) say("Debian's package postgresql is not installed, left out");
  return binaries ? startDatabaseServer(binaries) : undefined;
}

/** Npm's, if no folder of programs is given. Undefined, and a line that says why, where there is none for this machine. */
export async function startDatabaseServer(installed?: string): Promise<DatabaseServer | undefined> {
  let server: PostgresServer;
  try {
    server = await createPostgresServer(SETTINGS, undefined, installed);
    // After the handler of the server's own, which ends it.
    process.once('exit', () => removeFolder(server.folder));
    await server.start();
  } catch (thrown) {
    say(`no PostgreSQL could be started, left out: ${thrown}`);
    return undefined;
  }
  const [first] = await server.query('show server_version');
  const version = String(first?.server_version).split(' ')[0] as string;
  const firstPid = () => Number(readFileSync(join(server.folder, 'data', 'postmaster.pid'), 'utf8').split('\n', 1)[0]);
  const pids = () => [firstPid(), ...childrenOf(firstPid())];
  let count = 0;
  return {
    name: `PostgreSQL ${version} of ${installed ? 'Debian' : 'npm'}`,
    version,
    port: server.port,
    async create() {
      const name = `bench_${++count}`;
      await server.query(`create database ${name}`);
      return server.url(name);
    },
    pids,
    cpuUs: () => cpuUs(pids()) + endedChildrenUs(firstPid()),
    stop: () => server.remove(),
  };
}
