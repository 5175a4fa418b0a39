import { createHash, createHmac } from 'node:crypto';
import { fstatSync, readFileSync, readSync, unlinkSync } from 'node:fs';
import { getSealed, readManifest, segmentsOf } from './chain.ts';
import type { SecretKey } from './sealed.ts';
import { writeState } from './status.ts';
import { type BackupTarget, TargetProblem } from './target.ts';

/**
 * How a chain ended when the service was stopped, in a file beside the database. When it was
 * written, the target had every commit and the database file had them too. If the file has the same
 * bytes at the next start, the target has them as well, and everything since is in the log, from
 * its first frame: so the chain is continued there, whoever wrote meanwhile. In any other case a
 * new snapshot is taken.
 */
export interface EndedChain {
  readonly chain: string;
  readonly generation: string;
  readonly startedAt: number;
  /** Of the last segment, and its hash. */
  readonly number: number;
  readonly previous: string;
  /** Tells whether the objects are encrypted with the same key. */
  readonly keyMark: string;
  /** SHA-256 of the database file. */
  readonly database: string;
}

const pathOf = (database: string): string => `${database}-backup-ended`;
export const writeEndedChain = (database: string, ended: EndedChain): void => writeState(pathOf(database), ended);

/** It is taken once: whoever was killed afterwards, or runs at the same time, finds none. */
export function takeEndedChain(database: string): EndedChain | null {
  try {
    const ended = JSON.parse(readFileSync(pathOf(database), 'utf8')) as EndedChain;
    unlinkSync(pathOf(database));
    return ended;
  } catch {
    return null;
  }
}

export const keyMarkOf = (chain: string, secret: SecretKey): string =>
  secret === null ? '' : createHmac('sha256', secret).update(chain).digest('hex');

const READ_BYTES = 8 * 1024 * 1024;

/** Null if it takes too long. */
export function hashOfFile(file: number, isLate: () => boolean = () => false): string | null {
  const hash = createHash('sha256');
  const { size } = fstatSync(file);
  const part = Buffer.alloc(Math.min(size, READ_BYTES));
  for (let offset = 0; offset < size; ) {
    const read = readSync(file, part, 0, Math.min(part.length, size - offset), offset);
    if (read === 0 || isLate()) return null;
    hash.update(part.subarray(0, read));
    offset += read;
  }
  return hash.digest('hex');
}

/** Whether the target has the whole chain, and nothing after its end. */
export async function isEndIn(target: BackupTarget, secret: SecretKey, ended: EndedChain): Promise<boolean> {
  const { chain, previous } = ended;
  const keys = new Set(await target.list(`${chain}/`));
  const segments = segmentsOf(chain, [...keys]);
  const last = segments.at(-1);
  const isGapless = segments.every((segment, index) => segment.number === index + 1);
  if (!last?.isComplete || !isGapless) return false;
  try {
    const { manifest } = await readManifest(target, chain, secret);
    await getSealed(target, last.key, secret, previous); // a longer chain has another last one
    return manifest.parts.every(({ key }) => keys.has(key));
  } catch (thrown) {
    if (thrown instanceof TargetProblem && thrown.isDamage) return false;
    throw thrown;
  }
}
