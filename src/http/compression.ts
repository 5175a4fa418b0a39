import { pipeline } from 'node:stream';
import { promisify } from 'node:util';
import { brotliDecompress, createGzip, gunzip, gzip, inflate, inflateRaw } from 'node:zlib';
import { oneEachTurn } from '../base/event-loop.ts';
import { isWhole, type Reply } from '../base/exchange.ts';
import { Problem } from '../base/problem.ts';
import { createSemaphore } from '../base/semaphore.ts';

/** Content codings of request and response bodies (RFC 9110 §8.4). */

type Decompress = (bytes: Uint8Array, options: { maxOutputLength: number }) => Promise<Buffer>;

const ungzip: Decompress = promisify(gunzip);
const inflateZlib: Decompress = promisify(inflate);
const inflateBare: Decompress = promisify(inflateRaw);
/** RFC 9110 §8.4.1.2: some clients, e.g. DeflateStream of .NET, omit the zlib header (RFC 1950). */
const hasZlibHeader = ([first = 0, second = 0]: Uint8Array) => (first & 15) === 8 && ((first << 8) | second) % 31 === 0;

const decompressors: Record<string, Decompress> = {
  gzip: ungzip,
  'x-gzip': ungzip,
  deflate: (bytes, options) => (hasZlibHeader(bytes) ? inflateZlib : inflateBare)(bytes, options),
  br: promisify(brotliDecompress),
};

// Each coding costs the lookup of a TextDecoder.
const CODINGS_MAX = 10;

/**
 * Old programs put other things into Content-Encoding, including charset names, without
 * compressing.
 */
const NO_CODINGS = new Set(['', 'identity', 'none', '7bit', '8bit', 'binary']);

const isCharset = (name: string): boolean => {
  try {
    return new TextDecoder(name).encoding !== '';
  } catch {
    return false;
  }
};

// The number of libuv threads. Each holds up to `bytesMax` of output that nobody has read yet.
const CONCURRENT_MAX = 4;
/** Further bodies wait with their compressed bytes, which are few. */
const threads = createSemaphore(CONCURRENT_MAX);

/** Decompresses a request body, of one coding at most, to at most `bytesMax` bytes. */
export async function decompress(bytes: Uint8Array, field: string, bytesMax: number): Promise<Uint8Array> {
  const listed = field.split(',', CODINGS_MAX + 1).map((coding) => coding.trim().toLowerCase());
  const codings = listed.filter((coding) => !NO_CODINGS.has(coding) && !isCharset(coding));
  const name = listed.length > CODINGS_MAX ? field : codings.join(', ');
  if (name === '') return bytes;
  const decompressor = Object.hasOwn(decompressors, name) ? decompressors[name] : undefined;
  if (!decompressor) {
    const known = Object.keys(decompressors).join(', ');
    throw new Problem('unsupported-media', `The Content-Encoding of a request is one of ${known}, or none.`);
  }
  try {
    return await threads.run(() => decompressor(bytes, { maxOutputLength: bytesMax }));
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') {
      throw new Problem('too-large', `A request body has at most ${bytesMax} bytes when it is decompressed.`);
    }
    throw new Problem('malformed', `The request body is not ${name} as its Content-Encoding says.`, { cause });
  }
}

// Below this size, the header fields of compression cost about as much as it saves.
const BYTES_MIN = 1_024;
const gzipWhole = promisify(gzip);

/** Compresses a reply with gzip if Accept-Encoding names gzip; `*` does not. */
export function compress(reply: Reply, acceptEncoding: string | undefined): Reply | Promise<Reply> {
  const { body } = reply;
  if (isWhole(body) && body.length < BYTES_MIN && Buffer.byteLength(body) < BYTES_MIN) return reply;
  const headers = { ...reply.headers, Vary: 'Accept-Encoding' };
  if (!asksForGzip(acceptEncoding)) return { ...reply, headers };
  const compressed = { ...reply, headers: { ...headers, 'Content-Encoding': 'gzip' } };
  return isWhole(body)
    ? gzipWhole(body).then((bytes) => ({ ...compressed, body: bytes }))
    : { ...compressed, body: gzipPieces(body) };
}

// 64 KiB of tables per response instead of zlib's 256 KiB. Lists do not become larger.
const GZIP_OPTIONS = { windowBits: 13, memLevel: 6, highWaterMark: 16_384 };

/** Starts with the first request for a piece. Takes its input in exclusive turns. */
async function* gzipPieces(pieces: AsyncIterable<string | Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* pipeline(oneEachTurn(pieces), createGzip(GZIP_OPTIONS), (error) => void error);
}

function asksForGzip(acceptEncoding: string | undefined): boolean {
  if (!acceptEncoding) return false;
  return acceptEncoding.split(',').some((part) => {
    const [name = '', ...parameters] = part.split(';').map((text) => text.trim().toLowerCase());
    return name === 'gzip' && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
  });
}
