import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  createPauses,
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

test('whoever takes the place of the event loop decides when turns and pauses come', async () => {
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
