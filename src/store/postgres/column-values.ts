import pg from 'pg';

const INT8 = 20;
const TEXT = 25;

/** Every whole number becomes a bigint. */
export function parserOf(oid: number): (text: string) => unknown {
  if (oid === INT8) return BigInt;
  return oid === TEXT ? unescaped : pg.types.getTypeParser(oid, 'text');
}

/**
 * PostgreSQL's text cannot hold U+0000, and an SMS can. It is stored as two U+0001, and U+0001 as
 * U+0001 U+0002. So equal texts stay equal, and their order stays the same.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the expression is about these characters
const NEEDS_ESCAPE = /[\0\x01]/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: these characters, as stored
const ESCAPED = /\x01([\x01\x02])/g;

export const escaped = (text: string): string =>
  text.replace(NEEDS_ESCAPE, (each) => (each === '\0' ? '\x01\x01' : '\x01\x02'));

const unescaped = (text: string): string =>
  text.includes('\x01') ? text.replace(ESCAPED, (_, which) => (which === '\x01' ? '\0' : '\x01')) : text;
