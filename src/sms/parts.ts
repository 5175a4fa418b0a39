import calculator from 'sms-segments-calculator';
import { encodeGsm7, septetsOf } from './gsm7.ts';

/**
 * The parts of a text, and so its price in credits. One part has 160 characters of GSM 7-bit or 70
 * of UCS-2. Each of several parts has 153 or 67: a header takes the rest.
 */
export type Encoding = 'gsm7' | 'ucs2';

export interface SplitText {
  readonly encoding: Encoding;
  /** At least one. Joined they are the text. */
  readonly parts: readonly string[];
}

const UCS2_UNITS_MAX = 67;

export function partsOf(text: string): number {
  if (text.length <= 70) return 1; // in whatever alphabet
  if (PLAIN.test(text)) return text.length <= 160 ? 1 : Math.ceil(text.length / 153);
  return splitText(text).parts.length;
}

/** Never splits an escaped character, a surrogate pair or what people see as one character. */
export function splitText(text: string): SplitText {
  if (PLAIN.test(text)) return { encoding: 'gsm7', parts: text.length <= 160 ? [text] : slices(text, 153) };
  const message = new calculator.SegmentedMessage(text);
  const encoding = message.encodingName === 'GSM-7' ? 'gsm7' : 'ucs2';
  if (encoding === 'ucs2' && text.length <= 70) return { encoding, parts: [text] };
  if (message.graphemes.some((each) => each.length > UCS2_UNITS_MAX)) return { encoding, parts: byCodePoints(text) };
  const segments: Iterable<{ raw?: string }>[] = message.segments;
  return { encoding, parts: segments.map((segment) => Array.from(segment, ({ raw = '' }) => raw).join('')) };
}

/** The characters that are not in GSM 7-bit, each once. One of them makes a text UCS-2. */
export const charactersBeyondGsm7 = (text: string): string[] => [
  ...new Set([...text].filter((character) => septetsOf(character) === undefined)),
];

/** GSM 7-bit as one octet for each septet, or UTF-16BE. */
export function encodePart(text: string, encoding: Encoding): Uint8Array {
  if (encoding === 'gsm7') return encodeGsm7(text);
  return Buffer.from(text, 'utf16le').swap16();
}

/** The header of one of several parts: 3GPP TS 23.040, 9.2.3.24.1. */
export const partHeader = (reference: number, total: number, number: number): Uint8Array =>
  Uint8Array.of(0x05, 0x00, 0x03, reference & 0xff, total, number);

// The header has one octet for the number of parts.
export const PARTS_MAX = 255;

// Characters of the default alphabet, one septet each: most texts, and a thousandth of the time of
// looking at graphemes.
const PLAIN = /^[A-Za-z0-9 \n!"#%&'()*+,\-./:;<=>?@_£$¥èéùìòÇØøÅåΔΦΓΛΩΠΨΣΘΞÆæßÉ¤¡ÄÖÑÜ§¿äöñüà]*$/;

const slices = (text: string, length: number): string[] =>
  Array.from({ length: Math.ceil(text.length / length) }, (_, index) =>
    text.slice(index * length, (index + 1) * length),
  );

/** For a text with a character, as people see it, that does not fit into one part. */
function byCodePoints(text: string): string[] {
  const parts: string[] = [];
  let part = '';
  for (const character of text) {
    if (part.length + character.length > UCS2_UNITS_MAX) {
      parts.push(part);
      part = '';
    }
    part += character;
  }
  return [...parts, part];
}
