import assert from 'node:assert/strict';
import { test } from 'node:test';
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

onEveryEngine('the migration to a search by kind', (engine) => {
  test('messages that were in the index are found in their own list, and the failed conversation is known', async (t) => {
    const setting = await engine.fresh('none');
    const outside = await openOutside(setting);
    await outside.migrate(migrations.slice(0, 43));
    for (const each of VERSION_43.split(';')) if (each.trim()) await outside.query(each);
    await outside.close();
    const database = await openStore(setting);
    t.after(() => database.close());
    const regionOf = async () => 'ZA';
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
