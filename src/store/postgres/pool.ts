import { Socket } from 'node:net';
import pg from 'pg';
import { type Clock, within } from '../../base/clock.ts';
import type { SettingNames } from './faults.ts';

/**
 * A pool for each of several PostgreSQL servers, of which the one that answers is used:
 * `postgres://user@one:5432,two:5432/name?target_session_attrs=read-write`
 */
export interface PostgresSettings {
  readonly url: string;
  readonly connectionsMax: number;
  /** The time-out for connecting, for a lock and for a statement. */
  readonly timeoutMs: number;
  /** For advice to the operator. */
  readonly settingNames?: SettingNames;
}

export interface FailoverPool {
  readonly urls: readonly string[];
  connect(): Promise<pg.PoolClient>;
  close(): Promise<void>;
}

export function createFailoverPool(
  { url, connectionsMax, timeoutMs }: PostgresSettings,
  clock: Pick<Clock, 'after'>,
): FailoverPool {
  const { urls, writable } = splitHosts(url);
  /**
   * Closes sockets of clients without a session too: the driver leaves them open if it has no
   * password.
   */
  const sockets = new Set<Socket>();
  const stream = () => {
    const socket = new Socket();
    sockets.add(socket);
    return socket.once('close', () => sockets.delete(socket));
  };
  const servers = urls.length;
  const pools = urls.map((connectionString) =>
    createPool(connectionString, { connectionsMax, timeoutMs, servers, writable, stream }),
  );
  let active = 0;

  return {
    urls,
    /** Tries the server that answered last, then the next ones. */
    async connect() {
      let failure: unknown;
      const first = active; // another call may change it meanwhile
      for (const offset of pools.keys()) {
        const index = (first + offset) % pools.length;
        try {
          const client = await (pools[index] as pg.Pool).connect();
          active = index;
          return client;
        } catch (thrown) {
          failure = thrown;
        }
      }
      throw failure;
    },
    /** Ends the sessions. After the time-out it closes the sockets. */
    async close() {
      // A pool may wait for ever for a client that was connecting to a server that was killed.
      await within(clock, timeoutMs, Promise.all(pools.map((pool) => pool.end())), undefined);
      for (const socket of sockets) socket.destroy(); // of clients that the pools gave up and that never ended
    },
  };
}

/**
 * The time-out of a lock is shorter than that of the statement, which would otherwise end first and
 * hide that the lock was the cause.
 */
export const lockTimeoutOf = (timeoutMs: number): number => Math.ceil(timeoutMs * 0.8);

interface PoolSettings {
  readonly connectionsMax: number;
  readonly timeoutMs: number;
  /** How many servers share the time-out. */
  readonly servers: number;
  /** A standby is refused. */
  readonly writable: boolean;
  readonly stream: () => Socket;
}

function createPool(connectionString: string, settings: PoolSettings): pg.Pool {
  const { connectionsMax, timeoutMs, servers, writable, stream } = settings;
  const options: pg.PoolConfig & { pipeline: boolean; verify?: Verify } = {
    connectionString,
    max: connectionsMax,
    // All servers together take at most the time-out.
    connectionTimeoutMillis: Math.ceil(timeoutMs / servers),
    statement_timeout: timeoutMs,
    lock_timeout: lockTimeoutOf(timeoutMs),
    idle_in_transaction_session_timeout: timeoutMs,
    // If the network loses everything, the time-out of the server itself does not arrive.
    query_timeout: timeoutMs + 1_000,
    keepAlive: true,
    // A session is renewed because its plans end with it, even if no autovacuum tells that tables
    // have grown.
    maxLifetimeSeconds: 600,
    application_name: 'columba',
    types: { getTypeParser: typeParser },
    pipeline: true,
    stream,
  };
  if (writable) options.verify = refuseStandby;
  const pool = new pg.Pool(options);
  pool.on('error', () => {}); // an idle connection broke, and the pool has dropped it
  pool.on('connect', (client) => {
    client.on('error', () => {}); // its query fails; without a listener the process would end
    client.query(SESSION).catch(() => {}); // sent together with the first statement
  });
  return pool;
}

/**
 * Each statement has an index made for it, and is planned once per connection, since planning a
 * list takes longer than reading it. A plan that was made while a table was small stays when the
 * table has grown, and PostgreSQL likes to read small tables whole. So the ways that do are
 * switched off. What they would do is in test/domain/statements/all-plans.test.ts:
 *
 * - seqscan: with 2 accounts, `accounts.account` is `Seq Scan on account, Filter: account_id =
 *   $1`.
 * - bitmapscan: a page of `inbox.unread` is `Bitmap Heap Scan on received, Recheck Cond:
 *   account_id = $1`, which reads all messages of the account, and a bitmap has no order.
 * - hashjoin: `receipts.matched` is `Hash Join -> Index Scan using attempt_by_id on attempt`
 *   without a condition. It reads all submissions for one receipt.
 * - mergejoin: `queue.after` reads all accounts for one page.
 * - memoize: `inbox.unread` looks up each message once. A cache of what was looked up has no hits,
 *   and a list of 200 took 0.42 ms instead of 0.33.
 *
 * PostgreSQL up to 17 adds 1e10 to the cost of a way that is switched off and that a statement
 * cannot avoid. Where its JIT compiler is on, it then compiles the statement at every execution.
 * So no statement may need one of these ways, which that test holds too, and nothing is compiled:
 * it takes longer than any statement of ours. Sorting stays on. Without it PostgreSQL 15 read all
 * submissions of an account in their order (`receipts.attemptsOf`), to have a few of them sorted.
 *
 * A server may have another default for transactions. Ours take a lock and then read what its last
 * holder has written, which repeatable read and serializable do not show.
 *
 * These are statements and no options of the connection: poolers refuse options that they do not
 * know.
 */
export const SESSION = [
  // Citus finds the node of a statement by the values of its parameters, and refuses generic plans.
  `select set_config('plan_cache_mode', case when to_regclass('pg_catalog.pg_dist_partition') is null
     then 'force_generic_plan' else 'auto' end, false)`,
  ...['seqscan', 'bitmapscan', 'hashjoin', 'mergejoin', 'memoize'].map((way) => `set enable_${way} = off`),
  'set jit = off',
  "set default_transaction_isolation = 'read committed'",
].join('; ');

type Verify = (client: pg.ClientBase, done: (error?: Error) => void) => void;

const refuseStandby: Verify = (client, done) => {
  client.query('select pg_is_in_recovery() as standby').then(
    ({ rows: [row] }) => done(row?.standby ? new Error('The server is a standby') : undefined),
    (thrown) => done(thrown),
  );
};

const INT8 = 20;
const typeParser = ((oid: number, format?: 'text') =>
  oid === INT8 ? BigInt : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser;

/** Our sessions keep their name: by it commands that need the service to be stopped find them. */
const NAMES_OF_SESSIONS = ['application_name', 'fallback_application_name'];

/** One URL for each host, and whether the server has to take writes. */
export function splitHosts(url: string): { urls: string[]; writable: boolean } {
  const match = /^(postgres(?:ql)?:\/\/(?:[^@/]*@)?)([^/?]*)(\/[^?]*)?(?:\?(.*))?$/.exec(url);
  if (!match) throw new Error('expected postgres://USER:PASSWORD@HOST:PORT/DATABASE');
  const [, start, hosts = '', path = '', query = ''] = match;
  const parameters = new URLSearchParams(query);
  const writable = ['read-write', 'primary'].includes(parameters.get('target_session_attrs') ?? '');
  for (const name of ['target_session_attrs', ...NAMES_OF_SESSIONS]) parameters.delete(name);
  const rest = parameters.size > 0 ? `?${parameters}` : '';
  return { urls: hosts.split(',').map((host) => `${start}${host}${path}${rest}`), writable };
}
