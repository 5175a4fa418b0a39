import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createHashSemaphore } from '../../../src/domain/access/sign-in-limits.ts';
import { settled } from '../../support/virtual-clock.ts';

/** Computations that end when the test says so. */
function opened() {
  const run = createHashSemaphore();
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const compute = (address: string) =>
    run(address, () => {
      begun.push(address);
      return new Promise<void>((resolve) => ends.push(resolve));
    });
  return { begun, compute, endNext: () => ends.shift()?.() };
}

const [BUSY, OTHER] = ['192.0.2.1', '198.51.100.1'];

describe('computations of password hashes', () => {
  test('four hashes are computed at a time, and one for another network does not wait behind all those of a busy network', async () => {
    const { begun, compute, endNext } = opened();
    for (let count = 0; count < 8; count++) void compute(BUSY);
    await settled();
    void compute(OTHER);
    await settled();
    assert.deepEqual(begun, Array(4).fill(BUSY));
    for (let count = 0; count < 3; count++) {
      endNext();
      await settled();
    }
    assert.deepEqual(begun.slice(4), [BUSY, OTHER, BUSY]);
  });

  test('eight hashes of a network may wait; the next one is refused, and those of other networks are not', async () => {
    const { begun, compute, endNext } = opened();
    for (let count = 0; count < 12; count++) void compute(BUSY);
    await settled();
    await assert.rejects(compute(BUSY), { kind: 'too-many' });
    void compute(OTHER);
    for (let count = 0; count < 13; count++) {
      endNext();
      await settled();
    }
    assert.equal(begun.length, 13);
    void compute(BUSY);
    await settled();
    assert.equal(begun.length, 14);
  });
});
