import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../../../src/base/clock.ts';
import { openPostgres } from '../../../src/store/postgres/database.ts';
import { adopt } from '../../support/contract-client.ts';
import { type Engine, engines } from '../../support/engines.ts';
import { PATIENT_MS, sql } from '../../support/opened-database.ts';
import { openOutside } from '../../support/other-process.ts';
import { onPostgres, testOnOneServer } from '../../support/postgres-engines.ts';
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

  testOnOneServer(
    'what a deadlock has rolled back is tried again after a short random time, which grows',
    async (t) => {
      const setting = await (engines.find(({ name }) => name === 'postgres') as Engine).fresh('empty');
      const outside = await openOutside(setting);
      const pauses: number[] = [];
      const clock = {
        ...systemClock,
        sleep: async (ms: number) => void pauses.push(ms),
        random: () => pauses.length / 4,
      };
      const store = await openPostgres({ url: setting, connectionsMax: 1, timeoutMs: PATIENT_MS }, clock);
      t.after(() => Promise.all([store.close(), outside.close()]));
      // A sequence is not rolled back.
      await outside.query('create sequence attempt_number');
      await outside.query(`create function deadlock_until(last int) returns boolean language plpgsql as
      $$ begin if nextval('attempt_number') < last then raise exception sqlstate '40P01'; end if; return true; end $$`);
      const until = (last: number) => store.first(sql<{ last: number }>('select deadlock_until(:last)'), { last });
      assert.ok(await until(5));
      assert.deepEqual(pauses, [5, 12.5, 30, 70]);
      await assert.rejects(until(11), { kind: 'unavailable' });
      assert.equal(pauses.length, 8);
    },
  );
});
