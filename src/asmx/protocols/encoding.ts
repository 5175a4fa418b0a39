import { isUtf8 } from 'node:buffer';
import { TextDecoder } from 'node:util';
import { Problem } from '../../problem.ts';

/**
 * The text of an XML body. The encoding is what a byte order mark says (RFC 7303 §3), else the charset of the Content-Type,
 * else the XML declaration, else UTF-8. A charset that nobody knows counts as absent.
 */
export function decodeXml(bytes: Uint8Array, charset: string | undefined): string {
  if (isPlainUtf8(bytes, charset)) return withoutTerminator(utf8Text(bytes));
  const decoder =
    decoderFor(markedEncoding(bytes)) ??
    decoderFor(charset) ??
    decoderFor(detectEncoding(bytes)) ??
    new TextDecoder('utf-8', FATAL);
  try {
    return withoutTerminator(decoder.decode(bytes));
  } catch (cause) {
    throw new Problem('malformed', `The request is not valid ${decoder.encoding} text.`, { cause });
  }
}

const FATAL = { fatal: true };

/** What nearly every client sends, a quarter of the time of a TextDecoder: UTF-8 that says so, without a byte order mark. */
const isPlainUtf8 = (bytes: Uint8Array, charset: string | undefined): boolean =>
  charset !== undefined && /^utf-?8$/i.test(charset) && bytes[0] !== 0xef && isUtf8(bytes);

const utf8Text = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');

const decoderFor = (label: string | undefined): TextDecoder | undefined =>
  label ? knownDecoder(label, FATAL) : undefined;

const isTerminating = (code: number): boolean => code === 0 || code === 32 || code === 9 || code === 10 || code === 13;

/** Programs in C send the NUL that ends their text, or a whole buffer of them. Behind the first there may be white space. */
function withoutTerminator(text: string): string {
  let end = text.length;
  while (end > 0 && isTerminating(text.charCodeAt(end - 1))) end -= 1;
  const nul = text.indexOf('\0', end);
  return nul < 0 ? text : text.slice(0, nul);
}

/** A decoder by its label, or nothing where the label is of no encoding we know. */
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
  // A declaration that can be read byte by byte is not in UTF-16, whatever it says.
  return declaration && !/^(utf-?16|ucs-?2|iso-10646)/i.test(declaration[1] as string) ? declaration[1] : undefined;
}

/** One character a byte. */
export const latin1 = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
