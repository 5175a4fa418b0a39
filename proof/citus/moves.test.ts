import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { systemClock } from '../../src/base/clock.ts';
import { distributePostgres } from '../../src/store/postgres/database.ts';
import { columba, type Server, serving } from '../../test/support/command.ts';
import { KNOWN_EVERYWHERE } from '../../test/support/databases.ts';
import { freePort } from '../../test/support/free-port.ts';
import { callAt } from '../../test/support/operator-api.ts';
import { until } from '../../test/support/postgres-engines.ts';
import type { PostgresServer } from '../../test/support/postgres-server.ts';
import { addAccounts, type CitusCluster, createCluster, onCitus, show, userOf } from './cluster.ts';

const NAME = 'moving';
const CLIENTS = 8;
const MESSAGES = 1_000;
/** Slow enough that nobody runs out of unread messages. */
const PAUSE_MS = 100;
const LONG = { timeout: 900_000 };
/** Has no user_id: what sends for it is a token, which the coordinator has. */
const SENDER = 'sender';

const call = (service: Server, client: number, operation: string, query = '') =>
  fetch(`${service.address}/api/inbox.asmx/${operation}?user_id=${encodeURIComponent(userOf(client))}${query}`);
const unreadIds = (body: string): string[] =>
  [...body.matchAll(/<ReceivedMessage>[\s\S]*?<id>(\d+)<\/id>/g)].map(([, id]) => id as string);

/** Each client polls its unread messages and marks the oldest, in turns. A marked one that is listed is a stale answer. */
function load(service: Server) {
  const marked = Array.from({ length: CLIENTS }, () => new Set<string>());
  const statuses: Record<string, number> = {};
  const faults: string[] = [];
  let isCalling = true;
  let written = 0;
  async function ask(client: number, operation: string, query: string): Promise<string | undefined> {
    const reply = await call(service, client, operation, query);
    const body = await reply.text();
    statuses[reply.status] = (statuses[reply.status] ?? 0) + 1;
    if (reply.status === 200) return body;
    if (reply.status !== 503 || !reply.headers.has('retry-after')) faults.push(`${operation} ${reply.status} ${body}`);
    return undefined;
  }
  const work = marked.map(async (mine, client) => {
    while (isCalling) {
      const listed = await ask(client, 'Unread', '&max_count=5');
      const [oldest, ...others] = listed === undefined ? [] : unreadIds(listed);
      for (const id of [oldest, ...others]) if (id && mine.has(id)) faults.push(`client ${client}: ${id} is stale`);
      const done = oldest && (await ask(client, 'MarkMessageAsRead', `&message_id=${oldest}`));
      if (oldest && done?.includes('>true<')) {
        mine.add(oldest);
        written += 1;
      }
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  });
  return {
    marked,
    statuses,
    faults,
    /** Resolves after so many more acknowledged marks. */
    more: (count: number) => {
      const target = written + count;
      return until(async () => written >= target || service.child.exitCode !== null);
    },
    async end() {
      isCalling = false;
      await Promise.allSettled(work);
    },
  };
}

/** Sends one message after the other through the operator's API, each with a key, again and again until it is accepted. */
function sender(address: string, token: string, name: string) {
  const statuses: Record<string, number> = {};
  const faults: string[] = [];
  let isSending = true;
  let accepted = 0;
  async function sendOnce(text: string): Promise<boolean> {
    const body = { recipients: ['+27825550201'], text };
    const headers = { 'Idempotency-Key': text };
    const answer = await callAt(address, 'POST', `/accounts/${SENDER}/messages`, { token, body, headers });
    statuses[answer.status] = (statuses[answer.status] ?? 0) + 1;
    // 409: the first of two requests with the same key may still be at work.
    const isRefused = (answer.status === 503 || answer.status === 409) && answer.headers.has('retry-after');
    if (answer.status !== 202 && !isRefused) faults.push(`${answer.status} ${answer.text}`);
    if (isRefused) await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    return answer.status === 202;
  }
  const work = (async () => {
    while (isSending) {
      while (!(await sendOnce(`${name}-${accepted + 1}`)) && faults.length === 0);
      if (faults.length > 0) return;
      accepted += 1;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  })();
  return {
    statuses,
    faults,
    accepted: () => accepted,
    more: (count: number) => {
      const target = accepted + count;
      return until(async () => accepted >= target || faults.length > 0);
    },
    async end() {
      isSending = false;
      await work;
    },
  };
}

onCitus('a cluster that is changed while clients poll and mark', () => {
  let cluster: CitusCluster;
  let service: Server;
  /** Of the last step. */
  let askingWorker: Server | undefined;
  let standby: PostgresServer;
  let otherCoordinator: PostgresServer;
  const ask = (text: string) => cluster.coordinator.query(text, NAME);
  before(async () => {
    cluster = await createCluster();
    const database = await cluster.database(NAME);
    await addAccounts(database, CLIENTS, MESSAGES);
    await distributePostgres({ url: database, connectionsMax: 1, timeoutMs: 60_000 }, systemClock);
    standby = await cluster.addStandby(cluster.workers[1] as PostgresServer);
    otherCoordinator = await cluster.addStandby(cluster.coordinator);
    const hosts = [cluster.coordinator, otherCoordinator].map(({ port }) => `127.0.0.1:${port}`);
    const both = `postgres://columba@${hosts}/${NAME}?target_session_attrs=read-write`;
    service = await serving(['--database', both, '--database-timeout-ms', '5000']);
  });
  after(async () => {
    for (const each of [service, askingWorker]) each?.child.kill('SIGKILL');
    await cluster?.remove();
  });

  /** No acknowledged mark is lost, no answer was stale, and each refusal was 503 with Retry-After. */
  async function during(change: (clients: ReturnType<typeof load>) => Promise<void>): Promise<void> {
    const before = await Promise.all(Array.from({ length: CLIENTS }, (_, client) => countUnread(client)));
    const clients = load(service);
    const ofWorker = askingWorker && load(askingWorker);
    const more = (count: number) => Promise.all([clients.more(count), ofWorker?.more(count)]);
    try {
      await more(40);
      await change(clients);
      await more(80);
    } finally {
      await Promise.all([clients.end(), ofWorker?.end()]);
    }
    show(`replies by status: ${JSON.stringify(clients.statuses)}`);
    if (ofWorker) show(`of the service that asks a worker: ${JSON.stringify(ofWorker.statuses)}`);
    assert.deepEqual([...clients.faults, ...(ofWorker?.faults ?? [])], []);
    const marked = clients.marked.map((ids, client) => new Set([...ids, ...(ofWorker?.marked[client] ?? [])]));
    for (const [client, ids] of marked.entries()) {
      const unread = new Set(unreadIds(await (await call(service, client, 'Unread', `&max_count=${MESSAGES}`)).text()));
      assert.deepEqual(
        [...ids].filter((id) => unread.has(id)),
        [],
      );
      // A refused mark may have been done; nothing else was.
      assert.equal(unread.size, await countUnread(client));
      assert.ok(unread.size <= (before[client] as number) - ids.size);
    }
  }
  const countUnread = async (client: number): Promise<number> =>
    Number(/>(\d+)</.exec(await (await call(service, client, 'CountUnread')).text())?.[1]);
  const nodesOf = () =>
    ask(`select nodeport, count(*)::int as shards from citus_shards
         where table_name = 'account'::regclass group by nodeport order by nodeport`);

  test('shards move to a new worker', LONG, async () => {
    await during(async () => {
      await cluster.addWorker(NAME);
      await ask('select citus_rebalance_start()');
      await until(async () => (await ask('select state::text from citus_rebalance_status()'))[0]?.state === 'finished');
    });
    const nodes = await nodesOf();
    show(`shards of account by port: ${JSON.stringify(nodes)}`);
    assert.equal(nodes.length, 3);
  });

  test('a worker is killed and comes back: the accounts of the other workers go on', LONG, async () => {
    const [worker] = cluster.workers as [PostgresServer];
    await during(async (clients) => {
      await worker.stop('immediate');
      await clients.more(40);
      await worker.start();
    });
  });

  test('a worker is lost, and its standby takes over', LONG, async () => {
    const worker = cluster.workers[1] as PostgresServer;
    await during(async (clients) => {
      await worker.stop('immediate');
      await clients.more(40);
      assert.deepEqual(await standby.query('select pg_promote() as done'), [{ done: true }]);
      await standby.query('alter system reset synchronous_standby_names; ');
      await standby.query('select pg_reload_conf()');
      await ask(
        `select citus_update_node(nodeid, '127.0.0.1', ${standby.port}) from pg_dist_node where nodeport = ${worker.port}`,
      );
    });
    assert.ok((await nodesOf()).some(({ nodeport }) => nodeport === standby.port));
  });

  test(
    'the coordinator is lost, and its standby takes over, at which services that ask it or a worker find it by themselves',
    LONG,
    async () => {
      await ask(KNOWN_EVERYWHERE);
      const [worker] = cluster.workers as [PostgresServer];
      const database = ['--database', cluster.coordinator.url(NAME)];
      await columba(['account', 'add', SENDER, '--credits', '100000', ...database]);
      const added = await columba(['token', 'add', 'sender', '--scopes', 'messages:send', '--json', ...database]);
      const { token } = JSON.parse(added.stdout);
      const webPort = String(await freePort());
      const ofWorker = ['--database', worker.url(NAME), '--database-timeout-ms', '5000', '--web-port', webPort];
      askingWorker = await serving(ofWorker);
      const sending = sender(`http://127.0.0.1:${webPort}`, token, 'message-through-worker');
      await during(async () => {
        await sending.more(10);
        await cluster.coordinator.stop('immediate');
        assert.deepEqual(await otherCoordinator.query('select pg_promote() as done'), [{ done: true }]);
        await otherCoordinator.query('alter system reset synchronous_standby_names');
        await otherCoordinator.query('select pg_reload_conf()');
        await otherCoordinator.query(`select citus_set_coordinator_host('127.0.0.1', ${otherCoordinator.port})`, NAME);
        await sending.more(10);
      });
      await sending.end();
      show(`sending through the operator's API of the service that asks a worker: ${JSON.stringify(sending.statuses)}`);
      assert.deepEqual(sending.faults, []);
      const [{ total } = {}] = await standby.query(
        "select count(*)::int as total from sent where text like 'message-through-worker-%'",
        NAME,
      );
      assert.equal(total, sending.accepted());
      // Workers reach it too, for what they have to ask it.
      const asked = `select success, result from run_command_on_coordinator('select inet_server_port()')`;
      assert.deepEqual(await standby.query(asked, NAME), [{ success: true, result: String(otherCoordinator.port) }]);
    },
  );
});
