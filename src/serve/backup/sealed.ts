import { createCipheriv, createDecipheriv, createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { Problem } from '../../base/problem.ts';
import { randomBytes } from '../../base/random.ts';
import { TargetProblem } from './target.ts';

/**
 * An object of a backup: compressed by zstd, encrypted on request (AES-256-GCM), and checked by
 * SHA-256. Its key is authenticated too, so that a target cannot pass one object off as another.
 *
 *   COLUMBA1 · flags (1: encrypted) · SHA-256 of what follows · [nonce 12 · tag 16] · content
 */
const MAGIC = Buffer.from('COLUMBA1', 'latin1');
const ENCRYPTED = 1;
const HASH_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const HEAD_BYTES = MAGIC.length + 1 + HASH_BYTES;
/** More than any object has: a segment ends at 8 MB, and only a target that lies has more. */
const CONTENT_BYTES_MAX = 64 * 1024 * 1024;

/** Null: objects are not encrypted. */
export type SecretKey = Buffer | null;

const sha256 = (...pieces: readonly Buffer[]): Buffer => {
  const hash = createHash('sha256');
  for (const piece of pieces) hash.update(piece);
  return hash.digest();
};
/** The hash by which one object names another. */
export const hashOf = (sealed: Buffer): string => sha256(sealed).toString('hex');

export function seal(key: string, content: Buffer, secret: SecretKey): Buffer {
  const compressed = zstdCompressSync(content);
  let body: Buffer = compressed;
  if (secret) {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv('aes-256-gcm', secret, nonce).setAAD(Buffer.from(key));
    const encrypted = Buffer.concat([cipher.update(compressed), cipher.final()]);
    body = Buffer.concat([nonce, cipher.getAuthTag(), encrypted]);
  }
  const flags = Buffer.from([secret ? ENCRYPTED : 0]);
  return Buffer.concat([MAGIC, flags, sha256(Buffer.from(key), flags, body), body]);
}

const damage = (message: string, cause?: unknown) => new TargetProblem(message, { isDamage: true, cause });

export function unseal(key: string, sealed: Buffer, secret: SecretKey): Buffer {
  if (sealed.length < HEAD_BYTES) throw damage(`${key} is cut off or empty.`);
  if (!sealed.subarray(0, MAGIC.length).equals(MAGIC)) throw damage(`${key} is not part of a backup.`);
  const flags = sealed.subarray(MAGIC.length, MAGIC.length + 1);
  const body = sealed.subarray(HEAD_BYTES);
  if (!sha256(Buffer.from(key), flags, body).equals(sealed.subarray(MAGIC.length + 1, HEAD_BYTES))) {
    throw damage(`${key} is damaged or cut off: its hash is wrong.`);
  }
  const isEncrypted = (flags[0] as number) === ENCRYPTED;
  if (isEncrypted && !secret) {
    throw new TargetProblem(`${key} is encrypted. Name the file of the key with COLUMBA_BACKUP_KEY_FILE.`);
  }
  try {
    const compressed = isEncrypted ? decrypt(key, body, secret as Buffer) : body;
    return zstdDecompressSync(compressed, { maxOutputLength: CONTENT_BYTES_MAX });
  } catch (cause) {
    if (cause instanceof TargetProblem) throw cause;
    throw damage(`${key} cannot be decompressed.`, cause);
  }
}

function decrypt(key: string, body: Buffer, secret: Buffer): Buffer {
  const nonce = body.subarray(0, NONCE_BYTES);
  const tag = body.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES);
  try {
    const decipher = createDecipheriv('aes-256-gcm', secret, nonce).setAAD(Buffer.from(key)).setAuthTag(tag);
    return Buffer.concat([decipher.update(body.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]);
  } catch (cause) {
    throw new TargetProblem(`${key} was encrypted with another key than that of COLUMBA_BACKUP_KEY_FILE.`, { cause });
  }
}

/** A key of 32 bytes, as 64 hexadecimal digits or as they are. Throws Problem for another file. */
export function readSecretKey(path: string): SecretKey {
  if (path === '') return null;
  let content: Buffer;
  try {
    content = readFileSync(path);
  } catch (cause) {
    throw new Problem('bad-argument', `COLUMBA_BACKUP_KEY_FILE: ${path} cannot be read.`, { cause });
  }
  const text = content.toString('latin1').trim();
  if (/^[0-9a-f]{64}$/i.test(text)) return Buffer.from(text, 'hex');
  if (content.length === 32) return content;
  throw new Problem(
    'bad-argument',
    `COLUMBA_BACKUP_KEY_FILE: ${path} has no key of 32 bytes. Make one with: openssl rand -hex 32`,
  );
}
