import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { pino } from 'pino';
import { systemClock } from '../../src/base/clock.ts';
import { readConfig } from '../../src/config/settings.ts';
import { createApp } from '../../src/serve/compose/contract.ts';
import { type Server, serving } from '../../test/support/command.ts';
import { adopt } from '../../test/support/contract-client.ts';
import { createStandby, onPostgres, removeServer, signal, until } from '../../test/support/postgres-engines.ts';
import { createPostgresServer, type PostgresServer } from '../../test/support/postgres-server.ts';

const DATABASE = 'columba';
const CLIENTS = 8;
const userOf = (client: number) => `user_id of client ${client}`;
const textOf = (client: number, number: number) => `client ${client} number ${number}`;

async function addAccounts(database: string): Promise<void> {
  const log = pino({ level: 'silent' });
  const app = await createApp(readConfig({ COLUMBA_DATABASE: database }), {
    clock: { ...systemClock, sleep: async () => {} },
    log,
  });
  for (let client = 0; client < CLIENTS; client++) {
    await adopt(app, { userID: userOf(client), username: `client-${client}` });
  }
  await app.stop();
}

const call = (service: Server, client: number, operation: string, query = '') =>
  fetch(`${service.address}/api/account.asmx/${operation}?user_id=${encodeURIComponent(userOf(client))}${query}`);

/** Clients that save one template after the other, for as long as the service is there. */
function load(service: Server) {
  const asked = new Set<string>();
  const acknowledged = new Map<string, number>();
  const others: Record<string, number> = {};
  let writing = true;
  const work = Array.from({ length: CLIENTS }, async (_, client) => {
    for (let number = 0; writing; number++) {
      const text = textOf(client, number);
      asked.add(text);
      const reply = await call(service, client, 'SaveMessageTemplate', `&message=${encodeURIComponent(text)}`);
      const body = await reply.text();
      if (reply.status === 200 && body.includes('>true<')) acknowledged.set(text, performance.now());
      else others[reply.status] = (others[reply.status] ?? 0) + 1;
      // An account takes 1,000 templates: slow enough not to come near.
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  });
  const failed = Promise.race([
    ...work.map((each) => each.then(() => new Promise<never>(() => {}))),
    service.ended.then(({ code, stderr }) => Promise.reject(new Error(`the service ended with ${code}: ${stderr}`))),
  ]);
  failed.catch(() => {});
  return {
    asked,
    acknowledged,
    others,
    /** Resolves when so many more writes were acknowledged; rejects when the service is gone. */
    more: (count: number) => {
      const target = acknowledged.size + count;
      return Promise.race([failed, until(async () => acknowledged.size >= target || service.child.exitCode !== null)]);
    },
    async end(): Promise<void> {
      writing = false;
      await Promise.allSettled(work);
    },
  };
}

onPostgres('a primary and its synchronous standby', () => {
  let primary: PostgresServer;
  let standby: PostgresServer;
  before(async () => {
    primary = await createPostgresServer([]); // with all that makes a commit durable
    await primary.start();
    await primary.query(`create database ${DATABASE}`);
    await addAccounts(primary.url(DATABASE));
    await primary.stop();
    standby = await createStandby(primary);
    await primary.start();
    await standby.start();
    await primary.query("alter system set synchronous_standby_names = 'standby'");
    await primary.query('select pg_reload_conf()');
    const synchronous = "select from pg_stat_replication where application_name = 'standby' and sync_state = 'sync'";
    await until(async () => (await primary.query(synchronous)).length === 1);
  });
  after(async () => {
    await removeServer(standby);
    await removeServer(primary);
  });
  const url = (...servers: PostgresServer[]) =>
    `postgres://columba@${servers.map(({ port }) => `127.0.0.1:${port}`).join(',')}/${DATABASE}?target_session_attrs=read-write`;

  test('a service whose first configured server is the standby works on the primary', {
    timeout: 300_000,
  }, async (t) => {
    const service = await serving(['--database', url(standby, primary)]);
    t.after(() => service.child.kill('SIGKILL'));
    const writes = Array.from({ length: 16 }, (_, index) =>
      call(service, index % CLIENTS, 'SaveMessageTemplate', `&message=first%20${index}`),
    );
    for (const reply of await Promise.all(writes)) assert.equal(reply.status, 200, await reply.text());
    service.child.kill('SIGTERM');
    assert.equal((await service.ended).code, 0);
  });

  test('a write that the standby has not confirmed is not acknowledged', { timeout: 300_000 }, async (t) => {
    const service = await serving(['--database', url(primary, standby), '--database-timeout-ms', '1000']);
    t.after(() => {
      signal(standby, 'SIGCONT');
      service.child.kill('SIGKILL');
    });
    const save = (text: string) => call(service, 0, 'SaveMessageTemplate', `&message=${text}`);
    const remove = (text: string) => call(service, 0, 'DeleteMessageTemplate', `&message=${text}`);
    assert.equal((await save('kept')).status, 200);
    signal(standby, 'SIGSTOP');
    const refused = await Promise.all([save('unconfirmed'), remove('kept')]);
    assert.deepEqual(
      refused.map(({ status }) => status),
      [503, 503],
    );
    assert.equal((await call(service, 0, 'FetchSavedMessages')).status, 200, 'reads go on');
    signal(standby, 'SIGCONT');
    await until(async () => (await save('confirmed')).status === 200);
    service.child.kill('SIGTERM');
    assert.equal((await service.ended).code, 0);
  });

  test('a primary that is killed under load loses no acknowledged write, and the service fails over by itself', {
    timeout: 300_000,
  }, async (t) => {
    const service = await serving(['--database', url(primary, standby), '--database-timeout-ms', '2000']);
    const clients = load(service);
    t.after(async () => {
      service.child.kill('SIGKILL');
      await clients.end();
    });
    await clients.more(200);

    const killedAt = performance.now();
    signal(primary, 'SIGKILL');
    await new Promise((resolve) => setTimeout(resolve, 1_000)); // somebody has to notice
    const promotedAt = performance.now();
    assert.deepEqual(await standby.query('select pg_promote() as done'), [{ done: true }]);
    await clients.more(200);
    await clients.end();

    const times = [...clients.acknowledged.values()].sort((one, two) => one - two);
    const lastBefore = times.filter((at) => at < promotedAt).at(-1) ?? killedAt;
    const firstAfter = times.find((at) => at > promotedAt) ?? Number.POSITIVE_INFINITY;
    const seconds = (ms: number) => (ms / 1_000).toFixed(2);
    t.diagnostic(
      `no write was acknowledged for ${seconds(firstAfter - lastBefore)} s, ${seconds(firstAfter - promotedAt)} s of it after pg_promote; ` +
        `${clients.acknowledged.size} acknowledged, others by status: ${JSON.stringify(clients.others)}`,
    );
    assert.deepEqual(Object.keys(clients.others), ['503']);

    const kept = new Set<string>();
    for (let client = 0; client < CLIENTS; client++) {
      const body = await (await call(service, client, 'FetchSavedMessages')).text();
      for (const [, text] of body.matchAll(/<string>(client [^<]*)<\/string>/g)) kept.add(text as string);
    }
    const lost = [...clients.acknowledged.keys()].filter((text) => !kept.has(text));
    assert.deepEqual(lost, []);
    assert.deepEqual(
      [...kept].filter((text) => !clients.asked.has(text)),
      [],
    );
    service.child.kill('SIGTERM');
    assert.equal((await service.ended).code, 0);
  });
});
