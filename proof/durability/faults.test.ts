import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { Problem } from '../../src/base/problem.ts';
import { unavailable } from '../../src/store/unavailable.ts';
import { adopt, exportOf } from '../../test/support/contract-client.ts';
import { type Engine, onEveryEngine } from '../../test/support/engines.ts';
import { type Outside, openOutside } from '../../test/support/other-process.ts';
import { until } from '../../test/support/program.ts';
import { CALLS, changes, serve } from '../../test/support/serving.ts';
import { createFaults } from './faulty-database.ts';

/** The first, the second, the third … statement of every operation fails. */
interface Kind {
  readonly name: string;
  readonly failure: () => Error;
  readonly status: number;
  readonly text: RegExp;
}
const KINDS: readonly Kind[] = [
  {
    name: 'the database does not answer',
    failure: () => unavailable(new Error('on purpose')),
    status: 503,
    text: /^The database does not answer\. Try again later\.\n$/,
  },
  {
    name: 'the program has a bug',
    failure: () => new Error('on purpose'),
    status: 500,
    text: /^Internal error\. Reference: [0-9a-f-]{36}\n$/,
  },
];
async function start(engine: Engine, t: TestContext) {
  const setting = await engine.fresh('sample');
  const faults = createFaults();
  const serving = await serve(setting, { database: faults.around });
  const outside = await openOutside(setting);
  t.after(() => Promise.all([serving.app.stop(), outside.close()]));
  return { ...serving, faults, outside };
}

/** What is left to be done after an answer is done. */
const settled = (outside: Outside) =>
  until('the purge has ended', async () => {
    return (await outside.query('select 1 as one from tally where purged_generation < generation')).length === 0;
  });

/** Versions of accounts and ids of audit entries are drawn at random. */
const withoutRandom = (content: Content) => ({
  ...content,
  tally: content.tally?.map(({ version, ...row }) => row),
  audit: content.audit
    ?.map(({ audit_id, ...row }) => row)
    .toSorted((one, other) => String(one.action).localeCompare(String(other.action))),
});
type Content = Awaited<ReturnType<Outside['content']>>;

onEveryEngine('faults', (engine) => {
  for (const { name, failure, status, text } of KINDS) {
    test(`while ${name}, every operation says so and changes nothing, and works again afterwards`, async (t) => {
      const { call, ask, faults, outside, logged } = await start(engine, t);
      const healthy = await start(engine, t);
      const counts = new Map<string, number>();
      for (const [group, operation, args] of CALLS) {
        const before = await outside.content();
        const right = await healthy.ask(group, operation, args);
        for (let nth = 1; ; nth++) {
          const when = `${group}.${operation}, statement ${nth}`;
          faults.arm(nth, failure());
          const answer = await call(group, operation, args);
          if (!faults.disarm()) {
            assert.deepEqual([answer.status, answer.text.replace(/^<\?xml.*\s/, '')], [200, right], when);
            counts.set(`${group}.${operation}`, nth - 1);
            break;
          }
          assert.equal(answer.status, status, `${when}: ${answer.text}`);
          assert.match(answer.text, text, when);
          assert.match(logged.at(-1) ?? '', /on purpose/);
          assert.deepEqual(await outside.content(), before, when);
          if (!changes(operation)) assert.equal(await ask(group, operation, args), right, when);
        }
        await settled(outside);
        await settled(healthy.outside);
        if (!changes(operation)) continue;
        assert.deepEqual(
          withoutRandom(await outside.content()),
          withoutRandom(await healthy.outside.content()),
          operation,
        );
      }
      assert.equal(counts.size, 32);
      for (const [each, count] of counts) assert.ok(count > 0, `${each} was never at fault`);
      assert.ok((counts.get('account.BlackListNumber') ?? 0) >= 6, 'and those of a transaction are counted one by one');
    });
  }

  test('a change that was made is answered as made, even if the database cannot tell whether the answer may be cached', async (t) => {
    const setting = await engine.fresh('sample');
    const version = () => {
      throw unavailable(new Error('on purpose'));
    };
    const { app, ask } = await serve(setting, { database: (opened) => ({ ...opened, version }) });
    t.after(() => app.stop());
    assert.match(await ask('inbox', 'DeleteMessage', { message_id: '1003' }), />true</);
    assert.match(await ask('account', 'SaveMessageTemplate', { message: 'new' }), />true</);
  });

  test('an export or a health check that fails ends with its error, and the next one succeeds', async (t) => {
    const { app, faults } = await start(engine, t);
    const whole = await exportOf(app);
    for (let nth = 1; ; nth++) {
      faults.arm(nth, unavailable(new Error('on purpose')));
      const outcome = await exportOf(app).catch((thrown) => thrown);
      if (!faults.disarm()) {
        assert.equal(outcome, whole);
        assert.ok(nth > 10);
        break;
      }
      assert.ok(outcome instanceof Problem && outcome.kind === 'unavailable');
    }
    const address = await app.start();
    const ready = async () => (await fetch(`${address}/health/ready`)).status;
    faults.arm(1, unavailable(new Error('on purpose')));
    assert.equal(await ready(), 503);
    assert.ok(faults.disarm());
    assert.equal(await ready(), 200);
  });

  test('an import leaves nothing if any of its statements fails, and succeeds afterwards', async (t) => {
    const { app, faults, outside } = await start(engine, t);
    const at = '2026-05-01T00:00:00Z';
    const account = {
      username: 'new',
      userID: 'new',
      groups: [{ id: 1 }],
      contacts: [{ id: 1, groupid: 1 }],
      templates: ['a', 'b'],
      blacklist: [{ mobile: '1', timestamp: at }],
      inbox: [{ id: 1, timestamp: at, read: false }],
      scheduled: [{ id: 1, message: 'a', timestamp_scheduled: at, timestamp_created: at }],
    };
    const before = await outside.content();
    for (let nth = 1; ; nth++) {
      faults.arm(nth, new Error('on purpose'));
      const outcome = await adopt(app, account).catch((thrown) => thrown);
      if (!faults.disarm()) {
        assert.equal(outcome, undefined);
        assert.ok(nth > 10);
        break;
      }
      assert.match(String(outcome), /on purpose/);
      assert.deepEqual(await outside.content(), before);
    }
    assert.match(await exportOf(app, 'new'), /"inbox":\[\{"id":"1"/);
  });
});
