import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deleteSome } from '../../../src/domain/messages/purge.sql.ts';
import { unavailable } from '../../../src/store/unavailable.ts';
import { exportOf } from '../../support/contract-client.ts';
import { onEveryEngine } from '../../support/engines.ts';
import { openOutside } from '../../support/other-process.ts';
import { ACTIVITY } from '../../support/postgres-engines.ts';
import { until } from '../../support/program.ts';
import { BATCH, hasMessages, MANY, prepare, startPurging } from '../../support/purge.ts';

const TRUE = /^<boolean [^>]*>true<\/boolean>$/;
const FALSE = /^<boolean [^>]*>false<\/boolean>$/;

onEveryEngine('an inbox that is emptied', (engine) => {
  test('an inbox that is emptied is empty at once, its rows are deleted later, and no other inbox is touched', async (t) => {
    const { setting, rowsOf, left, purged, receive, outside } = await prepare(engine, t, { one: MANY, two: 3 });
    const { as, allow } = await startPurging(setting, t);
    const ask = as('one');
    assert.match(await ask('DeleteAllMessages'), TRUE);
    await hasMessages(ask, []);
    assert.equal(await rowsOf('one'), MANY);
    for (const operation of ['MarkMessageAsRead', 'DeleteMessage']) {
      assert.match(await ask(operation, { message_id: '1' }), FALSE);
    }
    await receive('one', 1_001);
    await hasMessages(ask, [1_001]);
    allow(1);
    await left('one', MANY - BATCH + 1);
    await receive('one', 1_002);
    await hasMessages(ask, [1_001, 1_002]);
    allow(10);
    await left('one', 2);
    await purged();
    await hasMessages(ask, [1_001, 1_002]);
    assert.equal(await rowsOf('two'), 3);
    assert.match(await as('two')('CountRead'), />2</);
    const [tally] = await outside.query('select generation, purged_generation from tally where generation > 0');
    assert.deepEqual(tally, { generation: 1n, purged_generation: 1n });
  });

  test('an export leaves out messages of an emptied inbox and has those that came later', async (t) => {
    const { setting, receive } = await prepare(engine, t, { one: 5, two: 2 });
    const { as, app } = await startPurging(setting, t);
    await as('one')('DeleteAllMessages');
    await receive('one', 1_001);
    const texts = (text: string) => JSON.parse(text).inbox.map(({ message }: { message: string }) => message);
    assert.deepEqual(texts(await exportOf(app, 'one')), ['new 1001']);
    assert.deepEqual(texts(await exportOf(app, 'two')), ['old 0', 'old 1']);
  });

  test('an inbox can be emptied again during its purge, and both generations are deleted', async (t) => {
    const { setting, left, purged, receive } = await prepare(engine, t, { one: MANY });
    const { as, allow } = await startPurging(setting, t);
    const ask = as('one');
    await ask('DeleteAllMessages');
    allow(1);
    await left('one', MANY - BATCH);
    await receive('one', 1_001);
    await ask('DeleteAllMessages');
    await ask('DeleteAllMessages');
    await receive('one', 1_002);
    await hasMessages(ask, [1_002]);
    allow(10);
    await left('one', 1);
    await purged();
    await hasMessages(ask, [1_002]);
  });

  test('the next start continues the purge of an inbox that a stop has interrupted', async (t) => {
    const { setting, rowsOf, left, purged } = await prepare(engine, t, { one: MANY, two: MANY });
    const first = await startPurging(setting, t);
    await first.as('one')('DeleteAllMessages');
    first.allow(1);
    await left('one', MANY - BATCH);
    await first.waits();
    const stopped = first.stop();
    first.allow(1); // the batch that was under way
    await stopped;
    assert.equal(await rowsOf('one'), MANY - 2 * BATCH);

    const second = await startPurging(setting, t);
    second.allow(10);
    assert.equal(await rowsOf('one'), MANY - 2 * BATCH);
    await second.app.start();
    await left('one', 0);
    await purged();
    assert.equal(await rowsOf('two'), MANY);
  });

  test('another process purges an inbox whose own process hangs, and that process does no harm when it continues', async (t) => {
    const { setting, rowsOf, left, purged, receive, outside } = await prepare(engine, t, { one: MANY, two: 3 });
    const hanging = await startPurging(setting, t);
    await hanging.as('one')('DeleteAllMessages');
    hanging.allow(1);
    await left('one', MANY - BATCH);

    const other = await startPurging(setting, t);
    other.allow(10);
    await other.app.start();
    await left('one', 0);
    await purged();
    await receive('one', 1_001);
    await other.as('one')('DeleteAllMessages');
    await receive('one', 1_002);
    await left('one', 1);
    await purged();
    hanging.allow(10);
    await hanging.stop();
    await hasMessages(other.as('one'), [1_002]);
    const [tally] = await outside.query('select generation, purged_generation from tally where generation > 0');
    assert.deepEqual(tally, { generation: 2n, purged_generation: 2n }, 'it does not tell that it is at an earlier one');
    assert.equal(await rowsOf('two'), 3);
  });

  if (engine.name === 'postgres') {
    test('an inbox is purged completely although another process works on the same rows at the same time', async (t) => {
      const { setting, rowsOf, purged, outside } = await prepare(engine, t, { one: MANY });
      const emptying = await startPurging(setting, t);
      await emptying.as('one')('DeleteAllMessages');
      // The batch of a process that is killed before it can go on with the next one.
      const killed = await openOutside(setting);
      await killed.query('begin');
      const batch = deleteSome.text
        .replaceAll(':account', '(select account_id from account)')
        .replaceAll(':generation', '1')
        .replaceAll(':limit', String(BATCH))
        .replace(/[{}]/g, '');
      await killed.query(batch);
      emptying.allow(Number.POSITIVE_INFINITY);
      const waits = `select pid from ${ACTIVITY} where datname = current_database() and wait_event_type = 'Lock'`;
      await until('its batch waits', async () => (await outside.query(waits)).length > 0);
      await killed.query('commit');
      await killed.close();
      await purged();
      assert.equal(await rowsOf('one'), 0);
    });
  }

  for (const [what, failure] of [
    ['the database does not answer for a moment', unavailable(new Error('on purpose'))],
    ['a batch fails', new Error('on purpose')],
  ] as const) {
    test(`the purge of an inbox continues after ${what}, with the next inbox that is emptied or the next start`, async (t) => {
      const { setting, rowsOf, left, purged } = await prepare(engine, t, { one: MANY, two: 3, three: MANY });
      const first = await startPurging(setting, t);
      const warned = () => first.logged.filter((line) => /could not be purged/.test(line)).length;
      const emptyAndFail = async (username: string) => {
        const before = warned();
        await first.as(username)('DeleteAllMessages');
        first.allow(1);
        await left(username, MANY - BATCH);
        first.failNext(failure);
        first.allow(1);
        await until('it has failed', () => warned() > before);
        assert.equal(await rowsOf(username), MANY - BATCH);
        await hasMessages(first.as(username), []);
      };
      await emptyAndFail('one');
      await first.as('two')('DeleteAllMessages');
      first.allow(Number.POSITIVE_INFINITY);
      await left('one', 0);
      await left('two', 0);
      await purged();
      first.hold();

      await emptyAndFail('three');
      // The purge may not have ended yet when the third inbox was emptied. Then it starts again, and a batch waits.
      const stopped = first.stop();
      first.allow(1);
      await stopped;
      const second = await startPurging(setting, t);
      second.allow(10);
      await second.app.start();
      await left('three', 0);
      await purged();
    });
  }
});
