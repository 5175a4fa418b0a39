import type { Socket } from 'node:net';
import pg from 'pg';
import type { SettingNames } from './faults.ts';

/** Connections to one of several PostgreSQL servers: `postgres://user@one:5432,two:5432/name?target_session_attrs=read-write`. */
export interface PostgresSettings {
  readonly url: string;
  readonly connectionsMax: number;
  /** For a connection, for a lock and for a statement: none of them hangs longer. */
  readonly timeoutMs: number;
  /** For advice to the operator. */
  readonly settingNames?: SettingNames;
}

export interface Hosts {
  readonly urls: readonly string[];
  connect(): Promise<pg.PoolClient>;
  close(): Promise<void>;
}

export function createHosts({ url, connectionsMax, timeoutMs }: PostgresSettings): Hosts {
  const { urls, writable } = splitHosts(url);
  const clients = new Set<pg.ClientBase>();
  /** Also one that never gets as far as a session: the driver leaves its socket open where it has no password to give. */
  class Known extends pg.Client {
    constructor(config?: pg.ClientConfig) {
      super(config);
      clients.add(this);
      this.once('end', () => clients.delete(this));
    }
  }
  const pools = urls.map((connectionString) => createPool(connectionString));
  let active = 0;

  return {
    urls,
    /** The server that answered last, else the next one that does. */
    async connect() {
      let failure: unknown;
      const first = active; // others may be looking at the same time
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
    /** Politely, and where a server does not answer that either, without it. */
    async close() {
      const timer = setTimeout(cut, timeoutMs);
      await Promise.all(pools.map((pool) => pool.end())).finally(() => clearTimeout(timer));
      cut(); // those that the pools had given up before, and that never ended
    },
  };

  function cut(): void {
    for (const client of clients) (client as unknown as WithStream).connection.stream.destroy();
  }

  function createPool(connectionString: string): pg.Pool {
    const options: pg.PoolConfig & { pipeline: boolean; verify?: Verify; Client: typeof pg.Client } = {
      connectionString,
      max: connectionsMax,
      // All servers together within the time-out.
      connectionTimeoutMillis: Math.ceil(timeoutMs / urls.length),
      statement_timeout: timeoutMs,
      lock_timeout: timeoutMs,
      idle_in_transaction_session_timeout: timeoutMs,
      // Where the network swallows everything, the server's own time-out does not reach us.
      query_timeout: timeoutMs + 1_000,
      keepAlive: true,
      application_name: 'columba',
      types: { getTypeParser: typeParser },
      pipeline: true,
      Client: Known,
    };
    if (writable) options.verify = refuseStandby;
    const pool = new pg.Pool(options);
    pool.on('error', () => {}); // an idle connection broke: the pool has dropped it, and the next call says so if it matters
    pool.on('connect', (client) => {
      client.on('error', () => {}); // lent and broken: its query fails, and without a listener the whole process would
      client.query(PLANNING).catch(() => {}); // it goes along with the first statement
    });
    return pool;
  }
}

/**
 * Every statement has an index that is made for it, and is planned by that, once a connection. Else lists would be planned at each
 * call, which takes longer than reading them, and a plan from when a table was small would read all of it when it is large.
 */
const PLANNING = [
  'set plan_cache_mode = force_generic_plan',
  ...['seqscan', 'bitmapscan', 'sort', 'hashjoin', 'mergejoin', 'memoize'].map((way) => `set enable_${way} = off`),
].join('; ');

/** What the types of the driver do not tell. */
interface WithStream {
  readonly connection: { readonly stream: Socket };
}

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

/** One address for each host, and whether only a server that takes writes will do. */
export function splitHosts(url: string): { urls: string[]; writable: boolean } {
  const match = /^(postgres(?:ql)?:\/\/(?:[^@/]*@)?)([^/?]*)(\/[^?]*)?(?:\?(.*))?$/.exec(url);
  if (!match) throw new Error('expected postgres://USER:PASSWORD@HOST:PORT/DATABASE');
  const [, start, hosts = '', path = '', query = ''] = match;
  const parameters = new URLSearchParams(query);
  const writable = ['read-write', 'primary'].includes(parameters.get('target_session_attrs') ?? '');
  parameters.delete('target_session_attrs');
  const rest = parameters.size > 0 ? `?${parameters}` : '';
  return { urls: hosts.split(',').map((host) => `${start}${host}${path}${rest}`), writable };
}
