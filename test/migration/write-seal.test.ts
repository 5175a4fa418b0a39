import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSeal } from '../../src/migration/proxy/write-seal.ts';

const KEY = Buffer.from('a key for tests');

test('what is sealed shows nothing of its text, and opens with the same key and account only', () => {
  const seal = createSeal(KEY);
  const sealed = seal.seal(7n, 'user_id=secret');
  assert.doesNotMatch(Buffer.from(sealed, 'base64').toString('latin1'), /secret|user_id/);
  assert.equal(seal.open(7n, sealed), 'user_id=secret');
  assert.throws(() => seal.open(8n, sealed));
  assert.throws(() => createSeal(Buffer.from('another')).open(7n, sealed));
  const bytes = Buffer.from(sealed, 'base64');
  bytes[bytes.length - 1] = (bytes.at(-1) as number) ^ 1;
  assert.throws(() => seal.open(7n, bytes.toString('base64')));
});

test('equal texts are sealed differently, and the name of a key does not tell it', () => {
  const seal = createSeal(KEY);
  assert.notEqual(seal.seal(7n, 'a'), seal.seal(7n, 'a'));
  assert.match(seal.keyName, /^[0-9a-f]{16}$/);
  assert.equal(createSeal(KEY).keyName, seal.keyName);
  assert.notEqual(createSeal(Buffer.from('another')).keyName, seal.keyName);
});
