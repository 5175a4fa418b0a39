import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { test } from 'node:test';
import { randomBytes, randomId, randomUuid, replaceRandomness } from '../../src/base/random.ts';
import { newUserId } from '../../src/domain/accounts/credentials.ts';
import { newAttemptId } from '../../src/domain/sending/attempts.ts';
import { newWebhookSecret } from '../../src/domain/webhooks/webhooks.ts';

/** Bytes that follow from a seed alone. */
function seeded(seed: string): (length: number) => Buffer {
  let count = 0;
  return (length) =>
    Buffer.from(hash('shake256', `${seed} ${count++}`, { outputEncoding: 'buffer', outputLength: length }));
}

function drawn(seed: string): unknown[] {
  const restore = replaceRandomness(seeded(seed));
  try {
    return [randomBytes(5).toString('hex'), randomId(), randomUuid(), newUserId(), newWebhookSecret(), newAttemptId(7)];
  } finally {
    restore();
  }
}

test('the same seed makes the same ids and secrets, another seed makes others', () => {
  assert.deepEqual(drawn('one'), drawn('one'));
  const others = new Set(drawn('two'));
  for (const each of drawn('one')) assert.ok(!others.has(each));
});

test('a UUID from a seed is of version 4', () => {
  const restore = replaceRandomness((length) => Buffer.alloc(length, 0xff));
  assert.equal(randomUuid(), 'ffffffff-ffff-4fff-bfff-ffffffffffff');
  restore();
});

test('an id from the largest bytes is positive and fits into 62 bits', () => {
  const restore = replaceRandomness((length) => Buffer.alloc(length, 0xff));
  assert.equal(randomId(), 2n ** 62n - 1n);
  restore();
});

test('without a replacement, ids are those of the system, which never repeat', () => {
  const restore = replaceRandomness(seeded('one'));
  restore();
  assert.equal(new Set(Array.from({ length: 1_000 }, randomId)).size, 1_000);
  assert.match(randomUuid(), /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
});
