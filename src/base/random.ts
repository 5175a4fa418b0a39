import { randomUUID, randomBytes as systemBytes } from 'node:crypto';

/**
 * Randomness for ids, keys and secrets. It is the system's, of node:crypto. Ids are made deep
 * inside of transactions, so the source is one for the process and is not handed through every
 * function. A simulator replaces it, and then the same seed makes the same ids. Nothing in src/
 * does that; the tidy test holds it.
 */
type Source = (length: number) => Buffer;

let replaced: Source | undefined;

export const randomBytes = (length: number): Buffer => (replaced ?? systemBytes)(length);

/** A positive id that no other has: 62 random bits. */
export const randomId = (): bigint => randomBytes(8).readBigUInt64BE() >> 2n;

/** A UUID of version 4. */
export function randomUuid(): string {
  if (!replaced) return randomUUID();
  const bytes = replaced(16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x40, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

/** For a simulator. The returned function gives the system's randomness back. */
export function replaceRandomness(source: Source): () => void {
  replaced = source;
  return () => {
    replaced = undefined;
  };
}
