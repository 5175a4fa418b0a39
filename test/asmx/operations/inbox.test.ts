import assert from 'node:assert/strict';
import { type Client, inEveryProtocol } from '../../support/contract-client.ts';
import { onEveryEngine } from '../../support/engines.ts';

const EVERYTHING = { from: '0001-01-01T00:00:00Z', to: '9999-12-31T23:59:59Z', max_count: 100 };

const counts = async (client: Client) => [
  await client.ask('inbox', 'CountRead'),
  await client.ask('inbox', 'CountUnread'),
];

/** The same message ids under notations that a number may have, and texts that hold none. */
const NO_NUMBERS = [
  'x',
  '',
  ' ',
  '1003x',
  '1003.0',
  '0x3EB',
  '1e3',
  '１００３',
  '9223372036854775808',
  '99999999999999999999',
];

onEveryEngine('the inbox', (engine) => {
  const read = async (client: Client, from: string, to: string) =>
    (await client.ask('inbox', 'Read', { from, to, max_count: 100 })).map(({ id }) => id);

  inEveryProtocol(
    engine,
    'Read lists messages with from ≤ timestamp ≤ to, both ends included to the millisecond, read or unread',
    async (client) => {
      assert.deepEqual(await read(client, '2026-10-01T09:30:00.250Z', '2026-10-02T10:45:30Z'), ['1002', '1003']);
      assert.deepEqual(await read(client, '2026-10-01T09:30:00.251Z', '2026-10-02T10:45:29.999Z'), []);
      assert.deepEqual(await read(client, '2026-10-01T09:30:00.250Z', '2026-10-01T09:30:00.250Z'), ['1002']);
      assert.deepEqual(await read(client, '2026-10-01T11:30:00.25+02:00', '2026-10-01T09:30:00.250'), ['1002']);
    },
  );

  inEveryProtocol(engine, 'Read with from > to is an empty list', async (client) => {
    assert.deepEqual(await read(client, '2026-10-05T00:00:00Z', '2026-10-01T00:00:00Z'), []);
  });

  inEveryProtocol(engine, 'reading, counting and fetching messages mark none of them', async (client) => {
    const before = await client.exported();
    await client.ask('inbox', 'Read', EVERYTHING);
    await client.ask('inbox', 'Unread', { max_count: 100 });
    await client.ask('inbox', 'InboxDS', { max_count: 100 });
    await client.ask('inbox', 'CountRead');
    await client.ask('inbox', 'CountUnread');
    await client.ask('sent', 'FetchUnmarkedDeliveryStatus', { max: 100 });
    await client.ask('sent', 'CountUnMarkedDeliveryStatus');
    await client.ask('sent', 'FetchSentDS', { max: 100 });
    await client.ask('compose', 'FetchScheduledDS', { max: 100 });
    await client.ask('account', 'Profile');
    await client.ask('account', 'FetchContacts');
    await client.ask('account', 'FetchSavedMessages');
    assert.equal(await client.exported(), before);
  });

  inEveryProtocol(
    engine,
    'CountRead and CountUnread add up to the whole inbox, whatever is marked and deleted',
    async (client) => {
      assert.deepEqual(await counts(client), [2n, 4n]);
      const steps = [
        ['MarkMessageAsRead', '1003', [3n, 3n]],
        ['MarkMessageAsRead', '1003', [3n, 3n]],
        ['DeleteMessage', '1003', [2n, 3n]],
        ['DeleteMessage', '1004', [2n, 2n]],
        ['MarkMessageAsRead', '1004', [2n, 2n]],
        ['MarkMessageAsRead', '9007199254740993', [3n, 1n]],
      ] as const;
      for (const [operation, message_id, expected] of steps) {
        await client.ask('inbox', operation, { message_id });
        assert.deepEqual(await counts(client), expected);
        const { rows } = await client.ask('inbox', 'InboxDS', { max_count: 100 });
        assert.equal(BigInt(rows.length), expected[0] + expected[1]);
      }
      await client.ask('inbox', 'DeleteAllMessages');
      assert.deepEqual(await counts(client), [0n, 0n]);
    },
  );

  inEveryProtocol(
    engine,
    'MarkMessageAsRead takes the message from Unread to read, and from no other list',
    async (client) => {
      assert.equal(await client.ask('inbox', 'MarkMessageAsRead', { message_id: '1004' }), true);
      const unread = await client.ask('inbox', 'Unread', { max_count: 100 });
      assert.deepEqual(
        unread.map(({ id }) => id),
        ['1003', '1005', '9007199254740993'],
      );
      assert.equal((await client.ask('inbox', 'Read', EVERYTHING)).length, 6);
      const { rows } = await client.ask('inbox', 'InboxDS', { max_count: 100 });
      assert.equal(rows.find(({ id }) => id === '1004')?.read, 'true');
      assert.equal(rows.find(({ id }) => id === '1005')?.read, 'false');
    },
  );

  inEveryProtocol(engine, 'DeleteMessage takes effect at once, and returns false the second time', async (client) => {
    assert.equal(await client.ask('inbox', 'DeleteMessage', { message_id: '1003' }), true);
    const left = await client.ask('inbox', 'Read', EVERYTHING);
    assert.deepEqual(
      left.map(({ id }) => id),
      ['1001', '1002', '1004', '1005', '9007199254740993'],
    );
    assert.equal(await client.ask('inbox', 'DeleteMessage', { message_id: '1003' }), false);
    assert.equal(await client.ask('inbox', 'MarkMessageAsRead', { message_id: '1003' }), false);
  });

  inEveryProtocol(
    engine,
    'DeleteAllMessages returns true and leaves no message, also when there was none',
    async (client) => {
      for (let round = 0; round < 2; round++) {
        assert.equal(await client.ask('inbox', 'DeleteAllMessages'), true);
        assert.deepEqual(await client.ask('inbox', 'Read', EVERYTHING), []);
      }
    },
  );

  inEveryProtocol(
    engine,
    'MarkMessageAsRead and DeleteMessage read message_id as a decimal number in any notation of it',
    async (client) => {
      for (const [message_id, left] of [
        [' 1003 ', 3n],
        ['+1004', 2n],
        ['0001005', 1n],
        ['9007199254740993', 0n],
      ] as const) {
        assert.equal(await client.ask('inbox', 'MarkMessageAsRead', { message_id }), true);
        assert.equal(await client.ask('inbox', 'CountUnread'), left);
        assert.equal(await client.ask('inbox', 'DeleteMessage', { message_id }), true);
      }
    },
  );

  inEveryProtocol(
    engine,
    'all four operations that take a message_id return false if it is no number',
    async (client) => {
      const before = await client.exported();
      for (const message_id of [...NO_NUMBERS, null]) {
        for (const [group, operation] of [
          ['inbox', 'MarkMessageAsRead'],
          ['inbox', 'DeleteMessage'],
          ['sent', 'DeleteSentMessage'],
          ['compose', 'DeleteScheduledMessage'],
        ] as const) {
          assert.equal(
            await client.ask(group, operation as never, { message_id }),
            false,
            `${operation} ${message_id}`,
          );
        }
      }
      assert.equal(await client.exported(), before);
    },
  );
});
