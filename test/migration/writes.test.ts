import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addWrite } from '../../src/migration/stages/traffic.sql.ts';
import { createMigrationWrites } from '../../src/migration/stages/writes.ts';
import { onOneEngine } from '../support/engines.ts';
import { openSending } from '../support/sending.ts';

onOneEngine('writes that wait for the old server', (engine) => {
  test('a proxy that removes a delivered write late leaves a newer one with the same id', async (t) => {
    const { database, now, addAccount } = await openSending(engine, t);
    const account = await addAccount();
    const writes = createMigrationWrites(database, now, 'key');
    const first = await writes.begin(account, 'inbox.DeleteMessage', 'sealed 1');
    assert.equal(await writes.remove(account, first), 1);
    await writes.begin(account, 'inbox.DeleteMessage', 'sealed 2');
    assert.equal(await writes.remove(account, first), 0);
    assert.deepEqual(
      (await writes.of(account, 10)).map(({ sealed }) => sealed),
      ['sealed 2'],
    );
  });

  test('a write follows those that an earlier version numbered without the counter', async (t) => {
    const { database, now, addAccount } = await openSending(engine, t);
    const account = await addAccount();
    const writes = createMigrationWrites(database, now, 'key');
    const row = { operation: 'inbox.DeleteMessage', state: 'begun', keyName: 'key', sealed: 'old', at: 0, dueAt: 0 };
    await database.run(addWrite, { account, write: 7n, ...row });
    assert.equal(await writes.begin(account, 'inbox.DeleteMessage', 'new'), 8n);
  });
});
