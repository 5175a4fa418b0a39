import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Columba, startColumba } from '../../bench/columba.ts';
import { userIdOf } from '../../bench/data.ts';
import { acceptAll, addAccounts, deliveredIn } from '../../bench/dispatch-data.ts';
import { FIRST_ID, fillPostgres } from '../../bench/fill.ts';
import { drive } from '../../bench/load.ts';
import { cpuByPid, cpuSince } from '../../bench/proc.ts';
import { type Call, requestBytes } from '../../bench/requests.ts';
import { systemClock } from '../../src/base/clock.ts';
import { NEVER } from '../../src/domain/sending/end.ts';
import type { Database } from '../../src/store/database.ts';
import { distributePostgres, openPostgres } from '../../src/store/postgres/database.ts';
import { KNOWN_EVERYWHERE } from '../../test/support/databases.ts';
import type { PostgresServer } from '../../test/support/postgres-server.ts';
import { type CitusCluster, createCluster, onCitus, pidsOf, show } from './cluster.ts';

/**
 * What a call costs with 1, 2 and 3 workers, and how its cost divides among the nodes. All nodes are on one machine, so only
 * CPU is counted. The rounds of the three take turns, so that what else the machine does falls on all of them. What 3, 10
 * and 30 workers carry is calculated from that. GROWTH_ACCOUNTS=1000 leaves the large installation out.
 */
const SIZES = (process.env.GROWTH_ACCOUNTS ?? '1000,100000').split(',').map(Number);
const WORKERS = [1, 2, 3] as const;
const ROUNDS = Number(process.env.ROUNDS ?? 3);
/** As many for each of 1, 2 and 3 workers. A table has 32 by default, with which statements of all shards cost more. */
const SHARDS = Number(process.env.CITUS_SHARDS ?? 6);
/** All accounts have sent before, and have nothing to send: what looks for work must not read them. */
const HAVE_SENT = `insert into dispatch_account (account_id, next_due_at, served_at) select account_id, ${NEVER}, 1 from account`;
const USERS = 1_000;
const MESSAGES = 20;
const CLIENTS = 32;
const SENT = { accounts: 10, each: 50 };
const WARM = 200;
/** The most by which a cost may differ between 1 worker and 3, and between the sizes: the machine is shared. */
const FLAT = 1.6;
const LONG = { timeout: 3_600_000 };
/** For the calculation: nodes of 4 cores, half of which are used. */
const HALF_US = 2_000_000;

type Name = 'poll' | 'list' | 'mark' | 'send';
const CALLS: Readonly<Record<Exclude<Name, 'send'>, number>> = { poll: 3_000, list: 800, mark: 800 };
const TITLES: Readonly<Record<Name, string>> = {
  poll: 'CountUnread, nothing new',
  list: 'Unread of 20, not cached',
  mark: 'MarkMessageAsRead',
  send: 'a message, from accept to receipt',
};

/** CPU for each call, in µs. */
interface Cost {
  readonly columba: number;
  readonly coordinator: number;
  readonly workers: readonly number[];
}
interface Installation {
  readonly name: string;
  readonly url: string;
  readonly workers: number;
  readonly nodes: readonly PostgresServer[];
  readonly called: Map<Name, number>;
  sending?: readonly bigint[];
}

const sum = (values: readonly number[]): number => values.reduce((total, each) => total + each, 0);
const behind = ({ coordinator, workers }: Cost): number => coordinator + sum(workers);
const median = (costs: readonly Cost[]): Cost =>
  costs.toSorted((one, other) => behind(one) - behind(other))[Math.floor(costs.length / 2)] as Cost;
const whole = (value: number): string => Math.round(value).toLocaleString('en');

onCitus('growth', () => {
  const ofSizes = new Map<number, Map<Name, Map<number, Cost>>>();
  for (const accounts of SIZES) {
    describe(`${accounts.toLocaleString('en')} accounts`, () => {
      let cluster: CitusCluster;
      const installations: Installation[] = [];
      before(async () => {
        cluster = await createCluster(3, [`citus.shard_count=${SHARDS}`]);
        await cluster.coordinator.query('create database filled');
        const filling = { accounts, every: accounts / USERS, messages: MESSAGES, others: 1 };
        await (await fillPostgres(cluster.coordinator.url('filled'), filling)).close();
        await cluster.coordinator.query(HAVE_SENT, 'filled');
        for (const workers of WORKERS) installations.push(await distributed(cluster, workers));
      }, LONG);
      after(() => cluster?.remove());

      test('CPU for each call with 1, 2 and 3 workers', LONG, async () => {
        const costs = new Map<Name, Map<number, Cost[]>>();
        for (let round = 0; round < ROUNDS; round++) {
          for (const installation of installations) {
            for (const [name, cost] of await measureAll(installation, installation.url, accounts)) {
              const ofName = costs.get(name) ?? new Map<number, Cost[]>();
              costs.set(name, ofName.set(installation.workers, [...(ofName.get(installation.workers) ?? []), cost]));
            }
          }
        }
        const medians = new Map(
          [...costs].map(([name, ofName]) => [name, new Map([...ofName].map(([n, all]) => [n, median(all)]))]),
        );
        ofSizes.set(accounts, medians);
        report(medians);
        for (const ofName of medians.values()) {
          assert.ok(behind(ofName.get(3) as Cost) < FLAT * behind(ofName.get(1) as Cost));
        }
        for (const name of ['list', 'mark'] as const) {
          const workers = medians.get(name)?.get(3)?.workers ?? [];
          assert.ok(Math.max(...workers) < (FLAT * sum(workers)) / 3, `${name}: the workers share the work`);
        }
      });

      test('a service that asks a worker spares the coordinator', LONG, async () => {
        const installation = installations.at(-1) as Installation;
        await cluster.coordinator.query(KNOWN_EVERYWHERE, installation.name);
        const found = new Map<Name, Cost[]>();
        for (const worker of cluster.workers) {
          for (const [name, cost] of await measureAll(installation, worker.url(installation.name), accounts)) {
            found.set(name, [...(found.get(name) ?? []), cost]);
          }
        }
        const mean = new Map([...found].map(([name, costs]) => [name, new Map([[3, meanOf(costs)]])]));
        report(mean);
        capacities(ofSizes.get(accounts) as never, mean);
        const [by, direct] = [ofSizes.get(accounts)?.get('list')?.get(3), mean.get('list')?.get(3)] as [Cost, Cost];
        assert.ok(direct.coordinator < by.coordinator / 4);
      });
    });
  }

  test('a call costs the same with 100 times the accounts', () => {
    if (SIZES.length < 2) return;
    const [small, large] = SIZES.map((size) => ofSizes.get(size));
    for (const [name, ofName] of large ?? []) {
      for (const [workers, cost] of ofName) {
        assert.ok(behind(cost) < FLAT * behind(small?.get(name)?.get(workers) as Cost), `${name}, ${workers} workers`);
      }
    }
  });
});

async function distributed({ coordinator, workers }: CitusCluster, count: number): Promise<Installation> {
  const name = `with_${count}`;
  await coordinator.query(`create database ${name} template filled strategy file_copy`);
  const nodes = workers.slice(0, count);
  for (const node of nodes) await node.query(`create database ${name}`);
  for (const node of [coordinator, ...nodes]) await node.query('create extension citus', name);
  await coordinator.query(`select citus_set_coordinator_host('127.0.0.1', ${coordinator.port})`, name);
  for (const node of nodes) await coordinator.query(`select citus_add_node('127.0.0.1', ${node.port})`, name);
  const url = coordinator.url(name);
  await distributePostgres({ url, connectionsMax: 1, timeoutMs: 600_000 }, systemClock);
  await coordinator.query('vacuum analyze', name);
  return { name, url, workers: count, nodes: [coordinator, ...nodes], called: new Map() };
}

async function measureAll(installation: Installation, url: string, accounts: number): Promise<Map<Name, Cost>> {
  const flags = ['--database-connections', '8', '--database-timeout-ms', '60000'];
  const columba = await startColumba({ database: url, flags });
  const costs = new Map<Name, Cost>();
  try {
    for (const name of ['poll', 'list', 'mark'] as const) {
      const run = (requests: number) => call(installation, columba, name, requests, accounts);
      await run(WARM);
      costs.set(name, await counted(installation, columba, CALLS[name], () => run(CALLS[name])));
    }
    costs.set('send', await measureSending(installation, columba));
  } finally {
    await columba.stop();
  }
  return costs;
}

async function counted({ nodes }: Installation, columba: Columba, count: number, work: () => Promise<unknown>) {
  const processes = [columba.pids, ...nodes.map((node) => () => pidsOf(node))];
  const before = processes.map((pids) => cpuByPid(pids()));
  await work();
  const [own = 0, coordinator = 0, ...workers] = before.map(
    (each, index) => cpuSince(each, processes[index]?.() ?? []) / count,
  );
  return { columba: own, coordinator, workers };
}

/** The next calls of the installation: every user in turn, and each mark has a message of its own. */
function call(
  { called }: Installation,
  columba: Columba,
  name: Exclude<Name, 'send'>,
  requests: number,
  accounts: number,
) {
  const first = called.get(name) ?? 0;
  called.set(name, first + requests);
  const request = (index: number) => requestBytes('SOAP 1.1', callOf(name, first + index, accounts / USERS));
  return drive({ server: columba, connections: CLIENTS, requests, request });
}

function callOf(name: Exclude<Name, 'send'>, number: number, every: number): Call {
  const user_id = userIdOf(((number * 7_919) % USERS) * every);
  if (name === 'poll') return { group: 'inbox', operation: 'CountUnread', args: { user_id } };
  // Another limit each time is another request, whose answer is in no cache.
  if (name === 'list')
    return { group: 'inbox', operation: 'Unread', args: { user_id, max_count: `${1_000 + number}` } };
  const message = Math.floor(number / USERS) % MESSAGES;
  return { group: 'inbox', operation: 'MarkMessageAsRead', args: { user_id, message_id: `${FIRST_ID + message}` } };
}

async function measureSending(installation: Installation, columba: Columba): Promise<Cost> {
  const database = await openPostgres({ url: installation.url, connectionsMax: 4, timeoutMs: 60_000 }, systemClock);
  try {
    installation.sending ??= (await addAccounts(database)).accounts;
    await send(installation, database);
    return await counted(installation, columba, SENT.accounts * SENT.each, () => send(installation, database));
  } finally {
    await database.close();
  }
}

async function send({ sending = [] }: Installation, database: Database): Promise<void> {
  const already = await deliveredIn(database);
  for (const account of sending.slice(0, SENT.accounts)) await acceptAll(database, [account], SENT.each);
  while ((await deliveredIn(database)) < already + SENT.accounts * SENT.each) await sleep(500);
}

const meanOf = (costs: readonly Cost[]): Cost => ({
  columba: sum(costs.map(({ columba }) => columba)) / costs.length,
  coordinator: sum(costs.map(({ coordinator }) => coordinator)) / costs.length,
  workers: (costs[0]?.workers ?? []).map(
    (_, index) => sum(costs.map(({ workers }) => workers[index] ?? 0)) / costs.length,
  ),
});

function report(costs: ReadonlyMap<Name, ReadonlyMap<number, Cost>>): void {
  show('CPU in µs for each call: | call | workers | Columba | coordinator | each worker | all nodes |');
  for (const [name, ofName] of costs) {
    for (const [count, cost] of ofName) {
      const each = cost.workers.map(whole).join(', ');
      const row = [TITLES[name], count, whole(cost.columba), whole(cost.coordinator), each, whole(behind(cost))];
      show(`| ${row.join(' | ')} |`);
    }
  }
}

/** Calls a second, where the coordinator or the workers become the limit. */
function capacities(
  by: ReadonlyMap<Name, ReadonlyMap<number, Cost>>,
  direct: ReadonlyMap<Name, ReadonlyMap<number, Cost>>,
): void {
  show('calculated, a second: | call | nodes | by the coordinator | limit | any node asked | limit |');
  for (const name of by.keys()) {
    const [first, second] = [by.get(name)?.get(3), direct.get(name)?.get(3)] as [Cost, Cost];
    for (const workers of [3, 10, 30]) {
      const cells = [first, second].map((cost) => {
        const [ofCoordinator, ofWorkers] = [HALF_US / cost.coordinator, (workers * HALF_US) / sum(cost.workers)];
        return `${whole(Math.min(ofCoordinator, ofWorkers))} | ${ofCoordinator < ofWorkers ? 'coordinator' : 'workers'}`;
      });
      show(`| ${TITLES[name]} | ${workers} | ${cells.join(' | ')} |`);
    }
  }
}
