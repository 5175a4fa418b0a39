/** Which characters XML 1.0 has, and which of them make names (productions 2, 4 and 4a). */

// biome-ignore lint/suspicious/noControlCharactersInRegex: what XML 1.0 cannot carry, apart from halves of surrogate pairs
export const FORBIDDEN = /[\0-\x08\x0B\x0C\x0E-\x1F\uFFFE\uFFFF]/;

const ENTITIES = new Map([
  ['amp', '&'],
  ['lt', '<'],
  ['gt', '>'],
  ['apos', "'"],
  ['quot', '"'],
]);
const CODE = /^#(?:x([0-9A-Fa-f]+)|([0-9]+))$/;

/** What a reference stands for, by what is between its `&` and `;`. Without a DTD there are five names. */
export function referenced(name: string): string | undefined {
  const code = CODE.exec(name);
  return code ? character(code[1] ? Number.parseInt(code[1], 16) : Number(code[2])) : ENTITIES.get(name);
}

/** The character of a code, where XML 1.0 has it (production Char). */
const character = (code: number): string | undefined => {
  if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return undefined;
  const text = String.fromCodePoint(code);
  return FORBIDDEN.test(text) ? undefined : text;
};

const START =
  ':A-Z_a-z\\xC0-\\xD6\\xD8-\\xF6\\xF8-\\u02FF\\u0370-\\u037D\\u037F-\\u1FFF\\u200C\\u200D\\u2070-\\u218F\\u2C00-\\u2FEF\\u3001-\\uD7FF\\uF900-\\uFDCF\\uFDF0-\\uFFFD\\u{10000}-\\u{EFFFF}';
const PART = `${START}.0-9\\xB7\\u0300-\\u036F\\u203F\\u2040-`;
/** A name from `lastIndex` on. */
export const NAME = new RegExp(`[${START}][${PART}]*`, 'uy');
/** A name without colon. */
export const LOCAL = new RegExp(`^[${START.slice(1)}][${PART.slice(1)}]*$`, 'u');
const asciiTable = (set: string): readonly boolean[] =>
  Array.from({ length: 128 }, (_, code) => new RegExp(`[${set}]`, 'u').test(String.fromCharCode(code)));
/** The same for ASCII, by code, because most names are. */
export const NAME_START = asciiTable(START);
export const NAME_PART = asciiTable(PART);
