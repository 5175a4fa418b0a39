import assert from 'node:assert/strict';
import { test } from 'node:test';
import { migrations } from '../../../src/store/schema/migrations.ts';
import { onEveryEngine } from '../../support/engines.ts';
import { openStore } from '../../support/opened-database.ts';
import { openOutside } from '../../support/other-process.ts';

const account = (id: number, connector: string | null) => {
  const counts = { credits: 0, used_credits: 0, priority: id, tag: 0, created_at: 0 };
  return { account_id: id, username: `user ${id}`, ...counts, connector };
};

onEveryEngine('the migration to outbound routes', (engine) => {
  test('accounts with messages that are due keep their place in the order, and follow their connector from then on', async (t) => {
    const setting = await engine.fresh('none');
    const outside = await openOutside(setting);
    t.after(() => outside.close());
    await outside.migrate(migrations.slice(0, 30));
    await outside.insert('account', [account(1, 'kannel'), account(2, null)]);
    await outside.insert('dispatch_account', [
      { account_id: 1, next_due_at: 10, served_at: 5 },
      { account_id: 2, next_due_at: 20, served_at: 25 },
    ]);
    const rows = async (columns: string) =>
      (await outside.query(`select ${columns} from dispatch_account order by account_id`)).map((row) =>
        Object.values(row),
      );
    const common = 'account_id, next_due_at, served_at, connector_key, priority';
    const before = await rows(common);
    assert.deepEqual(before, [
      [1n, 10n, 5n, 'kannel', 1n],
      [2n, 20n, 25n, '', 2n],
    ]);

    await (await openStore(setting)).close();

    assert.deepEqual(await rows(common), before);
    assert.deepEqual(await rows('way'), [[''], ['']]);
    await outside.query("update account set connector = 'smpp' where account_id = 1");
    await outside.query('update account set disabled_at = 1 where account_id = 2');
    assert.deepEqual(await rows('connector_key'), [['smpp'], [null]]);
  });
});
