import assert from 'node:assert/strict';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { accountId } from '../../src/domain/accounts/accounts.ts';
import { listed } from '../../src/domain/contacts/blacklist.sql.ts';
import { createMigrationProxy, type MigrationProxySettings } from '../../src/migration/proxy/migration-proxy.ts';
import { createMigrationCounts } from '../../src/migration/stages/counts.ts';
import { CLAIM_MS } from '../../src/migration/stages/writes.ts';
import { onOneEngine } from '../support/engines.ts';
import { type Proxied, send, startProxied } from '../support/proxied.ts';
import { ACME, type Service } from '../support/service.ts';

/** Writes of accounts that are compared: nothing that a client was told of is lost by a kill. */

const NOWHERE = 'http://127.0.0.1:1';
const NUMBER = '+27825550123';
const blocking = { user_id: ACME, mobile: NUMBER, sample_message: 'STOP' };
const saving = { user_id: ACME, message: 'Told to the client' };

const waitingOf = async ({ app, clock }: Service): Promise<number> =>
  (await createMigrationCounts(app.database, () => clock.now).waitingWrites()).total;
const templatesOf = async ({ call }: Service): Promise<string> =>
  (await call('get', 'account', 'FetchSavedMessages', { user_id: ACME })).text;

async function isBlocked({ app: { database } }: Service): Promise<boolean> {
  const account = await accountId(database, 'acme');
  return (await database.all(listed, { account, after: '', limit: 100 })).some(({ number }) => number === NUMBER);
}

/** A further proxy on the same database. */
async function another(t: TestContext, { settings }: Proxied, more: Partial<MigrationProxySettings> = {}) {
  const migration = createMigrationProxy({ ...settings, folder: undefined, ...more });
  t.after(() => migration.stop());
  await migration.start();
  const address = `http://127.0.0.1:${await migration.proxy.listen(0, '127.0.0.1')}`;
  return { migration, address };
}

async function until(what: string, isTrue: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 500; tries++) {
    if (await isTrue()) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  assert.fail(what);
}

/** Stands before the old server, which does the work; its answer never comes. */
async function cutting(t: TestContext, url: string): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    const behind = connect(Number(new URL(url).port), '127.0.0.1');
    for (const each of [socket, behind]) {
      sockets.add(each);
      each.on('error', () => {});
    }
    socket.pipe(behind);
    behind.once('data', () => socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

onOneEngine('writes of accounts that are compared', (engine) => {
  test('a blacklisted number reaches Columba, although it was down and the proxy was killed', async (t) => {
    const proxied = await startProxied(t, engine);
    const { service, stage } = proxied;
    await stage('compare');
    // Nothing of this proxy reaches Columba, and nobody stops it: as one that was killed.
    const killed = await another(t, proxied, { newUrl: NOWHERE });
    assert.match((await send(killed.address, 'post', 'account', 'BlackListNumber', blocking)).text, />true</);
    assert.equal(await waitingOf(service), 1);
    assert.equal(await isBlocked(service), false);
    service.clock.now += 20_000;
    await until('Columba has it', async () => {
      service.clock.now += 1_000;
      await proxied.migration.deliver();
      return (await waitingOf(service)) === 0;
    });
    assert.equal(await isBlocked(service), true);
    assert.equal(proxied.migration.pendingCounts.sinceStart.get('late write'), 1);
  });

  test('a write is in the database before the old server is asked, and gone when Columba has it', async (t) => {
    const proxied = await startProxied(t, engine);
    const { service, stage, oldService } = proxied;
    const seen: number[] = [];
    const watching = createServer((socket) => {
      const behind = connect(Number(new URL(proxied.oldServiceUrl).port), '127.0.0.1');
      socket.on('error', () => {}).on('close', () => behind.destroy());
      behind.on('error', () => {}).pipe(socket);
      socket.on('data', async (data) => {
        seen.push(await waitingOf(service));
        behind.write(data);
      });
    });
    await new Promise<void>((resolve) => watching.listen(0, '127.0.0.1', resolve));
    t.after(() => watching.close());
    await stage('compare');
    const oldUrl = `http://127.0.0.1:${(watching.address() as AddressInfo).port}`;
    const { address, migration } = await another(t, proxied, { oldUrl });
    assert.match((await send(address, 'get', 'account', 'SaveMessageTemplate', saving)).text, />true</);
    assert.deepEqual(seen, [1]);
    await migration.settled();
    assert.equal(await waitingOf(service), 0);
    for (const each of [service, oldService]) assert.match(await templatesOf(each), /Told to the client/);
    assert.deepEqual(
      [migration.pendingCounts.sinceStart.get('equal'), migration.pendingCounts.sinceStart.get('late write')],
      [1, undefined],
    );
  });

  test('a write that the old server refused is removed from the database, and Columba does not get it', async (t) => {
    const { service, stage, call, migration } = await startProxied(t, engine);
    await stage('compare');
    const args = { user_id: ACME, message_id: '424242' };
    assert.match((await call('soap11', 'inbox', 'DeleteMessage', args)).text, />false</);
    assert.equal(await waitingOf(service), 0);
    await migration.settled();
    assert.equal(migration.pendingCounts.sinceStart.get('skipped'), 1);
  });

  test('if the answer of the old server is lost, Columba blocks the number and copies the rest', async (t) => {
    const synced: unknown[] = [];
    const proxied = await startProxied(t, engine, { sync: async (_, options) => void synced.push(options) });
    const { service, stage, migration, oldService } = proxied;
    await stage('compare');
    const cut = await another(t, proxied, { oldUrl: await cutting(t, proxied.oldServiceUrl), newUrl: NOWHERE });
    for (const [operation, args] of [
      ['BlackListNumber', blocking],
      ['SaveMessageTemplate', saving],
    ] as const) {
      await assert.rejects(send(cut.address, 'post', 'account', operation, args));
    }
    assert.equal(await waitingOf(service), 2);
    const before = (await templatesOf(oldService)).length;
    service.clock.now += 20_000;
    await until('both are decided', async () => {
      service.clock.now += 1_000;
      await migration.deliver();
      return (await waitingOf(service)) === 0;
    });
    assert.equal(await isBlocked(service), true);
    assert.deepEqual(synced[0], { everything: true });
    // The old server is asked for nothing that its client did not ask for again.
    assert.equal((await templatesOf(oldService)).length, before);
  });

  test('two proxies apply the writes of an account in the order of the old server', async (t) => {
    const proxied = await startProxied(t, engine);
    const { service, stage, migration, call } = proxied;
    await stage('compare');
    const slow = await another(t, proxied, { newUrl: NOWHERE });
    await send(slow.address, 'get', 'account', 'SaveMessageTemplate', saving);
    assert.match((await call('get', 'account', 'DeleteMessageTemplate', saving)).text, />true</);
    await until('Columba has both', async () => {
      service.clock.now += 1_000;
      await migration.deliver();
      return (await waitingOf(service)) === 0;
    });
    assert.doesNotMatch(await templatesOf(service), /Told to the client/);
  });

  test('while the database does not answer, clients of the old server get their answers', async (t) => {
    const proxied = await startProxied(t, engine);
    await proxied.stage('compare');
    let isDown = false;
    const database = new Proxy(proxied.settings.database, {
      get(target, name) {
        if (isDown) return () => Promise.reject(new Error('the database is down'));
        const value = Reflect.get(target, name);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    const { address } = await another(t, proxied, { database });
    assert.equal((await send(address, 'get', 'inbox', 'CountUnread', { user_id: ACME })).status, 200);
    isDown = true;
    assert.match((await send(address, 'get', 'account', 'SaveMessageTemplate', saving)).text, />true</);
    assert.match(proxied.failures.join(), /did not store a write in time/);
    isDown = false;
  });

  test('a write whose client left while it was stored is not held for ever', async (t) => {
    const proxied = await startProxied(t, engine);
    await proxied.stage('compare');
    const { database } = proxied.service.app;
    const { run } = database;
    const socket = connect(Number(new URL(proxied.address).port), '127.0.0.1');
    socket.on('error', () => {});
    let extensions = 0;
    database.run = async (statement, parameters) => {
      if (statement.name === 'migrationTraffic.extendClaim') extensions += 1;
      if (statement.name === 'migrationTraffic.setWriteBehind') {
        socket.destroy();
        const { server } = proxied.migration.proxy;
        const open = () => new Promise<number>((resolve) => server.getConnections((_, count) => resolve(count)));
        await until('the proxy does not see that the client left', async () => (await open()) === 0);
      }
      return run.call(database, statement as never, parameters as never);
    };
    t.after(() => Object.assign(database, { run }));
    t.mock.timers.enable({ apis: ['setInterval'] });
    const target = `/api/account.asmx/SaveMessageTemplate?${new URLSearchParams(saving)}`;
    socket.write(`GET ${target} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    await until('the write is not stored', async () => socket.destroyed);
    await new Promise((resolve) => setTimeout(resolve, 100));
    t.mock.timers.tick(CLAIM_MS);
    assert.equal(extensions, 0);
    proxied.service.clock.now += CLAIM_MS + 1;
    await proxied.migration.deliver();
    assert.equal(await waitingOf(proxied.service), 0);
    assert.match(await templatesOf(proxied.service), /Told to the client/);
  });
});
