import type { Random } from '../../test/support/random.ts';
import { XML_PIECES } from '../../test/support/xml-pieces.ts';

/** In UTF-8, one character a byte, with half of a surrogate pair, which is no UTF-8. */
export const XML_BYTES: readonly string[] = [
  ...XML_PIECES.map((piece) => Buffer.from(piece).toString('latin1')),
  '\xED\xA0\xBD',
];

/** A text in bytes, in an encoding that the Content-Type, a byte order mark or the declaration tells, or that nothing tells. */
export function encoded(random: Random, text: string, type: string): { type: string; body: string } {
  const of = (encoding: BufferEncoding, given: string) => Buffer.from(given, encoding).toString('latin1');
  const swapped = (given: string) => Buffer.from(given, 'utf16le').swap16().toString('latin1');
  switch (random.below(24)) {
    case 0:
      return { type, body: of('utf8', `\uFEFF${text}`) };
    case 1:
      return { type: `${type}; charset=utf-16`, body: of('utf16le', text) };
    case 2:
      return { type: `${type}; charset="UTF-16LE"`, body: of('utf16le', `\uFEFF${text}`) };
    case 3:
      return { type, body: swapped(`\uFEFF${text}`) };
    case 4:
      return { type: `${type}; charset=utf-16be`, body: swapped(text) };
    case 5:
      return { type: `${type}; charset=iso-8859-1`, body: of('latin1', text) };
    case 6:
      return {
        type,
        body: `<?xml version="1.0" encoding="windows-1252"?>${of('latin1', text.replace(/^<\?xml.*?\?>/, ''))}`,
      };
    case 7:
      return {
        type: `${type}; charset=${random.pick(['us-ascii', 'utf-7', 'utf-32', 'gb18030', 'shift_jis', 'koi8-r', 'x-user-defined'])}`,
        body: of('utf8', text),
      };
    case 8:
      return { type, body: of('utf16le', text) };
    case 9:
      return { type, body: of('utf8', text) };
    default:
      return { type: `${type}; charset=utf-8`, body: of('utf8', text) };
  }
}
