import { isUtf8 } from 'node:buffer';
import { TextDecoder } from 'node:util';
import { Problem } from '../../base/problem.ts';

/**
 * Decodes an XML body. The encoding is that of the byte order mark (RFC 7303 §3), else the charset
 * of Content-Type. Without both it is that of the XML declaration, else UTF-8. An unknown charset
 * is ignored.
 */
export function decodeXml(bytes: Uint8Array, charset: string | undefined): string {
  if (isPlainUtf8(bytes, charset)) return withoutTerminator(utf8Text(bytes));
  return withoutTerminator(decoded(decoderOf(bytes, charset), bytes));
}

/** Decodes an XML body that comes in parts. The first part has at least the XML declaration. */
export function createXmlDecoder(charset: string | undefined): (part: Uint8Array, isLast: boolean) => string {
  let decoder: TextDecoder | undefined;
  return (part, isLast) => {
    decoder ??= decoderOf(part, charset);
    const text = decoded(decoder, part, !isLast);
    return isLast ? withoutTerminator(text) : text;
  };
}

const decoderOf = (bytes: Uint8Array, charset: string | undefined): TextDecoder =>
  decoderFor(markedEncoding(bytes)) ??
  decoderFor(charset) ??
  decoderFor(detectEncoding(bytes)) ??
  new TextDecoder('utf-8', FATAL);

function decoded(decoder: TextDecoder, bytes: Uint8Array, stream = false): string {
  try {
    return decoder.decode(bytes, { stream });
  } catch (cause) {
    throw new Problem('malformed', `The request is not valid ${decoder.encoding} text.`, { cause });
  }
}

const FATAL = { fatal: true };

/** Declared UTF-8 without a byte order mark takes a quarter of the time of a TextDecoder. */
const isPlainUtf8 = (bytes: Uint8Array, charset: string | undefined): boolean =>
  charset !== undefined && /^utf-?8$/i.test(charset) && bytes[0] !== 0xef && isUtf8(bytes);

const utf8Text = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');

const decoderFor = (label: string | undefined): TextDecoder | undefined =>
  label ? knownDecoder(label, FATAL) : undefined;

const isTerminating = (code: number): boolean => code === 0 || code === 32 || code === 9 || code === 10 || code === 13;

/** Removes NULs at the end, with white space around them: programs in C send their terminator. */
function withoutTerminator(text: string): string {
  let end = text.length;
  while (end > 0 && isTerminating(text.charCodeAt(end - 1))) end -= 1;
  const nul = text.indexOf('\0', end);
  return nul < 0 ? text : text.slice(0, nul);
}

/** The decoder of a label; undefined for an unknown encoding. */
export function knownDecoder(
  label: string,
  options: { fatal?: boolean; ignoreBOM?: boolean },
): TextDecoder | undefined {
  try {
    return new TextDecoder(label, options);
  } catch {
    return undefined;
  }
}

const startsWith = (bytes: Uint8Array, ...start: number[]) => start.every((byte, at) => bytes[at] === byte);

function markedEncoding(bytes: Uint8Array): string | undefined {
  if (startsWith(bytes, 0xef, 0xbb, 0xbf)) return 'utf-8';
  if (startsWith(bytes, 0xfe, 0xff)) return 'utf-16be';
  return startsWith(bytes, 0xff, 0xfe) ? 'utf-16le' : undefined;
}

function detectEncoding(bytes: Uint8Array): string | undefined {
  if (startsWith(bytes, 0x00, 0x3c)) return 'utf-16be';
  if (startsWith(bytes, 0x3c, 0x00)) return 'utf-16le';
  const declaration = /^<\?xml[^>]*?\sencoding\s*=\s*["']([A-Za-z][\w.-]*)["']/.exec(latin1(bytes.subarray(0, 200)));
  // A declaration in single bytes is not in UTF-16, even if it claims so.
  return declaration && !/^(utf-?16|ucs-?2|iso-10646)/i.test(declaration[1] as string) ? declaration[1] : undefined;
}

/** One character for each byte. */
export const latin1 = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
