import type { Random } from '../../test/support/random.ts';

/** Damage to bytes, as texts of one character a byte. */

/** What is no character in UTF-8: loose and missing continuations, overlong forms, surrogates, beyond U+10FFFF, byte order marks. */
const BAD_BYTES = [
  ...['\x80', '\xBF', '\xC3', '\xE2\x82', '\xF0\x9F\x98', '\xC0\x80', '\xC1\xBF', '\xE0\x80\xBC', '\xF0\x80\x80\xAF'],
  ...['\xED\xA0\xBD', '\xED\xB8\x80', '\xED\xA0\xBD\xED\xB8\x80', '\xF4\x90\x80\x80', '\xF8\x88\x80\x80\x80', '\xFF'],
  ...['\xEF\xBB\xBF', '\xFE\xFF', '\xFF\xFE', '\xEF\xBF\xBE', '\xEF\xBF\xBF', '\0', '\x01', '\x7F', '\x1B$B', '\x1B(J'],
];

export const NUMBERS = [
  ...['0', '-0', '1', '-1', '+1', '007', '127', '128', '255', '256', '32767', '32768', '65535', '65536'],
  ...['2147483647', '2147483648', '-2147483648', '-2147483649', '4294967295', '4294967296', '9007199254740993'],
  ...['9223372036854775807', '9223372036854775808', '-9223372036854775808', '-9223372036854775809'],
  ...[
    '18446744073709551616',
    '1e9',
    '1.0',
    '0x10',
    'NaN',
    'Infinity',
    ' 5 ',
    '\t5\n',
    '5 5',
    '\xD9\xA3',
    '',
    '1'.repeat(400),
  ],
];

/** As often as the first is rare: lengths around limits, and mostly short. */
export const length = (random: Random): number =>
  random.chance(0.9) ? random.below(12) : random.chance(0.9) ? random.below(300) : random.below(70_000);

/** `pieces` is what the format is made of; `others` are texts to take parts from. */
export function mutated(random: Random, text: string, pieces: readonly string[], others: readonly string[]): string {
  let now = text;
  for (let left = 1 + random.below(4); left > 0; left -= 1) now = mutatedOnce(random, now, pieces, others);
  return now;
}

function mutatedOnce(random: Random, text: string, pieces: readonly string[], others: readonly string[]): string {
  const at = random.below(text.length + 1);
  const end = Math.min(text.length, at + 1 + length(random));
  const [before, run, after] = [text.slice(0, at), text.slice(at, end), text.slice(end)];
  switch (random.below(12)) {
    case 0:
    case 1:
    case 2:
      return before + random.pick(pieces) + run + after;
    case 3:
      return before + after;
    case 4:
      return before + run + run + after;
    case 5:
      return swapped(random, text);
    case 6:
      return run === '' ? text : before + flipped(random, run.charCodeAt(0)) + run.slice(1) + after;
    case 7:
      return before + String.fromCharCode(random.below(256)) + run.slice(1) + after;
    case 8:
      return before + random.pick(BAD_BYTES) + run + after;
    case 9:
      return numbered(random, text, at);
    case 10:
      return spliced(random, before, random.pick(others));
    default:
      return random.chance(0.3) ? before : before + random.pick(pieces).repeat(1 + length(random) / 8) + run + after;
  }
}

const flipped = (random: Random, code: number): string => String.fromCharCode(code ^ (1 << random.below(8)));

/** Two parts in each other's place. */
function swapped(random: Random, text: string): string {
  const cuts = Array.from({ length: 4 }, () => random.below(text.length + 1)).sort((a, b) => a - b);
  const [a = 0, b = 0, c = 0, d = 0] = cuts;
  return text.slice(0, a) + text.slice(c, d) + text.slice(b, c) + text.slice(a, b) + text.slice(d);
}

/** The next number, at the edge of what a type can hold. */
function numbered(random: Random, text: string, from: number): string {
  const pattern = /[0-9]+/g;
  pattern.lastIndex = from;
  const match = pattern.exec(text);
  if (!match) return text;
  return text.slice(0, match.index) + random.pick(NUMBERS) + text.slice(match.index + match[0].length);
}

/** The beginning of one and the end of the other. */
const spliced = (random: Random, start: string, other: string): string =>
  start + other.slice(random.below(other.length + 1));
