import { randomBytes } from '../../base/random.ts';
import { hashOf, type SecretKey, seal, unseal } from './sealed.ts';
import { type BackupTarget, TargetProblem } from './target.ts';

/**
 * A chain is a snapshot of the database file and the pages that were committed since, in numbered
 * segments. Every object names the hash of the one before, so one that is missing, old or of
 * another chain is found. The manifest is written after all parts of its snapshot: a chain without
 * one is not whole, and is not restored.
 */
export interface Manifest {
  readonly chain: string;
  readonly generation: string;
  readonly at: number;
  readonly pageBytes: number;
  readonly bytes: number;
  readonly parts: readonly { readonly key: string; readonly hash: string }[];
}

export interface SegmentHead {
  readonly chain: string;
  readonly number: number;
  /** The hash of the segment before; of the manifest for the first one. */
  readonly previous: string;
  /** Every commit before this time is in this segment or an earlier one. */
  readonly at: number;
  readonly pageBytes: number;
  readonly databasePages: number;
  /** Whether the database is consistent after this segment. */
  readonly isComplete: boolean;
}
export interface Segment extends SegmentHead {
  readonly pages: ReadonlyMap<number, Buffer>;
}

export interface FoundSegment {
  readonly key: string;
  readonly number: number;
  readonly at: number;
  readonly isComplete: boolean;
}
export interface Chain {
  readonly name: string;
  readonly generation: bigint;
  readonly startedAt: number;
  /** Whether the snapshot is complete. */
  readonly isWhole: boolean;
  readonly segments: readonly FoundSegment[];
  readonly keys: readonly string[];
}

const digits = (number: number | bigint, length: number): string => String(number).padStart(length, '0');

export const newChainName = (generation: bigint, at: number): string =>
  `${digits(generation, 16)}-${digits(at, 15)}-${randomBytes(4).toString('hex')}`;
export const manifestKey = (chain: string): string => `${chain}/snapshot.json`;
export const partKey = (chain: string, number: number): string => `${chain}/snapshot-${digits(number, 6)}`;
/** The key has the time and whether the segment is complete, so a list suffices to choose. */
export const segmentKey = ({ chain, number, at, isComplete }: SegmentHead): string =>
  `${chain}/log-${digits(number, 10)}-${digits(at, 15)}${isComplete ? '' : '-open'}`;
const SEGMENT = /^log-(\d{10})-(\d{15})(-open)?$/;
const CHAIN = /^(\d{16})-(\d{15})-[0-9a-f]{8}$/;

/** The generation of the newest restore is noted here, so that an older service stops. */
export const GENERATIONS = 'generation/';
export const generationKey = (generation: bigint): string => `${GENERATIONS}${digits(generation, 16)}`;

export const segmentsOf = (chain: string, keys: readonly string[]): FoundSegment[] =>
  keys.flatMap((key) => {
    const [, number, time, open] = SEGMENT.exec(key.slice(chain.length + 1)) ?? [];
    return number ? [{ key, number: Number(number), at: Number(time), isComplete: open === undefined }] : [];
  });

/** The segments of a chain after the one with this number. */
export async function segmentsAfter(target: BackupTarget, chain: string, number: number): Promise<FoundSegment[]> {
  // A tilde comes after every character of a key.
  return segmentsOf(chain, await target.list(`${chain}/`, `${chain}/log-${digits(number, 10)}~`));
}

/** All chains, oldest generation first, and within a generation by their time. */
export async function listChains(target: BackupTarget): Promise<Chain[]> {
  const byChain = Map.groupBy(await target.list(''), (key) => key.split('/', 1)[0] as string);
  return [...byChain]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .flatMap(([name, keys]) => {
      const [, generation, at] = CHAIN.exec(name) ?? [];
      if (generation === undefined) return [];
      const segments = segmentsOf(name, keys);
      const isWhole = keys.includes(manifestKey(name)) && segments.some(({ isComplete }) => isComplete);
      return [{ name, generation: BigInt(generation), startedAt: Number(at), isWhole, segments, keys }];
    });
}

/** The generations that were noted, which are the first one and those of all restores. */
export async function generationsIn(target: BackupTarget): Promise<bigint[]> {
  const keys = await target.list(GENERATIONS);
  return keys.flatMap((key) => /^generation\/(\d{16})$/.exec(key)?.slice(1).map(BigInt) ?? []);
}

export function encodeSegment({ pages, ...head }: Segment): Buffer {
  const numbers = Buffer.alloc(pages.size * 4);
  for (const [index, number] of [...pages.keys()].entries()) numbers.writeUInt32BE(number, index * 4);
  const json = Buffer.from(JSON.stringify({ ...head, count: pages.size }));
  const length = Buffer.alloc(4);
  length.writeUInt32BE(json.length);
  return Buffer.concat([length, json, numbers, ...pages.values()]);
}

export function decodeSegment(key: string, content: Buffer): Segment {
  try {
    const end = 4 + content.readUInt32BE(0);
    const { count, ...head } = JSON.parse(content.toString('utf8', 4, end)) as SegmentHead & { count: number };
    const pages = new Map<number, Buffer>();
    const first = end + count * 4;
    if (content.length !== first + count * head.pageBytes) throw new Error('wrong length');
    for (let index = 0; index < count; index++) {
      const from = first + index * head.pageBytes;
      pages.set(content.readUInt32BE(end + index * 4), content.subarray(from, from + head.pageBytes));
    }
    return { ...head, pages };
  } catch (cause) {
    throw new TargetProblem(`${key} cannot be read: it is not a segment of this version.`, { cause });
  }
}

/** An object that is ready to be written, and its hash. */
export function sealObject(key: string, content: Buffer, secret: SecretKey) {
  const sealed = seal(key, content, secret);
  return { key, sealed, hash: hashOf(sealed) };
}

/** Writes an object, and returns its hash. */
export async function putSealed(
  target: BackupTarget,
  key: string,
  content: Buffer,
  secret: SecretKey,
): Promise<string> {
  const { sealed, hash } = sealObject(key, content, secret);
  await target.put(key, sealed);
  return hash;
}

/** Reads an object, which must have the given hash if there is one. */
export async function getSealed(
  target: BackupTarget,
  key: string,
  secret: SecretKey,
  hash?: string,
): Promise<{ content: Buffer; hash: string }> {
  const sealed = await target.get(key);
  const found = hashOf(sealed);
  if (hash !== undefined && found !== hash) {
    throw new TargetProblem(`${key} is not the object that was written.`, { isDamage: true });
  }
  return { content: unseal(key, sealed, secret), hash: found };
}

export async function readManifest(
  target: BackupTarget,
  chain: string,
  secret: SecretKey,
): Promise<{ manifest: Manifest; hash: string }> {
  const key = manifestKey(chain);
  const { content, hash } = await getSealed(target, key, secret);
  const manifest = JSON.parse(content.toString('utf8')) as Manifest;
  if (manifest.chain !== chain) throw new TargetProblem(`${key} belongs to another chain.`);
  return { manifest, hash };
}
