import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  createPauses,
  exclusiveTurn,
  nextTurn,
  oneEachTurn,
  switchPausesOff,
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

test('pauses that are switched off never come, however long a step takes', async () => {
  const pause = createPauses(0);
  assert.ok(pause() instanceof Promise);
  const switchOn = switchPausesOff();
  assert.equal(pause(), undefined);
  switchOn();
  assert.ok(pause() instanceof Promise);
});
