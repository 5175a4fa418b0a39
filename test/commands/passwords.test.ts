import assert from 'node:assert/strict';
import { argon2Sync } from 'node:crypto';
import { test } from 'node:test';
import {
  hashPassword,
  hashUserId,
  isPasswordHash,
  newUserId,
  passwordMatches,
} from '../../src/domain/accounts/credentials.ts';
import { atFullCost } from '../support/cheap-passwords.ts';

test('a password matches its hash, whatever characters it has', async () => {
  for (const password of ['correct horse battery staple', 'pässwörd 😀', ' ', '', '\u0000x']) {
    const hash = await hashPassword(password);
    assert.ok(isPasswordHash(hash));
    assert.equal(await passwordMatches(password, hash), true);
  }
});

test('a wrong password does not match', async () => {
  const hash = await hashPassword('secret');
  for (const wrong of ['Secret', 'secret ', ' secret', 'secre', '', hash]) {
    assert.equal(await passwordMatches(wrong, hash), false);
  }
});

test('a hash is argon2id with a fresh salt each time, and holds nothing of the password', async () => {
  const [one, other] = [await hashPassword('secret'), await hashPassword('secret')];
  assert.match(one, /^\$argon2id\$v=19\$m=\d+,t=\d,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
  assert.notEqual(one, other);
  assert.ok(!one.includes('secret'));
});

test('a password is hashed with 19 MiB and 2 passes, except in tests', async () => {
  const hash = await atFullCost(() => hashPassword('secret'));
  assert.match(hash, /\$m=19456,t=2,p=1\$/);
  assert.equal(await passwordMatches('secret', hash), true);
  assert.match(await hashPassword('secret'), /\$m=64,t=1,p=1\$/);
});

test('a hash that was made with another cost still matches', async () => {
  const nonce = Buffer.from('0123456789abcdef');
  const cost = { memory: 64, passes: 3, parallelism: 2, tagLength: 16 };
  const tag = argon2Sync('argon2id', { message: 'secret', nonce, ...cost });
  const encode = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '');
  const hash = `$argon2id$v=19$m=64,t=3,p=2$${encode(nonce)}$${encode(tag)}`;
  assert.equal(await passwordMatches('secret', hash), true);
  assert.equal(await passwordMatches('other', hash), false);
});

test('a hash that was tampered with does not match, and does not throw', async () => {
  const hash = await hashPassword('secret');
  const [, , version, cost, salt, tag] = hash.split('$') as [string, string, string, string, string, string];
  const swap = (text: string) => (text.startsWith('A') ? `B${text.slice(1)}` : `A${text.slice(1)}`);
  for (const tampered of [
    `$argon2id$${version}$${cost}$${salt}$${swap(tag)}`,
    `$argon2id$${version}$${cost}$${swap(salt)}$${tag}`,
    `$argon2id$${version}$m=19456,t=3,p=1$${salt}$${tag}`,
    `$argon2id$${version}$${cost}$${salt}$${tag.slice(0, -4)}`,
    `$argon2i$${version}$${cost}$${salt}$${tag}`,
    `$argon2id$v=16$${cost}$${salt}$${tag}`,
    `$argon2id$${version}$m=0,t=0,p=0$${salt}$${tag}`,
    `$argon2id$${version}$m=1,t=2,p=1$${salt}$${tag}`,
    `${hash}$`,
    ` ${hash}`,
    'secret',
    '',
  ]) {
    assert.equal(await passwordMatches('secret', tampered), false, tampered);
  }
});

test('a password hash is accepted only with a cost that argon2id allows', () => {
  const rest = `${'A'.repeat(22)}$${'A'.repeat(43)}`;
  for (const cost of ['m=0,t=0,p=0', 'm=1,t=2,p=1', 'm=19456,t=0,p=1', 'm=19456,t=2,p=0', 'm=8,t=1,p=2']) {
    assert.equal(isPasswordHash(`$argon2id$v=19$${cost}$${rest}`), false, cost);
  }
  assert.equal(isPasswordHash(`$argon2id$v=19$m=65536,t=3,p=4$${rest}`), true);
});

test('a user_id is stored as SHA-256 of its UTF-8, in hexadecimal digits', () => {
  assert.equal(hashUserId('abc'), 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  assert.equal(hashUserId('ü'), hashUserId('\u00fc'));
  assert.notEqual(hashUserId('abc'), hashUserId('ABC'));
});

test('new user_ids are all different', () => {
  assert.equal(new Set(Array.from({ length: 1_000 }, newUserId)).size, 1_000);
});
