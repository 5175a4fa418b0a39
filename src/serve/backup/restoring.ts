import { closeSync, fstatSync, fsyncSync, ftruncateSync, openSync, writeSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { type Chain, decodeSegment, type FoundSegment, getSealed, listChains, readManifest } from './chain.ts';
import type { SecretKey } from './sealed.ts';
import { type BackupTarget, TargetProblem } from './target.ts';

/** Writes the database of a moment from a chain of a target into a file. */
export interface RestorePoint {
  readonly chain: Chain;
  /** The last segment to apply. */
  readonly last: FoundSegment;
}
/** How far a file is: it may be continued. */
export interface Restored {
  readonly chain: string;
  readonly number: number;
  readonly previous: string;
  readonly at: number;
}
export type Progress = (done: number, all: number) => void;

const timeOf = (at: number): string => new Date(at).toISOString();

/** The newest moment of the newest generation, or the last one that is not after `at`. */
export async function chooseRestorePoint(target: BackupTarget, at: number | null): Promise<RestorePoint> {
  const chains = (await listChains(target)).filter(({ isWhole }) => isWhole);
  if (chains.length === 0) throw new TargetProblem(`There is no complete backup in ${target.name}.`);
  const points = chains.flatMap((chain): RestorePoint[] => {
    const last = chain.segments.findLast((each) => each.isComplete && (at === null || each.at <= at));
    return last ? [{ chain, last }] : [];
  });
  const isLater = (one: RestorePoint, other: RestorePoint): boolean =>
    at === null && one.chain.generation !== other.chain.generation
      ? one.chain.generation > other.chain.generation
      : one.last.at > other.last.at;
  const [head, ...others] = points;
  if (head) return others.reduce((best, each) => (isLater(each, best) ? each : best), head);
  const first = Math.min(
    ...chains.flatMap(({ segments }) => segments.filter((each) => each.isComplete)).map((s) => s.at),
  );
  throw new TargetProblem(
    `The backups in ${target.name} begin at ${timeOf(first)}, which is later than the given time.`,
  );
}

/** Writes the snapshot of a chain into a new file. */
export async function restoreSnapshot(
  target: BackupTarget,
  secret: SecretKey,
  chain: Chain,
  path: string,
  progress: Progress = () => {},
): Promise<Restored> {
  const { manifest, hash } = await readManifest(target, chain.name, secret);
  const file = openSync(path, 'wx', 0o600);
  try {
    let offset = 0;
    for (const [index, { key, hash: expected }] of manifest.parts.entries()) {
      const { content } = await getSealed(target, key, secret, expected);
      writeSync(file, content, 0, content.length, offset);
      offset += content.length;
      progress(index + 1, manifest.parts.length);
    }
    if (offset !== manifest.bytes)
      throw new TargetProblem(`The snapshot of ${chain.name} has another length than it should.`);
  } finally {
    closeSync(file);
  }
  return { chain: chain.name, number: 0, previous: hash, at: manifest.at };
}

/** Applies the segments after `from`, up to the number `to`. */
export async function applySegments(
  target: BackupTarget,
  secret: SecretKey,
  chain: Chain,
  path: string,
  from: Restored,
  to: number,
  progress: Progress = () => {},
): Promise<Restored> {
  let done = from;
  const file = openSync(path, 'r+');
  try {
    for (let number = from.number + 1; number <= to; number++) {
      const found = chain.segments.find((each) => each.number === number);
      if (!found) throw new TargetProblem(`Segment ${number} of ${chain.name} is missing. Choose an earlier time.`);
      const { content, hash } = await getSealed(target, found.key, secret);
      const segment = decodeSegment(found.key, content);
      if (segment.chain !== chain.name || segment.number !== number || segment.previous !== done.previous) {
        throw new TargetProblem(`${found.key} does not follow the segment before it: an object was replaced.`);
      }
      for (const [page, bytes] of segment.pages) {
        writeSync(file, bytes, 0, bytes.length, (page - 1) * segment.pageBytes);
      }
      if (segment.isComplete) {
        const size = segment.databasePages * segment.pageBytes;
        if (fstatSync(file).size > size) ftruncateSync(file, size);
      }
      done = { chain: chain.name, number, previous: hash, at: segment.at };
      progress(number - from.number, to - from.number);
    }
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  return done;
}

/** Throws TargetProblem if SQLite finds the file damaged. */
export function checkIntegrity(path: string): void {
  const database = new DatabaseSync(path);
  try {
    const [first] = database.prepare('pragma integrity_check(1)').all() as { integrity_check: string }[];
    if (first?.integrity_check === 'ok') return;
    throw new TargetProblem(`The restored database is damaged: ${first?.integrity_check}.`);
  } finally {
    database.close();
  }
}
