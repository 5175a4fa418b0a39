import { createCipheriv, createDecipheriv, hash, hkdfSync } from 'node:crypto';
import { Problem } from '../base/problem.ts';
import { randomBytes } from '../base/random.ts';

/**
 * The Idempotency-Key of a request, and the stored answer. An answer may hold a secret that is
 * shown once, so it is encrypted. Only the bearer of the token can derive the key.
 */

const KEY_LENGTH_MAX = 128;
// Printable ASCII: a bare token, or a string of RFC 8941.
const BARE = /^[\x21\x23-\x7e]+$/;
const QUOTED = /^"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])+)"$/;

/** Returns null if the request has no key. */
export function readKey(field: string | null): string | null {
  if (field === null) return null;
  const quoted = QUOTED.exec(field.trim())?.[1]?.replace(/\\(.)/g, '$1');
  const key = quoted ?? (BARE.test(field.trim()) ? field.trim() : '');
  if (key === '' || key.length > KEY_LENGTH_MAX) {
    const expected = `Idempotency-Key: expected 1 to ${KEY_LENGTH_MAX} printable ASCII characters, with quotes or without.`;
    throw new Problem('bad-argument', expected);
  }
  return key;
}

/** Keys are told apart by the token and the path. */
export const keyName = (tokenId: bigint, path: string, key: string): string =>
  hash('sha256', JSON.stringify([tokenId.toString(), path, key]));

/** The same for two requests with the same query and body. */
export const fingerprintOf = (query: string, body: Uint8Array): string =>
  hash('sha256', Buffer.concat([Buffer.from(`${query}\n`), body]));

const NONCE_BYTES = 12;
const TAG_BYTES = 16;

const keyOf = (secret: string, name: string): Buffer =>
  Buffer.from(hkdfSync('sha256', secret, name, 'columba idempotency', 32));

export function seal(text: string, secret: string, name: string): string {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', keyOf(secret, name), nonce, { authTagLength: TAG_BYTES });
  const content = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), content]).toString('base64');
}

export function unseal(sealed: string, secret: string, name: string): string {
  const bytes = Buffer.from(sealed, 'base64');
  const nonce = bytes.subarray(0, NONCE_BYTES);
  const decipher = createDecipheriv('aes-256-gcm', keyOf(secret, name), nonce, { authTagLength: TAG_BYTES });
  decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
  return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]).toString('utf8');
}
