import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as counts from '../../../src/domain/messages/counts.sql.ts';
import { createMessageCounts } from '../../../src/domain/messages/counts.ts';
import { onEveryEngine } from '../../support/engines.ts';
import { openStore, sql } from '../../support/opened-database.ts';

onEveryEngine('message counts of all accounts', (engine) => {
  test('message counts are right and are read at most every 30 s', async (t) => {
    const setting = await engine.fresh('sample');
    const database = await openStore(setting);
    t.after(() => database.close());
    let asked = 0;
    let now = 0;
    const first = ((statement, parameters) => {
      asked += 1;
      return database.first(statement, parameters);
    }) as typeof database.first;
    const read = createMessageCounts({ ...database, first }, () => now);

    const sample = { unread: 5, read: 2, scheduled: 3, toPurge: 0 };
    assert.deepEqual(await Promise.all([read(), read(), read()]), [sample, sample, sample]);
    const once = asked;
    await database.run(sql('delete from unread_message'), {});
    await database.run(sql('update tally set generation = generation + 1, unread = 0, read = 0'), {});
    now = 29_999;
    assert.deepEqual(await read(), sample);
    assert.equal(asked, once);
    now = 30_000;
    assert.deepEqual(await read(), { unread: 0, read: 0, scheduled: 3, toPurge: 2 });
    assert.equal(asked, 2 * once);
  });

  test('message counts of an empty database are 0', async (t) => {
    const database = await openStore(await engine.fresh('empty'));
    t.after(() => database.close());
    assert.deepEqual(await createMessageCounts(database, () => 0)(), { unread: 0, read: 0, scheduled: 0, toPurge: 0 });
  });

  test('scheduled messages are counted up to a limit', async (t) => {
    const database = await openStore(await engine.fresh('sample'));
    t.after(() => database.close());
    for (const [limit, total] of [
      [1, 1n],
      [2, 2n],
      [1_000, 3n],
    ] as const) {
      assert.equal((await database.first(counts.scheduled, { limit }))?.total, total);
    }
  });
});
