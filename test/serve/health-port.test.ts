import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { describe, test } from 'node:test';
import type { Worker } from 'node:worker_threads';
import { systemClock } from '../../src/base/clock.ts';
import { judge, LIVE_LAG_MS_MAX, READY_LAG_MS_MAX, type State } from '../../src/serve/health-port.ts';
import { startHealthThread, startHeartbeat } from '../../src/serve/health-thread.ts';
import type { Database } from '../../src/store/database.ts';
import { onFirstEngine } from '../support/engines.ts';
import { freePort } from '../support/free-port.ts';
import { until } from '../support/program.ts';
import { serve } from '../support/serving.ts';
import { createVirtualClock, settled } from '../support/virtual-clock.ts';

/** Health on a port of its own, which says how the event loop does without being asked by it. */

const probe = async (port: number, path: string): Promise<string> => {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`);
  return `${answer.status} ${(await answer.text()).trim()}`;
};

/** Asks from another process, while this one does nothing but wait for it to end. */
const probeWhileBlocked = (port: number, path: string): string => {
  const script = `fetch('http://127.0.0.1:${port}${path}').then(({ status }) => process.stdout.write(String(status)))`;
  return spawnSync(process.execPath, ['-e', script], { encoding: 'utf8' }).stdout;
};

describe('the answer of the health port', () => {
  const at = (lagMs: number, state: State = 'ready') => ({ lagMs, state });

  test('a process is ready if it said so a short time ago, and live if it said anything not long ago', () => {
    const statuses = [0, READY_LAG_MS_MAX, READY_LAG_MS_MAX + 1, LIVE_LAG_MS_MAX, LIVE_LAG_MS_MAX + 1].map((lagMs) =>
      ['/health/ready', '/health/live'].map((path) => judge(path, [at(lagMs)])?.status),
    );
    assert.deepEqual(statuses, [
      [200, 200],
      [200, 200],
      [503, 200],
      [503, 200],
      [503, 503],
    ]);
  });

  test('/health/ready says why no process is ready', () => {
    for (const state of ['starting', 'stopping', 'the database does not answer'] as const) {
      assert.deepEqual(judge('/health/ready', [at(0, state)]), { status: 503, text: state });
      assert.equal(judge('/health/live', [at(0, state)])?.status, 200);
    }
    assert.equal(judge('/health/ready', [at(60_000)])?.text, 'the process does not respond');
    assert.equal(judge('/api/inbox.asmx', [at(0)]), undefined);
  });

  test('/health/ready answers 200 if one of several processes is ready', () => {
    assert.equal(judge('/health/ready', [at(60_000), at(0, 'stopping'), at(0)])?.status, 200);
    assert.equal(judge('/health/ready', [at(60_000), at(0, 'stopping')])?.status, 503);
    assert.equal(judge('/health/live', [at(60_000), at(0, 'stopping')])?.status, 200);
  });
});

describe('the thread of the health port', () => {
  test('the health port answers while the event loop of the process is blocked', async () => {
    const healthPort = await freePort();
    const thread = await startHealthThread({ healthHost: '127.0.0.1', healthPort }, systemClock, assert.ifError);
    try {
      await until('it is starting', async () => {
        thread.tell('starting'); // on a busy machine the first one may be too old by now
        return (await probe(healthPort, '/health/ready')) === '503 starting';
      });
      await until('it is ready', async () => {
        thread.tell('ready');
        return (await probe(healthPort, '/health/ready')) === '200 ready';
      });
      assert.equal(await probe(healthPort, '/'), '404 Health is at /health/live and /health/ready.');
      thread.tell('ready');
      assert.equal(probeWhileBlocked(healthPort, '/health/live'), '200');
    } finally {
      await thread.close();
    }
    await assert.rejects(probe(healthPort, '/health/live'));
  });

  test('a thread that dies is logged, and another one takes its place', async () => {
    const threads: Worker[] = [];
    const seen = (worker: Worker) => void threads.push(worker);
    process.on('worker', seen);
    const deaths: unknown[] = [];
    const healthPort = await freePort();
    const thread = await startHealthThread({ healthHost: '127.0.0.1', healthPort }, systemClock, (thrown) =>
      deaths.push(thrown),
    );
    const isThere = () => probe(healthPort, '/health/live').catch(() => 'nobody listens');
    try {
      for (const round of [1, 2]) {
        await threads.at(-1)?.terminate();
        assert.equal(await isThere(), 'nobody listens');
        await until('it was told', () => deaths.length === round);
        await until('another one listens', async () => (await isThere()) !== 'nobody listens');
        assert.equal(threads.length, round + 1);
      }
      await until('it knows the state', async () => {
        thread.tell('ready');
        return (await probe(healthPort, '/health/ready')) === '200 ready';
      });
    } finally {
      process.off('worker', seen);
      await thread.close();
    }
    assert.deepEqual([await isThere(), deaths.length], ['nobody listens', 2]);
  });

  test('a health port that is taken is reported once, also when the thread has ended before anybody could listen', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port: healthPort } = server.address() as AddressInfo;
    const deaths: unknown[] = [];
    const start = () =>
      startHealthThread({ healthHost: '127.0.0.1', healthPort }, systemClock, (thrown) => deaths.push(thrown));
    try {
      await assert.rejects(start(), { code: 'EADDRINUSE', port: healthPort });
      const starting = start();
      // Meanwhile the thread ends, and its message and its exit arrive together.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500);
      await assert.rejects(starting, { code: 'EADDRINUSE', port: healthPort });
      assert.deepEqual(deaths, []);
    } finally {
      server.close();
    }
  });

  test('the database is checked once at a time, and the result is reported', async () => {
    const told: State[] = [];
    const ends: ((state: State) => void)[] = [];
    const clock = createVirtualClock();
    const beating = startHeartbeat(
      clock,
      () => new Promise((resolve) => ends.push(resolve)),
      (state) => void told.push(state),
    );
    try {
      await clock.advance(2_000);
      assert.equal(told.length, 11);
      assert.deepEqual([new Set(told), ends.length], [new Set(['starting']), 1]);
      ends[0]?.('ready');
      await clock.advance(1_000);
      assert.equal(ends.length, 2);
      assert.equal(told.at(-1), 'ready');
      ends[1]?.('the database does not answer');
      await settled();
      assert.equal(told.at(-1), 'the database does not answer');
      beating.stopping();
      assert.equal(told.at(-1), 'stopping');
    } finally {
      await beating.end();
    }
  });
});

onFirstEngine('health on a port of its own', (engine) => {
  test('the health port says that the database fails and that the service stops', async () => {
    let isAway = false;
    const away = (opened: Database): Database => ({
      ...opened,
      check: () => (isAway ? Promise.reject(new Error('on purpose')) : opened.check()),
    });
    const database = await engine.fresh('sample');
    const healthPort = await freePort();
    const { app } = await serve(database, { database: away }, { healthPort });
    await app.start();
    try {
      await until('it is ready', async () => (await probe(healthPort, '/health/ready')) === '200 ready');
      isAway = true;
      const said = '503 the database does not answer';
      await until('it says so', async () => (await probe(healthPort, '/health/ready')) === said);
      assert.equal(await probe(healthPort, '/health/live'), '200 live');
      isAway = false;
      await until('it is ready again', async () => (await probe(healthPort, '/health/ready')) === '200 ready');
    } finally {
      await app.stop();
      engine.release(database);
    }
    await assert.rejects(probe(healthPort, '/health/live'));
  });
});
