import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { pino } from 'pino';
import { childrenOf } from '../../bench/proc.ts';
import { systemClock } from '../../src/base/clock.ts';
import { readConfig } from '../../src/config/settings.ts';
import { createApp } from '../../src/serve/compose/contract.ts';
import { adopt } from '../../test/support/contract-client.ts';
import { createDatabase, joinCluster } from '../../test/support/databases.ts';
import { createStandby, until } from '../../test/support/postgres-engines.ts';
import {
  createPostgresServer,
  debianBinaries,
  installedBinaries,
  type PostgresServer,
} from '../../test/support/postgres-server.ts';

/**
 * A coordinator and workers of Citus on this machine, of the PostgreSQL that TEST_POSTGRES_BIN names, or of Debian's. Citus
 * is not a package of Debian: where PostgreSQL has no extension citus, it is built from the source in the folder that
 * CITUS_SOURCE names, and installed into that PostgreSQL.
 */
export interface CitusCluster {
  readonly coordinator: PostgresServer;
  readonly workers: readonly PostgresServer[];
  /** A database on all nodes, with the extension, as a setting. */
  database(name: string): Promise<string>;
  /** A database of one server so far, as a setting. It belongs to a role that has no other rights, as in most installations. */
  ownDatabase(role: string, name: string): Promise<string>;
  /** Makes it one of the cluster, with the extension on all nodes. */
  join(name: string): Promise<void>;
  /** Starts one more worker, and makes it known to a database. */
  addWorker(name: string): Promise<PostgresServer>;
  /** A synchronous standby of a node, which is stopped for the copy. */
  addStandby(node: PostgresServer): Promise<PostgresServer>;
  remove(): Promise<void>;
}

export const binaries = installedBinaries() ?? debianBinaries();
const configOf = (option: string): string =>
  execFileSync(join(binaries as string, 'pg_config'), [option], { encoding: 'utf8' }).trim();
const isInstalled = (): boolean =>
  binaries !== undefined && existsSync(join(configOf('--sharedir'), 'extension', 'citus.control'));

/** Why nothing of this can run here; undefined where it can. */
export function whyNot(): string | undefined {
  if (!binaries) return 'the Debian package postgresql is not installed';
  if (isInstalled()) return undefined;
  const source = process.env.CITUS_SOURCE;
  if (!source) return 'PostgreSQL has no extension citus, and CITUS_SOURCE names no folder with its source';
  return existsSync(join(source, 'configure')) ? undefined : `CITUS_SOURCE: there is no configure in ${source}`;
}

/** A suite that needs Citus. Without it, the suite says that it did not run, and why. */
export function onCitus(name: string, suite: () => void): void {
  const reason = whyNot();
  if (reason) test(name, { skip: `skipped: ${reason}` }, () => {});
  else describe(name, suite);
}

/** A figure. The reporter of a proof prints only what fails. */
export const show = (line: string): void => void process.stderr.write(`${line}\n`);

export const userOf = (client: number): string => `user_id of client ${client}`;

/** Accounts with unread messages, before or after a database is distributed. */
export async function addAccounts(database: string, accounts: number, messages = 0): Promise<void> {
  const app = await createApp(readConfig({ COLUMBA_DATABASE: database }), {
    clock: { ...systemClock, sleep: async () => {} },
    log: pino({ level: 'silent' }),
  });
  for (let client = 0; client < accounts; client++) {
    const inbox = Array.from({ length: messages }, (_, index) => ({
      id: String(index + 1),
      sender: '+27825550201',
      message: `message ${index + 1}`,
      timestamp: new Date(Date.UTC(2026, 0, 1) + index * 1_000).toISOString(),
      read: false,
    }));
    await adopt(app, { userID: userOf(client), username: `client-${client}`, inbox });
  }
  await app.stop();
}

/** All processes of a server. */
export function pidsOf(server: PostgresServer): number[] {
  const first = Number(readFileSync(join(server.folder, 'data', 'postmaster.pid'), 'utf8').split('\n', 1)[0]);
  return [first, ...childrenOf(first)];
}

const STEPS = './configure --without-libcurl && make -j2 with_llvm=no && make with_llvm=no install';

/** Takes some minutes, once: of the files that run side by side, one builds it and the others wait. */
export function buildCitus(): void {
  const source = process.env.CITUS_SOURCE;
  if (!source || !existsSync(source)) return; // it is installed: see whyNot
  if (!isInstalled()) show(`Citus is built in ${source}, which takes some minutes.`);
  const env = { ...process.env, PATH: `${configOf('--bindir')}:${process.env.PATH}` };
  const control = join(configOf('--sharedir'), 'extension', 'citus.control');
  const { status, stderr } = spawnSync(
    'flock',
    [source, 'sh', '-c', `test -e "$1" || { cd "$2" && ${STEPS}; }`, 'build', control, source],
    { env, encoding: 'utf8', stdio: ['ignore', 'ignore', 'pipe'], maxBuffer: 2 ** 28 },
  );
  if (status !== 0) throw new Error(`${STEPS} in ${source}: ${stderr.slice(-2_000)}`);
}

const SETTINGS = [
  'shared_preload_libraries=citus',
  'citus.node_conninfo=sslmode=disable',
  'citus.enable_unsafe_triggers=on',
  'citus.shard_count=4',
  'citus.enable_statistics_collection=off',
  'citus.node_connection_timeout=2000',
  'shared_buffers=64MB',
  'max_connections=600',
  'max_prepared_transactions=600',
  'max_worker_processes=400',
  'max_locks_per_transaction=1024',
  'wal_level=logical',
  'autovacuum=off',
];

/** `portOf` is where the other nodes find a worker, if not at its own port. */
export async function createCluster(
  count = 2,
  settings: readonly string[] = [],
  portOf = async ({ port }: PostgresServer) => port,
): Promise<CitusCluster> {
  buildCitus();
  const start = async () => {
    const server = await createPostgresServer([...SETTINGS, ...settings], undefined, binaries);
    await server.start();
    await server.query('create extension citus');
    return server;
  };
  const coordinator = await start();
  const workers: PostgresServer[] = [];
  const standbys: PostgresServer[] = [];
  await coordinator.query(`select citus_set_coordinator_host('127.0.0.1', ${coordinator.port})`);
  for (let index = 0; index < count; index++) {
    const worker = await start();
    workers.push(worker);
    await coordinator.query(`select citus_add_node('127.0.0.1', ${await portOf(worker)})`);
  }
  return {
    coordinator,
    workers,
    database: (name) => createDatabase(coordinator.url(), name),
    async ownDatabase(role, name) {
      await coordinator.query(`create role ${role} login`); // the workers get it too
      for (const node of [coordinator, ...workers]) await node.query(`create database ${name} owner ${role}`);
      return `postgres://${role}@127.0.0.1:${coordinator.port}/${name}`;
    },
    join: (name) => joinCluster(coordinator.url(), name),
    async addWorker(name) {
      const worker = await start();
      workers.push(worker);
      await worker.query(`create database ${name}`);
      await worker.query('create extension citus', name);
      await coordinator.query(`select citus_add_node('127.0.0.1', ${worker.port})`, name);
      return worker;
    },
    async addStandby(node) {
      await node.stop();
      const standby = await createStandby(node, SETTINGS, binaries);
      standbys.push(standby);
      await node.start();
      await standby.start();
      await node.query("alter system set synchronous_standby_names = 'standby'");
      await node.query('select pg_reload_conf()');
      const synchronous = "select from pg_stat_replication where sync_state = 'sync'";
      await until(async () => (await node.query(synchronous)).length === 1);
      return standby;
    },
    async remove() {
      for (const each of [...standbys, ...workers, coordinator]) await each.remove();
    },
  };
}
