/** XML out: text that cannot break the document it is put into. */

/**
 * Text content. A carriage return is written as a reference, because a parser would read the bare one as a line feed; what
 * XML 1.0 cannot carry (control codes, U+FFFE, U+FFFF, half a surrogate pair) becomes U+FFFD.
 */
export function escapeText(text: string): string {
  return NEEDS_ESCAPE.test(text) ? text.replace(SPECIAL, (character) => ESCAPES[character] ?? '\uFFFD') : text;
}

export const escapeAttribute = (text: string): string =>
  escapeText(text).replace(/["\n\t]/g, (character) => `&#${character.charCodeAt(0)};`);

const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '\r': '&#xD;' };
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what XML 1.0 cannot carry (production Char)
const NEEDS_ESCAPE = /[&<>\r\0-\x08\x0B\x0C\x0E-\x1F\uD800-\uDFFF\uFFFE\uFFFF]/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: the same, with whole surrogate pairs left alone
const SPECIAL = /[&<>\r\0-\x08\x0B\x0C\x0E-\x1F\uFFFE\uFFFF\p{Surrogate}]/gu;
