import assert from 'node:assert/strict';
import { inEveryProtocol } from '../../support/contract-client.ts';
import { onOneEngine } from '../../support/engines.ts';

const CONTACTS = 'id name surname mobile groupid'.split(' ').map((name) => [name, 'string']);

onOneEngine('DataSets', (engine) => {
  inEveryProtocol(engine, 'every DataSet is called NewDataSet and has one table, Table', async (client) => {
    for (const { text } of [
      await client.raw('account', 'FetchContactsDS'),
      await client.raw('account', 'FetchContactsByGroupIdDS', { groupid: 1 }),
      await client.raw('inbox', 'InboxDS', { max_count: 10 }),
      await client.raw('sent', 'FetchSentDS', { max: 10 }),
      await client.raw('compose', 'FetchScheduledDS', { max: 10 }),
    ]) {
      assert.match(text, /<xs:schema id="NewDataSet" /);
      assert.deepEqual(
        [...text.matchAll(/<xs:element name="(\w+)"(?! msdata:DateTimeMode| type)/g)].map(([, name]) => name),
        ['NewDataSet', 'Table'],
      );
      const rows = [...text.matchAll(/<(\w+) diffgr:id="Table(\d+)" msdata:rowOrder="(\d+)">/g)];
      assert.ok(rows.length > 0);
      for (const [index, [, table, id, order]] of rows.entries()) {
        assert.deepEqual([table, id, order], ['Table', String(index + 1), String(index)]);
      }
    }
  });

  inEveryProtocol(
    engine,
    'FetchContactsDS and FetchContactsByGroupIdDS have the columns id, name, surname, mobile, groupid: string',
    async (client) => {
      const all = await client.ask('account', 'FetchContactsDS');
      const some = await client.ask('account', 'FetchContactsByGroupIdDS', { groupid: 2 });
      assert.deepEqual(all.columns, CONTACTS);
      assert.deepEqual(some.columns, CONTACTS);
      const chloe = { id: '104', name: 'Chloé', surname: "O'Brien <cc>", mobile: '+27825550204', groupid: '2' };
      assert.deepEqual(all.rows[3], chloe);
      assert.deepEqual(some.rows[0], chloe);
      assert.deepEqual([all.rows.length, some.rows.length], [6, 2]);
    },
  );

  inEveryProtocol(
    engine,
    'InboxDS has the columns id: long; sender, message, short_code: string; timestamp: dateTime; read: boolean',
    async (client) => {
      const { columns, rows } = await client.ask('inbox', 'InboxDS', { max_count: 10 });
      assert.deepEqual(columns, [
        ['id', 'long'],
        ['sender', 'string'],
        ['message', 'string'],
        ['short_code', 'string'],
        ['timestamp', 'dateTime'],
        ['read', 'boolean'],
      ]);
      assert.deepEqual(rows[4], {
        id: '1002',
        sender: '+27825550202',
        message: 'YES & <please> 😀 "quote"',
        short_code: '31000',
        timestamp: '2026-10-01T09:30:00.25Z',
        read: 'true',
      });
      assert.deepEqual(rows[1], {
        id: '1005',
        sender: '+27825550205',
        timestamp: '2026-10-03T11:00:00Z',
        read: 'false',
      });
    },
  );

  inEveryProtocol(
    engine,
    'FetchSentDS has the columns id: long; user_message_id, recipient, message, delivery_status: string; timestamp_sent, timestamp_updated: dateTime; marked: boolean',
    async (client) => {
      const { columns, rows } = await client.ask('sent', 'FetchSentDS', { max: 10 });
      assert.deepEqual(columns, [
        ['id', 'long'],
        ['user_message_id', 'string'],
        ['recipient', 'string'],
        ['message', 'string'],
        ['delivery_status', 'string'],
        ['timestamp_sent', 'dateTime'],
        ['timestamp_updated', 'dateTime'],
        ['marked', 'boolean'],
      ]);
      assert.deepEqual(rows[2], {
        id: '2002',
        user_message_id: 'order-2',
        recipient: '+27825550202',
        message: 'Your order 2 is ready.',
        delivery_status: 'DELIVERED',
        timestamp_sent: '2026-10-01T07:05:00Z',
        timestamp_updated: '2026-10-01T07:05:04.5Z',
        marked: 'false',
      });
    },
  );

  inEveryProtocol(
    engine,
    'FetchScheduledDS has the columns id: long; user_message_id, recipient, message: string; timestamp_scheduled, timestamp_created: dateTime',
    async (client) => {
      const { columns, rows } = await client.ask('compose', 'FetchScheduledDS', { max: 10 });
      assert.deepEqual(columns, [
        ['id', 'long'],
        ['user_message_id', 'string'],
        ['recipient', 'string'],
        ['message', 'string'],
        ['timestamp_scheduled', 'dateTime'],
        ['timestamp_created', 'dateTime'],
      ]);
      assert.deepEqual(rows[0], {
        id: '3001',
        user_message_id: 'promo-1',
        recipient: '+27825550201',
        message: 'Sale starts now!',
        timestamp_scheduled: '2031-01-01T06:00:00Z',
        timestamp_created: '2026-10-01T06:00:00Z',
      });
    },
  );

  inEveryProtocol(
    engine,
    'a column without value is left out, an empty text is an empty element, and blanks have xml:space="preserve"',
    async (client) => {
      const timestamp = '2026-01-01T00:00:00Z';
      const owner = await client.newcomer({
        inbox: [
          { id: 1, timestamp, read: true },
          { id: 2, timestamp, read: true, message: '' },
          { id: 3, timestamp, read: true, message: ' \t\n' },
        ],
      });
      const { rows } = await owner.ask('inbox', 'InboxDS', { max_count: 10 });
      assert.deepEqual(
        rows.map(({ message }) => message),
        [' \t\n', '', undefined],
      );
      const { text } = await owner.raw('inbox', 'InboxDS', { max_count: 10 });
      assert.match(text, /<message xml:space="preserve"> \t\n<\/message>/);
      assert.match(text, /<message \/>/);
    },
  );

  inEveryProtocol(engine, 'only a column of nothing but .NET white space has xml:space="preserve"', async (client) => {
    const timestamp = '2026-01-01T00:00:00Z';
    const blank = ['\u00A0', '\u3000', '\u2028', '\u0085', ' \u2009\u1680\u205F\u202F\u2029'];
    const other = ['\u200B', '\uFEFF', '\u180E', '\u2060', '\u00A0x'];
    const texts = [...blank, ...other];
    const inbox = texts.map((message, at) => ({ id: at + 1, timestamp, read: true, message }));
    const owner = await client.newcomer({ inbox });
    const { text } = await owner.raw('inbox', 'InboxDS', { max_count: 20 });
    const marked = [...text.matchAll(/<message( xml:space="preserve")?>([^<]*)<\/message>/g)];
    assert.deepEqual(
      marked.map(([, mark, message]) => [message, mark !== undefined]).reverse(),
      texts.map((message) => [message, blank.includes(message)]),
    );
  });
});
