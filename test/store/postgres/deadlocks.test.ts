import assert from 'node:assert/strict';
import { test } from 'node:test';
import { adopt } from '../../support/contract-client.ts';
import { type Engine, engines } from '../../support/engines.ts';
import { openOutside } from '../../support/other-process.ts';
import { onPostgres } from '../../support/postgres-engines.ts';
import { serve } from '../../support/serving.ts';

const MESSAGES = 60;
const user_id = 'deadlocks';

onPostgres('deadlocks', () => {
  test('deletes of unread messages and new templates of one account do not deadlock', async (t) => {
    const engine = engines.find(({ name }) => name === 'postgres') as Engine;
    const setting = await engine.fresh('empty');
    const { app, ask } = await serve(setting);
    const outside = await openOutside(setting);
    t.after(() => Promise.all([app.stop(), outside.close()]));
    const inbox = Array.from({ length: MESSAGES }, (_, id) => ({
      id: id + 1,
      message: `message ${id}`,
      timestamp: '2026-05-01T00:00:00Z',
      read: false,
    }));
    await adopt(app, { username: user_id, userID: user_id, inbox });
    // A delete changes the tally twice, so its foreign key looks at the account. A template locks the account first.
    await Promise.all(
      inbox.flatMap(({ id }) => [
        ask('inbox', 'DeleteMessage', { user_id, message_id: id }),
        ask('account', 'SaveMessageTemplate', { user_id, message: `template ${id}` }),
      ]),
    );
    assert.equal((await outside.query('select from template')).length, MESSAGES);
    assert.equal((await outside.query('select from received')).length, 0);
    await outside.query('select pg_stat_clear_snapshot()');
    const [row] = await outside.query('select deadlocks from pg_stat_database where datname = current_database()');
    assert.equal(Number(row?.deadlocks), 0);
  });
});
