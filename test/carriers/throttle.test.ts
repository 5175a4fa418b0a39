import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createThrottle } from '../../src/carriers/throttle.ts';

/** An event loop whose times the test sets. `callsInRest` is the share of a pause that calls take. */
function opened(callsInRest = 0) {
  const loop = { active: 0, idle: 0, sent: 0 };
  const pauses: number[] = [];
  const throttle = createThrottle({
    bytesSent: () => loop.sent,
    utilization: () => ({ active: loop.active, idle: loop.idle }),
    monotonicMs: () => loop.active + loop.idle,
    sleep: async (ms) => {
      pauses.push(Math.round(ms));
      loop.active += ms * callsInRest;
      loop.idle += ms * (1 - callsInRest);
      if (callsInRest > 0) loop.sent += 1;
    },
  });
  return { loop, pauses, throttle };
}

describe('the throttle of sending', () => {
  test('sending does not pause while no calls come', async () => {
    const { loop, pauses, throttle } = opened();
    for (let piece = 0; piece < 100; piece++) {
      loop.active += 10;
      await throttle();
    }
    assert.deepEqual(pauses, []);
  });

  test('while calls come, each pause of sending takes as long as the work before it', async () => {
    const { loop, pauses, throttle } = opened();
    for (const ms of [10, 20, 5]) {
      loop.active += ms;
      loop.sent += 1;
      await throttle();
    }
    assert.deepEqual(pauses, [10, 20, 5]);
  });

  test('sending continues at full speed after the last call', async () => {
    const { loop, pauses, throttle } = opened();
    loop.active += 10;
    loop.sent += 1;
    await throttle();
    for (let piece = 0; piece < 100; piece++) {
      loop.active += 10;
      await throttle();
    }
    const restedMs = pauses.reduce((sum, ms) => sum + ms, 0);
    assert.ok(restedMs < 250, `${restedMs} ms of pause`);
  });

  test('if calls fill the pauses, sending takes a twentieth of the time or less', async () => {
    const { loop, pauses, throttle } = opened(1);
    let workedMs = 0;
    for (let piece = 0; piece < 200; piece++) {
      loop.active += 10;
      workedMs += 10;
      loop.sent += 1;
      await throttle();
    }
    const restedMs = pauses.reduce((sum, ms) => sum + ms, 0);
    assert.ok(workedMs / (workedMs + restedMs) < 0.05, `${workedMs} ms of work, ${restedMs} ms of pause`);
  });

  test('a pause ends in time although every timer fires late', async () => {
    const loop = { active: 0, idle: 0, sent: 0 };
    const throttle = createThrottle({
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
    await throttle();
    assert.ok(loop.active + loop.idle < 2_200, `${loop.active + loop.idle} ms`);
  });

  test('a message that comes alone does not pause because calls kept the event loop busy', async () => {
    const { loop, pauses, throttle } = opened(1);
    loop.sent += 1;
    await throttle();
    loop.active += 10_000; // of calls
    loop.sent += 1;
    await throttle();
    assert.deepEqual(pauses, []);
  });

  test('everything that sends pauses at the same time, and waits for the end of the same pause', async () => {
    const { loop, pauses, throttle } = opened();
    loop.active += 10;
    loop.sent += 1;
    await Promise.all([throttle(), throttle(), throttle()]);
    assert.deepEqual(pauses, [10]);
  });

  test('a pause lasts until the event loop was idle for long enough, whatever else runs meanwhile', async () => {
    const { loop, pauses, throttle } = opened(0.5);
    loop.active += 8;
    loop.sent += 1;
    await throttle();
    assert.deepEqual(pauses, [8, 5, 5]);
  });
});
