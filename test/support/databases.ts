import pg from 'pg';
import { systemClock } from '../../src/base/clock.ts';
import { distributePostgres } from '../../src/store/postgres/database.ts';

/** Databases on the PostgreSQL server of the tests, which may be the coordinator of a Citus cluster. */
export async function runSql(database: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: database });
  await client.connect();
  try {
    return (await client.query(text)).rows ?? [];
  } finally {
    await client.end();
  }
}

/** The address of another database of the same server, and the name in an address. */
export const addressOf = (server: string, name: string): string => server.replace(/\/[^/?]*($|\?)/, `/${name}$1`);
export const databaseOf = (address: string): string => new URL(address).pathname.slice(1);

interface Cluster {
  readonly coordinator: string;
  readonly workers: readonly string[];
}

const clusters = new Map<string, Promise<Cluster | undefined>>();

/** The nodes, where the server is a coordinator with workers; undefined for plain PostgreSQL. */
export function clusterOf(server: string): Promise<Cluster | undefined> {
  const key = new URL(server).host;
  const known = clusters.get(key) ?? readCluster(addressOf(server, 'postgres'));
  clusters.set(key, known);
  return known;
}

async function readCluster(server: string): Promise<Cluster | undefined> {
  const [found] = await runSql(server, "select to_regclass('pg_catalog.pg_dist_node') is not null as is_citus");
  if (!found?.is_citus) return undefined;
  const nodes = await runSql(server, 'select groupid, nodename, nodeport from pg_dist_node order by groupid');
  const addresses = nodes.map(({ groupid, nodename, nodeport }) => {
    const address = new URL(server);
    address.hostname = String(nodename);
    address.port = String(nodeport);
    return { isWorker: groupid !== 0, href: address.href };
  });
  const workers = addresses.filter(({ isWorker }) => isWorker).map(({ href }) => href);
  if (workers.length === 0) return undefined;
  // Every node knows the address of the coordinator.
  return { coordinator: addresses.find(({ isWorker }) => !isWorker)?.href ?? server, workers };
}

const serversOf = ({ coordinator, workers }: Cluster) => [coordinator, ...workers];

/** The files are copied, and not written through the log: 19 ms of CPU and not 48. */
const COPY = 'strategy file_copy';

/**
 * A database of its own, empty or a copy. A copy of a distributed database is one of each node: what the nodes know of each
 * other is the same in all databases of the cluster.
 */
export async function createDatabase(server: string, name: string, template?: string): Promise<string> {
  const text = `create database ${name}${template ? ` template ${template} ${COPY}` : ''}`;
  const cluster = await clusterOf(server);
  if (!cluster) {
    await runSql(server, text);
    return addressOf(server, name);
  }
  await Promise.all(serversOf(cluster).map((node) => runSql(node, text)));
  if (!template) await joinNodes(cluster, name);
  const [worker = server] = cluster.workers;
  return addressOf(template && ASKS_WORKERS ? worker : cluster.coordinator, name);
}

/** TEST_CITUS_ASK=worker: tests reach their databases through a worker. Tables are made on the coordinator. */
const ASKS_WORKERS = process.env.TEST_CITUS_ASK === 'worker';

/** Makes the tables of the coordinator known on all nodes: see docs/SCALING.md. */
export const KNOWN_EVERYWHERE = `select citus_add_local_table_to_metadata(logicalrelid, cascade_via_foreign_keys => true)
  from (select oid::regclass as logicalrelid from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace
    and oid not in (select logicalrelid from pg_dist_partition)) as missing`;

/** One at a time: a node that joins brings its roles, which are of all databases. */
async function joinNodes(cluster: Cluster, name: string): Promise<void> {
  const client = new pg.Client({ connectionString: cluster.coordinator });
  await client.connect();
  try {
    await client.query('select pg_advisory_lock(4269856721)');
    await join(cluster, name);
  } finally {
    await client.end();
  }
}

/** Makes a database that all nodes have one of the cluster. */
export async function joinCluster(server: string, name: string): Promise<void> {
  await joinNodes((await clusterOf(server)) as Cluster, name);
}

async function join(cluster: Cluster, name: string): Promise<void> {
  for (const node of serversOf(cluster)) await runSql(addressOf(node, name), 'create extension citus');
  const { hostname, port } = new URL(cluster.coordinator);
  const added = cluster.workers.map((worker) => {
    const { hostname: host, port: workerPort } = new URL(worker);
    return `select citus_add_node('${host}', ${workerPort});`;
  });
  await runSql(
    addressOf(cluster.coordinator, name),
    `select citus_set_coordinator_host('${hostname}', ${port}); ${added.join('')}`,
  );
}

/** Distributes the tables where the server is a coordinator. */
export async function distributeTables(database: string): Promise<void> {
  if (!(await clusterOf(database))) return;
  await distributePostgres({ url: database, connectionsMax: 1, timeoutMs: 60_000 }, systemClock);
  if (ASKS_WORKERS) await runSql(database, KNOWN_EVERYWHERE);
}

/** Nobody connects to a template any more, also no background process of Citus: else it cannot be copied. */
export async function closeTemplate(database: string): Promise<void> {
  const name = databaseOf(database);
  await onEachNode(database, `alter database ${name} allow_connections false`);
  await onEachNode(database, `select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = '${name}'`);
}

/** A copy of a database that nobody uses now. */
export async function copyDatabase(database: string, name: string): Promise<string> {
  await closeTemplate(database);
  const copy = await createDatabase(database, name, databaseOf(database));
  await onEachNode(database, `alter database ${databaseOf(database)} allow_connections true`);
  return copy;
}

/** Nothing is to be done where there is no cluster. */
async function onEachNode(database: string, text: string): Promise<void> {
  const cluster = await clusterOf(database);
  for (const node of cluster ? serversOf(cluster) : []) await runSql(addressOf(node, 'postgres'), text);
}

export async function dropDatabase(server: string, name: string): Promise<void> {
  const cluster = await clusterOf(server);
  for (const node of cluster ? serversOf(cluster) : [server]) {
    await runSql(addressOf(node, 'postgres'), `drop database if exists ${name} with (force)`);
  }
}
