import { randomUUID, randomBytes as systemBytes } from 'node:crypto';

/**
 * Randomness for ids, keys and secrets, from node:crypto. Ids are made deep inside transactions, so
 * there is one source for the process instead of a parameter of every function. A simulator
 * replaces it, so that the same seed makes the same ids. Nothing in src/ does that; the tidy test
 * checks it.
 */
type Source = (length: number) => Buffer;

let replaced: Source | undefined;

export const randomBytes = (length: number): Buffer => (replaced ?? systemBytes)(length);

/** A positive id of 62 random bits, so that no other has it. */
export const randomId = (): bigint => randomBytes(8).readBigUInt64BE() >> 2n;

/** A UUID of version 4. */
export function randomUuid(): string {
  if (!replaced) return randomUUID();
  const bytes = replaced(16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x40, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

/** For a simulator. The returned function restores the randomness of the system. */
export function replaceRandomness(source: Source): () => void {
  replaced = source;
  return () => {
    replaced = undefined;
  };
}
