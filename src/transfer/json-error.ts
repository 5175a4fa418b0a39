/**
 * Finds the error in a text that is not JSON (RFC 8259). V8 does not always tell the position, and
 * its message quotes the text, which may hold secrets. The position is the first character that
 * cannot follow, or the end of the text.
 */
export function jsonErrorAt(text: string): number {
  const open: string[] = []; // the closing brackets of the open objects and arrays
  let expected: 'value' | 'first value' | 'key' | 'first key' | 'colon' | 'comma' = 'value';
  for (let at = skipSpace(text, 0); at < text.length; at = skipSpace(text, at)) {
    const character = text[at] as string;
    const end = open.at(-1);
    if (expected === 'colon') {
      if (character !== ':') return at;
      expected = 'value';
      at += 1;
    } else if (character === end && (expected === 'comma' || expected.startsWith('first'))) {
      open.pop();
      expected = 'comma';
      at += 1;
    } else if (expected === 'comma') {
      if (character !== ',' || end === undefined) return at;
      expected = end === '}' ? 'key' : 'value';
      at += 1;
    } else if (expected.endsWith('key')) {
      if (character !== '"') return at;
      const { length, complete } = scanString(text, at);
      at += length;
      if (!complete) return at;
      expected = 'colon';
    } else if (character === '{' || character === '[') {
      open.push(character === '{' ? '}' : ']');
      expected = character === '{' ? 'first key' : 'first value';
      at += 1;
    } else {
      const { length, complete } = character === '"' ? scanString(text, at) : scanWord(text, at);
      at += length;
      if (!complete) return at;
      expected = 'comma';
    }
  }
  return text.length;
}

/** Lines end with a line feed. Lines and columns count from 1. */
export function locationOf(text: string, at: number): { line: number; column: number } {
  let line = 1;
  let start = 0;
  for (let next = text.indexOf('\n'); next >= 0 && next < at; next = text.indexOf('\n', start)) {
    line += 1;
    start = next + 1;
  }
  return { line, column: at - start + 1 };
}

interface Token {
  /** The length of the valid part. */
  readonly length: number;
  readonly complete: boolean;
}

function skipSpace(text: string, from: number): number {
  let at = from;
  while (at < text.length && ' \t\n\r'.includes(text[at] as string)) at += 1;
  return at;
}

const WORD = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;

function scanWord(text: string, from: number): Token {
  WORD.lastIndex = from;
  const length = WORD.exec(text)?.[0].length ?? 0;
  return { length, complete: length > 0 };
}

const ESCAPE = /\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/y;

/** Scans character by character, because a regular expression would need memory for each one. */
function scanString(text: string, from: number): Token {
  for (let at = from + 1; at < text.length; ) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) return { length: at + 1 - from, complete: true };
    if (code < SPACE) return { length: at - from, complete: false };
    ESCAPE.lastIndex = at;
    const escaped = code === BACKSLASH ? ESCAPE.exec(text) : null;
    if (code === BACKSLASH && !escaped) return { length: at - from, complete: false };
    at += escaped ? escaped[0].length : 1;
  }
  return { length: text.length - from, complete: false };
}

const QUOTE = 0x22;
const SPACE = 0x20;
const BACKSLASH = 0x5c;
