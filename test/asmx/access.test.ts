import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accountChanges } from '../support/account-changes.ts';
import { onOneEngine } from '../support/engines.ts';
import { assertProblem } from '../support/expected-problems.ts';
import { isProof } from '../support/proof.ts';
import { type Arguments, PROTOCOLS, type Protocol } from '../support/protocols.ts';
import { ACME, GLOBEX, startService } from '../support/service.ts';

/** Every operation in one of the protocols; in the proof in each of them. */
const callsIn = (protocol: Protocol) =>
  CALLS.filter((_, index) => isProof || index % PROTOCOLS.length === PROTOCOLS.indexOf(protocol));

onOneEngine('user_id', (engine) => {
  for (const protocol of PROTOCOLS) {
    test(`denied in ${protocol}: an unknown, missing, empty, too long, revoked or disabled user_id gets exactly the same bytes`, async () => {
      const service = await startService(engine);
      try {
        await accountChanges(service.app).rotateUserId('globex', true);
        await accountChanges(service.app).setEnabled('acme', false);
        const rows: readonly (readonly [string, string | null])[] = [
          ['unknown', '00000000-0000-4000-8000-000000000000'],
          ['missing', null],
          ['empty', ''],
          ['blank', ' '],
          ['longer than any', 'x'.repeat(129)],
          ['much longer than any', 'x'.repeat(10_000)],
          ['revoked', GLOBEX],
          ['disabled', ACME],
          ['in another letter case', ACME.toUpperCase()],
          ['with markup', '<b>&'],
          ['with a quote', "' or '1'='1"],
        ];
        for (const [what, user_id] of rows) {
          for (const [group, operation, args] of callsIn(protocol)) {
            const answer = await service.call(protocol, group, operation, { user_id, ...args });
            assert.equal(answer.status, protocol.startsWith('soap') ? 500 : 403, what);
            assertProblem(protocol, answer, 'denied', 'The user_id is not valid.');
          }
        }
      } finally {
        await service.stop();
      }
    });

    test(`denied in ${protocol}: a denied call changes nothing`, async () => {
      const service = await startService(engine);
      try {
        for (const user_id of ['nobody', '', null, ` ${ACME}`, `${ACME} `, ACME.slice(0, -1), `${ACME}x`]) {
          for (const [group, operation, args] of callsIn(protocol)) {
            assertProblem(
              protocol,
              await service.call(protocol, group, operation, { user_id, ...args }),
              'denied',
              /./,
            );
          }
        }
        const { text } = await service.call(protocol, 'inbox', 'CountUnread', { user_id: ACME });
        assert.match(text, />4</);
        const templates = await service.call(protocol, 'account', 'FetchSavedMessages', { user_id: ACME });
        assert.equal(templates.text.match(/<string>/g)?.length, 3);
      } finally {
        await service.stop();
      }
    });
  }

  test('failures from one address are delayed more and more, up to a maximum; other addresses and valid calls are not delayed', async () => {
    const service = await startService(engine);
    const from = async (client: string, userId: string) => {
      const before = service.slept.length;
      await service.send({ path: '/api/inbox.asmx/CountRead', query: `user_id=${userId}`, client });
      return service.slept.slice(before);
    };
    try {
      assert.deepEqual(await from('192.0.2.1', 'nobody'), [], 'a first mistake is free');
      for (let failure = 0; failure < 40; failure++) await from('192.0.2.1', `nobody-${failure}`);
      const slowed = [...service.slept];
      assert.ok(slowed.length >= 20);
      assert.deepEqual(
        slowed,
        slowed.toSorted((a, b) => a - b),
      );
      assert.ok((slowed[0] ?? 0) > 0 && (slowed.at(-1) ?? 0) > (slowed[0] ?? 0));
      assert.equal(slowed.at(-1), slowed.at(-2), 'the wait grows without end');

      assert.deepEqual(await from('192.0.2.1', ACME), []);
      assert.deepEqual(await from('192.0.2.2', 'nobody'), []);
      assert.deepEqual(await from('192.0.2.2', ACME), []);
      assert.deepEqual(await from('192.0.2.1', 'nobody'), [slowed.at(-1)]);
      service.clock.now += 24 * 3_600_000;
      assert.deepEqual(await from('192.0.2.1', 'nobody'), [], 'it is forgotten in time');
    } finally {
      await service.stop();
    }
  });

  test('failures count together whatever the protocol and operation', async () => {
    const service = await startService(engine);
    try {
      for (let round = 0; round < 3; round++) {
        for (const protocol of PROTOCOLS) {
          for (const [group, operation, args] of CALLS) {
            await service.call(protocol, group, operation, { user_id: 'nobody', ...args });
          }
        }
      }
      assert.ok(service.slept.length > 0);
    } finally {
      await service.stop();
    }
  });

  test('a request that fails for another reason does not count as a failed identification', async () => {
    const service = await startService(engine);
    try {
      for (let failure = 0; failure < 40; failure++) {
        const answer = await service.call('get', 'inbox', 'Unread', { user_id: ACME, max_count: -1 });
        assertProblem('get', answer, 'bad-argument', /^max_count: /);
      }
      assert.deepEqual(service.slept, []);
    } finally {
      await service.stop();
    }
  });
});

/** One of each group, with what they would change. */
const CALLS: readonly (readonly [group: string, operation: string, args: Arguments])[] = [
  ['account', 'SaveMessageTemplate', { message: 'never saved' }],
  ['inbox', 'DeleteAllMessages', {}],
  ['sent', 'MarkMessageAsRead', { id: 2002 }],
  ['compose', 'DeleteAllScheduled', {}],
];
