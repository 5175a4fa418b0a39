import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Config } from '../../src/config/settings.ts';
import { accountChanges } from '../support/account-changes.ts';
import { exportOf, protocolsFor } from '../support/contract-client.ts';
import { onOneEngine } from '../support/engines.ts';
import { PROTOCOLS, type Protocol, requestOf } from '../support/protocols.ts';
import { ACME, GLOBEX, type Service, startService } from '../support/service.ts';
import { CALLS, changes } from '../support/serving.ts';
import { exchangeMessage, requestBytes, statusOf } from '../support/socket.ts';

/** Accounts that may be used from some networks only. */
const INSIDE = '10.1.2.3';
const OUTSIDE = '192.0.2.1';
const NETWORKS = ['10.0.0.0/8', '2001:db8:1::/48', '198.51.100.7'];

onOneEngine('accounts that are restricted to networks', (engine) => {
  async function withService(work: (service: Service) => Promise<void>, settings: Partial<Config> = {}) {
    const service = await startService(engine, 'sample', settings);
    try {
      await accountChanges(service.app).allow('acme', NETWORKS);
      await work(service);
    } finally {
      await service.stop();
    }
  }
  const count = async (service: Service, client: string, userId = ACME, protocol: Protocol = 'get') =>
    (await service.send({ ...requestOf(protocol, 'inbox', 'CountUnread', { user_id: userId }), client })).status;

  const ADDRESSES: readonly (readonly [client: string, served: boolean])[] = [
    [INSIDE, true],
    ['10.255.255.255', true],
    ['::ffff:10.1.2.3', true],
    ['::ffff:a01:203', true],
    ['198.51.100.7', true],
    ['2001:db8:1::1', true],
    ['2001:DB8:1:ffff:0:0:0:9', true],
    ['2001:db8:1::1%eth0', true],
    [OUTSIDE, false],
    ['11.0.0.1', false],
    ['::ffff:11.0.0.1', false],
    ['198.51.100.8', false],
    ['2001:db8:2::1', false],
    ['::10.1.2.3', false],
    ['::1', false],
    ['127.0.0.1', false],
    ['', false],
    ['unknown', false],
    ['10.1.2.3, 192.0.2.1', false],
  ];
  test('an account with allowed networks is served inside them and denied outside, in any notation of the address', () =>
    withService(async (service) => {
      for (const [client, served] of ADDRESSES) {
        assert.equal(await count(service, client), served ? 200 : 403, client);
        assert.equal(await count(service, client, GLOBEX), 200, `the other account from ${client}`);
      }
    }));

  for (const protocol of protocolsFor(engine)) {
    test(`all 32 operations in ${protocol}: outside its networks an account gets exactly the bytes for an unknown user_id, and nothing is changed`, () =>
      withService(async (service) => {
        const before = await exportOf(service.app);
        assert.equal(CALLS.length, 32);
        for (const [group, operation, args] of CALLS) {
          for (const variant of [args, { ...args, max: -1, max_count: -1, message: '', contact_id: ['101', 'x'] }]) {
            const own = Object.fromEntries(Object.keys(args).map((name) => [name, variant[name] ?? null]));
            const call = (user_id: string, client: string) =>
              service.send({ ...requestOf(protocol, group, operation, { user_id, ...own }), client });
            const stranger = await call('nobody', OUTSIDE);
            assert.equal(stranger.status, protocol.startsWith('soap') ? 500 : 403);
            assert.deepEqual(await call(ACME, OUTSIDE), stranger, operation);
          }
        }
        assert.equal(await exportOf(service.app), before);
      }));

    test(`all 32 operations in ${protocol}: inside its networks an account is served like one without a list`, () =>
      withService(async (service) => {
        const free = await startService(engine);
        try {
          for (const [group, operation, args] of CALLS) {
            const request = requestOf(protocol, group, operation, { user_id: ACME, ...args });
            const answer = await service.send({ ...request, client: INSIDE });
            assert.equal(answer.status, 200, `${operation}: ${answer.text}`);
            assert.deepEqual(answer, await free.send({ ...request, client: INSIDE }), operation);
          }
          const list = `"allowedNetworks":"${NETWORKS.join()}",`;
          assert.equal((await exportOf(service.app)).replace(list, ''), await exportOf(free.app));
        } finally {
          await free.stop();
        }
      }));
  }

  test('accounts that are restricted to networks are denied outside however often they were answered inside, because no cached answer is used for another address', () =>
    withService(
      async (service) => {
        const reads = CALLS.filter(([, operation]) => !changes(operation));
        for (const protocol of PROTOCOLS) {
          for (const [group, operation, args] of reads) {
            const request = requestOf(protocol, group, operation, { user_id: ACME, ...args });
            const denied = protocol.startsWith('soap') ? 500 : 403;
            for (const [client, status] of [
              [INSIDE, 200],
              [INSIDE, 200],
              [OUTSIDE, denied],
              [INSIDE, 200],
              [OUTSIDE, denied],
            ] as const) {
              assert.equal((await service.send({ ...request, client })).status, status, `${operation} from ${client}`);
            }
          }
        }
      },
      { responseCacheBytesMax: 2 ** 25 },
    ));

  test('a list of networks takes effect at once, also for answers that were cached before', () =>
    withService(
      async (service) => {
        const accounts = accountChanges(service.app);
        const both = async () => [await count(service, INSIDE), await count(service, OUTSIDE)];
        for (const _ of [1, 2]) {
          await accounts.allow('acme', []);
          for (const __ of [1, 2, 3]) assert.deepEqual(await both(), [200, 200]);
          await accounts.allow('acme', NETWORKS);
          assert.deepEqual(await both(), [200, 403]);
          await accounts.allow('acme', ['192.0.2.0/24']);
          assert.deepEqual(await both(), [403, 200]);
          await accounts.allow('acme', ['203.0.113.1']);
          assert.deepEqual(await both(), [403, 403]);
        }
        assert.equal(await count(service, OUTSIDE, GLOBEX), 200);
      },
      { responseCacheBytesMax: 2 ** 25 },
    ));

  test('a further user_id is restricted like the first one, and failures outside are delayed like any others', () =>
    withService(async (service) => {
      const { userId } = await accountChanges(service.app).rotateUserId('acme', false);
      assert.deepEqual([await count(service, INSIDE, userId), await count(service, OUTSIDE, userId)], [200, 403]);
      assert.deepEqual(service.slept, []);
      for (let failure = 0; failure < 10; failure++) await count(service, OUTSIDE);
      assert.deepEqual(service.slept, [100]);
    }));

  test('behind trusted proxies the networks are compared with the address of the client, and X-Forwarded-For of others is ignored', async () => {
    const asked = async (settings: Partial<Config>, fields: readonly string[]) => {
      let status = 0;
      await withService(async (service) => {
        const start = `GET /api/inbox.asmx/CountUnread?user_id=${ACME} HTTP/1.1`;
        const bytes = requestBytes(start, ['Host: h', 'Connection: close', ...fields]);
        status = statusOf(await exchangeMessage(await service.app.start(), bytes));
      }, settings);
      return status;
    };
    const trusting = { trustedProxies: ['127.0.0.1', '172.16.0.0/12'] };
    for (const [settings, forwardedFor, status] of [
      [trusting, INSIDE, 200],
      [trusting, OUTSIDE, 403],
      [trusting, `${OUTSIDE}, ${INSIDE}`, 200],
      [trusting, `${INSIDE}, ${OUTSIDE}`, 403],
      [trusting, `${INSIDE}, 172.16.0.1`, 200],
      [trusting, '2001:db8:1::5', 200],
      [trusting, '::ffff:10.1.2.3', 200],
      [trusting, 'unknown', 403],
      [{}, INSIDE, 403],
    ] as const) {
      assert.equal(await asked(settings, [`X-Forwarded-For: ${forwardedFor}`]), status, forwardedFor);
    }
    assert.equal(await asked(trusting, []), 403);
  });
});
