import assert from 'node:assert/strict';
import { test } from 'node:test';
import { migrations } from '../../../src/store/schema/migrations.ts';
import { exportOf } from '../../support/contract-client.ts';
import { type Engine, onEveryEngine } from '../../support/engines.ts';
import { openStore, TABLES } from '../../support/opened-database.ts';
import { type Cells, openOutside } from '../../support/other-process.ts';
import { GLOBEX } from '../../support/service.ts';
import { CALLS, changes, type Serving, serve } from '../../support/serving.ts';

const FIRST_TABLES = [...(migrations[0]?.sql ?? '').matchAll(/create table (\w+)/g)].map(([, name]) => name as string);

/** The sample data in a database of version 1, as the program of that time had written it. */
async function firstVersion(engine: Engine): Promise<string> {
  const [source, setting] = [await engine.fresh('sample'), await engine.fresh('none')];
  const [sample, outside] = [await openOutside(source), await openOutside(setting)];
  try {
    const content = await sample.content();
    const isRead = ({ account_id, message_id }: Cells) =>
      content.unread_message?.some((row) => row.account_id === account_id && row.message_id === message_id) ? 0 : 1;
    await outside.migrate(migrations.slice(0, 1));
    for (const table of TABLES.filter((name) => FIRST_TABLES.includes(name)).reverse()) {
      // Later versions have columns more, and in a table of its own what is unread.
      const columns = await outside.columns(table);
      const known = (row: Cells) => Object.fromEntries(Object.entries(row).filter(([name]) => columns.includes(name)));
      const rows = (content[table] ?? []).map(known);
      await outside.insert(table, table === 'received' ? rows.map((row) => ({ ...row, is_read: isRead(row) })) : rows);
    }
  } finally {
    await Promise.all([sample.close(), outside.close()]);
  }
  return setting;
}

const COUNTS = `select account.username, unread, read, unmarked, generation, purged_generation
  from tally join account on account.account_id = tally.account_id order by account.username`;
const COUNTED = `select username,
    (select count(*) from received where received.account_id = account.account_id and is_read = 0) as unread,
    (select count(*) from received where received.account_id = account.account_id and is_read = 1) as read,
    (select count(*) from sent where sent.account_id = account.account_id and is_marked = 0) as unmarked
  from account order by username`;

async function answersOf({ ask }: Serving, which: (operation: string) => boolean): Promise<string[]> {
  const answers: string[] = [];
  for (const args of [{}, { user_id: GLOBEX }]) {
    for (const [group, operation, own] of CALLS.filter(([, name]) => which(name))) {
      answers.push(`${group}.${operation} ${await ask(group, operation, { ...own, ...args })}`);
    }
  }
  return answers;
}

onEveryEngine('the migration to a tally', (engine) => {
  test('the migration to tallies counts the messages of every account in the first generation', async (t) => {
    const setting = await firstVersion(engine);
    const outside = await openOutside(setting);
    t.after(() => outside.close());
    const counted = await outside.query(COUNTED);
    await (await openStore(setting)).close();
    assert.deepEqual(
      await outside.query(COUNTS),
      counted.map((row) => ({ ...row, generation: 0n, purged_generation: 0n })),
    );
    assert.deepEqual(counted[0], { username: 'acme', unread: 4n, read: 2n, unmarked: 3n });
    assert.equal(counted.length, Number((await outside.query('select count(*) as total from account'))[0]?.total));
  });

  test('every operation answers as on a database that was created at the newest version, before and after changes', async (t) => {
    const migrated = await serve(await firstVersion(engine));
    const untouched = await serve(await engine.fresh('sample'));
    t.after(() => Promise.all([migrated.app.stop(), untouched.app.stop()]));
    const isRead = (operation: string) => !changes(operation);
    for (const which of [isRead, changes, isRead]) {
      assert.deepEqual(await answersOf(migrated, which), await answersOf(untouched, which));
    }
    assert.equal(await exportOf(migrated.app), await exportOf(untouched.app));
  });

  test('messages from before the migration are counted, marked, deleted and emptied like later ones', async (t) => {
    const setting = await firstVersion(engine);
    const { app, ask } = await serve(setting);
    t.after(() => app.stop());
    const outside = await openOutside(setting);
    t.after(() => outside.close());
    const counts = async () => {
      const [row] = await outside.query(COUNTS);
      return [row?.unread, row?.read, row?.unmarked].map(Number);
    };
    await ask('inbox', 'MarkMessageAsRead', { message_id: '1003' });
    assert.deepEqual(await counts(), [3, 3, 3]);
    await ask('inbox', 'DeleteMessage', { message_id: '1001' });
    assert.deepEqual(await counts(), [3, 2, 3]);
    await ask('sent', 'MarkMessageAsRead', { id: 2002 });
    await ask('sent', 'DeleteSentMessage', { message_id: '2003' });
    assert.deepEqual(await counts(), [3, 2, 1]);
    await ask('inbox', 'DeleteAllMessages');
    assert.deepEqual(await counts(), [0, 0, 1]);
  });
});
