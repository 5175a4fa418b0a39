import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { RateLimiter } from '../../../src/domain/access/rate-limiter.ts';
import { acme, countAdmitted, createWorld, globex, outcomeOf, settled } from '../../support/admission.ts';
import { createRandom, SEED } from '../../support/random.ts';

/** Processes that count together: each asks one of them, and takes some calls at a time. */
describe('admission in several processes with one rate limiter', () => {
  test('a burst of calls is admitted at once up to the limit, by whichever process, and no more', async () => {
    for (const [perSecond, burst, processes] of [
      [1_000, 100, 1],
      [1_000, 100, 3],
      [5, 10, 1],
      [5, 10, 3],
      [20, 40, 2],
    ] as const) {
      const world = createWorld(perSecond, burst);
      const admissions = Array.from({ length: processes }, () => world.admission());
      const calls = Array.from({ length: 3 * burst }, (_, index) =>
        outcomeOf(() => admissions[index % processes]?.admitAccount(acme)),
      );
      const all = Promise.all(calls);
      for (let turn = 0; turn < burst; turn++) await world.answer();
      const admitted = countAdmitted(await all);
      const leases = (processes - 1) * Math.ceil(perSecond / 20);
      assert.ok(admitted <= burst, `${admitted} of ${burst}`);
      assert.ok(admitted >= burst - leases, `${admitted} of ${burst}, and others hold at most ${leases}`);
      if (processes === 1) assert.equal(admitted, burst);
    }
  });

  test('calls that come while a question is on its way share the calls that its answer grants, and the next call asks again', async () => {
    const world = createWorld(100, 10); // 5 at a time
    const admission = world.admission();
    const outcomes = Promise.all(Array.from({ length: 30 }, () => outcomeOf(() => admission.admitAccount(acme))));
    assert.equal(world.asked.length, 1);
    await world.answer(1);
    assert.equal(world.asked.length, 2);
    await world.answer(1);
    await world.answer(1);
    assert.equal(world.asked.length, 3, 'what was refused is not asked for again by each that waited');
    assert.equal(countAdmitted(await outcomes), 10);
    assert.deepEqual(new Set(await outcomes), new Set(['admitted', '1']));
  });

  test('accounts do not wait for one another', async () => {
    const world = createWorld(10, 1);
    const admission = world.admission();
    const first = outcomeOf(() => admission.admitAccount(acme));
    const second = outcomeOf(() => admission.admitAccount(globex));
    assert.deepEqual(world.asked, ['account 1', 'account 2']);
    await world.answer();
    assert.deepEqual(await Promise.all([first, second]), ['admitted', 'admitted']);
  });

  test('a worker uses its lease for a second without asking the primary', async () => {
    const world = createWorld(100, 100); // 5 at a time
    const admission = world.admission();
    const call = async () => {
      const outcome = outcomeOf(() => admission.admitAccount(acme));
      await world.answer();
      return outcome;
    };
    for (let each = 0; each < 5; each++) assert.equal(await call(), 'admitted');
    assert.equal(world.asked.length, 1);
    assert.equal(await call(), 'admitted');
    assert.equal(world.asked.length, 2);
    world.clock.now += 999;
    assert.equal(await call(), 'admitted');
    assert.equal(world.asked.length, 2);
    world.clock.now += 1;
    assert.equal(await call(), 'admitted');
    assert.equal(world.asked.length, 3);
  });

  test('workers never admit more calls than the primary granted', async (t) => {
    t.diagnostic(`SEED=${SEED}`);
    const random = createRandom('leases');
    for (let round = 0; round < 40; round++) {
      const [perSecond, burst] = [1 + random.below(400), 1 + random.below(60)];
      const world = createWorld(perSecond, burst);
      const admissions = Array.from({ length: 1 + random.below(4) }, () => world.admission());
      const start = world.clock.now;
      let admitted = 0;
      const calls: Promise<void>[] = [];
      for (let step = 0; step < 150; step++) {
        if (random.chance(0.2)) world.clock.now += random.below(400);
        if (random.chance(0.3)) await world.answer(1 + random.below(4));
        const admission = random.pick(admissions);
        for (let call = random.below(8); call > 0; call--) {
          const outcome = outcomeOf(() => admission.admitAccount(acme));
          calls.push(
            outcome.then((what) => {
              if (what === 'admitted') admitted += 1;
            }),
          );
        }
        await settled();
        assert.ok(admitted <= (world.granted.get('account 1') ?? 0), `round ${round}, step ${step}`);
      }
      const done = Promise.all(calls);
      for (let turn = 0; turn < 2_000 && calls.length > 0; turn++) await world.answer(10);
      await done;
      const most = burst + (perSecond * (world.clock.now - start)) / 1_000;
      assert.ok(admitted <= most, `${admitted} of ${most} in round ${round}`);
      assert.ok(admitted >= Math.min(burst, calls.length) / 2, `only ${admitted} of ${burst}`);
    }
  });

  test('a question that fails fails the calls that waited for it, and the next call asks again', async () => {
    let fails = true;
    const rateLimiter: RateLimiter = {
      remote: true,
      take: async () => {
        if (fails) throw new Error('gone');
        return { granted: 1, waitMs: 0 };
      },
      failed: async () => 0,
    };
    const admission = createWorld(10, 10).admission({ rateLimiter });
    const calls = [1, 2, 3].map(async () => admission.admitAccount(acme));
    for (const call of calls) await assert.rejects(call, { message: 'gone' });
    fails = false;
    assert.equal(await outcomeOf(() => admission.admitAccount(acme)), 'admitted');
  });
});
