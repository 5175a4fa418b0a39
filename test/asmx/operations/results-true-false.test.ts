import assert from 'node:assert/strict';
import { inEveryProtocol, withoutChange } from '../../support/contract-client.ts';
import { onOneEngine } from '../../support/engines.ts';
import type { Arguments } from '../../support/protocols.ts';

type Case = readonly [group: 'account' | 'inbox' | 'sent' | 'compose', operation: string, args: Arguments];

const HELD_ALREADY: readonly Case[] = [
  ['inbox', 'MarkMessageAsRead', { message_id: '1003' }],
  ['inbox', 'MarkMessageAsRead', { message_id: '1001' }],
  ['sent', 'MarkMessageAsRead', { id: 2002 }],
  ['account', 'SaveMessageTemplate', { message: 'Saved twice' }],
  ['account', 'BlackListNumber', { mobile: '+27825550777', sample_message: 'again' }],
  ['account', 'MoveContactToNewGroup', { contact_id: [101, 104], group_id: '2' }],
  ['inbox', 'DeleteAllMessages', {}],
  ['compose', 'DeleteAllScheduled', {}],
];

/** Names things that are not there. */
const NOT_THERE: readonly Case[] = [
  ['inbox', 'MarkMessageAsRead', { message_id: '999' }],
  ['inbox', 'DeleteMessage', { message_id: '999' }],
  ['sent', 'MarkMessageAsRead', { id: 999 }],
  ['sent', 'DeleteSentMessage', { message_id: '999' }],
  ['compose', 'DeleteScheduledMessage', { message_id: '999' }],
  ['account', 'DeleteContact', { contact_id: [999] }],
  ['account', 'DeleteContactsById', { id: 999 }],
  ['account', 'DeleteMessageTemplate', { message: 'nobody saved this' }],
  ['account', 'MoveContactToNewGroup', { contact_id: [101], group_id: '999' }],
  ['account', 'MoveContactToNewGroup', { contact_id: [999], group_id: '1' }],
  ['account', 'RemoveContactFromGroup', { contact_id: [101], group_id: '999' }],
  ['account', 'RemoveContactFromGroup', { contact_id: [999], group_id: '1' }],
];

/** The operations that take a list of contacts, with a group in which 101 and 102 are. */
const LISTS: readonly [operation: 'DeleteContact' | 'MoveContactToNewGroup' | 'RemoveContactFromGroup', Arguments][] = [
  ['DeleteContact', {}],
  ['MoveContactToNewGroup', { group_id: '3' }],
  ['RemoveContactFromGroup', { group_id: '1' }],
];

const askAny = (client: Parameters<Parameters<typeof inEveryProtocol>[2]>[0], [group, operation, args]: Case) =>
  client.ask(group, operation as never, args) as Promise<unknown>;

onOneEngine('results that are true or false', (engine) => {
  for (const call of HELD_ALREADY) {
    const [group, operation] = call;
    inEveryProtocol(
      engine,
      `${group}.${operation} ${JSON.stringify(call[2])} returns true also the second time, and then changes nothing`,
      async (client) => {
        assert.equal(await askAny(client, call), true);
        const after = await client.exported();
        client.service.clock.now += 60_000;
        assert.equal(await askAny(client, call), true);
        assert.equal(await client.exported(), after);
      },
    );
  }

  for (const call of NOT_THERE) {
    const [group, operation, args] = call;
    withoutChange(
      engine,
      `${group}.${operation} ${JSON.stringify(args)} returns false for what the account does not have, and changes nothing`,
      async (client) => assert.equal(await askAny(client, call), false),
    );
  }

  for (const [operation, args] of LISTS) {
    inEveryProtocol(engine, `${operation} changes all contacts of its list`, async (client) => {
      assert.equal(await client.ask('account', operation, { ...args, contact_id: [101, 102] }), true);
      const contacts = await client.ask('account', 'FetchContacts');
      const groups = contacts.filter(({ id }) => id === '101' || id === '102').map(({ groupid }) => groupid);
      const expected = { DeleteContact: [], MoveContactToNewGroup: ['3', '3'] };
      assert.deepEqual(groups, operation === 'RemoveContactFromGroup' ? [undefined, undefined] : expected[operation]);
    });

    for (const bad of ['999', 'x', '']) {
      withoutChange(
        engine,
        `${operation} with ${bad || 'an empty text'} in its list returns false and changes none`,
        async (client) => {
          for (const contact_id of [
            [101, 102, bad],
            [bad, 101, 102],
          ]) {
            assert.equal(await client.ask('account', operation, { ...args, contact_id }), false);
          }
        },
      );
    }

    inEveryProtocol(engine, `${operation} counts duplicates once, however they are written`, async (client) => {
      const contact_id = ['101', '102', '101', '+101', ' 0102 '];
      assert.equal(await client.ask('account', operation, { ...args, contact_id }), true);
    });

    withoutChange(engine, `${operation} of an empty or missing list is an error`, async (client) => {
      for (const contact_id of [[], null]) {
        assert.deepEqual(await client.refused('account', operation, { ...args, contact_id }), {
          kind: 'bad-argument',
          message: 'contact_id: the list is missing or empty',
        });
      }
    });

    inEveryProtocol(engine, `${operation} takes 1000 items and not 1001`, async (client) => {
      const before = await client.exported();
      const items = [101, ...Array.from({ length: 1000 }, () => 102)];
      assert.deepEqual(await client.refused('account', operation, { ...args, contact_id: items }), {
        kind: 'bad-argument',
        message: 'contact_id: the list has more than 1000 items',
      });
      assert.equal(await client.exported(), before);
      assert.equal(await client.ask('account', operation, { ...args, contact_id: items.slice(0, 1000) }), true);
    });
  }

  inEveryProtocol(engine, '1000 different contacts are deleted in one call', async (client) => {
    const ids = Array.from({ length: 1000 }, (_, index) => index + 1);
    const owner = await client.newcomer({ contacts: ids.map((id) => ({ id })) });
    assert.equal(await owner.ask('account', 'DeleteContact', { contact_id: ids }), true);
    assert.deepEqual(await owner.ask('account', 'FetchContacts'), []);
  });
});
