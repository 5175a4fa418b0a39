import type { IncomingMessage } from '../connector.ts';

/** Reads messages from phones in the codings that Kannel passes on. */

/** The longest text of a message from a phone: 255 parts of 153 characters. */
const TEXT_LENGTH_MAX = 39_015;
/** An address of SMPP has 20 octets; other carriers allow more. */
const ADDRESS_LENGTH_MAX = 64;

export interface Content {
  /** 0: 7-bit or 8-bit characters. 1: binary. 2: UCS-2. */
  readonly coding: number | null;
  readonly charset: string | null;
  readonly body: Uint8Array;
}

/**
 * Reads the text. Binary content becomes hexadecimal digits. Phones may cut a surrogate pair
 * between two parts, so UCS-2 is read unit by unit, and only the joined text is made well-formed.
 */
export function readText({ coding, charset, body }: Content): string {
  if (coding === 1) return Buffer.from(body).toString('hex').toUpperCase().slice(0, TEXT_LENGTH_MAX);
  // Kannel can be configured to recode texts, and then names another charset.
  const isRecoded = coding === 2 && charset !== null && /^utf-?8$/i.test(charset);
  const text = coding === 2 && !isRecoded ? utf16Units(body) : decoderOf(charset ?? 'utf-8').decode(body);
  return withoutNul(text).slice(0, TEXT_LENGTH_MAX);
}

/** An octet that is left over becomes U+FFFD. */
function utf16Units(body: Uint8Array): string {
  const even = body.length - (body.length % 2);
  const text = Buffer.from(body.subarray(0, even)).swap16().toString('utf16le');
  return even === body.length ? text : `${text}\ufffd`;
}

/** An unknown charset counts as UTF-8. The decoder neither throws nor removes a byte order mark. */
function decoderOf(charset: string): { decode(octets: Uint8Array): string } {
  try {
    return new TextDecoder(charset, { ignoreBOM: true });
  } catch {
    return new TextDecoder('utf-8', { ignoreBOM: true });
  }
}

/** Reads a sender or a destination. Some phones hide their number; then the sender is empty. */
export const readAddress = (text: string | null): string =>
  withoutNul(text ?? '')
    .trim()
    .slice(0, ADDRESS_LENGTH_MAX);

/** PostgreSQL stores no U+0000. */
const withoutNul = (text: string): string => text.replaceAll('\u0000', '\ufffd');

/**
 * The place of a part in its message, from the user data header; null for a whole message.
 * Element 00 has a reference of 8 bits, element 08 one of 16.
 */
export function readPart(header: Uint8Array | null): IncomingMessage['part'] {
  if (header === null || header.length === 0) return null;
  const octets = Buffer.from(header);
  const end = Math.min(octets.length, 1 + octets.readUInt8(0));
  for (let at = 1; at + 2 <= end; at += 2 + octets.readUInt8(at + 1)) {
    const value = octets.subarray(at + 2, Math.min(end, at + 2 + octets.readUInt8(at + 1)));
    const kind = octets.readUInt8(at);
    if (kind === 0x00 && value.length === 3) return partOf(value.readUInt8(0), value.subarray(1));
    if (kind === 0x08 && value.length === 4) return partOf(value.readUInt16BE(0), value.subarray(2));
  }
  return null;
}

function partOf(reference: number, [total = 0, number = 0]: Uint8Array): IncomingMessage['part'] {
  if (total < 2 || number < 1 || number > total) return null;
  return { reference, total, number };
}
