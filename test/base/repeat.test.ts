import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRepeat, type RepeatParts } from '../../src/base/repeat.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

function opened(given: Partial<RepeatParts> = {}) {
  const clock = createVirtualClock();
  const begun: number[] = [];
  const failures: unknown[] = [];
  const work = given.work ?? (async () => {});
  const repeat = createRepeat({
    clock,
    everyMs: 100,
    failed: (thrown) => failures.push(thrown),
    ...given,
    work: (isStopping) => {
      begun.push(clock.now());
      return work(isStopping);
    },
  });
  return { clock, begun, failures, repeat };
}

test('work is run at each interval, from the first one or from the start', async () => {
  const later = opened();
  later.repeat.start();
  later.repeat.start();
  await later.clock.advance(350);
  assert.deepEqual(later.begun, [100, 200, 300]);
  const now = opened({ atOnce: true });
  now.repeat.start();
  await now.clock.advance(250);
  assert.deepEqual(now.begun, [0, 100, 200]);
});

test('a run that takes longer than the interval is not overtaken by the next one', async () => {
  const { clock, begun, repeat } = opened({ work: () => clock.sleep(150) });
  repeat.start();
  await clock.advance(520);
  assert.deepEqual(begun, [100, 300, 500]);
});

test('a run that throws is reported, and the next one follows', async () => {
  const { clock, begun, failures, repeat } = opened({ work: () => Promise.reject(new Error('no database')) });
  repeat.start();
  await clock.advance(200);
  assert.deepEqual(begun, [100, 200]);
  assert.deepEqual(failures.map(String), ['Error: no database', 'Error: no database']);
});

test('work that throws before it returns a promise is reported, and the next run follows', async () => {
  const { clock, begun, failures, repeat } = opened({
    work: () => {
      throw new Error('at once');
    },
  });
  repeat.start();
  await clock.advance(250);
  assert.deepEqual([begun, failures.length], [[100, 200], 2]);
});

test('a run that is asked for joins the one under way', async () => {
  const { clock, begun, repeat } = opened({ work: () => clock.sleep(10) });
  const first = repeat.run();
  const second = repeat.run();
  await clock.advance(10);
  await Promise.all([first, second]);
  assert.deepEqual(begun, [0]);
});

test('a stop tells the run under way, waits for it, and no other follows', async () => {
  let stopped = false;
  const { clock, begun, repeat } = opened({
    work: async (isStopping) => {
      while (!isStopping()) await clock.sleep(30);
    },
  });
  repeat.start();
  await clock.advance(110);
  const stop = repeat.stop().then(() => {
    stopped = true;
  });
  await clock.advance(10);
  assert.equal(stopped, false);
  await clock.advance(1_000);
  await stop;
  repeat.start();
  await clock.advance(1_000);
  assert.deepEqual(begun, [100]);
  assert.deepEqual(clock.waiting(), []);
});
