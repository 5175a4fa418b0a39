import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { systemClock } from '../../src/base/clock.ts';
import { afterPoll } from '../../src/base/event-loop.ts';
import { createLoadShedder } from '../../src/http/load-shedding.ts';

/** Which requests are begun, wait in line or are refused, by a clock of the test's own. */

/** An event loop in the test's hands, and calls that each take as long as the test says. */
function fakeLoop(settings: { turnMaxMs: number; waitingMax?: number }) {
  const loop = { now: 0 };
  let turn: (() => void)[] = [];
  const timers: { at: number; work: () => void }[] = [];
  const loadShedder = createLoadShedder(
    { waitingMax: 1_000, ...settings },
    {
      monotonic: () => loop.now,
      afterPoll: (next) => void turn.push(next),
      after: (ms, due) => void timers.push({ at: loop.now + ms, work: due }),
    },
  );
  const begun: { number: number; waited: number }[] = [];
  const refused: number[] = [];
  let numbers = 0;
  return {
    loop,
    loadShedder,
    begun,
    refused,
    /** A request comes, whose call takes so long. What became of it at once. */
    come(ms: number, bytes = 0): string {
      const number = numbers++;
      const cameAt = loop.now;
      const serve = () => {
        begun.push({ number, waited: loop.now - cameAt });
        loop.now += ms;
      };
      const verdict = loadShedder.decide();
      if (verdict === 'now') serve();
      else if (verdict === 'reject') refused.push(number);
      else loadShedder.queue(bytes, serve, () => void refused.push(number));
      return verdict;
    },
    alsoNextTurn: (next: () => void) => void turn.push(next),
    /** The rest of a turn, after all that could be read. */
    async endTurn(): Promise<void> {
      const works = turn;
      turn = [];
      for (const next of works) {
        next();
        await new Promise(setImmediate);
      }
    },
    passTime(ms: number): void {
      const end = loop.now + ms;
      for (;;) {
        timers.sort((one, other) => one.at - other.at);
        const [first] = timers;
        if (!first || first.at > end) break;
        timers.shift();
        loop.now = Math.max(loop.now, first.at);
        first.work();
      }
      loop.now = end;
    },
  };
}

describe('load shedding', () => {
  test('requests are started as they arrive for 10 ms; the rest are started in order, for 10 ms in each turn', async () => {
    const { come, endTurn, begun, refused } = fakeLoop({ turnMaxMs: 500 });
    const verdicts = Array.from({ length: 100 }, () => come(1));
    assert.deepEqual(
      ['now', 'later', 'reject'].map((what) => verdicts.filter((verdict) => verdict === what).length),
      [10, 90, 0],
    );
    for (let turn = 2; turn <= 10; turn++) {
      await endTurn();
      assert.equal(begun.length, 10 * turn);
    }
    assert.deepEqual(
      begun.map(({ number }) => number),
      Array.from({ length: 100 }, (_, number) => number),
    );
    assert.deepEqual(refused, []);
    await endTurn();
    assert.equal(come(1), 'now');
  });

  test('a commit that waits for the next turn waits for one slice of requests, however many there are', async () => {
    const { come, endTurn, begun, alsoNextTurn } = fakeLoop({ turnMaxMs: 500 });
    for (let request = 0; request < 1_000; request++) come(1);
    const committed: number[] = [];
    const commit = () => {
      committed.push(begun.length);
      if (committed.length < 20) alsoNextTurn(commit);
    };
    alsoNextTurn(commit);
    for (let turn = 0; turn < 20; turn++) await endTurn();
    assert.deepEqual(
      committed,
      Array.from({ length: 20 }, (_, turn) => 10 * (turn + 2)),
    );
  });

  test('load shedding counts time, so one turn that reads again and again rejects as several turns do', () => {
    const { come, loop, refused } = fakeLoop({ turnMaxMs: 100 });
    for (let request = 0; request < 10; request++) assert.equal(come(1), 'now');
    assert.equal(come(1), 'later');
    loop.now += 50; // spent on reading
    assert.equal(come(1), 'later');
    loop.now += 1;
    for (let poll = 0; poll < 48; poll++) assert.equal(come(1), 'reject');
    assert.equal(refused.length, 48);
  });

  test('a request that has waited too long is rejected when it is its turn, and later ones are served again', async () => {
    const { come, endTurn, loop, begun, refused, loadShedder } = fakeLoop({ turnMaxMs: 100 });
    for (let request = 0; request < 20; request++) come(1);
    loop.now += 101; // somebody else had the processor
    await endTurn();
    assert.equal(begun.length, 10);
    assert.deepEqual(
      refused,
      Array.from({ length: 10 }, (_, request) => 10 + request),
    );
    assert.equal(loadShedder.rejected, 10);
    assert.equal(come(1), 'now');
  });

  test('with more clients than can be served, nearly all time is spent on calls, and none waits longer than it may', async () => {
    const { come, endTurn, loop, begun, refused } = fakeLoop({ turnMaxMs: 500 });
    for (let turn = 0; turn < 500; turn++) {
      for (let request = 0; request < 100; request++) come(0.1);
      await endTurn();
    }
    assert.ok(begun.length * 0.1 > 0.99 * loop.now, `${begun.length} calls in ${loop.now} ms`);
    assert.equal(refused.length, 0, 'as many come as can be served');
    for (let turn = 0; turn < 500; turn++) {
      for (let request = 0; request < 1_000; request++) come(0.1);
      await endTurn();
    }
    assert.ok(begun.length * 0.1 > 0.99 * loop.now, `${begun.length} calls in ${loop.now} ms`);
    assert.ok(refused.length > 0);
    for (const { waited } of begun) assert.ok(waited <= 500, `waited for ${waited} ms`);
  });

  test('a new connection makes turns short, so that the next one need not wait', async () => {
    const { come, endTurn, begun, loadShedder } = fakeLoop({ turnMaxMs: 500 });
    for (let request = 0; request < 100; request++) come(0.25);
    assert.equal(begun.length, 40);
    loadShedder.accepted();
    await endTurn();
    assert.equal(begun.length, 42);
    await endTurn();
    assert.equal(begun.length, 82, 'in this turn there was none');
  });

  test('delayed refusals are sent a second later, at most 2 in a millisecond, however many there are', () => {
    const { loadShedder, loop, passTime } = fakeLoop({ turnMaxMs: 500 });
    const told: number[] = [];
    for (let refusal = 0; refusal < 6_000; refusal++) loadShedder.delayRejection(() => void told.push(loop.now));
    passTime(999);
    assert.equal(told.length, 0);
    passTime(1_001);
    assert.ok(told.length > 1_990 && told.length <= 2_001, `${told.length} in the first second`);
    passTime(2_000);
    assert.equal(told.length, 6_000);
  });

  test('a delayed refusal keeps the process alive, even if all clients are gone', async () => {
    const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
    const before = timers();
    const loadShedder = createLoadShedder({ turnMaxMs: 500, waitingMax: 1 }, { ...systemClock, afterPoll });
    const told = new Promise<void>((resolve) => loadShedder.delayRejection(resolve));
    assert.equal(timers(), before + 1);
    await told;
  });

  test('large bodies may wait up to 32 MiB in all, and small ones always may', async () => {
    const { come, endTurn, refused, loadShedder } = fakeLoop({ turnMaxMs: 60_000 });
    come(10);
    for (let request = 1; request <= 32; request++) come(0, 1_048_576);
    assert.deepEqual(refused, []);
    come(0, 1_048_576);
    come(0, 65_536);
    assert.deepEqual([refused, loadShedder.rejected], [[33], 1]);
    await endTurn();
    await endTurn();
    come(10);
    come(0, 1_048_576);
    await endTurn();
    assert.deepEqual(refused, [33]);
  });

  test('at most waitingMax requests wait for their answer, and more are rejected until one is answered', async () => {
    const { come, endTurn, loadShedder } = fakeLoop({ turnMaxMs: 60_000, waitingMax: 3 });
    for (let request = 0; request < 3; request++) {
      assert.equal(come(0), 'now');
      loadShedder.begin();
    }
    for (let turn = 0; turn < 3; turn++) {
      assert.equal(come(0), 'reject');
      await endTurn();
    }
    assert.deepEqual([loadShedder.waiting, loadShedder.rejected], [3, 3]);
    loadShedder.end();
    assert.equal(come(0), 'now');
  });

  test('other work is told whether the process is free, behind or overloaded', async () => {
    const { loadShedder, come, endTurn, loop } = fakeLoop({ turnMaxMs: 100, waitingMax: 4 });
    assert.equal(loadShedder.load, 'free');
    come(20);
    assert.equal(come(20), 'later');
    assert.equal(loadShedder.load, 'behind');
    loop.now += 60;
    assert.equal(loadShedder.load, 'overloaded');
    await endTurn();
    await endTurn();
    assert.equal(loadShedder.load, 'free');
    for (const expected of ['free', 'behind', 'behind', 'overloaded']) {
      loadShedder.begin();
      assert.equal(loadShedder.load, expected);
    }
  });
});
