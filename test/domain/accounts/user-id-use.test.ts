import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../../../src/base/clock.ts';
import { createUserIdUse } from '../../../src/domain/accounts/user-id-use.ts';
import { Caller } from '../../../src/store/caller.ts';
import type { Database } from '../../../src/store/database.ts';
import { openActions } from '../../support/actions.ts';
import { onEveryEngine } from '../../support/engines.ts';

onEveryEngine('the last use of a user_id', (engine) => {
  test('the last use of a user_id is exact to a day: one write a day, after the call, and no cached answer becomes void', async (t) => {
    const { database, clock, of, account } = await openActions(engine, t);
    const id = await account('acme');
    const [{ hash }] = (await of('acme', 'user-id list')).items;
    let writes = 0;
    const counted: Database = {
      ...database,
      run: (statement, parameters) => {
        writes += 1;
        assert.equal(statement.affects, 'none');
        return database.run(statement, parameters);
      },
    };
    const use = createUserIdUse(counted, { ...systemClock, now: () => clock.now }, (thrown) =>
      assert.fail(String(thrown)),
    );
    const caller = new Caller(hash, () => true, id);
    const shown = async () => (await of('acme', 'user-id list')).items[0].lastUsedAt;
    for (let count = 0; count < 100; count++) use.note(caller);
    assert.equal(writes, 0, 'the call waits for nothing');
    await use.flush();
    await use.flush();
    assert.equal(writes, 1);
    const first = new Date(clock.now).toISOString();
    assert.equal(await shown(), first);
    clock.now += 3_600_000;
    use.note(caller);
    await use.flush();
    assert.deepEqual([writes, await shown()], [1, first]);
    clock.now += 24 * 3_600_000;
    use.note(caller);
    use.note('nobody');
    await use.stop();
    assert.deepEqual([writes, await shown()], [2, new Date(clock.now).toISOString()]);
  });
});
