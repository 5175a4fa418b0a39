import assert from 'node:assert/strict';
import { type Client, inEveryProtocol } from '../../support/contract-client.ts';
import { onEveryEngine } from '../../support/engines.ts';
import type { Arguments } from '../../support/protocols.ts';

const block = (client: Client, mobile: string, more: Arguments = { sample_message: 'STOP' }) =>
  client.ask('account', 'BlackListNumber', { mobile, ...more });

async function account(client: Client) {
  return JSON.parse(await client.exported()) as {
    credits: string;
    blacklist: { mobile: string; sample_message?: string; timestamp: string }[];
    scheduled: { id: string }[];
    inbox: unknown[];
    sent: unknown[];
    contacts: unknown[];
  };
}

onEveryEngine('the blacklist', (engine) => {
  inEveryProtocol(
    engine,
    'BlackListNumber stores the number as given, the sample_message and the time',
    async (client) => {
      client.service.clock.now = Date.UTC(2026, 11, 24, 18, 30, 0, 5);
      assert.equal(await block(client, ' 082 555-0777', { sample_message: 'STOP & <go> 😀' }), true);
      assert.equal(await block(client, '+27825550778', { sample_message: null }), true);
      assert.equal(await block(client, '+27825550779', { sample_message: '' }), true);
      const timestamp = '2026-12-24T18:30:00.005Z';
      assert.deepEqual((await account(client)).blacklist.slice(1), [
        { mobile: ' 082 555-0777', sample_message: 'STOP & <go> 😀', timestamp },
        { mobile: '+27825550778', timestamp },
        { mobile: '+27825550779', sample_message: '', timestamp },
      ]);
    },
  );

  inEveryProtocol(
    engine,
    'BlackListNumber recognises a number in every notation, and the same number again changes nothing',
    async (client) => {
      await block(client, '+27825550777');
      const before = await client.exported();
      for (const mobile of ['0825550777', '0027 82 555 0777', '+27825550777 ', '0825550666']) {
        assert.equal(await block(client, mobile, { sample_message: 'other' }), true);
      }
      assert.equal(await client.exported(), before);
    },
  );

  inEveryProtocol(engine, 'BlackListNumber accepts any text with a digit, as the old server did', async (client) => {
    for (const mobile of ['2.78E+10', 'x1']) assert.equal(await block(client, mobile), true);
  });

  inEveryProtocol(engine, 'BlackListNumber of a text without a digit is an error', async (client) => {
    const before = await client.exported();
    for (const mobile of ['', 'STOP', '+', '   ', null]) {
      assert.deepEqual(await client.refused('account', 'BlackListNumber', { mobile, sample_message: 'x' }), {
        kind: 'bad-argument',
        message: 'mobile: a phone number has at least one digit',
      });
    }
    assert.equal(await client.exported(), before);
  });

  inEveryProtocol(
    engine,
    'BlackListNumber cancels the scheduled messages to that number and returns their credits',
    async (client) => {
      const time = '2031-01-01T00:00:00Z';
      const to = (id: number, recipient: string, message: string) => ({
        id,
        recipient,
        message,
        timestamp_scheduled: time,
        timestamp_created: time,
      });
      const owner = await client.newcomer({
        region: 'ZA',
        credits: 100,
        scheduled: [
          to(1, '+27825550201', 'x'),
          to(2, '0825550201', 'x'.repeat(161)),
          to(3, '+27825550202', 'x'),
          to(4, '082 555 0201', 'é€ü'),
        ],
      });
      assert.equal(await block(owner, '0027825550201'), true);
      const after = await account(owner);
      assert.deepEqual(
        after.scheduled.map(({ id }) => id),
        ['3'],
      );
      assert.equal(after.credits, '104');
      assert.equal((await owner.ask('account', 'Profile'))?.credits, '104');
    },
  );

  inEveryProtocol(
    engine,
    'BlackListNumber keeps received messages, sent ones and the contact of that number',
    async (client) => {
      const before = await account(client);
      assert.equal(await block(client, '+27825550203'), true);
      const after = await account(client);
      assert.deepEqual(after.inbox, before.inbox);
      assert.deepEqual(after.sent, before.sent);
      assert.deepEqual(after.contacts, before.contacts);
      assert.deepEqual(after.scheduled, before.scheduled);
      assert.equal(after.credits, before.credits);
      assert.equal(after.blacklist.length, before.blacklist.length + 1);
    },
  );

  inEveryProtocol(
    engine,
    'BlackListNumber refuses a text that is too long for a key of the database',
    async (client) => {
      const { kind } = await client.refused('account', 'BlackListNumber', {
        mobile: `1${'é'.repeat(3_000)}`,
        sample_message: '',
      });
      assert.equal(kind, 'bad-argument');
      assert.equal((await account(client)).blacklist.length, 1);
    },
  );
});
