import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { migrations } from '../../../src/store/schema/migrations.ts';
import { type Engine, onEveryEngine } from '../../support/engines.ts';
import { openStore, sql } from '../../support/opened-database.ts';
import { openOutside } from '../../support/other-process.ts';
import { openDomain, purgeAll, range, received } from '../../support/statement-counter.ts';

const unreadRows = sql<Record<string, never>, { account_id: bigint; generation: bigint; message_id: bigint }>(
  'select account_id, generation, message_id from unread_message order by account_id, generation, message_id',
);

/** As version 3 had it: account 1 has emptied its inbox once, and what was in it has not gone yet. */
const VERSION_3 = `
  insert into account (account_id, username, credits, used_credits, priority, tag, created_at)
    values (1, 'one', 0, 0, 0, 0, 0), (2, 'two', 0, 0, 0, 0, 0);
  insert into received (account_id, message_id, text, received_at, is_read, generation) values
    (1, 10, 'gone', 5, 0, 0), (1, 11, 'gone', 6, 1, 0);
  update tally set generation = 1, unread = 0, read = 0 where account_id = 1;
  insert into received (account_id, message_id, text, received_at, is_read, generation) values
    (1, 12, 'b', 8, 0, 1), (1, 13, 'a', 7, 0, 1), (1, 14, 'c', 9, 1, 1), (2, 12, 'd', 8, 1, 0);
`;

async function fromVersion3(engine: Engine, t: TestContext) {
  const setting = await engine.fresh('none');
  const outside = await openOutside(setting);
  t.after(() => outside.close());
  await outside.migrate(migrations.slice(0, 3));
  for (const each of VERSION_3.split(';')) if (each.trim()) await outside.query(each);
  const counts = () => outside.query('select account_id, unread, read from tally order by account_id');
  return { setting, before: await counts(), counts };
}

onEveryEngine('what is unread', (engine) => {
  test('the migration to unread_message keeps every unread message, in every generation', async (t) => {
    const { setting, before, counts } = await fromVersion3(engine, t);
    const database = await openStore(setting);
    t.after(() => database.close());
    assert.deepEqual(
      (await database.all(unreadRows, {})).map((row) => Object.values(row).map(Number)),
      [
        [1, 0, 10],
        [1, 1, 12],
        [1, 1, 13],
      ],
    );
    assert.deepEqual(before, [
      { account_id: 1n, unread: 2n, read: 1n },
      { account_id: 2n, unread: 0n, read: 1n },
    ]);
    assert.deepEqual(await counts(), before);
  });

  test('unread messages can be listed, marked, deleted and counted after the migration', async (t) => {
    const { setting, counts } = await fromVersion3(engine, t);
    const { database, inbox } = await openDomain(engine, t, setting);
    assert.deepEqual(
      (await inbox.unread(1n, 9)).map(({ id }) => id),
      [13n, 12n],
    );
    assert.deepEqual(
      (await inbox.newest(1n, 9)).map(({ id, read }) => [id, read]),
      [
        [14n, true],
        [12n, false],
        [13n, false],
      ],
    );
    assert.equal(await inbox.markRead(1n, 12n), true);
    assert.equal(await inbox.delete(1n, 13n), true);
    assert.equal(await inbox.delete(1n, 14n), true);
    await purgeAll(database);
    assert.deepEqual(await counts(), [
      { account_id: 1n, unread: 0n, read: 1n },
      { account_id: 2n, unread: 0n, read: 1n },
    ]);
    assert.deepEqual(await database.all(unreadRows, {}), []);
  });

  test('an unread message can be marked again and again, unlike one that never existed, was deleted, or belongs to another account', async (t) => {
    const { database, inbox, add, check } = await openDomain(engine, t);
    const [one, two] = [await add('one', [received(1, false), received(2, false)]), await add('two', [])];
    for (let times = 0; times < 3; times++) assert.equal(await inbox.markRead(one, 1n), true);
    assert.equal(await inbox.markRead(one, 3n), false);
    assert.equal(await inbox.markRead(two, 2n), false);
    assert.deepEqual(await check(one, 'marked'), { unread: 1n, read: 1n, unmarked: 0n });
    await inbox.deleteAll(one);
    for (const id of [1n, 2n]) assert.equal(await inbox.markRead(one, id), false, 'emptied, and not purged yet');
    assert.deepEqual(await check(one, 'emptied'), { unread: 0n, read: 0n, unmarked: 0n });
    await purgeAll(database);
    for (const id of [1n, 2n]) assert.equal(await inbox.markRead(one, id), false, 'purged');
  });

  test('a row of unread_message is deleted with its message, one by one and by the thousand', async (t) => {
    const { database, inbox, add, check } = await openDomain(engine, t);
    const account = await add(
      'one',
      range(1, 3_000).map((id) => received(id, id % 3 === 0)),
    );
    for (const id of [1n, 3n]) await inbox.delete(account, id);
    assert.deepEqual(await check(account, 'deleted'), { unread: 1_999n, read: 999n, unmarked: 0n });
    assert.equal((await database.all(unreadRows, {})).length, 1_999);
    await inbox.deleteAll(account);
    await purgeAll(database);
    assert.deepEqual(await database.all(unreadRows, {}), []);
  });
});
