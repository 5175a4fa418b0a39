import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Reply, Request } from '../../src/base/exchange.ts';
import { createHealth, type Health } from '../../src/serve/health.ts';
import type { Database } from '../../src/store/database.ts';
import { unavailable } from '../../src/store/unavailable.ts';
import { onEveryEngine } from '../support/engines.ts';
import { until } from '../support/program.ts';
import { requestOf } from '../support/protocols.ts';
import { ACME } from '../support/service.ts';
import { serve } from '../support/serving.ts';

/** Probes of load balancers and supervisors: a flood of them must take nothing from calls. */
const PROBES = 40;
const settings = { waitingMax: 1, databaseConnections: 1, turnMaxMs: 60_000 };

const ready = async (address: string): Promise<number> => (await fetch(`${address}/health/ready`)).status;
const live = async (address: string): Promise<number> => (await fetch(`${address}/health/live`)).status;
const callStatus = async (address: string): Promise<number> => {
  const { path, query } = requestOf('get', 'inbox', 'CountUnread', { user_id: ACME });
  return (await fetch(`${address}${path}?${query}`)).status;
};

/** Checks that end when the test says so. */
function heldChecks() {
  const ends: ((failure?: Error) => void)[] = [];
  const check = () =>
    new Promise<void>((resolve, reject) => {
      ends.push((failure) => (failure ? reject(failure) : resolve()));
    });
  return { ends, check };
}

onEveryEngine('many health probes', (engine) => {
  test('many health probes do not count as waiting: while the database answers none of them, calls are served', async (t) => {
    const { ends, check } = heldChecks();
    const holding = (opened: Database): Database => ({ ...opened, check });
    const database = await engine.fresh('sample');
    const { app } = await serve(database, { database: holding }, settings);
    const address = await app.start();
    t.after(async () => {
      await app.stop();
      engine.release(database);
    });
    const probes = Array.from({ length: PROBES }, () => ready(address));
    await until('the check is under way', () => ends.length === 1);
    for (let call = 0; call < 3; call++) {
      assert.equal(await callStatus(address), 200);
      assert.equal(await live(address), 200);
    }
    assert.equal(ends.length, 1, 'more than one check was under way');
    ends[0]?.();
    const answered = Promise.all(probes);
    let isOver = false;
    answered.then(() => {
      isOver = true;
    });
    await until('all probes are answered', () => {
      ends.at(-1)?.();
      return isOver;
    });
    assert.deepEqual(new Set(await answered), new Set([200]));
    assert.equal(await callStatus(address), 200, 'as many wait as before');
    assert.equal(await callStatus(address), 200);
  });

  test('many health probes share one check of the database at a time', async (t) => {
    let underWay = 0;
    let most = 0;
    let checks = 0;
    const counting = (opened: Database): Database => ({
      ...opened,
      async check() {
        checks += 1;
        most = Math.max(most, ++underWay);
        await opened.check().finally(() => underWay--);
      },
    });
    const database = await engine.fresh('sample');
    const { app } = await serve(database, { database: counting }, settings);
    const address = await app.start();
    t.after(async () => {
      await app.stop();
      engine.release(database);
    });
    const statuses = await Promise.all(Array.from({ length: PROBES }, () => ready(address)));
    assert.deepEqual(new Set(statuses), new Set([200]));
    assert.equal(most, 1);
    assert.ok(checks <= PROBES);
    const before = checks;
    assert.equal(await ready(address), 200);
    assert.equal(checks, before + 1, 'a result was kept');
  });
});

describe('readiness', () => {
  const statusOf = async (probe: Reply | Promise<Reply>) => (await probe).status;
  const probe = ({ paths }: Health, path: keyof Health['paths']) => paths[path]({} as Request);

  test('no probe gets the result of a check that began before it, and probes that come during a check share the next one', async () => {
    const { ends, check } = heldChecks();
    const health = createHealth(check);
    const first = probe(health, '/health/ready');
    const others = Array.from({ length: PROBES }, () => probe(health, '/health/ready'));
    assert.equal(ends.length, 1);
    ends[0]?.();
    assert.equal(await statusOf(first), 200);
    assert.equal(ends.length, 2);
    const late = probe(health, '/health/ready');
    ends[1]?.(unavailable(new Error('on purpose')));
    for (const other of others) assert.equal(await statusOf(other), 503);
    assert.equal(ends.length, 3);
    ends[2]?.();
    assert.equal(await statusOf(late), 200);
    const alone = probe(health, '/health/ready');
    assert.equal(ends.length, 4);
    ends[3]?.();
    assert.equal(await statusOf(alone), 200);
  });

  test('the probe after a failed check gets a check of its own', async () => {
    const { ends, check } = heldChecks();
    const health = createHealth(check);
    for (const [failure, status] of [[new Error('on purpose'), 503] as const, [undefined, 200] as const]) {
      const asked = probe(health, '/health/ready');
      ends.at(-1)?.(failure);
      assert.equal(await statusOf(asked), status);
    }
    assert.equal(ends.length, 2);
  });

  test('after stopping() no probe queries the database', async () => {
    const { ends, check } = heldChecks();
    const health = createHealth(check);
    health.stopping();
    assert.equal(await statusOf(probe(health, '/health/ready')), 503);
    assert.equal(await statusOf(probe(health, '/health/live')), 200);
    assert.equal(ends.length, 0);
  });
});
