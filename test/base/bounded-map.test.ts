import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BoundedMap } from '../../src/base/bounded-map.ts';

test('BoundedMap is emptied by a new key when it is full, and not by a known one', () => {
  const map = new BoundedMap<string, number>(2);
  map.set('a', 1).set('b', 2).set('a', 3);
  assert.deepEqual(
    [...map],
    [
      ['a', 3],
      ['b', 2],
    ],
  );
  map.set('c', 4);
  assert.deepEqual([...map], [['c', 4]]);
});
