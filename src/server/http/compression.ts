import { pipeline } from 'node:stream';
import { promisify } from 'node:util';
import { brotliDecompress, createGzip, gunzip, gzip, inflate, inflateRaw } from 'node:zlib';
import { isWhole, type Reply } from '../../exchange.ts';
import { Problem } from '../../problem.ts';
import { inTurn } from './response-writer.ts';

/** Bodies that are compressed on their way, in both directions. */

type Unpacker = (bytes: Uint8Array, options: { maxOutputLength: number }) => Promise<Buffer>;

const ungzip: Unpacker = promisify(gunzip);
const unwrap: Unpacker = promisify(inflate);
const unwrapped: Unpacker = promisify(inflateRaw);
/** RFC 9110 §8.4.1.2: some clients, .NET's DeflateStream among them, leave out the wrapper of RFC 1950. */
const hasWrapper = ([first = 0, second = 0]: Uint8Array) => (first & 15) === 8 && ((first << 8) | second) % 31 === 0;

const unpackers: Record<string, Unpacker> = {
  gzip: ungzip,
  'x-gzip': ungzip,
  deflate: (bytes, options) => (hasWrapper(bytes) ? unwrap : unwrapped)(bytes, options),
  br: promisify(brotliDecompress),
};

// Of each a decoder may have to be looked for.
const CODINGS_MAX = 10;

/** What old programs take the field for, besides the name of a charset: nothing of it is a compression. */
const NO_CODINGS = new Set(['', 'identity', 'none', '7bit', '8bit', 'binary']);

const isCharset = (name: string): boolean => {
  try {
    return new TextDecoder(name).encoding !== '';
  } catch {
    return false;
  }
};

// As many threads as libuv has. Each holds up to `bytesMax` of output that nobody has looked at yet.
const UNPACKING_MAX = 4;
let unpacking = 0;
const waiting: (() => void)[] = [];

/** The others wait with what came, which is small. */
async function whenThereIsRoom<T>(work: () => Promise<T>): Promise<T> {
  if (unpacking >= UNPACKING_MAX) await new Promise<void>((resolve) => waiting.push(resolve));
  else unpacking += 1;
  try {
    return await work();
  } finally {
    const next = waiting.shift();
    if (next) next();
    else unpacking -= 1;
  }
}

/** The body as it was before the client compressed it, once; never more than `bytesMax`, however small it came. */
export async function unpack(bytes: Uint8Array, field: string, bytesMax: number): Promise<Uint8Array> {
  const listed = field.split(',', CODINGS_MAX + 1).map((coding) => coding.trim().toLowerCase());
  const codings = listed.filter((coding) => !NO_CODINGS.has(coding) && !isCharset(coding));
  const name = listed.length > CODINGS_MAX ? field : codings.join(', ');
  if (name === '') return bytes;
  const unpacker = Object.hasOwn(unpackers, name) ? unpackers[name] : undefined;
  if (!unpacker) {
    const known = Object.keys(unpackers).join(', ');
    throw new Problem('unsupported-media', `The Content-Encoding of a request is one of ${known}, or none.`);
  }
  try {
    return await whenThereIsRoom(() => unpacker(bytes, { maxOutputLength: bytesMax }));
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') {
      throw new Problem('too-large', `A request body has at most ${bytesMax} bytes when it is decompressed.`);
    }
    throw new Problem('malformed', `The request body is not ${name} as its Content-Encoding says.`, { cause });
  }
}

// Below this, the header fields of compression cost about what it saves.
const BYTES_MIN = 1_024;
const compress = promisify(gzip);

/** gzip for a client that asks for it by name, and for no other: old ones send `none`, `compress` or `identity`. */
export function pack(reply: Reply, acceptEncoding: string | undefined): Reply | Promise<Reply> {
  const { body } = reply;
  if (isWhole(body) && body.length < BYTES_MIN && Buffer.byteLength(body) < BYTES_MIN) return reply;
  const headers = { ...reply.headers, Vary: 'Accept-Encoding' };
  if (!asksForGzip(acceptEncoding)) return { ...reply, headers };
  const packed = { ...reply, headers: { ...headers, 'Content-Encoding': 'gzip' } };
  return isWhole(body)
    ? compress(body).then((bytes) => ({ ...packed, body: bytes }))
    : { ...packed, body: compressed(body) };
}

// 64 KiB of tables instead of zlib's 256 for each that is under way: lists become no larger by it.
const LEAN = { windowBits: 13, memLevel: 6, highWaterMark: 16_384 };

/** Begun when the first of it is asked for; what it is made of, in turn with the pieces of others. */
async function* compressed(pieces: AsyncIterable<string | Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* pipeline(inTurn(pieces), createGzip(LEAN), (error) => void error);
}

function asksForGzip(acceptEncoding: string | undefined): boolean {
  if (!acceptEncoding) return false;
  return acceptEncoding.split(',').some((part) => {
    const [name = '', ...parameters] = part.split(';').map((text) => text.trim().toLowerCase());
    return name === 'gzip' && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
  });
}
