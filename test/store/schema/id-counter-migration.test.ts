import assert from 'node:assert/strict';
import { test } from 'node:test';
import { migrations } from '../../../src/store/schema/migrations.ts';
import { onEveryEngine } from '../../support/engines.ts';
import { openStore } from '../../support/opened-database.ts';
import { openOutside } from '../../support/other-process.ts';

const account = (id: number) => ({
  account_id: id,
  username: `account ${id}`,
  credits: 0,
  used_credits: 0,
  priority: 0,
  tag: 0,
  created_at: 0,
});
const message = (id: bigint) => ({ account_id: 1, message_id: id });

onEveryEngine('the migration to id counters', (engine) => {
  test('each counter starts at the highest id of its account, and ids beyond its range are left out', async (t) => {
    const setting = await engine.fresh('none');
    const outside = await openOutside(setting);
    t.after(() => outside.close());
    await outside.migrate(migrations.slice(0, 5));
    await outside.insert('account', [account(1), account(2), account(3)]);
    await outside.insert('contact_group', [
      { account_id: 1, group_id: 4 },
      { account_id: 1, group_id: 2147483647 },
    ]);
    await outside.insert('contact', [
      { account_id: 1, contact_id: 9 },
      { account_id: 1, contact_id: 2n ** 63n - 1n },
      { account_id: 2, contact_id: 70 },
      { account_id: 3, contact_id: -1 },
    ]);
    await outside.insert('template', [{ account_id: 2, position: 3, text_hash: 'hash', text: 'text' }]);
    await outside.insert('received', [{ ...message(11n), received_at: 0 }]);
    await outside.insert('sent', [{ ...message(12n), status: 'QUEUED', sent_at: 0, updated_at: 0, is_marked: 0 }]);
    await outside.insert('scheduled', [{ ...message(13n), held_parts: 1, scheduled_at: 0, created_at: 0 }]);
    await (await openStore(setting)).close();
    const rows = await outside.query('select account_id, kind, last_id from id_counter order by account_id, kind');
    assert.deepEqual(
      rows.map(({ account_id, kind, last_id }) => [Number(account_id), kind, Number(last_id)]),
      [
        [1, 'contact', 9],
        [1, 'group', 4],
        [1, 'message', 13],
        [2, 'contact', 70],
        [2, 'template', 3],
      ],
    );
  });
});
