import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { contract } from '../../../src/asmx/contract/contract.ts';
import { adopt, clientOf, exportOf, inEveryProtocol, protocolsFor } from '../../support/contract-client.ts';
import { onOneEngine, SAMPLE } from '../../support/engines.ts';
import type { Arguments } from '../../support/protocols.ts';
import { GLOBEX, startService } from '../../support/service.ts';

/** Parameters that name nothing in an account: who calls, when, how many, and a text that goes with another. */
const NAMELESS = new Set(['user_id', 'from', 'to', 'max', 'max_count', 'sample_message']);

const named = Object.entries(contract).flatMap(([group, operations]) =>
  Object.entries(operations)
    .filter(([, { parameters }]) => Object.keys(parameters).some((name) => !NAMELESS.has(name)))
    .map(([operation, { parameters }]) => ({ name: `${group}.${operation}`, parameters: Object.keys(parameters) })),
);

/**
 * Calls of globex's with something of acme's, and the same calls with something that nobody has. Contact 201 and group 10
 * are globex's own.
 */
interface Case {
  readonly foreign: Arguments;
  readonly unknown: Arguments;
}
const TEMPLATE = 'Your order is ready for collection.';
const CASES: Readonly<Record<string, readonly Case[]>> = {
  'account.FetchContactsByGroupId': [{ foreign: { groupid: 1 }, unknown: { groupid: 99 } }],
  'account.FetchContactsByGroupIdDS': [{ foreign: { groupid: 1 }, unknown: { groupid: 99 } }],
  'account.FetchContact': [{ foreign: { mobile: '+27825550204' }, unknown: { mobile: '+27825559999' } }],
  'account.LookupContact': [{ foreign: { mobile: '+27825550204' }, unknown: { mobile: '+27825559999' } }],
  'account.RemoveContactFromGroup': [
    { foreign: { contact_id: [101], group_id: 1 }, unknown: { contact_id: [999], group_id: 99 } },
    { foreign: { contact_id: [101], group_id: 10 }, unknown: { contact_id: [999], group_id: 10 } },
    { foreign: { contact_id: [201], group_id: 1 }, unknown: { contact_id: [201], group_id: 99 } },
    { foreign: { contact_id: [201, 101], group_id: 10 }, unknown: { contact_id: [201, 999], group_id: 10 } },
  ],
  'account.MoveContactToNewGroup': [
    { foreign: { contact_id: [101], group_id: 3 }, unknown: { contact_id: [999], group_id: 99 } },
    { foreign: { contact_id: [101], group_id: 10 }, unknown: { contact_id: [999], group_id: 10 } },
    { foreign: { contact_id: [201], group_id: 3 }, unknown: { contact_id: [201], group_id: 99 } },
    { foreign: { contact_id: [201, 101], group_id: 10 }, unknown: { contact_id: [201, 999], group_id: 10 } },
  ],
  'account.DeleteContact': [
    { foreign: { contact_id: [101] }, unknown: { contact_id: [999] } },
    { foreign: { contact_id: [201, 101] }, unknown: { contact_id: [201, 999] } },
  ],
  'account.DeleteContactsById': [{ foreign: { id: 101 }, unknown: { id: 999 } }],
  'account.SaveMessageTemplate': [{ foreign: { message: TEMPLATE }, unknown: { message: 'Nobody has this.' } }],
  'account.DeleteMessageTemplate': [{ foreign: { message: TEMPLATE }, unknown: { message: 'Nobody has this.' } }],
  'account.BlackListNumber': [
    {
      foreign: { mobile: '+27825550202', sample_message: 'x' },
      unknown: { mobile: '+27825559999', sample_message: 'x' },
    },
    {
      foreign: { mobile: '+27825550666', sample_message: 'x' },
      unknown: { mobile: '+27825559999', sample_message: 'x' },
    },
  ],
  'inbox.MarkMessageAsRead': [{ foreign: { message_id: '1003' }, unknown: { message_id: '999' } }],
  'inbox.DeleteMessage': [{ foreign: { message_id: '1003' }, unknown: { message_id: '999' } }],
  'sent.MarkMessageAsRead': [{ foreign: { id: 2002 }, unknown: { id: 999 } }],
  'sent.DeleteSentMessage': [{ foreign: { message_id: '2002' }, unknown: { message_id: '999' } }],
  'compose.DeleteScheduledMessage': [{ foreign: { message_id: '3002' }, unknown: { message_id: '999' } }],
};

/** What changes an account when its owner calls it with its own things: everything that there is, in an order that works. */
const CHANGES: readonly [group: string, operation: string, args: Arguments][] = [
  ['account', 'MoveContactToNewGroup', { contact_id: [101, 104], group_id: '3' }],
  ['account', 'RemoveContactFromGroup', { contact_id: [102], group_id: '1' }],
  ['account', 'DeleteContact', { contact_id: [103, 105] }],
  ['account', 'DeleteContactsById', { id: 106 }],
  ['account', 'SaveMessageTemplate', { message: 'one more' }],
  ['account', 'DeleteMessageTemplate', { message: TEMPLATE }],
  ['account', 'BlackListNumber', { mobile: '+27825550202', sample_message: 'x' }],
  ['inbox', 'MarkMessageAsRead', { message_id: '1003' }],
  ['inbox', 'DeleteMessage', { message_id: '1004' }],
  ['inbox', 'DeleteAllMessages', {}],
  ['sent', 'MarkMessageAsRead', { id: 2002 }],
  ['sent', 'DeleteSentMessage', { message_id: '2003' }],
  ['compose', 'DeleteScheduledMessage', { message_id: '3001' }],
  ['compose', 'DeleteAllScheduled', {}],
];

onOneEngine("another account's id in a parameter", (engine) => {
  test('every operation of the contract that names something is in the table, with every parameter it has', () => {
    assert.deepEqual(Object.keys(CASES).sort(), named.map(({ name }) => name).sort());
    for (const { name, parameters } of named) {
      for (const { foreign, unknown } of CASES[name] ?? []) {
        assert.deepEqual(Object.keys({ user_id: '', ...foreign }).sort(), [...parameters].sort(), name);
        assert.deepEqual(Object.keys(unknown), Object.keys(foreign));
      }
    }
  });

  for (const [name, cases] of Object.entries(CASES)) {
    const [group = '', operation = ''] = name.split('.');
    for (const { foreign, unknown } of cases) {
      test(`${name} ${JSON.stringify(foreign)} is answered as if it did not exist, and the other account stays`, async () => {
        const service = await startService(engine);
        try {
          for (const protocol of protocolsFor(engine)) {
            const globex = clientOf(service, protocol, GLOBEX, 'globex');
            const [acmeBefore, globexBefore] = [await exportOf(service.app, 'acme'), await globex.exported()];
            const answer = await globex.raw(group, operation, foreign);
            assert.equal(await exportOf(service.app, 'acme'), acmeBefore, protocol);

            const expected = await globex.raw(group, operation, unknown);
            assert.equal(answer.status, 200, answer.text);
            assert.deepEqual(
              [answer.status, answer.headers, answer.text],
              [expected.status, expected.headers, expected.text],
            );
            // These two put what they are given into the caller's own account; all others find nothing and change nothing.
            if (!/SaveMessageTemplate|BlackListNumber/.test(operation)) {
              assert.equal(await globex.exported(), globexBefore, protocol);
            }
          }
        } finally {
          await service.stop();
        }
      });
    }
  }

  inEveryProtocol(
    engine,
    'an account in which everything has the same ids is not touched by any change to the first',
    async (client) => {
      const { password: _, ...acme } = JSON.parse(readFileSync(SAMPLE, 'utf8')).accounts[0];
      acme.scheduled.push({ ...acme.scheduled[0], id: '3003' });
      const first = await client.newcomer({ ...acme, userID: 'the first', username: 'first' });
      await adopt(client.service.app, { ...acme, userID: 'the twin', username: 'twin' });
      const twin = await exportOf(client.service.app, 'twin');
      const changing = Object.entries(contract).flatMap(([group, operations]) =>
        Object.entries(operations)
          .filter(([, { result }]) => result.kind === 'scalar' && result.name === 'boolean')
          .map(([operation]) => `${group}.${operation}`),
      );
      assert.deepEqual(CHANGES.map(([group, operation]) => `${group}.${operation}`).sort(), changing.sort());
      for (const [group, operation, args] of CHANGES) {
        const before = await first.exported();
        const { text } = await first.raw(group, operation, args);
        assert.match(text, />true</, operation);
        assert.notEqual(await first.exported(), before, operation);
        assert.equal(await exportOf(client.service.app, 'twin'), twin, operation);
      }
    },
  );
});
