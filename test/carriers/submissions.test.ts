import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { SubmitResult } from '../../src/carriers/connector.ts';
import { outcomeOf, retryDelayMs, submissionsOf } from '../../src/carriers/submissions.ts';
import { newAttemptId } from '../../src/domain/sending/attempts.ts';

const accepted: SubmitResult = { kind: 'accepted', gatewayId: null };
const temporary: SubmitResult = { kind: 'temporary', reason: 'throttled' };
const permanent: SubmitResult = { kind: 'permanent', reason: 'no such number' };
const unknown: SubmitResult = { kind: 'unknown-outcome', reason: 'no answer' };
const times = { now: 1_000, random: () => 0, unknownOutcomeMs: 60_000 };
const message = { attempt: 1, expiresAt: 10_000_000 };

describe('outcomes', () => {
  test('a message is submitted if all parts are accepted, and has an unknown outcome if one part has', () => {
    assert.deepEqual(outcomeOf(message, [accepted, accepted], times), { kind: 'submitted' });
    const results = [permanent, temporary, unknown];
    assert.deepEqual(outcomeOf(message, results, times), {
      kind: 'unknown-outcome',
      dueAt: 61_000,
      reason: 'no answer',
    });
    assert.equal(outcomeOf(message, [temporary, permanent], times).kind, 'rejected');
  });

  test('a retry is never after the message expires, and not before the carrier allows it', () => {
    const later: SubmitResult = { kind: 'temporary', reason: 'busy', retryAfterMs: 3_600_000 };
    assert.equal((outcomeOf(message, [later], times) as { dueAt: number }).dueAt, 3_601_000);
    const soon = outcomeOf({ attempt: 9, expiresAt: 2_000 }, [later], times);
    assert.equal((soon as { dueAt: number }).dueAt, 2_000);
  });

  test('the delay of a retry doubles up to 15 minutes, and half of it is random', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1_000 }), fc.double({ min: 0, max: 1, noNaN: true }), (attempt, random) => {
        const delay = retryDelayMs(attempt, () => random);
        assert.ok(delay >= 2_500 && delay <= 15 * 60_000);
      }),
    );
    const longest = [1, 2, 3, 20].map((attempt) => retryDelayMs(attempt, () => 1));
    assert.deepEqual(longest, [5_000, 10_000, 20_000, 900_000]);
  });

  test('control characters of a carrier do not reach the database', () => {
    const outcome = outcomeOf(message, [{ kind: 'permanent', reason: 'no\u0000such\nnumber' }], times);
    assert.deepEqual(outcome, { kind: 'rejected', reason: 'nosuchnumber' });
  });
});

test('attempt ids have 32 hexadecimal digits and are ordered by their time', () => {
  const ids = [1_000, 2_000, 1_800_000_000_000].map((at) => newAttemptId(at));
  for (const id of ids) assert.match(id, /^[0-9a-f]{32}$/);
  assert.deepEqual(ids.toSorted(), ids);
  assert.notEqual(newAttemptId(1_000), newAttemptId(1_000));
});

test('parts of a long message share a reference, also in a later attempt', () => {
  const claimed = {
    account: 1n,
    id: 0x1_23n,
    fence: 1n,
    attempt: 1,
    sender: null,
    recipient: '+27825550201',
    text: 'x'.repeat(161),
    priority: 9,
    notAfter: null,
    expiresAt: 1,
    isAnswer: false,
    partsTotal: 2,
    parts: [{ number: 2, attemptId: 'a' }],
  };
  const [part] = submissionsOf(claimed);
  const reference = part?.udh?.[3] as number;
  assert.deepEqual([...(part?.udh ?? [])], [5, 0, 3, reference, 2, 2]);
  const [again] = submissionsOf({ ...claimed, attempt: 2, fence: 2n, parts: [{ number: 1, attemptId: 'b' }] });
  assert.deepEqual([...(again?.udh ?? [])], [5, 0, 3, reference, 2, 1]);
  assert.deepEqual([part?.text, part?.priority], ['xxxxxxxx', 3]);
});

test('two accounts that share a sender and number their messages alike have different references', () => {
  const referenceOf = (account: bigint, id: bigint): number => {
    const one = { fence: 1n, attempt: 1, sender: 'ACME', recipient: '+27825550201', priority: 0, notAfter: null };
    const parts = [{ number: 1, attemptId: 'a' }];
    const text = 'x'.repeat(161);
    const claimed = { ...one, account, id, text, expiresAt: 1, isAnswer: false, partsTotal: 2, parts };
    return submissionsOf(claimed)[0]?.udh?.[3] as number;
  };
  const ofAccounts = new Set(Array.from({ length: 50 }, (_, index) => referenceOf(BigInt(index + 1), 7n)));
  assert.ok(ofAccounts.size > 30, `${ofAccounts.size} of 50`); // chance gives about 45 of 256
  const inARow = new Set(Array.from({ length: 256 }, (_, index) => referenceOf(1n, BigInt(index + 1))));
  assert.equal(inARow.size, 256);
});
