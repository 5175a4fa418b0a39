import { closeSync, openSync, readSync } from 'node:fs';
import { endianness } from 'node:os';

/**
 * Reads committed pages from the write-ahead log of SQLite. Only frames whose checksum continues
 * that of the header are valid. https://www.sqlite.org/fileformat2.html#the_write_ahead_log
 */
const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
const MAGIC = 0x377f0682; // its lowest bit tells the byte order of the checksums

/** A place in the log: after `frame` frames of the log with these salts. */
export interface LogPosition {
  readonly salts: string;
  readonly frame: number;
  readonly checksum: readonly [number, number];
}

/** Pages that were committed, each in its last version. */
export interface Captured {
  readonly pages: ReadonlyMap<number, Buffer>;
  /** Pages of the database after this commit. */
  readonly databasePages: number;
  readonly pageBytes: number;
  /** Whether the position is the end of a transaction. */
  readonly isComplete: boolean;
  readonly position: LogPosition;
}

interface Header {
  readonly salts: string;
  readonly pageBytes: number;
  readonly isBigEndian: boolean;
  readonly checksum: readonly [number, number];
}

/** The pages that were committed after a position, at most about `framesMax`; null if none were. */
export function captureLog(path: string, from: LogPosition | null, framesMax: number): Captured | null {
  const file = openLog(path);
  if (file === null) return null;
  try {
    const header = readHeader(file);
    if (!header) return null;
    const isSame = from?.salts === header.salts;
    const start = isSame ? from : { salts: header.salts, frame: 0, checksum: header.checksum };
    return captureFrom(file, header, start, framesMax);
  } finally {
    closeSync(file);
  }
}

function openLog(path: string): number | null {
  try {
    return openSync(`${path}-wal`, 'r');
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw thrown;
  }
}

function readHeader(file: number): Header | null {
  const bytes = Buffer.alloc(HEADER_BYTES);
  if (readSync(file, bytes, 0, HEADER_BYTES, 0) < HEADER_BYTES) return null;
  const magic = bytes.readUInt32BE(0);
  if (magic >>> 1 !== MAGIC >>> 1) return null;
  const isBigEndian = (magic & 1) === 1;
  const sums = new Uint32Array(2);
  addTo(sums, bytes, 0, 24, isBigEndian);
  const checksum = [sums[0] as number, sums[1] as number] as const;
  // Somebody is just writing it.
  if (checksum[0] !== bytes.readUInt32BE(24) || checksum[1] !== bytes.readUInt32BE(28)) return null;
  return { salts: bytes.toString('hex', 16, 24), pageBytes: bytes.readUInt32BE(8), isBigEndian, checksum };
}

const IS_BIG_ENDIAN_HOST = endianness() === 'BE';

/** Continues the checksum of the log in `sums`: two sums over pairs of 32-bit numbers. */
function addTo(sums: Uint32Array, bytes: Buffer, from: number, to: number, isBigEndian: boolean): void {
  let one = sums[0] as number;
  let two = sums[1] as number;
  const isNative = isBigEndian === IS_BIG_ENDIAN_HOST && (bytes.byteOffset + from) % 4 === 0;
  if (isNative) {
    const words = new Uint32Array(bytes.buffer, bytes.byteOffset + from, (to - from) / 4);
    for (let at = 0; at < words.length; at += 2) {
      one = (one + (words[at] as number) + two) | 0;
      two = (two + (words[at + 1] as number) + one) | 0;
    }
  } else {
    const read = isBigEndian ? (at: number) => bytes.readUInt32BE(at) : (at: number) => bytes.readUInt32LE(at);
    for (let at = from; at < to; at += 8) {
      one = (one + read(at) + two) | 0;
      two = (two + read(at + 4) + one) | 0;
    }
  }
  sums[0] = one;
  sums[1] = two;
}

const READ_FRAMES = 64;

function captureFrom(file: number, header: Header, start: LogPosition, framesMax: number): Captured | null {
  const { pageBytes, salts, isBigEndian } = header;
  const frameBytes = pageBytes + FRAME_HEADER_BYTES;
  const chunk = Buffer.alloc(frameBytes * READ_FRAMES);
  const saltBytes = Buffer.from(salts, 'hex');
  const { pages: kept, databasePages, committed, cut } = scan();
  if (!committed) return null;
  const isComplete = committed.frame <= (cut?.frame ?? committed.frame);
  return { pages: kept, databasePages, pageBytes, isComplete, position: isComplete ? committed : (cut as LogPosition) };

  /** Pages after the last commit are dropped, unless one transaction is longer than `framesMax`. */
  function scan() {
    const sums = Uint32Array.from(start.checksum);
    let frame = start.frame;
    let committed: LogPosition | null = null;
    let cut: LogPosition | null = null;
    let databasePages = 0;
    const pages = new Map<number, Buffer>();
    let open = new Map<number, Buffer>();
    for (;;) {
      const read = readSync(file, chunk, 0, chunk.length, HEADER_BYTES + frame * frameBytes);
      const frames = Math.floor(read / frameBytes);
      for (let index = 0; index < frames; index++) {
        const at = index * frameBytes;
        if (saltBytes.compare(chunk, at + 8, at + 16) !== 0) return { pages, databasePages, committed, cut };
        addTo(sums, chunk, at, at + 8, isBigEndian);
        addTo(sums, chunk, at + FRAME_HEADER_BYTES, at + frameBytes, isBigEndian);
        if (sums[0] !== chunk.readUInt32BE(at + 16) || sums[1] !== chunk.readUInt32BE(at + 20)) {
          return { pages, databasePages, committed, cut };
        }
        frame += 1;
        const number = chunk.readUInt32BE(at);
        const size = chunk.readUInt32BE(at + 4); // not 0 for a commit
        if (!cut) open.set(number, Buffer.from(chunk.subarray(at + FRAME_HEADER_BYTES, at + frameBytes)));
        const here: LogPosition = { salts, frame, checksum: [sums[0], sums[1]] };
        if (size !== 0) {
          committed = here;
          databasePages = size;
          for (const [key, page] of open) pages.set(key, page);
          open = new Map();
          if (cut || frame - start.frame >= framesMax) return { pages, databasePages, committed, cut };
        } else if (!cut && !committed && frame - start.frame >= framesMax) {
          cut = here; // the rest of this transaction comes with the next capture
        }
      }
      if (frames < READ_FRAMES) return { pages, databasePages, committed, cut };
    }
  }
}
