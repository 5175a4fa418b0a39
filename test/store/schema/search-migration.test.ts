import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSent } from '../../../src/domain/messages/sent.ts';
import { createConversations } from '../../../src/domain/search/conversations.ts';
import { createIndexer } from '../../../src/domain/search/indexer.ts';
import { createSearch } from '../../../src/domain/search/search.ts';
import { LAST } from '../../../src/store/cursor.ts';
import { migrations } from '../../../src/store/schema/migrations.ts';
import { onEveryEngine } from '../../support/engines.ts';
import { openStore } from '../../support/opened-database.ts';
import { openOutside } from '../../support/other-process.ts';

/** As version 43 had it: one message is in the index, one is only noted, and the conversation ends with a failure. */
const VERSION_43 = `
  insert into account (account_id, username, credits, used_credits, priority, tag, created_at)
    values (1, 'one', 0, 0, 0, 0, 0);
  delete from search_backfill;
  insert into received (account_id, message_id, sender, text, received_at, generation) values
    (1, 10, '+27825550201', 'old zebra', 5, 0);
  insert into sent (account_id, message_id, recipient, text, status, sent_at, updated_at, is_marked) values
    (1, 11, '+27825550201', 'zebra again', 'UNDELIVERABLE', 6, 6, 0);
  delete from search_change where item_id = 10;
  insert into search_entry (account_id, token, at, kind, item_id) values (1, 'zebra', 5, 1, 10);
  insert into conversation (account_id, number, last_at, last_kind, last_id) values (1, '+27825550201', 6, 2, 11);
`;

const regionOf = async () => 'ZA';

onEveryEngine('the migration after which a cancelled message is no failure', (engine) => {
  test('cancelled messages are neither listed as failures nor end a failed conversation, unlike those that the carrier deleted', async (t) => {
    const setting = await engine.fresh('none');
    const outside = await openOutside(setting);
    await outside.migrate(migrations.slice(0, 44));
    await outside.insert('account', [
      { account_id: 1, username: 'one', credits: 0, used_credits: 0, priority: 0, tag: 0, created_at: 0 },
    ]);
    const ended = [
      ['+27825550201', 'DELETED'],
      ['+27825550202', 'UNKNOWN'],
      ['+27825550203', 'DELETED'],
    ] as const;
    const messages = ended.map(([recipient, status], number) => {
      return { account_id: 1, message_id: 10 + number, recipient, status, sent_at: 5, updated_at: 5, is_marked: 0 };
    });
    await outside.insert('sent', messages);
    const attempt = { account_id: 1, message_id: 12, attempt: 1, part: 1, attempt_id: 'a', connector: 'loopback' };
    await outside.insert('attempt', [{ ...attempt, state: 'accepted', submitted_at: 5, status: 'DELETED' }]);
    await outside.insert(
      'conversation',
      messages.map(({ recipient: number, message_id: last_id }) => {
        return { account_id: 1, number, last_at: 5, last_kind: 2, last_id, is_failed: 1 };
      }),
    );
    await outside.query('delete from search_backfill');
    await outside.query('delete from search_change');
    await outside.close();
    const database = await openStore(setting);
    t.after(() => database.close());
    const sent = createSent(database, () => 0);
    const conversations = createConversations(database, regionOf);
    const failed = async () => [
      (await sent.undelivered(1n, 9)).map(({ id }) => id),
      (await conversations.list(1n, 9, undefined, 'failed')).conversations.map(({ number }) => number),
    ];
    assert.deepEqual(await failed(), [
      [12n, 11n],
      ['+27825550203', '+27825550202'],
    ]);
    await sent.recordStatus(1n, 11n, { status: 'DELETED', at: 6, detail: null });
    await createIndexer(database, regionOf).run(async () => {});
    assert.deepEqual(await failed(), [[12n], ['+27825550203']]);
  });
});

onEveryEngine('the migration to a search by kind', (engine) => {
  test('contacts are found before all messages are in the index again', async (t) => {
    const setting = await engine.fresh('none');
    const outside = await openOutside(setting);
    await outside.migrate(migrations.slice(0, 43));
    for (const each of VERSION_43.split(';')) if (each.trim()) await outside.query(each);
    await outside.insert('contact', [{ account_id: 1, contact_id: 1, name: 'Ann', surname: 'Lee' }]);
    const message = { account_id: 1, sender: '+27825550202', text: 'giraffe', received_at: 5, generation: 0 };
    await outside.insert(
      'received',
      Array.from({ length: 250 }, (_, number) => ({ ...message, message_id: 20 + number })),
    );
    await outside.query('delete from search_change');
    await outside.close();
    const database = await openStore(setting);
    t.after(() => database.close());
    const search = createSearch(database, regionOf);
    const found: unknown[] = [];
    await createIndexer(database, regionOf).run(async () => {
      if (found.length === 0) {
        const people = (await search.contacts(1n, 'lee')).map(({ name }) => name);
        found.push(people, await search.isComplete(1n));
      }
    });
    assert.deepEqual(found, [['Ann Lee'], false]);
    assert.equal(await search.isComplete(1n), true);
  });

  test('messages that were in the index are found in their own list, and the failed conversation is known', async (t) => {
    const setting = await engine.fresh('none');
    const outside = await openOutside(setting);
    await outside.migrate(migrations.slice(0, 43));
    for (const each of VERSION_43.split(';')) if (each.trim()) await outside.query(each);
    await outside.close();
    const database = await openStore(setting);
    t.after(() => database.close());
    const search = createSearch(database, regionOf);
    assert.equal(await search.isComplete(1n), false, 'the index is being filled again');
    await createIndexer(database, regionOf).run(async () => {});
    assert.equal(await search.isComplete(1n), true);
    const textsOf = async (list: 'received' | 'sent') => {
      const { rows } = await (await search[list](1n, 'zebra')).read('newest', LAST, 9);
      return rows.map(({ text }) => text);
    };
    assert.deepEqual([await textsOf('received'), await textsOf('sent')], [['old zebra'], ['zebra again']]);
    const { conversations } = await createConversations(database, regionOf).list(1n, 9, undefined, 'failed');
    assert.deepEqual(
      conversations.map(({ number }) => number),
      ['+27825550201'],
    );
  });
});
