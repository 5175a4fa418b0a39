import { appendFileSync, chmodSync, chownSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { pino } from 'pino';
import { systemClock } from '../../src/base/clock.ts';
import { readConfig } from '../../src/config/settings.ts';
import { createApp } from '../../src/serve/compose/contract.ts';
import { importFile } from '../../src/transfer/import.ts';
import { type Engine, SAMPLE } from './engines.ts';
import { createPostgresServer, type PostgresServer } from './postgres-server.ts';

/** Servers of a test's own, to stop, freeze and kill; databases on them; their processes. */

/** A suite that needs PostgreSQL. */
export function onPostgres(name: string, suite: () => void): void {
  if (process.env.TEST_POSTGRES) describe(name, suite);
  else test(name, { skip: 'skipped: no PostgreSQL, see test/run.ts' }, () => {});
}

/** Why what is about plans, keys, locks or round trips of one server does not run on a cluster: see docs/SCALING.md. */
export const ONE_SERVER = process.env.TEST_CITUS
  ? 'skipped: Citus makes plans in parts, and asks further nodes; proof/citus/statements.test.ts has them'
  : false;

/** Where sessions are seen: on a cluster, a statement waits for a lock on the node of its account. */
export const ACTIVITY = process.env.TEST_CITUS ? 'citus_stat_activity' : 'pg_stat_activity';

export function onOneServer(name: string, suite: () => void): void {
  if (ONE_SERVER) test(name, { skip: ONE_SERVER }, () => {});
  else onPostgres(name, suite);
}

/** A test of a suite that runs on a cluster too; of one on every engine, its part on PostgreSQL. */
export function testOnOneServer(name: string, work: (t: TestContext) => Promise<void>, engine = 'postgres'): void {
  if (ONE_SERVER && engine === 'postgres') test(name, { skip: ONE_SERVER }, () => {});
  else test(name, work);
}

/** Also a frozen one, which would not hear that it is to stop. */
export async function removeServer(server: PostgresServer): Promise<void> {
  signal(server, 'SIGCONT');
  await server.remove();
}

/** Databases of a server, for startService. `address` is where the service finds it, if not at the server's own. */
export const engineOn = (server: PostgresServer, address: (database: string) => string = server.url): Engine => ({
  name: 'postgres',
  async fresh(data) {
    const name = await freshDatabase(server);
    if (data === 'sample') await importSample(server.url(name));
    return address(name);
  },
  release: () => {},
});

let count = 0;

/** The name of a database that is empty. */
export async function freshDatabase(server: PostgresServer): Promise<string> {
  const name = `own_${++count}`;
  await server.query(`create database ${name}`);
  return name;
}

export async function importSample(url: string): Promise<void> {
  const log = pino({ level: 'silent' });
  const app = await createApp(readConfig({ COLUMBA_DATABASE: url }), {
    clock: { ...systemClock, sleep: async () => {} },
    log,
  });
  await importFile(SAMPLE, app.archive, Date.now);
  await app.stop();
}

/** Signals the postmaster and all of its children. */
export function signal({ folder }: PostgresServer, name: NodeJS.Signals): void {
  let first: number;
  try {
    first = Number(readFileSync(join(folder, 'data', 'postmaster.pid'), 'utf8').split('\n')[0]);
  } catch {
    return; // it does not run
  }
  // The first one first: it would start others in place of those that end.
  for (const pid of [first, ...childrenOf(first)]) {
    try {
      process.kill(pid, name);
    } catch {
      // ended meanwhile
    }
  }
}

function childrenOf(parent: number): number[] {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .map(Number)
    .filter((pid) => {
      try {
        // pid (name) state parent: the name may hold blanks, but no closing parenthesis here.
        return Number(/\) \S (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1]) === parent;
      } catch {
        return false; // ended meanwhile
      }
    });
}

/** Asks until the answer is yes; a test that waits for ever fails by its own time-out. */
export async function until(question: () => Promise<boolean>, intervalMs = 50): Promise<void> {
  while (!(await question())) await new Promise((resolve) => setTimeout(resolve, intervalMs));
}

/** A standby from a copy of the primary's data, which has to be stopped for that. */
export async function createStandby(
  primary: PostgresServer,
  settings: readonly string[] = [],
  installed?: string,
): Promise<PostgresServer> {
  const standby = await createPostgresServer(settings, primary.folder, installed);
  const data = join(standby.folder, 'data');
  // In the file, so that a test can change it.
  const conninfo = `host=127.0.0.1 port=${primary.port} user=columba application_name=standby`;
  appendFileSync(join(data, 'postgresql.auto.conf'), `primary_conninfo = '${conninfo}'\n`);
  chmodSync(data, 0o700); // a copy is readable by others, which PostgreSQL refuses
  const { uid, gid } = statSync(data);
  writeFileSync(join(data, 'standby.signal'), '');
  chownSync(join(data, 'standby.signal'), uid, gid);
  return standby;
}
