import { detached } from '../base/detached.ts';
import type { Request } from '../base/exchange.ts';
import { randomBytes } from '../base/random.ts';

/**
 * Everything in a request that its response depends on, besides the data. A hash finds the key of
 * an equal request, whose parts are then compared, which takes 8 % of a cached call. A map whose
 * key is the text of all parts takes 14 %, because V8 joins, hashes and compares 700 characters.
 */
export interface RequestKey {
  readonly hash: number;
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly contentType: unknown;
  readonly soapAction: unknown;
  readonly body: Uint8Array;
}

/**
 * Random, so that nobody can prepare requests with equal hashes. All that such a pair does is that
 * the later request replaces the earlier one in the cache.
 */
const SEED = randomBytes(4).readInt32BE();
// The first two primes of xxHash32, whose round this is.
const PRIMES = [0x9e37_79b1, 0x85eb_ca77] as const;

function mixed(hash: number, value: number): number {
  const sum = (hash + Math.imul(value, PRIMES[1])) | 0;
  return Math.imul((sum << 13) | (sum >>> 19), PRIMES[0]);
}

function mixedText(hash: number, text: string): number {
  let mix = hash;
  for (let at = 0; at < text.length; at++) mix = mixed(mix, text.charCodeAt(at));
  return mix;
}

/**
 * Hashes path, query and body. Of the method and the header fields only the lengths count, because
 * they tell few requests apart.
 */
export function hashOf({ method, path, query, headers }: Request, body: Uint8Array): number {
  const { buffer, byteOffset, length } = body;
  const words = new DataView(buffer, byteOffset, length);
  const rest = length & 3;
  let hash = mixedText(mixedText(mixed(SEED, method.length), path), query);
  for (let at = 0; at < length - rest; at += 4) hash = mixed(hash, words.getInt32(at, true));
  for (let at = length - rest; at < length; at++) hash = mixed(hash, body[at] as number);
  hash = mixed(hash, textLength(headers['content-type']));
  hash = mixed(hash, textLength(headers.soapaction));
  return mixed(mixed(hash, path.length), length);
}

/** Whether a request that has just arrived is equal to that of the key. */
export function isKeyOf(key: RequestKey, { method, path, query, headers }: Request, body: Uint8Array): boolean {
  return (
    key.method === method &&
    key.path === path &&
    key.query === query &&
    key.contentType === headers['content-type'] &&
    key.soapAction === headers.soapaction &&
    Buffer.compare(key.body, body) === 0
  );
}

/** A key that outlives its request. */
export function keyOf(request: Request, body: Uint8Array): RequestKey {
  const { method, path, query, headers } = request;
  return {
    hash: hashOf(request, body),
    method: detached(method),
    path: detached(path),
    query: detached(query),
    contentType: detachedField(headers['content-type']),
    soapAction: detachedField(headers.soapaction),
    body: ownBytes(body),
  };
}

/** The number of characters and bytes of a key. */
export const lengthOf = ({ method, path, query, contentType, soapAction, body }: RequestKey): number =>
  method.length + path.length + query.length + textLength(contentType) + textLength(soapAction) + body.length;

const textLength = (field: unknown): number => (typeof field === 'string' ? field.length : 0);
const detachedField = (field: unknown): unknown => (typeof field === 'string' ? detached(field) : field);

/** Copies a slice of a larger buffer, which would otherwise stay in memory whole. */
export function ownBytes(bytes: Uint8Array): Uint8Array {
  if (bytes.buffer.byteLength === bytes.length) return bytes;
  const own = Buffer.allocUnsafeSlow(bytes.length);
  own.set(bytes);
  return own;
}
