import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { accountChanges } from '../../support/account-changes.ts';
import { adopt, exportOf, inEveryProtocol } from '../../support/contract-client.ts';
import { onOneEngine } from '../../support/engines.ts';
import { requestOf } from '../../support/protocols.ts';
import { ACME, GLOBEX, startService } from '../../support/service.ts';
import { CALLS } from '../../support/serving.ts';

const DENIED = { kind: 'denied', message: 'The user_id is not valid.' };

onOneEngine('identity', (engine) => {
  inEveryProtocol(engine, 'a user_id gives access to its account, and to no other', async (client) => {
    assert.equal((await client.ask('account', 'Profile'))?.username, 'acme');
    assert.equal((await client.as(GLOBEX).ask('account', 'Profile'))?.username, 'globex');
    const acme = await exportOf(client.service.app, 'acme');
    assert.equal(await client.as(GLOBEX).ask('inbox', 'DeleteAllMessages'), true);
    assert.equal(await exportOf(client.service.app, 'acme'), acme);
  });

  inEveryProtocol(engine, 'an existing user_id of any format up to 128 characters can be imported', async (client) => {
    for (const [index, userID] of ['7', 'x'.repeat(128), "O'Brien & <Söhne> %41+1", ' blanks '].entries()) {
      await adopt(client.service.app, { userID, username: `shape-${index}` });
      assert.equal((await client.as(userID).ask('account', 'Profile'))?.username, `shape-${index}`);
    }
    assert.deepEqual(await client.as('blanks').refused('account', 'Profile'), DENIED);
  });

  inEveryProtocol(engine, 'an account can have several user_ids, and each can be revoked', async (client) => {
    const accounts = accountChanges(client.service.app);
    const { userId: second } = await accounts.rotateUserId('acme', false);
    const { userId: third } = await accounts.rotateUserId('acme', false);
    for (const userId of [ACME, second, third]) assert.ok(await client.as(userId).ask('account', 'Profile'));
    const { credentials } = await accounts.show('acme');
    await accounts.revokeUserId('acme', credentials.at(-1)?.hash as string);
    const valid: string[] = [];
    for (const userId of [ACME, second, third]) {
      if ((await client.as(userId).raw('account', 'Profile')).status === 200) valid.push(userId);
      else assert.deepEqual(await client.as(userId).refused('account', 'Profile'), DENIED);
    }
    assert.equal(valid.length, 2);
    const { userId: last, revoked } = await accounts.rotateUserId('acme', true);
    assert.equal(revoked, 2);
    for (const userId of [ACME, second, third]) {
      assert.deepEqual(await client.as(userId).refused('account', 'Profile'), DENIED);
    }
    assert.ok(await client.as(last).ask('account', 'Profile'));
  });

  inEveryProtocol(engine, 'a new user_id is random, a UUID v4', async (client) => {
    const { userId } = await accountChanges(client.service.app).rotateUserId('acme', false);
    const { userId: other } = await accountChanges(client.service.app).rotateUserId('acme', false);
    for (const text of [userId, other]) {
      assert.match(text, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    }
    assert.notEqual(userId, other);
  });

  inEveryProtocol(
    engine,
    'an unknown, missing, empty, too long or revoked user_id and a disabled account get the same answer, byte by byte',
    async (client) => {
      const accounts = accountChanges(client.service.app);
      await accounts.setEnabled('globex', false);
      const { userId: revoked } = await accounts.rotateUserId('acme', false);
      await accounts.revokeUserId('acme', (await accounts.show('acme')).credentials.at(-1)?.hash as string);
      const { status, headers, text } = await client.as('unknown').raw('account', 'Profile');
      assert.deepEqual(await client.as('unknown').refused('account', 'Profile'), DENIED);
      for (const user_id of [null, '', ACME.toUpperCase(), ` ${ACME}`, `${ACME}x`, 'x'.repeat(129), revoked, GLOBEX]) {
        const answer = await client.raw('account', 'Profile', { user_id });
        assert.deepEqual([answer.status, answer.headers, answer.text], [status, headers, text], `${user_id}`);
      }
      assert.ok(!text.includes('unknown'));
      await accounts.setEnabled('globex', true);
      assert.ok(await client.as(GLOBEX).ask('account', 'Profile'));
    },
  );

  inEveryProtocol(
    engine,
    'every operation denies an unknown user_id, and never returns false or an empty list',
    async (client) => {
      const before = await exportOf(client.service.app);
      for (const [group, operation, args] of CALLS) {
        assert.deepEqual(await client.as('nobody').refused(group, operation, args), DENIED, operation);
      }
      assert.equal(await exportOf(client.service.app), before);
    },
  );

  test('only calls with an unknown user_id are counted per client address and delayed', async () => {
    const service = await startService(engine);
    const call = (user_id: string, client: string) =>
      service.send({ ...requestOf('get', 'inbox', 'CountRead', { user_id }), client });
    try {
      for (let count = 0; count < 10; count++) await call(`guess ${count}`, '192.0.2.1');
      assert.equal(service.slept.length, 0);
      for (let count = 0; count < 8; count++) await call(`guess ${count}`, '192.0.2.1');
      assert.equal(service.slept.length, 8);
      assert.deepEqual(
        service.slept,
        service.slept.toSorted((a, b) => a - b),
      );
      assert.ok(Number(service.slept[0]) > 0 && Number(service.slept.at(-1)) > Number(service.slept[0]));

      assert.equal((await call(ACME, '192.0.2.1')).status, 200);
      assert.equal((await call('guess', '192.0.2.2')).status, 403);
      assert.equal(service.slept.length, 8);
    } finally {
      await service.stop();
    }
  });

  inEveryProtocol(engine, 'AccountDetail.userID is the user_id that the call presented', async (client) => {
    const { userId } = await accountChanges(client.service.app).rotateUserId('acme', false);
    for (const presented of [ACME, userId]) {
      assert.equal((await client.as(presented).ask('account', 'Profile'))?.userID, presented);
    }
  });

  inEveryProtocol(engine, 'AccountDetail.password is always present, always the empty string', async (client) => {
    const without = await client.newcomer({});
    for (const one of [client, without]) assert.equal((await one.ask('account', 'Profile'))?.password, '');
    assert.match((await client.raw('account', 'Profile')).text, /<password \/>/);
    const { passwordHash } = JSON.parse(await client.exported());
    assert.match(passwordHash, /^\$argon2id\$/);
  });

  inEveryProtocol(
    engine,
    'datetimeLastLoggedIn is the last console login, and the time of creation until there was one',
    async (client) => {
      assert.equal((await client.ask('account', 'Profile'))?.datetimeLastLoggedIn, '2026-10-31T08:15:00Z');
      const datetimeCreated = '2020-02-29T12:00:00.5Z';
      const profile = await (await client.newcomer({ datetimeCreated })).ask('account', 'Profile');
      assert.deepEqual([profile?.datetimeCreated, profile?.datetimeLastLoggedIn], [datetimeCreated, datetimeCreated]);
    },
  );

  inEveryProtocol(
    engine,
    'credits and usedCredits have 64 bits, and an import accepts any int as transmissionPriority and tag',
    async (client) => {
      for (const numbers of [
        {
          credits: '9223372036854775807',
          usedCredits: '9007199254740993',
          transmissionPriority: '2147483647',
          tag: '-2147483648',
        },
        { credits: '-9223372036854775808', usedCredits: '0', transmissionPriority: '-1', tag: '2147483647' },
      ]) {
        const profile = await (await client.newcomer(numbers)).ask('account', 'Profile');
        for (const [name, value] of Object.entries(numbers)) assert.equal(profile?.[name], value);
      }
    },
  );

  test('an export contains a user_id only as SHA-256 and a password only as argon2id', async () => {
    const service = await startService(engine);
    try {
      const text = await exportOf(service.app);
      for (const secret of [ACME, GLOBEX, 'correct horse battery staple', 'another long password']) {
        assert.ok(!text.includes(secret));
      }
      for (const userId of [ACME, GLOBEX]) {
        assert.ok(text.includes(`"sha256":"${createHash('sha256').update(userId).digest('hex')}"`));
      }
      assert.equal(text.match(/"passwordHash":"\$argon2id\$/g)?.length, 2);
    } finally {
      await service.stop();
    }
  });
});
