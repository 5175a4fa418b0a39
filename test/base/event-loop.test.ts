import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import {
  createPauses,
  createTurnBudget,
  exclusiveTurn,
  nextTurn,
  oneEachTurn,
  replaceTurns,
  turnNumber,
} from '../../src/base/event-loop.ts';

test('turnNumber is the same within a turn of the event loop and larger in the next one', async () => {
  const first = turnNumber();
  assert.equal(turnNumber(), first);
  await nextTurn();
  assert.ok(turnNumber() > first);
});

test('exclusiveTurn gives every caller a turn of its own', async () => {
  const turns = await Promise.all([1, 2, 3].map(() => exclusiveTurn().then(turnNumber)));
  assert.equal(new Set(turns).size, 3);
});

test('oneEachTurn yields the same items, each in another turn', async () => {
  async function* items() {
    yield* ['a', 'b', 'c'];
  }
  const seen: [string, number][] = [];
  for await (const item of oneEachTurn(items())) seen.push([item, turnNumber()]);
  assert.deepEqual(
    seen.map(([item]) => item),
    ['a', 'b', 'c'],
  );
  assert.equal(new Set(seen.map(([, turn]) => turn)).size, 3);
});

test('a replacement of the event loop decides when turns and pauses end', async () => {
  const pause = createPauses(0);
  assert.ok(pause() instanceof Promise);
  const works: (() => void)[] = [];
  const restore = replaceTurns({ afterPoll: (work) => void works.push(work), pause: () => undefined });
  assert.equal(pause(), undefined);
  let isOver = false;
  const turn = nextTurn().then(() => {
    isOver = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(isOver, false);
  for (const work of works) work();
  await turn;
  restore();
  assert.ok(pause() instanceof Promise);
});

/** The clock of the process stands still, but for what the test adds. */
function stoppedClock(t: TestContext): (ms: number) => void {
  let now = 0;
  t.mock.method(performance, 'now', () => now);
  return (ms) => {
    now += ms;
  };
}

test('work runs in the same turn until the budget of the turn is spent, and the rest runs in later turns', async (t) => {
  const pass = stoppedClock(t);
  const within = createTurnBudget(5);
  const turns: number[] = [];
  const work = async () => {
    turns.push(turnNumber());
    pass(3);
  };
  await Promise.all([1, 2, 3, 4, 5].map(() => within(work)));
  const [first = 0] = turns;
  assert.deepEqual(
    turns.map((turn) => turn - first),
    [0, 0, 1, 1, 2],
  );
});

test('work that ends within the budget costs no turn, and a new turn has a new budget', async (t) => {
  const pass = stoppedClock(t);
  const within = createTurnBudget(5);
  const work = async () => {
    pass(1);
    return turnNumber();
  };
  const turn = turnNumber();
  for (let count = 0; count < 5; count++) assert.equal(await within(work), turn);
  await nextTurn();
  const next = turnNumber();
  for (let count = 0; count < 5; count++) assert.equal(await within(work), next);
});

test('a budget passes on what the work returns or throws', async () => {
  const within = createTurnBudget(1);
  assert.equal(await within(async () => 7), 7);
  await assert.rejects(
    within(async () => {
      throw new Error('no');
    }),
    /no/,
  );
  assert.equal(await within(async () => 8), 8);
});

test('a simulated turn that never comes delays no other caller', async (t) => {
  const pass = stoppedClock(t);
  const within = createTurnBudget(0);
  const lost = replaceTurns({ afterPoll: () => {}, pause: () => undefined });
  void exclusiveTurn();
  await within(async () => pass(1));
  assert.equal(await within(async () => 'done'), 'done');
  lost();
  const taken: string[] = [];
  const restore = replaceTurns({
    afterPoll: (work) => {
      taken.push('turn');
      work();
    },
    pause: () => undefined,
  });
  await exclusiveTurn();
  await within(async () => {});
  assert.deepEqual(taken, ['turn']);
  restore();
});
