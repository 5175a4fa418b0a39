import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Config } from '../../src/config/settings.ts';
import { accountChanges } from '../support/account-changes.ts';
import { onOneEngine } from '../support/engines.ts';
import { assertProblem } from '../support/expected-problems.ts';
import { PROTOCOLS, type Protocol, requestOf } from '../support/protocols.ts';
import { ACME, type Answer, GLOBEX, type Service, startService } from '../support/service.ts';
import { openConnection, requestBytes, statusOf } from '../support/socket.ts';

/** More calls than an account or an address may make, as clients see it. */
const OF_ACCOUNT = 'There are too many calls of this account. Try again later.';
const FROM_ADDRESS = 'There are too many calls from this address. Try again later.';

onOneEngine('too many calls', (engine) => {
  async function withService(settings: Partial<Config>, work: (service: Service) => Promise<void>) {
    const service = await startService(engine, 'sample', settings);
    try {
      await work(service);
    } finally {
      await service.stop();
    }
  }
  type Send = (protocol: Protocol, userId: string, client?: string) => Promise<Answer>;
  const sender =
    (service: Service): Send =>
    (protocol, user_id, client = '192.0.2.1') =>
      service.send({ ...requestOf(protocol, 'inbox', 'CountUnread', { user_id }), client });

  /** So many are answered, and then no more. */
  async function spend(send: () => Promise<Answer>, count: number): Promise<Answer> {
    for (let call = 0; call < count; call++) assert.equal((await send()).status, 200, `call ${call}`);
    return send();
  }

  for (const protocol of PROTOCOLS) {
    test(`429 in ${protocol}: plain text with a Retry-After after which the call succeeds, and not a millisecond before`, () =>
      withService({ accountRate: 1, accountBurst: 3 }, async (service) => {
        const send = sender(service);
        const refused = await spend(() => send(protocol, ACME), 3);
        assertProblem(protocol, refused, 'too-many', OF_ACCOUNT, { fields: { 'Retry-After': '1' } });
        service.clock.now += 999;
        assertProblem(protocol, await send(protocol, ACME), 'too-many', OF_ACCOUNT, { fields: { 'Retry-After': '1' } });
        service.clock.now += 1;
        assert.equal((await send(protocol, ACME)).status, 200);
        assert.equal((await send(protocol, ACME)).status, 429);
      }));
  }

  test('calls of all protocols, operations and user_ids of an account count together, whether they succeed or not', () =>
    withService({ accountRate: 1, accountBurst: 8 }, async (service) => {
      const { userId } = await accountChanges(service.app).rotateUserId('acme', false);
      const send = sender(service);
      for (const protocol of PROTOCOLS) assert.equal((await send(protocol, ACME)).status, 200);
      assert.equal((await send('get', userId)).status, 200);
      const wrong = { user_id: ACME, max_count: -1 };
      assert.equal((await service.call('get', 'inbox', 'Unread', wrong)).status, 400);
      assert.equal((await service.call('get', 'account', 'Profile', { user_id: ACME })).status, 200);
      assert.equal((await service.call('get', 'sent', 'MarkMessageAsRead', { user_id: ACME, id: 2002 })).status, 200);
      for (const each of [ACME, userId]) assert.equal((await send('get', each)).status, 429);
    }));

  test('an account over its limit does not affect another one at the same address', () =>
    withService({ accountRate: 1, accountBurst: 2 }, async (service) => {
      const send = sender(service);
      assert.equal((await spend(() => send('get', ACME), 2)).status, 429);
      const refused = await spend(() => send('get', GLOBEX), 2);
      assertProblem('get', refused, 'too-many', OF_ACCOUNT, { fields: { 'Retry-After': '1' } });
      assert.equal((await send('get', ACME, '198.51.100.7')).status, 429, 'nor does another address help');
    }));

  test('a cached response counts as a call in the rate limit', () =>
    withService({ accountRate: 1, accountBurst: 50, responseCacheBytesMax: 2 ** 20 }, async (service) => {
      const send = sender(service);
      const refused = await spend(() => send('soap11', ACME), 50);
      assertProblem('soap11', refused, 'too-many', OF_ACCOUNT, { fields: { 'Retry-After': '1' } });
    }));

  test('an address over its limit affects all accounts at that address, and no others', () =>
    withService({ addressRate: 2, addressBurst: 3 }, async (service) => {
      const send = sender(service);
      await spend(() => send('post', ACME), 3);
      for (const protocol of PROTOCOLS) {
        for (const userId of [ACME, GLOBEX, 'nobody']) {
          const refused = await send(protocol, userId);
          assertProblem(protocol, refused, 'too-many', FROM_ADDRESS, { fields: { 'Retry-After': '1' } });
        }
        assert.equal((await send(protocol, GLOBEX, `198.51.100.${PROTOCOLS.indexOf(protocol)}`)).status, 200);
      }
      assert.deepEqual(service.slept, [], 'what is refused so is no failed identification');
      service.clock.now += 500;
      assert.equal((await send('get', GLOBEX)).status, 200);
    }));

  test('an address that the operator names has no limit', () =>
    withService({ addressRate: 1, addressBurst: 1, addressUnlimited: ['198.51.100.0/24'] }, async (service) => {
      const send = sender(service);
      for (let call = 0; call < 20; call++) {
        assert.equal((await send('get', call % 2 ? ACME : GLOBEX, '198.51.100.7')).status, 200);
      }
      assert.equal((await spend(() => send('get', ACME), 1)).status, 429);
    }));

  test('with limits of account and address, the lower one refuses the call', () =>
    withService({ accountRate: 1, accountBurst: 2, addressRate: 1, addressBurst: 4 }, async (service) => {
      const send = sender(service);
      assert.match((await spend(() => send('get', ACME), 2)).text, /^There are too many calls of this account/);
      assert.equal((await send('get', GLOBEX)).status, 200);
      assert.match((await send('get', GLOBEX)).text, /^There are too many calls from this address/);
    }));

  test('pages and WSDLs do not count as calls', () =>
    withService({ accountRate: 1, accountBurst: 1, addressRate: 1, addressBurst: 1 }, async (service) => {
      const send = sender(service);
      await spend(() => send('get', ACME), 1);
      for (let round = 0; round < 5; round++) {
        for (const [path, query] of [
          ['/', ''],
          ['/api/inbox.asmx', ''],
          ['/api/inbox.asmx', 'wsdl'],
          ['/api/inbox.asmx', 'disco'],
          ['/api/inbox.asmx', 'op=Unread'],
        ] as const) {
          assert.equal((await service.send({ path, query })).status, 200, `${path}?${query}`);
        }
      }
      assert.equal((await send('get', ACME)).status, 429);
    }));

  test('a caller with an invalid user_id uses up no limit of an account, and is denied however often', () =>
    withService({ accountRate: 1, accountBurst: 3 }, async (service) => {
      await accountChanges(service.app).allow('acme', ['192.0.2.1']);
      const send = sender(service);
      for (let call = 0; call < 20; call++) {
        assertProblem('get', await send('get', 'nobody'), 'denied', /./);
        assertProblem('get', await send('get', ACME, '198.51.100.7'), 'denied', /./);
      }
      assert.equal((await spend(() => send('get', ACME), 3)).status, 429);
    }));

  test('failed identifications are delayed, and calls of known accounts at the same address never', () =>
    withService({}, async (service) => {
      const send = sender(service);
      const held = async (userId: string, client?: string) => {
        const before = service.slept.length;
        await send('get', userId, client);
        return service.slept.slice(before);
      };
      for (let failure = 0; failure < 10; failure++) assert.deepEqual(await held('nobody'), []);
      for (const delay of [100, 200, 400, 800, 1_600, 2_000, 2_000]) {
        assert.deepEqual(await held('nobody'), [delay]);
        for (const userId of [ACME, GLOBEX]) assert.deepEqual(await held(userId), []);
      }
      // A guesser who has a whole network of addresses.
      for (let address = 2; address < 85; address++) assert.deepEqual(await held('nobody', `192.0.2.${address}`), []);
      assert.deepEqual(await held('nobody', '192.0.2.200'), [100]);
      assert.deepEqual(await held(ACME, '192.0.2.200'), []);
      assert.deepEqual(await held('nobody', '192.0.3.1'), []);
    }));

  test('without COLUMBA_ACCOUNT_RATE and COLUMBA_ADDRESS_RATE no call gets 429', () =>
    withService({}, async (service) => {
      const send = sender(service);
      for (let call = 0; call < 300; call++) assert.equal((await send('get', ACME)).status, 200);
    }));

  test('a connection continues after a 429, even if the body of the request was not read', () =>
    withService({ addressRate: 1, addressBurst: 1 }, async (service) => {
      const connection = await openConnection(await service.app.start());
      try {
        const { path, headers, bytes } = requestOf('soap11', 'inbox', 'CountUnread', { user_id: ACME });
        const fields = ['Host: h', ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`)];
        const statuses: number[] = [];
        for (let call = 0; call < 4; call++) {
          await connection.send(requestBytes(`POST ${path} HTTP/1.1`, fields, bytes + ' '.repeat(call * 50_000)));
          const answer = await connection.receive();
          statuses.push(statusOf(answer));
          if (call > 0) {
            assert.equal(answer.headers['retry-after'], '1');
            assert.equal(answer.headers['content-type'], 'text/plain; charset=utf-8');
            assert.equal(answer.body.toString(), `${FROM_ADDRESS}\n`);
          }
        }
        assert.deepEqual(statuses, [200, 429, 429, 429]);
        service.clock.now += 1_000;
        await connection.send(requestBytes(`POST ${path} HTTP/1.1`, fields, bytes));
        assert.equal(statusOf(await connection.receive()), 200);
      } finally {
        connection.close();
      }
    }));
});
