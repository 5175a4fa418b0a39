import { fstatSync, readSync } from 'node:fs';
import type { Clock } from '../../base/clock.ts';
import {
  type Chain,
  encodeSegment,
  listChains,
  manifestKey,
  newChainName,
  partKey,
  putSealed,
  sealObject,
  segmentKey,
} from './chain.ts';
import { hashOfFile, isEndIn, keyMarkOf, takeEndedChain, writeEndedChain } from './ended-chain.ts';
import { createLogHolder, type LogHolder } from './log-holder.ts';
import { lastPoint } from './restoring.ts';
import type { SecretKey } from './sealed.ts';
import { standingOf } from './standing.ts';
import { readBackupStatus } from './status.ts';
import { type BackupTarget, TargetProblem } from './target.ts';
import { type Captured, captureLog, type LogPosition } from './wal.ts';

/** Copies what is committed to a target: a snapshot, and then the pages of the log. */
export interface ShipperSettings {
  readonly path: string;
  /**
   * A descriptor of the database file, which stays open until the process has closed the database.
   * Closing one releases every lock that SQLite has on the file in this process, and another
   * program that closes the database would then delete its log: see "How To Corrupt An SQLite
   * Database File", 2.2.
   */
  readonly file: number;
  readonly target: BackupTarget;
  readonly secret: SecretKey;
  readonly generation: bigint;
  readonly clock: Pick<Clock, 'now' | 'sleep'>;
  /** How often commits are shipped while a snapshot is written or old ones are removed. */
  readonly everyMs: number;
  /** A new snapshot begins after this time. */
  readonly snapshotMs: number;
  /** How long a moment stays restorable. */
  readonly keepMs: number;
  /** If the target does not answer, the log grows to this size. Then it is given up. */
  readonly logBytesMax: number;
}
export interface ShipperState {
  /** Every commit before this time is in the target; null before the first snapshot is complete. */
  readonly coveredTo: number | null;
  readonly snapshotAt: number | null;
  /** Another service was restored from this target, and is newer than this one. */
  readonly isSuperseded: boolean;
}

export const FRAMES_MAX = 2_000; // 8 MB
const PART_BYTES = 8 * 1024 * 1024;
const FRAME_BYTES = 4_120; // a page of 4 kB and its header
const RESTART_FRAMES = 4_000; // 16 MB
const RESTART_MS = 60_000;
const SEGMENTS_MAX = 10_000;
const CHAINS_KEPT_MIN = 2;
/** Chains that another one followed so soon, and how many of them are kept. */
const SHORT_MS = 10 * 60_000;
const SHORT_KEPT_MAX = 24;
const LOOK_FOR_OTHERS_MS = 60_000;

interface OpenChain {
  readonly name: string;
  readonly startedAt: number;
  number: number;
  previous: string;
  /** Until the log is shipped up to the end of the snapshot, the database is not consistent. */
  isBase: boolean;
  unsent: SealedSegment | null;
}

/**
 * A segment on its way. It is sent again with the same key and the same bytes, because the target
 * may have taken it although it did not answer.
 */
interface SealedSegment extends ReturnType<typeof sealObject> {
  readonly at: number;
  readonly isComplete: boolean;
  /** Whether it reaches the end of the log. */
  readonly isEnd: boolean;
  /** Null for the empty segment of a snapshot after which nothing was committed. */
  readonly position: LogPosition | null;
}

export type Shipper = ReturnType<typeof createShipper>;

export function createShipper(settings: ShipperSettings) {
  const { path, file, target, secret, generation, clock } = settings;
  let holder: LogHolder | null = null;
  let chain: OpenChain | null = null;
  let position: LogPosition | null = null;
  /** Captured and not yet in the target. */
  let pending: { readonly captured: Captured; readonly at: number } | null = null;
  let [coveredTo, snapshotAt]: [number | null, number | null] = [null, null];
  let [restartedAt, lookedAt] = [0, Number.NEGATIVE_INFINITY];
  let isSuperseded = false;

  /** The file may be longer than the log in it. */
  const isTooLong = () => (holder?.frames() ?? 0) * FRAME_BYTES > settings.logBytesMax;

  /** Whether a capture reached the end of the log. */
  const isAll = ({ isComplete, position: { salts, frame } }: Captured): boolean =>
    isComplete && frame - (salts === position?.salts ? position.frame : 0) < FRAMES_MAX;

  /** Captures all that is left, if it is little. */
  function captureRest(): boolean {
    if (pending) return captureLog(path, pending.captured.position, 1) === null;
    const captured = capture();
    if (captured && !isAll(captured.captured)) return false;
    pending = captured;
    return true;
  }

  function capture(): typeof pending {
    const at = clock.now();
    const captured = captureLog(path, position, FRAMES_MAX);
    return captured && { captured, at };
  }

  /** Ships one segment; returns whether more was committed. */
  async function shipSegment(to: OpenChain): Promise<boolean> {
    const isOlder = pending !== null || to.unsent !== null;
    if (!to.unsent) {
      const at = clock.now();
      pending ??= capture();
      if (!pending && !to.isBase) {
        coveredTo = at;
        return false;
      }
      to.unsent = sealSegment(to, at);
    }
    const { key, sealed, hash, at, isComplete, isEnd, position: reached } = to.unsent;
    await target.put(key, sealed);
    if (to !== chain) return false; // it was given up meanwhile
    Object.assign(to, { unsent: null, previous: hash, number: to.number + 1, isBase: to.isBase && !isComplete });
    if (reached) [position, pending] = [reached, null];
    if (isEnd) coveredTo = at;
    return !isEnd || isOlder;
  }

  /** A segment of what is captured. Without it, the snapshot is consistent as it is. */
  function sealSegment(to: OpenChain, now: number): SealedSegment {
    const captured = pending?.captured;
    const at = pending?.at ?? now;
    const isEnd = !captured || isAll(captured);
    const { pages, databasePages, pageBytes } = captured ?? { ...EMPTY, ...sizeOf(file) };
    const isComplete = !captured || (captured.isComplete && (!to.isBase || isEnd));
    const head = { chain: to.name, number: to.number + 1, previous: to.previous, at, pageBytes, databasePages };
    const segment = { ...head, isComplete, pages };
    const object = sealObject(segmentKey(segment), encodeSegment(segment), secret);
    return { ...object, at, isComplete, isEnd, position: captured?.position ?? null };
  }

  async function shipAll(): Promise<void> {
    for (let count = 0; chain && (await shipSegment(chain)); count++) {
      if (count >= SHIPPED_AT_ONCE) return;
    }
  }

  /**
   * What is committed while other work at the target goes on, however long that takes, is not
   * delayed by it.
   */
  async function shipDuring<T>(work: Promise<T>): Promise<T> {
    const over = new AbortController();
    const ended = work.then(
      () => over.abort(),
      () => over.abort(),
    );
    try {
      while (chain && !over.signal.aborted) {
        await shipAll();
        await settings.clock.sleep(settings.everyMs, over.signal);
      }
    } finally {
      await ended;
    }
    return work;
  }

  /** Meanwhile the mark does not move, and the chain before gets what is committed. */
  async function snapshot(isServing: boolean): Promise<void> {
    holder ??= createLogHolder(path);
    const held = holder;
    const startedAt = clock.now();
    const name = newChainName(generation, startedAt);
    const parts: { key: string; hash: string }[] = [];
    const { size } = fstatSync(file);
    const part = Buffer.alloc(PART_BYTES);
    for (let offset = 0; offset < size; offset += PART_BYTES) {
      const read = readSync(file, part, 0, Math.min(PART_BYTES, size - offset), offset);
      const key = partKey(name, parts.length + 1);
      parts.push({ key, hash: await shipDuring(putSealed(target, key, part.subarray(0, read), secret)) });
      await shipAll();
      if (holder !== held || isTooLong()) throw new Error(TOO_LONG);
    }
    const { pageBytes } = sizeOf(file);
    const manifest = { chain: name, generation: String(generation), at: startedAt, pageBytes, bytes: size, parts };
    const manifestContent = Buffer.from(JSON.stringify(manifest));
    const previous = await putSealed(target, manifestKey(name), manifestContent, secret);
    if (holder !== held) throw new Error(TOO_LONG);
    chain = { name, startedAt, number: 0, previous, isBase: true, unsent: null };
    [position, pending] = [null, null];
    await shipAll();
    snapshotAt = startedAt;
    const writtenSince = isServing ? startedAt : (readBackupStatus(path, startedAt)?.snapshotAt ?? null);
    await shipDuring(prune(target, clock.now() - settings.keepMs, { isServing, writtenSince }));
  }

  /** Continues the chain of the service before, if that ended as ended-chain.ts says. */
  async function resume(): Promise<boolean> {
    const ended = takeEndedChain(path);
    if (!ended || ended.generation !== String(generation)) return false;
    const { chain: name, startedAt, number, previous } = ended;
    const isOld = clock.now() - startedAt >= settings.snapshotMs || number >= SEGMENTS_MAX;
    if (isOld || ended.keyMark !== keyMarkOf(name, secret)) return false;
    if (!(await isEndIn(target, secret, ended))) return false;
    holder ??= createLogHolder(path); // from now on, the log keeps what is not in the file
    if (hashOfFile(file) !== ended.database) return false;
    chain = { name, startedAt, number, previous, isBase: true, unsent: null };
    [position, pending, snapshotAt] = [null, null, startedAt];
    return true;
  }

  /** Gives checkpoints what is shipped, and lets the log begin again when it is long or old. */
  function release(): void {
    if (!holder || pending) return;
    const now = clock.now();
    const isOld = now - restartedAt >= RESTART_MS;
    if (!isOld && (position?.frame ?? 0) < RESTART_FRAMES) return void holder.advance(captureRest);
    if (holder.restart(captureRest, isOld)) restartedAt = now;
  }

  function giveUp(): void {
    holder?.close();
    [holder, chain, position, pending] = [null, null, null, null];
  }

  const isTimeToLook = () => clock.now() - lookedAt >= LOOK_FOR_OTHERS_MS;
  async function lookForOthers(): Promise<void> {
    const now = clock.now();
    isSuperseded = (await standingOf(target, { path, generation, now })) === 'superseded';
    if (chain && !isSuperseded) await requireSnapshot(chain);
    lookedAt = now;
  }

  /** Somebody may have emptied or replaced the target, or its disk is not mounted any more. */
  async function requireSnapshot({ name }: OpenChain): Promise<void> {
    try {
      await target.get(manifestKey(name));
    } catch (thrown) {
      if (!(thrown instanceof TargetProblem && thrown.isMissing)) throw thrown;
      [chain, coveredTo, snapshotAt] = [null, null, null];
      throw new TargetProblem(`The snapshot is not in ${target.name} any more. A new one is begun.`, { cause: thrown });
    }
  }

  return {
    /** Ships what was committed so far. Throws if the target does not take it. */
    async tick(): Promise<void> {
      try {
        if (isTimeToLook()) await shipDuring(lookForOthers());
        if (isSuperseded) return giveUp();
        const isDue = !chain || clock.now() - chain.startedAt >= settings.snapshotMs || chain.number >= SEGMENTS_MAX;
        if (isDue && (chain || !(await resume()))) await snapshot(true);
        await shipAll();
        release();
      } catch (thrown) {
        if (isTooLong()) giveUp();
        if (thrown instanceof TargetProblem && thrown.isMissing) lookedAt = Number.NEGATIVE_INFINITY;
        throw thrown;
      }
    },
    /** Begins a chain of its own now. */
    async snapshot(): Promise<void> {
      if (isTimeToLook()) await lookForOthers();
      if (isSuperseded) throw new TargetProblem(SUPERSEDED);
      await snapshot(false);
    },
    /**
     * Called once after the last tick: if the target has everything, the next start continues the
     * chain.
     */
    end(): void {
      const [ending, until] = [chain, clock.now() + END_MAX_MS];
      const isCaptured = () => captureLog(path, position, 1) === null;
      const isShipped = ending && holder && !ending.isBase && !ending.unsent && !pending;
      const database = isShipped ? holder?.settle(isCaptured, () => hashOfFile(file, () => clock.now() > until)) : null;
      if (ending && database) {
        const { name, startedAt, number, previous } = ending;
        const end = { chain: name, startedAt, number, previous, database, keyMark: keyMarkOf(name, secret) };
        writeEndedChain(path, { ...end, generation: String(generation) });
      }
      giveUp();
    },
    /** Lets go of a log that is too long, while a tick waits. Returns whether it was. */
    relieve(): boolean {
      if (!isTooLong()) return false;
      giveUp();
      return true;
    },
    state: (): ShipperState => ({ coveredTo, snapshotAt, isSuperseded }),
    close: giveUp,
  };
}

const SHIPPED_AT_ONCE = 50;
/**
 * For about 600 MB: 256 MB took 0.8 s of CPU at 2.5 GHz. The next start of a larger database, or
 * after a stop of a busy machine, takes a snapshot.
 */
const END_MAX_MS = 2_000;
const SUPERSEDED = 'Another machine was restored from the backup of this one and is newer, so nothing was written.';
const EMPTY = { pages: new Map<number, Buffer>() };
const TOO_LONG =
  'The log grew beyond COLUMBA_BACKUP_LOG_BYTES_MAX before the target had taken it. A new snapshot follows.';

/** From the header of the database file. */
function sizeOf(file: number): { pageBytes: number; databasePages: number } {
  const header = Buffer.alloc(100);
  readSync(file, header, 0, 100, 0);
  const pageBytes = header.readUInt16BE(16) === 1 ? 65_536 : header.readUInt16BE(16);
  return { pageBytes, databasePages: Math.floor(fstatSync(file).size / pageBytes) };
}

/**
 * Removes chains from which no moment since `before` is restored. Of those that were followed by
 * another one within minutes, though they were not full, a service keeps only the newest: one that
 * is started again and again would fill the target with snapshots. The chains before stay, and so
 * does the one that the service still writes, which began at `writtenSince`.
 */
async function prune(
  target: BackupTarget,
  before: number,
  { isServing, writtenSince }: { readonly isServing: boolean; readonly writtenSince: number | null },
): Promise<void> {
  const chains = (await listChains(target)).sort((one, other) => one.startedAt - other.startedAt);
  const whole = chains.filter(({ isWhole }) => isWhole);
  const kept = new Set([lastPoint(whole, before)?.chain, ...whole.slice(-CHAINS_KEPT_MIN)]);
  const reachOf = ({ startedAt, segments }: Chain) => Math.max(startedAt, segments.at(-1)?.at ?? 0);
  const isShort = (chain: Chain) => {
    const next = whole.find(({ startedAt }) => startedAt > chain.startedAt)?.startedAt ?? Number.POSITIVE_INFINITY;
    const isFull = (chain.segments.at(-1)?.number ?? 0) >= SEGMENTS_MAX;
    return !isFull && Math.max(next, reachOf(chain)) - chain.startedAt < SHORT_MS;
  };
  const tooMany = new Set(isServing ? whole.filter(isShort).slice(0, -SHORT_KEPT_MAX) : []);
  for (const chain of chains) {
    const isOld = reachOf(chain) < before || tooMany.has(chain);
    if (!isOld || kept.has(chain) || chain.startedAt === writtenSince) continue;
    // The manifest goes first: what is left of a chain is not taken for a whole one.
    for (const key of [manifestKey(chain.name), ...chain.keys]) await target.remove(key);
  }
}
