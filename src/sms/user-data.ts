/** What the user data of a message from a phone holds: its header, its text, its addresses. */

/** The place of one of several parts. */
export interface PartPlace {
  readonly reference: number;
  readonly total: number;
  readonly number: number;
}

/** The longest text of a message from a phone: 255 parts of 153 characters. */
export const TEXT_LENGTH_MAX = 39_015;
/** An address of SMPP has 20 octets; other carriers allow more. */
const ADDRESS_LENGTH_MAX = 64;

/**
 * The place of a part in its message, from the user data header; null for a whole message.
 * Element 00 has a reference of 8 bits, element 08 one of 16.
 */
export function readPart(header: Uint8Array | null): PartPlace | null {
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

export function partOf(reference: number, [total = 0, number = 0]: Uint8Array): PartPlace | null {
  if (total < 2 || number < 1 || number > total) return null;
  return { reference, total, number };
}

/**
 * UTF-16BE unit by unit: phones cut a surrogate pair between two parts, and whoever has all parts
 * makes the text well-formed. An octet that is left over is no unit.
 */
export function utf16Units(body: Uint8Array): string {
  const even = body.length - (body.length % 2);
  const text = Buffer.from(body.subarray(0, even)).swap16().toString('utf16le');
  return even === body.length ? text : `${text}\ufffd`;
}

/** Binary content is given as hexadecimal digits. */
export const binaryText = (body: Uint8Array): string =>
  Buffer.from(body).toString('hex').toUpperCase().slice(0, TEXT_LENGTH_MAX);

/** A sender or a destination. Some phones hide theirs: it is empty, and the message counts. */
export const readAddress = (text: string | null): string =>
  withoutNul(text ?? '')
    .trim()
    .slice(0, ADDRESS_LENGTH_MAX);

/** PostgreSQL stores no U+0000. */
export const withoutNul = (text: string): string => text.replaceAll('\u0000', '\ufffd');
