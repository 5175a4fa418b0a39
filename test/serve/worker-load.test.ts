import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { describe, test } from 'node:test';
import { createThrottle } from '../../src/carriers/throttle.ts';
import {
  createFollowedLoad,
  createLoadMeter,
  createWorkersLoad,
  onLoad,
  tellLoad,
  type WorkerLoad,
} from '../../src/serve/worker-load.ts';

/** A channel that delivers at once. */
function channel() {
  const receiver = new EventEmitter();
  const send = (message: object) => receiver.emit('message', message);
  return { connected: true, send, receiver };
}

describe('the load of workers', () => {
  test('a worker reports what it sent and which share of the time it was idle, and nothing while no calls come', () => {
    const loop = { active: 5, idle: 5, sent: 1_000 };
    const measure = createLoadMeter(
      () => loop.sent,
      () => ({ ...loop }),
    );
    loop.idle += 100;
    assert.equal(measure(), undefined);
    Object.assign(loop, { active: 30, idle: 180, sent: 1_400 });
    assert.deepEqual(measure(), { idle: 0.75, bytesSent: 400 });
    assert.equal(measure(), undefined);
  });

  test('the load of all workers is the mean, and a worker without a report counts as idle', () => {
    let now = 0;
    const loadOf = createWorkersLoad(2, () => now);
    assert.deepEqual(loadOf(1, { idle: 0, bytesSent: 7 }), { idle: 0.5, bytesSent: 7 });
    now += 100;
    assert.deepEqual(loadOf(2, { idle: 0.5, bytesSent: 9 }), { idle: 0.25, bytesSent: 9 });
    now += 250;
    assert.equal(loadOf(2, { idle: 0.5, bytesSent: 9 }).idle, 0.75, 'the report of the first one is outdated');
  });

  test('a worker that was replaced is no longer counted', () => {
    let now = 0;
    const loadOf = createWorkersLoad(1, () => now);
    loadOf(1, { idle: 0, bytesSent: 1 });
    assert.equal(loadOf(2, { idle: 0.5, bytesSent: 1 }).idle, 0, 'for a moment both have reported');
    now += 400;
    assert.equal(loadOf(2, { idle: 0.5, bytesSent: 1 }).idle, 0.5);
  });

  test('a report reaches the process that sends, and other messages do not', () => {
    const { receiver, ...sender } = channel();
    const seen: WorkerLoad[] = [];
    onLoad(receiver, (load) => seen.push(load));
    receiver.emit('message', { columbaState: 'ready' });
    tellLoad(sender, { idle: 0.5, bytesSent: 3 });
    tellLoad({ ...sender, connected: false }, { idle: 0.5, bytesSent: 4 });
    assert.deepEqual(seen, [{ idle: 0.5, bytesSent: 3 }]);
  });

  test('between two reports the share of idle time stays the same, and without reports the workers count as idle', () => {
    let now = 1_000;
    const load = createFollowedLoad(() => now);
    load.report({ idle: 0.25, bytesSent: 10 });
    now += 100;
    assert.equal(load.idleMs(), 25);
    load.report({ idle: 0, bytesSent: 5 });
    now += 200;
    assert.equal(load.idleMs(), 25);
    assert.equal(load.bytesSent(), 15);
    now += 1_000;
    assert.equal(load.idleMs(), 1_025);
  });

  test('sending in another process pauses while workers are busy, and does not while they are idle', async () => {
    const restedMs = async (idle: number): Promise<number> => {
      let now = 0;
      let active = 0;
      let rested = 0;
      const load = createFollowedLoad(() => now);
      const pass = (ms: number) => {
        for (let passed = 0; passed < ms; passed += 100) {
          now += Math.min(100, ms - passed);
          load.report({ idle, bytesSent: 1 });
        }
      };
      const throttle = createThrottle({
        bytesSent: load.bytesSent,
        utilization: () => ({ active, idle: load.idleMs() }),
        monotonicMs: () => now,
        sleep: async (ms) => {
          rested += ms;
          pass(ms);
        },
      });
      pass(1_000);
      for (let piece = 0; piece < 20; piece++) {
        active += 10;
        pass(10);
        await throttle();
      }
      return Math.round(rested);
    };
    assert.ok((await restedMs(0)) >= 20 * 10 * 20, 'many times as long as the work');
    assert.ok((await restedMs(1)) <= 20, 'the workers were idle meanwhile');
  });
});
