import assert from 'node:assert/strict';
import { test } from 'node:test';
import { exportOf } from '../../test/support/contract-client.ts';
import { onEveryEngine } from '../../test/support/engines.ts';
import { openOutside } from '../../test/support/other-process.ts';
import { until } from '../../test/support/program.ts';
import { CALLS, changes, serve } from '../../test/support/serving.ts';

/** The machine's clock is set while the service runs. */
const DAY = 24 * 3_600_000;
const JUMPS: Readonly<Record<string, number>> = {
  'a day back': -DAY,
  'ten years on': 3_652 * DAY,
  'to before 1970': -80 * 365 * DAY,
  'and back to where it was': 80 * 365 * DAY - 3_651 * DAY,
};
const DELAY_MAX_MS = 2_000;

onEveryEngine('a clock that jumps', (engine) => {
  test('a clock that jumps changes no answer, and no call fails', async (t) => {
    const { app, ask, clock, logged } = await serve(await engine.fresh('sample'));
    t.after(() => app.stop());
    const answers = async () => {
      const reading = CALLS.filter(([, operation]) => !changes(operation));
      return Promise.all(reading.map(([group, operation, args]) => ask(group, operation, args)));
    };
    const before = await answers();
    const whole = await exportOf(app);
    for (const [jump, ms] of Object.entries(JUMPS)) {
      clock.now += ms;
      assert.deepEqual(await answers(), before, jump);
      assert.equal(await exportOf(app), whole, jump);
    }
    assert.deepEqual(
      logged.filter((line) => /"level":[456]0/.test(line)),
      [],
    );
  });

  test('every change is made, with the time that the clock shows at that moment', async (t) => {
    const setting = await engine.fresh('sample');
    const { app, ask, clock } = await serve(setting);
    const outside = await openOutside(setting);
    t.after(() => Promise.all([app.stop(), outside.close()]));
    const expected: bigint[] = [];
    for (const [index, ms] of Object.values(JUMPS).entries()) {
      clock.now += ms;
      expected.push(BigInt(clock.now));
      const number = `+2782555030${index}`;
      assert.match(await ask('account', 'BlackListNumber', { mobile: number, sample_message: null }), />true</);
      assert.match(await ask('account', 'SaveMessageTemplate', { message: number }), />true</);
      assert.match(await ask('account', 'DeleteMessageTemplate', { message: number }), />true</);
    }
    const rows = await outside.query(
      "select blocked_at from blocked_number where number like '+2782555030%' order by number",
    );
    assert.deepEqual(
      rows.map(({ blocked_at }) => blocked_at),
      expected,
    );
    for (const [group, operation, args] of CALLS.filter(([, name]) => changes(name))) {
      clock.now += operation.length % 2 === 0 ? DAY : -2 * DAY;
      await ask(group, operation, args);
    }
    await until('the emptied inbox is purged', async () => {
      const left = await outside.query("select 1 as one from received where text = 'Is the market open today?'");
      return left.length === 0;
    });
  });

  test('a time without a date is on the day that the clock shows', async (t) => {
    const { app, ask, clock } = await serve(await engine.fresh('sample'));
    t.after(() => app.stop());
    const ids = async () => {
      const text = await ask('inbox', 'Read', { from: '00:00', to: '23:59', max_count: 10 });
      return [...text.matchAll(/<id>(\d+)<\/id>/g)].map(([, id]) => id);
    };
    const days: readonly (readonly [number, readonly string[]])[] = [
      [Date.UTC(2026, 9, 1, 12), ['1001', '1002']],
      [Date.UTC(2026, 9, 2, 12), ['1003']],
      [Date.UTC(2036, 9, 2, 12), []],
      [Date.UTC(2026, 9, 1, 0), ['1001', '1002']],
    ];
    for (const [now, expected] of days) {
      clock.now = now;
      assert.deepEqual(await ids(), expected);
    }
  });

  test('a client that guesses user_ids is delayed as before, never for longer, and is forgotten in time; a known client never waits', async (t) => {
    const slept: number[] = [];
    const { app, ask, call, clock } = await serve(await engine.fresh('sample'), {
      time: { sleep: async (ms) => void slept.push(ms) },
    });
    t.after(() => app.stop());
    const guess = async () => {
      slept.length = 0;
      assert.equal((await call('inbox', 'CountUnread', { user_id: 'nobody' })).status, 403);
      return slept[0] ?? 0;
    };
    for (let failure = 0; failure < 15; failure++) await guess();
    assert.ok((await guess()) > 0);
    for (const [jump, ms] of Object.entries(JUMPS)) {
      clock.now += ms;
      for (let failure = 0; failure < 15; failure++) {
        const waited = await guess();
        assert.ok(waited >= 0 && waited <= DELAY_MAX_MS, `${jump}: ${waited}`);
        await ask('inbox', 'CountUnread');
        assert.deepEqual(slept, waited > 0 ? [waited] : [], jump);
      }
      assert.ok((await guess()) > 0, jump);
    }
    clock.now += 61_000;
    assert.equal(await guess(), 0);
  });
});
