import { closeSync, fstatSync, fsyncSync, ftruncateSync, openSync, writeSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import {
  type Chain,
  decodeSegment,
  type FoundSegment,
  getSealed,
  listChains,
  type Manifest,
  readManifest,
} from './chain.ts';
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
  if (target.exists?.() === false) throw new TargetProblem(`There is no backup: ${target.name} does not exist.`);
  if (chains.length === 0) throw new TargetProblem(`There is no complete backup in ${target.name}.`);
  const point = lastPoint(chains, at);
  if (point) return point;
  const first = Math.min(
    ...chains.flatMap(({ segments }) => segments.filter((each) => each.isComplete)).map((s) => s.at),
  );
  throw new TargetProblem(
    `The backups in ${target.name} begin at ${timeOf(first)}, which is later than the given time.`,
  );
}

/** Where the moment `at` is found in these chains, which are whole; null is the newest moment. */
export function lastPoint(chains: readonly Chain[], at: number | null): RestorePoint | undefined {
  const points = chains.flatMap((chain): RestorePoint[] => {
    const last = chain.segments.findLast((each) => each.isComplete && (at === null || each.at <= at));
    return last ? [{ chain, last }] : [];
  });
  const isLater = (one: RestorePoint, other: RestorePoint): boolean =>
    at === null && one.chain.generation !== other.chain.generation
      ? one.chain.generation > other.chain.generation
      : one.last.at >= other.last.at;
  const [head, ...others] = points;
  return head && others.reduce((best, each) => (isLater(each, best) ? each : best), head);
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
    let done = 0;
    const read = ({ key, hash: expected }: Manifest['parts'][number]) => getSealed(target, key, secret, expected);
    for await (const { content } of readAhead(manifest.parts, read)) {
      writeAll(file, content, offset);
      offset += content.length;
      progress(++done, manifest.parts.length);
    }
    if (offset !== manifest.bytes)
      throw new TargetProblem(`The snapshot of ${chain.name} has another length than it should.`, { isDamage: true });
    return { chain: chain.name, number: 0, previous: hash, at: manifest.at };
  } catch (thrown) {
    if (!(thrown instanceof TargetProblem && thrown.isDamage)) throw thrown;
    const said = `${thrown.message} Choose a time before ${timeOf(chain.startedAt)}.`;
    throw new TargetProblem(said, { isDamage: true, cause: thrown });
  } finally {
    closeSync(file);
  }
}

/** Applies the segments after `from`, up to the number `to`. */
export async function applySegments(
  target: BackupTarget,
  secret: SecretKey,
  chain: Pick<Chain, 'name' | 'segments'>,
  path: string,
  from: Restored,
  to: number,
  progress: Progress = () => {},
): Promise<Restored> {
  let done = from;
  const file = openSync(path, 'r+');
  try {
    const wanted = chain.segments.filter(({ number }) => number > from.number && number <= to);
    const read = async ({ key }: FoundSegment) => ({ key, ...(await getSealed(target, key, secret)) });
    for await (const { key, content, hash } of readAhead(wanted, read)) {
      const segment = decodeSegment(key, content);
      const number = done.number + 1;
      if (segment.number > number) throw missing(number, chain.name);
      if (segment.chain !== chain.name || segment.number !== number || segment.previous !== done.previous) {
        const said = `${key} does not follow the segment before it: an object was replaced.`;
        throw new TargetProblem(said, { isDamage: true });
      }
      for (const [page, bytes] of segment.pages) {
        writeAll(file, bytes, (page - 1) * segment.pageBytes);
      }
      if (segment.isComplete) {
        const size = segment.databasePages * segment.pageBytes;
        if (fstatSync(file).size > size) ftruncateSync(file, size);
      }
      done = { chain: chain.name, number, previous: hash, at: segment.at };
      progress(number - from.number, to - from.number);
    }
    if (done.number < to) throw missing(done.number + 1, chain.name);
    fsyncSync(file);
  } catch (thrown) {
    if (!(thrown instanceof TargetProblem && thrown.isDamage)) throw thrown;
    const reach = chain.segments.findLast((each) => each.isComplete && each.number <= done.number);
    throw new TargetProblem(`${thrown.message} ${earlier(reach?.at)}`, { isDamage: true, cause: thrown });
  } finally {
    closeSync(file);
  }
  return done;
}

/** A disk that is nearly full takes only the beginning, without an error. */
function writeAll(file: number, bytes: Buffer, position: number): void {
  for (let done = 0; done < bytes.length; ) {
    done += writeSync(file, bytes, done, bytes.length - done, position + done);
  }
}

const missing = (number: number, chain: string): TargetProblem =>
  new TargetProblem(`Segment ${number} of ${chain} is missing.`, { isDamage: true });
const earlier = (at: number | undefined): string =>
  at === undefined ? 'Choose an earlier time.' : `The last moment before it can be restored with --at ${timeOf(at)}`;

/** Six objects of at most 8 MB are read at a time, because a bucket takes its time for each. */
const AHEAD = 6;

/** Reads objects in their order, some of them ahead of their use. */
async function* readAhead<T, R>(items: readonly T[], read: (item: T) => Promise<R>): AsyncGenerator<R> {
  const started: Promise<R>[] = [];
  for (const [index, item] of items.entries()) {
    const reading = read(item);
    reading.catch(() => {}); // it is thrown when its turn comes
    started.push(reading);
    if (index >= AHEAD - 1) yield await (started.shift() as Promise<R>);
  }
  for (const reading of started) yield await reading;
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
