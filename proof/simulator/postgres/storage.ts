import { type Clock, systemClock } from '../../../src/base/clock.ts';
import { adopt } from '../../../src/serve/adopt.ts';
import { openPostgres } from '../../../src/store/postgres/database.ts';
import { createStandby, signal, until } from '../../../test/support/postgres-engines.ts';
import { createPostgresServer, type PostgresServer } from '../../../test/support/postgres-server.ts';
import { createRandom } from '../../../test/support/random.ts';
import { CODES } from '../disk.ts';
import type { Failover } from '../plan.ts';
import type { Storage } from '../storage.ts';
import { createObserver } from './observer.ts';
import { answered, asked, broken, endConnectionsOf, replaceNetwork, sessions } from './socket.ts';

/** PostgreSQL servers for simulated worlds: one for all, or a primary with a standby for one world. */
export interface Servers {
  /** A database with all tables and nothing in it. */
  lay(seed: number): Promise<Storage>;
  remove(): Promise<void>;
}

/** Whatever is acknowledged survives the end of its processes; the machine goes on. */
const SETTINGS = ['fsync=off', 'full_page_writes=off', 'autovacuum=off', 'max_wal_size=2GB', 'checkpoint_timeout=1d'];
const TEMPLATE = 'template_of_worlds';
/** After so long it is asked whether the rest waits for locks. */
const LOOK_AFTER_MS = 5;

export async function createServers(failover: Failover | undefined): Promise<Servers> {
  const primary = await createPostgresServer(SETTINGS);
  await primary.start();
  await primary.query(`create database ${TEMPLATE}`);
  const settings = { url: primary.url(TEMPLATE), connectionsMax: 1, timeoutMs: 60_000 };
  await (await openPostgres(settings, systemClock)).close();
  let standby: PostgresServer | undefined;
  if (failover !== undefined) {
    await primary.stop();
    standby = await createStandby(primary, SETTINGS);
    await primary.start();
    await standby.start();
    await primary.query("alter system set synchronous_standby_names = 'standby'");
    await primary.query('select pg_reload_conf()');
    await until(
      async () => (await primary.query("select from pg_stat_replication where sync_state = 'sync'")).length > 0,
    );
  }
  let count = 0;
  return {
    async lay(seed) {
      const name = `world_${++count}`;
      await primary.query(`create database ${name} template ${TEMPLATE}`);
      return storageOf({ name, primary, standby, failover, seed });
    },
    async remove() {
      await standby?.remove();
      await primary.remove();
    },
  };
}

interface World {
  readonly name: string;
  readonly primary: PostgresServer;
  readonly standby: PostgresServer | undefined;
  readonly failover: Failover | undefined;
  readonly seed: number;
}

function storageOf({ name, primary, standby, failover, seed }: World): Storage {
  let serving = primary;
  let isDetached = false;
  /** What happens to the servers, while the world stands still. */
  let underWay: Promise<unknown> | undefined;
  const observer = createObserver(() => serving.url(name));
  const random = createRandom('network', seed);
  const hosts = [primary, ...(standby ? [standby] : [])].map(({ port }) => `127.0.0.1:${port}`).join();

  /** Whether everything that is asked waits for a lock of a session that is open. */
  function isBlocked(): boolean {
    const pids = asked().map(({ pid }) => pid);
    if (pids.some((pid) => pid === undefined)) return false;
    const rows = observer.prepare(BLOCKED).all(pids as never);
    const all = sessions();
    const isOurs = ({ by }: Record<string, unknown>) => (by as number[]).every((pid) => all.has(pid));
    return rows.length === pids.length && rows.every(isOurs);
  }

  const databaseUrl = `postgres://columba@${hosts}/${name}?target_session_attrs=read-write`;
  const die = (server: PostgresServer) => {
    signal(primary, 'SIGKILL');
    serving = server;
  };
  const promote = (server: PostgresServer) => {
    underWay = server.query('select pg_promote()');
  };
  return {
    databaseUrl,
    watch(events) {
      const later = (ms: number, work: () => void) => events.later(ms, work);
      const end = (what: 'statement' | 'session', pid: number) =>
        void observer.prepare(`select pg_${what === 'session' ? 'terminate' : 'cancel'}_backend(?)`).all(pid);
      const restore = replaceNetwork({ ...events, later, random, end });
      return () => {
        restore();
        observer.close();
      };
    },
    observer: () => observer,
    closeObserver: () => {},
    closeOf: endConnectionsOf,
    losePower() {
      underWay = serving.stop('immediate').then(() => serving.start());
    },
    // Half of what breaks, breaks at a commit.
    canRefuse: (code, text) => code === CODES.full || code === CODES.readonly || text === 'commit',
    notes() {
      const { commits, others } = broken();
      return `connections broke ${commits.before} times before and ${commits.after} times after a commit, and ${others} times elsewhere`;
    },
    ...(standby && {
      failOver() {
        die(standby);
        return () => promote(standby);
      },
    }),
    ...(standby &&
      failover === 'behind' && {
        backup: {
          take() {
            isDetached = true;
            underWay = detach(primary, standby);
          },
          exists: () => isDetached,
          putBack() {
            die(standby);
            promote(standby);
          },
          async adopt(clock: Clock, holdScheduled: boolean) {
            const database = await openPostgres({ url: databaseUrl, connectionsMax: 1, timeoutMs: 60_000 }, clock);
            await adopt(database, { ...ADOPTION, clock, holdScheduled });
            await database.close();
          },
        },
      }),
    async settled() {
      await underWay;
      underWay = undefined;
      while (asked().length > 0) {
        await answered(LOOK_AFTER_MS);
        if (asked().length > 0 && isBlocked()) return;
      }
    },
  };
}

/** From now on the standby hears of no commit, and the primary waits for nobody. */
async function detach(primary: PostgresServer, standby: PostgresServer): Promise<void> {
  const [{ at } = {}] = await primary.query('select pg_current_wal_lsn()::text as at');
  const isThere = `select pg_last_wal_replay_lsn() >= '${at}' as is_there`;
  await until(async () => (await standby.query(isThere))[0]?.is_there === true);
  for (const [server, change] of [
    [primary, "synchronous_standby_names = ''"],
    [standby, "primary_conninfo = ''"],
  ] as const) {
    await server.query(`alter system set ${change}`);
    await server.query('select pg_reload_conf()');
  }
  await until(async () => (await standby.query('select from pg_stat_wal_receiver')).length === 0);
}
const ADOPTION = { path: undefined, actorName: 'simulator', nothingLost: false, dryRun: false, restored: [] };

const BLOCKED = `select pid, pg_blocking_pids(pid) as by from pg_stat_activity
  where pid = any(?::int[]) and wait_event_type = 'Lock'`;
