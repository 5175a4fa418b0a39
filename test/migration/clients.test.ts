import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hashUserId } from '../../src/domain/accounts/credentials.ts';
import { createRetention } from '../../src/domain/privacy/retention.ts';
import { recordedOf } from '../../src/migration/compare/recorder.ts';
import { clientsOfRecordings, createClientAddress, shownAgent } from '../../src/migration/proxy/client-inventory.ts';
import { createMigrationProxy } from '../../src/migration/proxy/migration-proxy.ts';
import { type CountedCall, createMigrationClients, OTHER_CLIENTS } from '../../src/migration/stages/clients.ts';
import { migrationExtension } from '../../src/migration/stages/extension.ts';
import { columba, freshDatabase } from '../support/command.ts';
import { act } from '../support/console-client.ts';
import { onEveryEngine } from '../support/engines.ts';
import { openStore } from '../support/opened-database.ts';
import { type OperatorApi, startOperatorApi } from '../support/operator-api.ts';
import { startProxied } from '../support/proxied.ts';
import { ACME } from '../support/service.ts';

const START = { name: '', agent: '', address: '' };
const DAY_MS = 86_400_000;

const callOf = (more: Partial<CountedCall>): CountedCall => ({
  accountName: 'account-0000000000000001',
  userIdHash: 'one',
  agent: 'Invoices/1.0',
  address: '10.0.0.17',
  operation: 'inbox.Unread',
  protocol: 'soap11',
  total: 1,
  firstAt: 0,
  lastAt: 0,
  ...more,
});

async function ask(address: string, agent: string, userId: string, from?: string): Promise<void> {
  const headers = { 'User-Agent': agent, ...(from === undefined ? {} : { 'X-Forwarded-For': from }) };
  await (await fetch(`${address}/api/inbox.asmx/CountUnread?user_id=${userId}`, { headers })).text();
}

onEveryEngine('clients of the old server', (engine) => {
  test('the proxy lists each client by its User-Agent, address and account, with what it calls and when last', async (t) => {
    const { address, migration, service } = await startProxied(t, engine);
    for (let calls = 0; calls < 3; calls++) await ask(address, 'Invoices/1.0', ACME);
    await ask(address, 'Shop/2.1', ACME);
    await fetch(`${address}/api/inbox.asmx?WSDL`, { headers: { 'User-Agent': 'Shop/2.1' } });
    await migration.clients.flush();
    const clients = createMigrationClients(service.app.database, () => service.clock.now);
    const found = await clients.list(START, 10, {});
    assert.deepEqual(
      found.map(({ username, agent, address: from, calls }) => [username, agent, from, calls]),
      [
        [
          null,
          'Shop/2.1',
          '127.0.0.1',
          [{ operation: 'other', protocol: '', callsPerDay: 1, lastAt: service.clock.now }],
        ],
        [
          'acme',
          'Invoices/1.0',
          '127.0.0.1',
          [{ operation: 'inbox.CountUnread', protocol: 'get', callsPerDay: 3, lastAt: service.clock.now }],
        ],
        [
          'acme',
          'Shop/2.1',
          '127.0.0.1',
          [{ operation: 'inbox.CountUnread', protocol: 'get', callsPerDay: 1, lastAt: service.clock.now }],
        ],
      ],
    );
    assert.doesNotMatch(JSON.stringify(found), new RegExp(ACME));
  });

  test('the counts of several proxies are summed, and clients that were not seen for 7 days are listed separately', async (t) => {
    const { address, migration, service, settings } = await startProxied(t, engine);
    const other = createMigrationProxy({ ...settings, folder: undefined });
    t.after(() => other.stop());
    const port = await other.proxy.listen(0, '127.0.0.1');
    for (const each of [address, `http://127.0.0.1:${port}`]) await ask(each, 'Invoices/1.0', ACME);
    await Promise.all([migration.clients.flush(), other.clients.flush()]);
    const clients = createMigrationClients(service.app.database, () => service.clock.now);
    assert.equal((await clients.list(START, 10, {}))[0]?.callsPerDay, 2);
    service.clock.now += 8 * DAY_MS;
    await ask(address, 'Shop/2.1', ACME);
    await migration.clients.flush();
    const silent = await clients.list(START, 10, { silentDays: 7 });
    assert.deepEqual(
      silent.map(({ agent }) => agent),
      ['Invoices/1.0'],
    );
    assert.deepEqual(await clients.summary(), {
      clients: 2,
      silent: 1,
      unknownUserIds: 0,
      firstAt: service.clock.now - 8 * DAY_MS,
      lastAt: service.clock.now,
    });
  });

  test('the calls per day of a client are the mean of the days on which it was seen', async (t) => {
    const store = await openStore(await engine.fresh('sample'));
    t.after(() => store.close());
    const clients = createMigrationClients(store, () => 3 * DAY_MS);
    for (const [day, total] of [
      [0, 10],
      [0, 10],
      [2, 30],
    ] as const) {
      await clients.add([callOf({ total, firstAt: day * DAY_MS, lastAt: day * DAY_MS })]);
    }
    const [client] = await clients.list(START, 10, {});
    assert.deepEqual([client?.callsPerDay, client?.firstAt, client?.lastAt], [25, 0, 2 * DAY_MS]);
  });

  test('invented User-Agents and user_ids fill a bounded number of rows, and leave room for those of accounts', async (t) => {
    const { service } = await startProxied(t, engine);
    const at = service.clock.now;
    const clients = createMigrationClients(service.app.database, () => at, {
      rows: 60,
      unknownRows: 40,
      rowsOfAccount: 15,
    });
    const madeUp = (count: number, more: (index: number) => Partial<CountedCall>) =>
      Array.from({ length: count }, (_, index) => callOf({ firstAt: at, lastAt: at, ...more(index) }));
    await clients.add(madeUp(500, (index) => ({ agent: `made up ${index}` })));
    await clients.add(madeUp(500, (index) => ({ accountName: `account-${index}`, userIdHash: `${index}` })));
    await clients.add(madeUp(500, (index) => ({ agent: `again ${index}`, accountName: `account-${index}x` })));
    const rows = await clients.list(START, 1_000, {});
    assert.equal(rows.length, 40);
    const [other] = rows.filter(({ agent }) => agent === OTHER_CLIENTS);
    assert.deepEqual([other?.accountName, other?.address, other?.callsPerDay], ['', '', 1_500 - 39]);
    // An account of Columba still gets a row of its own.
    await clients.add([callOf({ accountName: 'account-acme', userIdHash: hashUserId(ACME), firstAt: at, lastAt: at })]);
    assert.equal((await clients.list(START, 1_000, { username: 'acme' })).length, 1);
    assert.ok((await clients.forgetUnknown()) > 30);
    assert.equal((await clients.list(START, 1_000, { username: 'acme' })).length, 1);
  });

  test('a thousand calls write clients with as many statements as one call', async (t) => {
    const { service } = await startProxied(t, engine);
    let statements = 0;
    const counting = new Proxy(service.app.database, {
      get: (target, name, receiver) => {
        const value = Reflect.get(target, name, receiver);
        if (typeof value !== 'function') return value;
        return (...args: unknown[]) => {
          statements += 1;
          return value.apply(target, args);
        };
      },
    });
    const at = service.clock.now;
    const one = callOf({ firstAt: at, lastAt: at });
    const clients = createMigrationClients(counting, () => at);
    const many = Array.from({ length: 1_000 }, (_, index) => ({ ...one, agent: `program ${index}` }));
    await clients.add([one]);
    const first = statements;
    await clients.add(many);
    assert.deepEqual([first, statements], [5, 10]);
    await clients.add([one]);
    assert.equal(statements, 12);
  });

  test('clients that could not be written are written the next time', async (t) => {
    const { address, migration, service, settings } = await startProxied(t, engine);
    await ask(address, 'Invoices/1.0', ACME);
    t.mock.method(settings.database, 'all', () => Promise.reject(new Error('away')), { times: 1 });
    await assert.rejects(migration.clients.flush(), /away/);
    await ask(address, 'Invoices/1.0', ACME);
    await migration.clients.flush();
    const clients = createMigrationClients(service.app.database, () => service.clock.now);
    assert.equal((await clients.list(START, 10, {}))[0]?.callsPerDay, 2);
  });

  test('recordings name the clients too, with the address that the proxy saw', async (t) => {
    const { address, recorded } = await startProxied(t, engine, { trustedProxies: ['127.0.0.1'] });
    for (let calls = 0; calls < 2; calls++) await ask(address, 'Invoices/1.0', ACME, '203.0.113.9');
    const exchanges = await recorded();
    async function* each() {
      yield* exchanges;
    }
    const [client, ...more] = await clientsOfRecordings(each());
    assert.deepEqual(
      [client?.agent, client?.address, client?.operation, client?.total, more.length],
      ['Invoices/1.0', '203.0.113.9', 'inbox.CountUnread', 2, 0],
    );
    assert.match(client?.accountName ?? '', /^account-[0-9a-f]{16}$/);
  });
});

onEveryEngine('erasing clients of the old server', (engine) => {
  async function opened(t: { after(work: () => Promise<void>): void }): Promise<OperatorApi> {
    const api = await startOperatorApi(engine);
    t.after(() => api.stop());
    return api;
  }
  const clientsOf = ({ services: { database, now } }: OperatorApi) => createMigrationClients(database, now);

  async function addOfAcme(api: OperatorApi): Promise<void> {
    const at = api.services.now();
    await clientsOf(api).add([
      callOf({ userIdHash: hashUserId(ACME), lastAt: at, firstAt: at }),
      callOf({ accountName: '', userIdHash: null, address: '10.0.0.99', lastAt: at, firstAt: at }),
    ]);
  }

  test('an address or an account can be erased, and the audit does not keep the address', async (t) => {
    const api = await opened(t);
    await addOfAcme(api);
    assert.deepEqual(await act(api, 'migrate forget-clients', { body: { address: '10.0.0.99' } }), { erased: 1 });
    assert.deepEqual(await act(api, 'migrate forget-clients', { body: { username: 'acme' } }), { erased: 1 });
    assert.deepEqual(await clientsOf(api).list(START, 10, {}), []);
    const { items } = await act<{ items: { action: string }[] }>(api, 'audit list', {});
    assert.match(JSON.stringify(items), /migrate forget-clients/);
    assert.doesNotMatch(JSON.stringify(items), /10\.0\.0\.99/);
    await assert.rejects(act(api, 'migrate forget-clients', { body: {} }));
  });

  test('an account that is removed takes its clients with it', async (t) => {
    const api = await opened(t);
    await addOfAcme(api);
    const params = { username: 'acme' };
    await act(api, 'account disable', { params });
    await act(api, 'account remove', { params });
    assert.deepEqual(
      (await clientsOf(api).list(START, 10, {})).map(({ address }) => address),
      ['10.0.0.99'],
    );
  });

  test('clients that were not seen for 90 days are deleted, unless the operator has set another time', async (t) => {
    const api = await opened(t);
    const { database, now } = api.services;
    const old = now() - 91 * DAY_MS;
    await clientsOf(api).add([
      callOf({ lastAt: old, firstAt: old }),
      callOf({ agent: 'new', lastAt: now(), firstAt: now() }),
    ]);
    const shown = await act<{ days: { clients: number }; older: { clients: number } }>(api, 'retention show', {});
    assert.deepEqual([shown.days.clients, shown.older.clients], [90, 1]);
    await createRetention(database, now, [migrationExtension]).applyDue(
      async () => {},
      () => false,
    );
    assert.deepEqual(
      (await clientsOf(api).list(START, 10, {})).map(({ agent }) => agent),
      ['new'],
    );
  });
});

test('columba migrate clients has a line of bounded length for each operation of a client', async (t) => {
  const url = freshDatabase();
  const env = { COLUMBA_DATABASE: url };
  await columba(['account', 'add', 'acme'], { env });
  const database = await openStore(url);
  t.after(() => database.close());
  const operations = ['compose.SendMessage', 'inbox.CountUnread', 'inbox.Unread'];
  const rows = operations.map((operation) => callOf({ operation, agent: 'Long '.repeat(30), lastAt: DAY_MS }));
  await createMigrationClients(database, () => DAY_MS).add(rows);
  const { stdout } = await columba(['migrate', 'clients'], { env });
  const lines = stdout.trimEnd().split('\n');
  assert.deepEqual(
    lines.map((line) => line.split('\t').slice(1, 7)),
    operations.map((operation) => [
      '10.0.0.17',
      'account-0000000000000001',
      operation,
      'soap11',
      '1',
      '1970-01-02 00:00',
    ]),
  );
  assert.ok(lines.every((line) => line.length <= 190 && /^Long .*…\t/.test(line)));
});

test('a User-Agent is shown without user_ids, phone numbers and control characters, and not longer than 160 characters', () => {
  assert.equal(shownAgent(`Shop/1.0 (${ACME}; +27 82 555-0201) x\u0007y`, null), 'Shop/1.0 (…; …) x y');
  assert.equal(shownAgent('Shop secret-1', 'secret-1'), 'Shop …');
  const dotnet = 'Mozilla/4.0 (compatible; MSIE 6.0; MS Web Services Client Protocol 4.0.30319.42000)';
  assert.equal(shownAgent(dotnet, null), dotnet);
  assert.equal(shownAgent('x'.repeat(5_000), null).length, 160);
});

test('the address of a client comes from X-Forwarded-For only where a trusted proxy wrote it', () => {
  const request = { socket: { remoteAddress: '::ffff:10.0.0.1' }, headers: { 'x-forwarded-for': '203.0.113.9' } };
  assert.equal(createClientAddress([])(request as never), '10.0.0.1');
  assert.equal(createClientAddress(['10.0.0.1'])(request as never), '203.0.113.9');
});

test('a recording with pseudonyms has no address of a client', async () => {
  const { createInlineWork } = await import('../../src/migration/compare/comparing.ts');
  const key = Buffer.from('a key for tests');
  const settings = { dialect: {}, zone: 'UTC', disabled: [], key, listLimit: 100 };
  const request = { method: 'GET', target: '/api/inbox.asmx?WSDL', rawHeaders: [], body: new Uint8Array() };
  const names = { group: null, operation: null, protocol: null, outcome: 'recorded', knownDifferences: [] } as const;
  const observed = { ...names, at: 0, userId: null, client: '203.0.113.9', request, old: null, ours: null };
  assert.equal(recordedOf(observed, () => '').client, '203.0.113.9');
  assert.match(createInlineWork({ ...settings, pseudonyms: false }).line(observed), /203\.0\.113\.9/);
  assert.doesNotMatch(createInlineWork({ ...settings, pseudonyms: true }).line(observed), /203\.0\.113\.9/);
});
