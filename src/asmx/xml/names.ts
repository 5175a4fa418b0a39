/** The characters of XML 1.0, and those of its names (productions 2, 4 and 4a). */

// biome-ignore lint/suspicious/noControlCharactersInRegex: XML 1.0 forbids them
export const FORBIDDEN = /[\0-\x08\x0B\x0C\x0E-\x1F\uFFFE\uFFFF]/;

/** Production S. */
export const isSpace = (code: number): boolean => code === 0x20 || code === 0x0a || code === 0x09 || code === 0x0d;

/** Production XMLDecl. */
export const DECLARATION =
  /^<\?xml[ \t\n]+version[ \t\n]*=[ \t\n]*(?:"(1\.[0-9]+)"|'(1\.[0-9]+)')(?:[ \t\n]+encoding[ \t\n]*=[ \t\n]*(?:"[A-Za-z][\w.-]*"|'[A-Za-z][\w.-]*'))?(?:[ \t\n]+standalone[ \t\n]*=[ \t\n]*(?:"(?:yes|no)"|'(?:yes|no)'))?[ \t\n]*\?>/;

const ENTITIES = new Map([
  ['amp', '&'],
  ['lt', '<'],
  ['gt', '>'],
  ['apos', "'"],
  ['quot', '"'],
]);

/** The character of a reference `&name;`. Without a DTD, XML has five named entities. */
export function referenced(name: string): string | undefined {
  if (!name.startsWith('#')) return ENTITIES.get(name);
  const code = name.startsWith('x', 1) ? digits(name, 2, 16) : digits(name, 1, 10);
  return isCharacter(code) ? String.fromCodePoint(code) : undefined;
}

/** The number after `start`; -1 for no digit, another character, or too many digits. */
function digits(text: string, start: number, base: 10 | 16): number {
  let number = text.length > start ? 0 : -1;
  for (let at = start; at < text.length; at++) {
    const digit = digitOf(text.charCodeAt(at));
    if (digit >= base || number > 0x10ffff) return -1;
    number = number * base + digit;
  }
  return number;
}

function digitOf(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  const letter = code | 0x20; // in lower case
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x61 + 10 : Number.POSITIVE_INFINITY;
}

/** Production Char. */
const isCharacter = (code: number): boolean =>
  (code >= 0x20 && code <= 0xd7ff) ||
  (code >= 0xe000 && code <= 0xfffd) ||
  (code >= 0x10000 && code <= 0x10ffff) ||
  code === 0x09 ||
  code === 0x0a ||
  code === 0x0d;

const START =
  ':A-Z_a-z\\xC0-\\xD6\\xD8-\\xF6\\xF8-\\u02FF\\u0370-\\u037D\\u037F-\\u1FFF\\u200C\\u200D\\u2070-\\u218F\\u2C00-\\u2FEF\\u3001-\\uD7FF\\uF900-\\uFDCF\\uFDF0-\\uFFFD\\u{10000}-\\u{EFFFF}';
const PART = `${START}.0-9\\xB7\\u0300-\\u036F\\u203F\\u2040-`;
/** Matches a name at `lastIndex`. */
export const NAME = new RegExp(`[${START}][${PART}]*`, 'uy');
/** Matches a name without a colon. */
export const LOCAL = new RegExp(`^[${START.slice(1)}][${PART.slice(1)}]*$`, 'u');
const asciiTable = (set: string): readonly boolean[] =>
  Array.from({ length: 128 }, (_, code) => new RegExp(`[${set}]`, 'u').test(String.fromCharCode(code)));
/** The same sets for ASCII, by code: most names are ASCII. */
export const NAME_START = asciiTable(START);
export const NAME_PART = asciiTable(PART);
