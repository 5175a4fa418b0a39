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
