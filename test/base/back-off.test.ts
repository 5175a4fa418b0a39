import assert from 'node:assert/strict';
import { test } from 'node:test';
import { backOffMs, createBackOff, spread } from '../../src/base/back-off.ts';

test('the pause doubles with every attempt, up to its limit, however many attempts there are', () => {
  const pauses = [0, 1, 2, 3, 4, 5, 2_000].map((attempt) => backOffMs(attempt, 100, 1_000));
  assert.deepEqual(pauses, [100, 100, 200, 400, 800, 1_000, 1_000]);
});

test('a back-off begins anew after a success', () => {
  const backOff = createBackOff(100, 350);
  assert.deepEqual([backOff.next(), backOff.next(), backOff.next(), backOff.next()], [100, 200, 350, 350]);
  assert.equal(backOff.ms, 350);
  backOff.reset();
  assert.deepEqual([backOff.ms, backOff.next(), backOff.ms], [100, 100, 200]);
});

test('half of a spread pause is random', () => {
  assert.deepEqual([spread(100, () => 0), spread(100, () => 0.5), spread(100, () => 1)], [50, 75, 100]);
});
