/** The GSM 7-bit default alphabet and its extension table: 3GPP TS 23.038, 6.2.1. */

/** The characters in the order of their codes. 0x1b switches to the extension table. */
const ALPHABET = [
  '@£$¥èéùìòÇ\nØø\rÅå',
  'Δ_ΦΓΛΩΠΨΣΘΞ\u001bÆæßÉ',
  ' !"#¤%&\'()*+,-./',
  '0123456789:;<=>?',
  '¡ABCDEFGHIJKLMNO',
  'PQRSTUVWXYZÄÖÑÜ§',
  '¿abcdefghijklmno',
  'pqrstuvwxyzäöñüà',
].join('');
const ESCAPE = 0x1b;
const EXTENSION: Readonly<Record<string, number>> = {
  '\f': 0x0a,
  '^': 0x14,
  '{': 0x28,
  '}': 0x29,
  '\\': 0x2f,
  '[': 0x3c,
  '~': 0x3d,
  ']': 0x3e,
  '|': 0x40,
  '€': 0x65,
};

const codes = new Map<string, readonly number[]>([
  ...[...ALPHABET].flatMap((character, code): [string, number[]][] => (code === ESCAPE ? [] : [[character, [code]]])),
  ...Object.entries(EXTENSION).map(([character, code]): [string, number[]] => [character, [ESCAPE, code]]),
]);

/**
 * The septets of a character, one octet each: two if it is in the extension table, undefined if it
 * is in neither.
 */
export const septetsOf = (character: string): readonly number[] | undefined => codes.get(character);

/** The septets of a text that has no other characters, one octet each. */
export function encodeGsm7(text: string): Uint8Array {
  const septets: number[] = [];
  for (const character of text) {
    const found = codes.get(character);
    if (!found) throw new TypeError('the text has characters beyond GSM 7-bit');
    septets.push(...found);
  }
  return Uint8Array.from(septets);
}

const EXTENDED = new Map(Object.entries(EXTENSION).map(([character, code]) => [code, character]));

/**
 * A text of septets, one octet each. An unknown code after an escape is that of the default
 * alphabet, as 3GPP TS 23.038 wants it. What is no septet is read as Latin-1, which some carriers
 * send under the name of GSM 7-bit.
 */
export function decodeGsm7(octets: Uint8Array): string {
  let text = '';
  let isEscaped = false;
  for (const code of octets) {
    if (code === ESCAPE && !isEscaped) {
      isEscaped = true;
      continue;
    }
    const extended = isEscaped ? EXTENDED.get(code) : undefined;
    isEscaped = false;
    text += extended ?? (code === ESCAPE ? ' ' : (ALPHABET[code] ?? String.fromCharCode(code)));
  }
  return text;
}

/**
 * Septets that are packed into octets, one octet each. Behind a user data header the first septet
 * begins at the next multiple of 7 bits.
 */
export function unpackSeptets(octets: Uint8Array, headerOctets = 0): Uint8Array {
  const first = (7 - ((headerOctets * 8) % 7)) % 7;
  const septets = new Uint8Array(Math.floor((octets.length * 8 - first) / 7));
  for (let index = 0; index < septets.length; index++) {
    const bit = first + index * 7;
    const pair = (octets[bit >> 3] ?? 0) | ((octets[(bit >> 3) + 1] ?? 0) << 8);
    septets[index] = (pair >> (bit & 7)) & 0x7f;
  }
  return septets;
}
