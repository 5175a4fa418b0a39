import assert from 'node:assert/strict';
import { Agent } from 'node:http';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { createMigrationProxy } from '../../src/migration/proxy/migration-proxy.ts';
import { createMigrationCounts } from '../../src/migration/stages/counts.ts';
import { engines } from '../support/engines.ts';
import { type Proxied, send, startProxied } from '../support/proxied.ts';
import { ACME } from '../support/service.ts';

/** Columba leads an account, and then does not answer: the old server does, and nothing is lost. */

const [sqlite] = engines;
assert.ok(sqlite);

type Mode = 'open' | 'refuses' | 'stalls' | 'answers 503' | 'cuts';

/** What stands before Columba and can fail in each way. */
async function gateOf(t: TestContext) {
  const sockets = new Set<Socket>();
  let mode: Mode = 'open';
  let target = 0;
  const listener = (socket: Socket): void => {
    sockets.add(socket);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
    if (mode === 'answers 503') {
      socket.on('data', () => socket.write('HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n'));
      return;
    }
    if (mode === 'stalls') return;
    const behind = connect(target, '127.0.0.1');
    behind.on('error', () => socket.destroy()).on('close', () => socket.destroy());
    socket.on('close', () => behind.destroy());
    socket.pipe(behind);
    // The work is done, and its answer never comes.
    if (mode === 'cuts') behind.once('data', () => socket.destroy());
    else behind.pipe(socket);
  };
  let server: Server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${port}`,
    to: (url: string): void => {
      target = Number(new URL(url).port);
    },
    async become(next: Mode): Promise<void> {
      for (const socket of sockets) socket.destroy();
      if (server.listening) await new Promise((resolve) => server.close(resolve));
      mode = next;
      if (next === 'refuses') return;
      server = createServer(listener);
      await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    },
  };
}

async function startLed(t: TestContext, more: Parameters<typeof startProxied>[2] = {}) {
  const gate = await gateOf(t);
  const proxied = await startProxied(t, sqlite as NonNullable<typeof sqlite>, {
    newUrl: gate.url,
    newTimeoutMs: 200,
    ...more,
  });
  gate.to(proxied.newUrl);
  await proxied.stage('lead');
  return { ...proxied, gate };
}

const templatesOf = async ({ call }: Pick<Proxied['service'], 'call'>): Promise<string> =>
  (await call('get', 'account', 'FetchSavedMessages', { user_id: ACME })).text;
const waitingOf = ({ service }: Proxied): Promise<{ total: number }> =>
  createMigrationCounts(service.app.database, () => service.clock.now).waitingWrites();
async function until(what: string, isTrue: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 500; tries++) {
    if (await isTrue()) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  assert.fail(what);
}

for (const mode of ['refuses', 'stalls', 'answers 503', 'cuts'] as const) {
  test(`lead: clients get the old server's answers while Columba ${mode}, and Columba catches up`, async (t) => {
    const proxied = await startLed(t);
    const { call, gate, service, oldService, migration } = proxied;
    await call('get', 'account', 'SaveMessageTemplate', { user_id: ACME, message: 'Before it failed' });
    await gate.become(mode);
    const read = await call('get', 'inbox', 'CountUnread', { user_id: ACME });
    assert.deepEqual([read.status, />4</.test(read.text)], [200, true]);
    const written = await call('soap11', 'account', 'SaveMessageTemplate', {
      user_id: ACME,
      message: 'While it failed',
    });
    assert.match(written.text, />true</);
    // The old server answers with both writes, the one of Columba too.
    const during = (await call('post', 'account', 'FetchSavedMessages', { user_id: ACME })).text;
    assert.match(during, /Before it failed.*While it failed/s);
    assert.match(await templatesOf(oldService), /While it failed/);
    await gate.become('open');
    const led = migration.pendingCounts.sinceStart.get('led') ?? 0;
    await until('Columba answers again', async () => {
      const { text } = await call('get', 'account', 'FetchSavedMessages', { user_id: ACME });
      assert.match(text, /While it failed/);
      return (migration.pendingCounts.sinceStart.get('led') ?? 0) > led;
    });
    assert.equal((await templatesOf(service)).split('While it failed').length, 2);
    assert.equal((await waitingOf(proxied)).total, 0);
    assert.ok((migration.pendingCounts.sinceStart.get('failed') ?? 0) > 0);
  });
}

test('lead: Columba gets the writes that it missed before it answers the account again, although the proxy was killed', async (t) => {
  const { call, gate, settings, service, migration } = await startLed(t);
  await gate.become('refuses');
  const marked = { user_id: ACME, message_id: '9007199254740993' };
  assert.match((await call('get', 'inbox', 'MarkMessageAsRead', marked)).text, />true</);
  await migration.stop();
  await gate.become('open');
  const next = createMigrationProxy({ ...settings, folder: undefined });
  t.after(() => next.stop());
  await next.start();
  const port = await next.proxy.listen(0, '127.0.0.1');
  const { text } = await send(`http://127.0.0.1:${port}`, 'get', 'inbox', 'CountUnread', { user_id: ACME });
  assert.match(text, />3</);
  assert.match((await service.call('get', 'inbox', 'CountUnread', { user_id: ACME })).text, />3</);
});

test('lead: a deletion whose answer was lost is done by both servers, although Columba returns false', async (t) => {
  const { call, gate, settings, service, oldService, oldServiceUrl, migration } = await startLed(t, {
    oldUrl: 'http://127.0.0.1:1',
  });
  const args = { user_id: ACME, message_id: '9007199254740993' };
  await gate.become('cuts');
  const { status } = await call('get', 'inbox', 'DeleteMessage', args);
  assert.equal(status, 502);
  assert.match((await service.call('get', 'inbox', 'CountUnread', { user_id: ACME })).text, />3</);
  assert.match((await oldService.call('get', 'inbox', 'CountUnread', { user_id: ACME })).text, />4</);
  await migration.stop();
  await gate.become('open');
  service.clock.now += 60_000;
  const next = createMigrationProxy({ ...settings, oldUrl: oldServiceUrl, folder: undefined });
  t.after(() => next.stop());
  await next.start();
  await next.deliver();
  assert.match((await oldService.call('get', 'inbox', 'CountUnread', { user_id: ACME })).text, />3</);
});

test('lead: while both servers are down a write is refused, and done by neither', async (t) => {
  const proxied = await startLed(t, { oldUrl: 'http://127.0.0.1:1' });
  await proxied.gate.become('refuses');
  const args = { user_id: ACME, message: 'Nobody does it' };
  assert.equal((await proxied.call('post', 'account', 'SaveMessageTemplate', args)).status, 502);
  assert.equal((await waitingOf(proxied)).total, 0);
  await proxied.gate.become('open');
  assert.doesNotMatch(await templatesOf(proxied.service), /Nobody/);
});

test('lead: the old server does not answer for Columba while it lacks an acknowledged write', async (t) => {
  const proxied = await startLed(t, { oldUrl: 'http://127.0.0.1:1' });
  const args = { user_id: ACME, message: 'Only Columba has it' };
  assert.match((await proxied.call('post', 'account', 'SaveMessageTemplate', args)).text, />true</);
  await proxied.gate.become('refuses');
  const { status, headers } = await proxied.call('get', 'account', 'FetchSavedMessages', { user_id: ACME });
  assert.deepEqual([status, headers['retry-after']], [503, '5']);
});

test('lead: while the database of the proxy does not answer, Columba answers reads, and writes that could be lost are refused', async (t) => {
  const { gate, settings, service } = await startLed(t);
  let isDown = false;
  const database = new Proxy(settings.database, {
    get(target, name) {
      if (isDown) return () => Promise.reject(new Error('the database is down'));
      const value = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  const next = createMigrationProxy({ ...settings, database, folder: undefined });
  t.after(() => next.stop());
  await next.start();
  const url = `http://127.0.0.1:${await next.proxy.listen(0, '127.0.0.1')}`;
  const read = () => send(url, 'get', 'inbox', 'CountUnread', { user_id: ACME });
  const write = () => send(url, 'get', 'account', 'SaveMessageTemplate', { user_id: ACME, message: 'Not stored' });
  assert.equal((await read()).status, 200);
  isDown = true;
  assert.equal((await read()).status, 200);
  assert.equal((await write()).status, 503);
  await gate.become('refuses');
  assert.equal((await read()).status, 503);
  isDown = false;
  assert.equal((await read()).status, 200);
  assert.doesNotMatch(await templatesOf(service), /Not stored/);
});

test('lead: the connection of a client stays open when Columba is gone', async (t) => {
  const { gate, address } = await startLed(t);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  t.after(() => agent.destroy());
  const sockets = new Set<unknown>();
  agent.on('free', (socket) => sockets.add(socket));
  const read = () => send(address, 'get', 'inbox', 'CountUnread', { user_id: ACME }, agent);
  assert.equal((await read()).status, 200);
  await gate.become('refuses');
  for (let calls = 0; calls < 3; calls++) assert.equal((await read()).status, 200);
  assert.equal(sockets.size, 1);
});

test('lead: deleting all messages while Columba is down leaves those that arrived later at the old server', async (t) => {
  let syncs = 0;
  const { call, gate, service } = await startLed(t, { sync: async () => void syncs++ });
  await gate.become('refuses');
  assert.match((await call('get', 'inbox', 'DeleteAllMessages', { user_id: ACME })).text, />true</);
  const before = syncs;
  await gate.become('open');
  await until('the account is synced', async () => {
    service.clock.now += 1_000;
    return syncs > before;
  });
  // The sync of this test brings nothing, and Columba was not told to delete all.
  assert.match((await service.call('get', 'inbox', 'CountUnread', { user_id: ACME })).text, />4</);
});

test('two proxies send a write to the old server once', async (t) => {
  const { settings, migration, service } = await startLed(t);
  const asked: string[] = [];
  const slow = createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', (data) => {
      asked.push(String(data));
      const body = '<?xml version="1.0"?><boolean xmlns="http://sms.example/api">true</boolean>';
      const head = `HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\nContent-Length: ${body.length}\r\n\r\n`;
      setTimeout(() => socket.write(head + body), 300);
    });
  });
  await new Promise<void>((resolve) => slow.listen(0, '127.0.0.1', resolve));
  t.after(() => slow.close());
  await migration.stop();
  const oldUrl = `http://127.0.0.1:${(slow.address() as AddressInfo).port}`;
  const both = [1, 2].map(() => createMigrationProxy({ ...settings, oldUrl, folder: undefined }));
  const [first] = both;
  t.after(() => Promise.all(both.map((each) => each.stop())));
  for (const each of both) await each.start();
  const port = await first?.proxy.listen(0, '127.0.0.1');
  const args = { user_id: ACME, message: 'Once' };
  await send(`http://127.0.0.1:${port}`, 'get', 'account', 'SaveMessageTemplate', args);
  await Promise.all(both.map((each) => each.deliver()));
  const migrationCounts = createMigrationCounts(service.app.database, () => service.clock.now);
  await until('it is delivered', async () => (await migrationCounts.waitingWrites()).total === 0);
  assert.equal(asked.filter((text) => text.includes('SaveMessageTemplate')).length, 1);
});
