import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Queries } from '../../../src/store/database.ts';
import { countOtherSessions } from '../../../src/store/postgres/distribute.ts';
import { otherSessions } from '../../../src/store/schema/distribution-facts.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';

test('the connections of others are asked for again while a closed one is still listed', async () => {
  const clock = createVirtualClock();
  const counted = countOtherSessions(sessionsOf([2n, 1n, 0n]), clock);
  await clock.advance(1_000);
  assert.equal(await counted, 0);
});

test('the connections of others are counted when they stay', async () => {
  const clock = createVirtualClock();
  const counted = countOtherSessions(sessionsOf([3n]), clock);
  await clock.advance(60_000);
  assert.equal(await counted, 3);
});

/** PostgreSQL without Citus, which answers with one total after the other and stays with the last. */
function sessionsOf(totals: bigint[]): Queries {
  const next = () => (totals.length > 1 ? totals.shift() : totals[0]);
  return {
    first: async (statement) => (statement.name === otherSessions.name ? { total: next() } : undefined),
  } as Partial<Queries> as Queries;
}
