import assert from 'node:assert/strict';
import { type Client, type DataSetReading, inEveryProtocol, type Row } from '../../support/contract-client.ts';
import { onOneEngine } from '../../support/engines.ts';

const ALL = { from: '0001-01-01T00:00:00Z', to: '9999-12-31T23:59:59Z' };

/** The operations with a cap, and the ids (or what stands for them) of what they list, in order. */
const CAPPED = [
  {
    operation: 'inbox.Read',
    cap: 'max_count',
    list: async (client: Client, max_count: number) => idsOf(await client.ask('inbox', 'Read', { ...ALL, max_count })),
    sample: ['1001', '1002', '1003', '1004', '1005', '9007199254740993'],
  },
  {
    operation: 'inbox.Unread',
    cap: 'max_count',
    list: async (client: Client, max_count: number) => idsOf(await client.ask('inbox', 'Unread', { max_count })),
    sample: ['1003', '1004', '1005', '9007199254740993'],
  },
  {
    operation: 'inbox.InboxDS',
    cap: 'max_count',
    list: async (client: Client, max_count: number) =>
      idsOf((await client.ask('inbox', 'InboxDS', { max_count })).rows),
    sample: ['9007199254740993', '1005', '1004', '1003', '1002', '1001'],
  },
  {
    operation: 'sent.FetchUnmarkedDeliveryStatus',
    cap: 'max',
    list: async (client: Client, max: number) =>
      (await client.ask('sent', 'FetchUnmarkedDeliveryStatus', { max })).map((status) => status.user_message_id),
    sample: ['order-2', 'order-3', '2004'],
  },
  {
    operation: 'sent.FetchSentDS',
    cap: 'max',
    list: async (client: Client, max: number) => idsOf((await client.ask('sent', 'FetchSentDS', { max })).rows),
    sample: ['2004', '2003', '2002', '2001'],
  },
  {
    operation: 'compose.FetchScheduledDS',
    cap: 'max',
    list: async (client: Client, max: number) => idsOf((await client.ask('compose', 'FetchScheduledDS', { max })).rows),
    sample: ['3001', '3002'],
  },
] as const;

const idsOf = (rows: readonly Row[]) => rows.map(({ id }) => id);

onOneEngine('results that are lists', (engine) => {
  for (const { operation, cap, list, sample } of CAPPED) {
    const [group = '', name = ''] = operation.split('.');

    inEveryProtocol(
      engine,
      `${operation} returns the first ${cap} items of its order, or all if there are fewer`,
      async (client) => {
        for (let count = 1; count <= sample.length + 1; count++) {
          assert.deepEqual(await list(client, count), sample.slice(0, count));
        }
      },
    );

    inEveryProtocol(engine, `${operation} with ${cap} 0 returns nothing`, async (client) => {
      assert.deepEqual(await list(client, 0), []);
    });

    inEveryProtocol(engine, `${operation} with a negative ${cap} is an error`, async (client) => {
      for (const negative of ['-1', '-2147483648']) {
        assert.deepEqual(await client.refused(group, name, { ...ALL, [cap]: negative }), {
          kind: 'bad-argument',
          message: `${cap}: must not be negative`,
        });
      }
    });

    inEveryProtocol(
      engine,
      `${operation} with a ${cap} above the limit of the service returns as many items as the limit`,
      async (client) => {
        for (const above of [2, 3, 2_147_483_647]) assert.deepEqual(await list(client, above), sample.slice(0, 1));
      },
      { listLimit: 1 },
    );
  }

  inEveryProtocol(
    engine,
    'Read and Unread return the oldest messages first by timestamp, then by id',
    async (client) => {
      const owner = await client.newcomer({
        inbox: SHUFFLED.map(([id, timestamp]) => ({ id, timestamp, read: false })),
      });
      const oldestFirst = ['-5', '9', '10', '2', '1'];
      assert.deepEqual(idsOf(await owner.ask('inbox', 'Unread', { max_count: 9 })), oldestFirst);
      assert.deepEqual(idsOf(await owner.ask('inbox', 'Read', { ...ALL, max_count: 9 })), oldestFirst);
    },
  );

  inEveryProtocol(engine, 'InboxDS returns the newest messages first by timestamp, then by id', async (client) => {
    const owner = await client.newcomer({
      inbox: SHUFFLED.map(([id, timestamp], index) => ({ id, timestamp, read: index % 2 === 0 })),
    });
    const { rows } = await owner.ask('inbox', 'InboxDS', { max_count: 9 });
    assert.deepEqual(idsOf(rows), ['1', '2', '10', '9', '-5']);
  });

  inEveryProtocol(
    engine,
    'FetchUnmarkedDeliveryStatus returns the oldest change first, and FetchSentDS the newest message',
    async (client) => {
      const sent = SHUFFLED.map(([id, timestamp_updated], index) => ({
        id,
        timestamp_updated,
        marked: false,
        delivery_status: 'DELIVERED',
        timestamp_sent: `2026-01-0${[3, 1, 1, 2, 4][index]}T00:00:00Z`,
      }));
      const owner = await client.newcomer({ sent });
      const unmarked = await owner.ask('sent', 'FetchUnmarkedDeliveryStatus', { max: 9 });
      assert.deepEqual(
        unmarked.map(({ user_message_id }) => user_message_id),
        ['-5', '9', '10', '2', '1'],
      );
      const { rows } = await owner.ask('sent', 'FetchSentDS', { max: 9 });
      assert.deepEqual(idsOf(rows), ['-5', '2', '1', '10', '9']);
    },
  );

  inEveryProtocol(
    engine,
    'FetchScheduledDS returns the message that is due soonest first, then by id',
    async (client) => {
      const scheduled = SHUFFLED.map(([id, timestamp_scheduled]) => ({
        id,
        timestamp_scheduled,
        timestamp_created: '2026-01-01T00:00:00Z',
      }));
      const owner = await client.newcomer({ scheduled });
      const { rows } = await owner.ask('compose', 'FetchScheduledDS', { max: 9 });
      assert.deepEqual(idsOf(rows), ['-5', '9', '10', '2', '1']);
    },
  );

  inEveryProtocol(engine, 'contacts and groups are ordered by id, numerically', async (client) => {
    const ids = [100, 9, -1, 10, 2];
    const owner = await client.newcomer({
      groups: ids.map((id) => ({ id })),
      contacts: ids.map((id) => ({ id, groupid: 9 })),
    });
    const numerically = ['-1', '2', '9', '10', '100'];
    assert.deepEqual(idsOf(await owner.ask('account', 'FetchGroups')), numerically);
    assert.deepEqual(idsOf(await owner.ask('account', 'FetchContacts')), numerically);
    assert.deepEqual(idsOf((await owner.ask('account', 'FetchContactsDS')).rows), numerically);
    const groupid = 9;
    assert.deepEqual(idsOf(await owner.ask('account', 'FetchContactsByGroupId', { groupid })), numerically);
    assert.deepEqual(idsOf((await owner.ask('account', 'FetchContactsByGroupIdDS', { groupid })).rows), numerically);
  });

  inEveryProtocol(
    engine,
    'templates are listed in the order in which they were saved, and one that is deleted and saved again comes last',
    async (client) => {
      const owner = await client.newcomer({ templates: ['b', 'a'] });
      const save = (message: string) => owner.ask('account', 'SaveMessageTemplate', { message });
      await save('c');
      await save('b');
      await owner.ask('account', 'DeleteMessageTemplate', { message: 'a' });
      await save('0');
      await save('a');
      assert.deepEqual(await owner.ask('account', 'FetchSavedMessages'), ['b', 'c', '0', 'a']);
    },
  );

  inEveryProtocol(
    engine,
    'FetchContact and LookupContact return null if they find nobody: no Result element, or xsi:nil',
    async (client) => {
      const XSI = 'xmlns:xsd="http://www.w3.org/2001/XMLSchema" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"';
      for (const operation of ['FetchContact', 'LookupContact'] as const) {
        for (const mobile of ['+27825559999', 'nobody', '', null]) {
          assert.equal(await client.ask('account', operation, { mobile }), null);
          const { text } = await client.raw('account', operation, { mobile });
          const expected = client.protocol.startsWith('soap')
            ? `<soap:Body><${operation}Response xmlns="http://sms.example/api" /></soap:Body>`
            : `\n<Contact ${XSI} xsi:nil="true" xmlns="http://sms.example/api" />`;
          assert.ok(text.includes(expected), text);
        }
      }
    },
  );

  inEveryProtocol(
    engine,
    'an empty list is an empty element, and an empty DataSet has its schema and an empty diffgram',
    async (client) => {
      const nobody = await client.newcomer({});
      assert.deepEqual(await nobody.ask('account', 'FetchContacts'), []);
      assert.deepEqual(await nobody.ask('account', 'FetchGroups'), []);
      assert.deepEqual(await nobody.ask('account', 'FetchSavedMessages'), []);
      for (const { list } of CAPPED) assert.deepEqual(await list(nobody, 10), []);
      for (const empty of [
        await nobody.raw('account', 'FetchContactsDS'),
        await nobody.raw('inbox', 'InboxDS', { max_count: 10 }),
        await nobody.raw('sent', 'FetchSentDS', { max: 10 }),
        await nobody.raw('compose', 'FetchScheduledDS', { max: 10 }),
      ]) {
        assert.match(empty.text, /<\/xs:schema>\s*<diffgr:diffgram [^>]* \/>\s*<\//);
        assert.ok(!empty.text.includes('<NewDataSet'));
      }
      const schemaOf = ({ columns }: DataSetReading) => columns;
      assert.deepEqual(
        schemaOf(await nobody.ask('inbox', 'InboxDS', { max_count: 10 })),
        schemaOf(await client.ask('inbox', 'InboxDS', { max_count: 10 })),
      );
    },
  );
});

/** Two at one moment, and ids that texts would order otherwise than numbers. */
const SHUFFLED = [
  [2, '2026-03-01T00:00:00.002Z'],
  [10, '2026-02-01T00:00:00Z'],
  [9, '2026-02-01T00:00:00Z'],
  [1, '2026-03-01T00:00:00.010Z'],
  [-5, '2026-01-31T23:59:59.999Z'],
] as const;
