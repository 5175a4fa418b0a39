import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Queries } from '../../../src/store/database.ts';
import { countOtherSessions } from '../../../src/store/postgres/other-sessions.ts';
import { citusState, nodeFacts, otherSessions } from '../../../src/store/schema/distribution-facts.ts';
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

test('the connections to all nodes of Citus are added up', async () => {
  const clock = createVirtualClock();
  const counted = countOtherSessions(cluster({ success: true, result: '2' }, { success: true, result: '1' }), clock);
  await clock.advance(60_000);
  assert.equal(await counted, 3);
});

test('a node of Citus that did not answer is named, and not taken for one that nobody uses', async () => {
  const result = 'failed to connect to worker1.example:5432';
  await assert.rejects(
    countOtherSessions(cluster({ success: true, result: '0' }, { success: false, result }), createVirtualClock()),
    /The node worker1\.example:5432 of Citus did not answer.*Start the node.*run this command again/,
  );
});

/** A coordinator and a worker, each with what it answers. */
const cluster = (...answers: { success: boolean; result: string }[]): Queries =>
  ({
    first: async ({ name }) => (name === citusState.name ? { is_there: true } : undefined),
    all: async ({ name }) =>
      name === nodeFacts.name
        ? [{ is_coordinator: true }, { is_coordinator: false }]
        : answers.map((answer, index) => ({ node: `worker${index}.example:5432`, ...answer })),
  }) as Partial<Queries> as Queries;

/** PostgreSQL without Citus, which answers with one total after the other and stays with the last. */
function sessionsOf(totals: bigint[]): Queries {
  const next = () => (totals.length > 1 ? totals.shift() : totals[0]);
  return {
    first: async (statement) => (statement.name === otherSessions.name ? { total: next() } : undefined),
  } as Partial<Queries> as Queries;
}
