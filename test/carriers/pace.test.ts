import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createPace } from '../../src/carriers/pace.ts';

/** An event loop whose times the test sets. `callsInRest` is the share of a rest that calls take. */
function opened(callsInRest = 0) {
  const loop = { active: 0, idle: 0, sent: 0 };
  const rests: number[] = [];
  const pace = createPace({
    bytesSent: () => loop.sent,
    utilization: () => ({ active: loop.active, idle: loop.idle }),
    monotonicMs: () => loop.active + loop.idle,
    sleep: async (ms) => {
      rests.push(Math.round(ms));
      loop.active += ms * callsInRest;
      loop.idle += ms * (1 - callsInRest);
      if (callsInRest > 0) loop.sent += 1;
    },
  });
  return { loop, rests, pace };
}

describe('the pace of sending', () => {
  test('without calls nothing rests', async () => {
    const { loop, rests, pace } = opened();
    for (let piece = 0; piece < 100; piece++) {
      loop.active += 10;
      await pace();
    }
    assert.deepEqual(rests, []);
  });

  test('while calls come, a rest takes as long as the work before it', async () => {
    const { loop, rests, pace } = opened();
    for (const ms of [10, 20, 5]) {
      loop.active += ms;
      loop.sent += 1;
      await pace();
    }
    assert.deepEqual(rests, [10, 20, 5]);
  });

  test('after the last call it goes on at full speed', async () => {
    const { loop, rests, pace } = opened();
    loop.active += 10;
    loop.sent += 1;
    await pace();
    for (let piece = 0; piece < 100; piece++) {
      loop.active += 10;
      await pace();
    }
    const restedMs = rests.reduce((sum, ms) => sum + ms, 0);
    assert.ok(restedMs < 250, `${restedMs} ms of rest`);
  });

  test('where calls fill the rests, sending takes a twentieth of the time or less', async () => {
    const { loop, rests, pace } = opened(1);
    let workedMs = 0;
    for (let piece = 0; piece < 200; piece++) {
      loop.active += 10;
      workedMs += 10;
      loop.sent += 1;
      await pace();
    }
    const restedMs = rests.reduce((sum, ms) => sum + ms, 0);
    assert.ok(workedMs / (workedMs + restedMs) < 0.05, `${workedMs} ms of work, ${restedMs} ms of rest`);
  });

  test('a rest ends in time where each timer fires late', async () => {
    const loop = { active: 0, idle: 0, sent: 0 };
    const pace = createPace({
      bytesSent: () => loop.sent++,
      utilization: () => ({ active: loop.active, idle: loop.idle }),
      monotonicMs: () => loop.active + loop.idle,
      sleep: async (ms) => {
        // Nearly all is paid by the first pause.
        if (loop.idle === 0) loop.idle += ms - 1.5;
        else loop.active += ms + 20;
      },
    });
    loop.active += 80;
    await pace();
    assert.ok(loop.active + loop.idle < 2_200, `${loop.active + loop.idle} ms`);
  });

  test('a message that came alone waited for 2 s, because calls had kept the event loop busy', async () => {
    const { loop, rests, pace } = opened(1);
    loop.sent += 1;
    await pace();
    loop.active += 10_000; // of calls
    loop.sent += 1;
    await pace();
    assert.deepEqual(rests, []);
  });

  test('all that sends rests together: whoever asks during a rest waits for its end', async () => {
    const { loop, rests, pace } = opened();
    loop.active += 10;
    loop.sent += 1;
    await Promise.all([pace(), pace(), pace()]);
    assert.deepEqual(rests, [10]);
  });

  test('a rest lasts until the event loop was idle for long enough, whatever else runs meanwhile', async () => {
    const { loop, rests, pace } = opened(0.5);
    loop.active += 8;
    loop.sent += 1;
    await pace();
    assert.deepEqual(rests, [8, 5, 5]);
  });
});
