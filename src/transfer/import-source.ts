import { isUtf8 } from 'node:buffer';
import { createReadStream } from 'node:fs';
import { Problem } from '../base/problem.ts';

/** Reads the bytes of an import as UTF-8, and finds bytes that are not UTF-8. */

export interface Line {
  readonly bytes: Buffer;
  /** The first line has number 1. */
  readonly number: number;
  /** The number of bytes before the line. */
  readonly offset: number;
}

/** The path `-` means standard input. */
export const sourceName = (path: string): string => (path === '-' ? 'standard input' : path);

/** Reads a file as UTF-8, converting it from any other encoding. */
export async function* readSource(path: string, encoding: string): AsyncGenerator<Buffer> {
  const chunks: AsyncIterable<Buffer> = path === '-' ? process.stdin : createReadStream(path);
  if (encoding === 'utf-8') {
    yield* chunks;
    return;
  }
  const decoder = new TextDecoder(encoding, { fatal: true });
  try {
    for await (const chunk of chunks) yield Buffer.from(decoder.decode(chunk, { stream: true }));
    yield Buffer.from(decoder.decode());
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'ERR_ENCODING_INVALID_ENCODED_DATA') throw thrown;
    throw new Problem('bad-argument', `${sourceName(path)}: the file is not ${encoding}`);
  }
}

const LINE_FEED = 0x0a;

/** Splits at line feeds only. readline would also split at U+2028, which JSON texts may contain. */
export async function* linesOf(chunks: AsyncIterable<Buffer>, bytesMax: number): AsyncGenerator<Line> {
  let pending: Buffer[] = [];
  let pendingBytes = 0;
  let number = 1;
  let offset = 0;
  const line = (last: Buffer): Line => {
    const bytes = pending.length === 0 ? last : Buffer.concat([...pending, last]);
    pending = [];
    pendingBytes = 0;
    return { bytes, number, offset };
  };
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, start)) {
      const found = line(chunk.subarray(start, end));
      yield found;
      number += 1;
      offset += found.bytes.length + 1;
      start = end + 1;
    }
    pending.push(chunk.subarray(start));
    pendingBytes += chunk.length - start;
    if (pendingBytes > bytesMax) {
      throw new Problem('bad-argument', `line ${number}: an account may have at most ${bytesMax} bytes`);
    }
  }
  yield line(Buffer.alloc(0));
}

/** The first byte that is not UTF-8. Bytes count from 0; lines and columns count from 1. */
export function invalidUtf8(bytes: Buffer): { byte: number; line: number; column: number } | undefined {
  if (isUtf8(bytes)) return undefined;
  for (let start = 0, line = 1; ; line++) {
    const end = bytes.indexOf(LINE_FEED, start);
    const piece = bytes.subarray(start, end < 0 ? bytes.length : end);
    if (!isUtf8(piece)) {
      const { byte, column } = invalidInLine(piece);
      return { byte: start + byte, line, column };
    }
    start = end + 1;
  }
}

const REPLACEMENT = Buffer.from('\uFFFD');

/** Finds a replacement character that the bytes do not contain. */
function invalidInLine(bytes: Buffer): { byte: number; column: number } {
  const text = bytes.toString('utf8');
  let byte = 0;
  for (let from = 0; ; ) {
    const at = text.indexOf('\uFFFD', from);
    byte += Buffer.byteLength(text.slice(from, at));
    if (!bytes.subarray(byte, byte + REPLACEMENT.length).equals(REPLACEMENT)) return { byte, column: at + 1 };
    byte += REPLACEMENT.length;
    from = at + 1;
  }
}
