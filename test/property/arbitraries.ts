import fc from 'fast-check';
import { type Engine, engines } from '../support/engines.ts';
import { runsOf } from '../support/proof.ts';

/** Values that have broken such services before, and any others. */

/**
 * `npm test` makes a tenth of the runs, and FAST_CHECK_RUNS raises them: `FAST_CHECK_RUNS=5000 npm test`. A failure prints its seed and its path. A
 * property that does not end within 30 times of what it needs has met a hang, or shrinks a counterexample that is small enough.
 */
export function runs(given: number, engine?: Engine): fc.Parameters<unknown> {
  // What a second database can change shows early: a fifth is enough there.
  const least = runsOf(engine && engine !== engines[0] ? Math.ceil(given / 5) : given);
  const numRuns = Math.max(least, Number(process.env.FAST_CHECK_RUNS ?? 0));
  // CI judges the change and not the dice: it repeats one seed, everybody else explores.
  const seed = process.env.CI ? { seed: 20_261_115 } : {};
  return {
    numRuns,
    ...seed,
    interruptAfterTimeLimit: 60_000 * Math.ceil(numRuns / least),
    markInterruptAsFailure: true,
  };
}

const AWKWARD = [
  ...['\r', '\n', '\r\n', '\n\r', '\t', ' ', '  ', '\u0085', '\u00A0', '\u2028', '\u2029', '\u200B', '\u3000'],
  ...[']]>', '<![CDATA[', '&', '<', '>', '"', "'", '&amp;', '&#13;', '&#xD;', '<!--', '-->', '<?', '?>', '</string>'],
  ...['%', '+', '%2', '%41', '%u0041', '%u', '%E9', '=', ';', '?', '#', '\\', '\\u0041', '$&', '{0}', '__proto__'],
  ...['\uFEFF', '\uFFFD', '\uD7FF', '\uE000', '\u007F', '\u0300', '😀', '\u{10000}', '\u{10FFFF}', '\u{1FFFE}', 'é'],
];

/** The characters of XML 1.0, production Char. */
const isXmlCharacter = (code: number): boolean =>
  code === 0x9 ||
  code === 0xa ||
  code === 0xd ||
  (code >= 0x20 && code <= 0xd7ff) ||
  (code >= 0xe000 && code <= 0xfffd) ||
  (code >= 0x10000 && code <= 0x10ffff);

const xmlCharacter = fc
  .oneof(
    fc.integer({ min: 0x20, max: 0x7e }),
    fc.integer({ min: 0, max: 0xffff }),
    fc.integer({ min: 0x10000, max: 0x10ffff }),
  )
  .filter(isXmlCharacter)
  .map((code) => String.fromCodePoint(code));

const piece = fc.oneof(fc.constantFrom(...AWKWARD), xmlCharacter);

/** What some readers take away from the ends of a text. */
const edge = fc.constantFrom('', '', '', '\uFEFF', ' ', '\t', '\n', '\r', '\r\n');

const pieces = (unit: fc.Arbitrary<string>, codePointsMax: number): fc.Arbitrary<string> =>
  fc
    .tuple(
      edge,
      fc.oneof(
        { weight: 9, arbitrary: fc.array(unit, { maxLength: 30 }) },
        { weight: 1, arbitrary: fc.array(unit, { maxLength: codePointsMax, size: 'max' }) },
      ),
      edge,
    )
    .map(([start, parts, end]) => [...(start + parts.join(''))].slice(0, codePointsMax - end.length).join('') + end);

/** Text of which every character can stand in XML. */
export const xmlText = (codePointsMax = 2_000): fc.Arbitrary<string> => pieces(piece, codePointsMax);

/** Any text that JavaScript can hold: control codes, halves of surrogate pairs, U+FFFF. */
export const anyText = (codePointsMax = 2_000): fc.Arbitrary<string> =>
  pieces(
    fc.oneof(piece, fc.constantFrom('\0', '\x01', '\x0B', '\x1F', '\uFFFE', '\uFFFF', '\uD800', '\uDFFF')),
    codePointsMax,
  );

/** How a text leaves in XML: what XML cannot carry as U+FFFD. */
export const carried = (text: string): string =>
  [...text].map((character) => (isXmlCharacter(character.codePointAt(0) as number) ? character : '\uFFFD')).join('');

export const LONG_MIN = -(2n ** 63n);
export const LONG_MAX = 2n ** 63n - 1n;
export const INT_MIN = -(2 ** 31);
export const INT_MAX = 2 ** 31 - 1;

export const long: fc.Arbitrary<bigint> = fc.oneof(
  fc.bigInt({ min: LONG_MIN, max: LONG_MAX }),
  fc.constantFrom(LONG_MIN, LONG_MIN + 1n, -(2n ** 53n) - 1n, -1n, 0n, 1n, 2n ** 31n, 2n ** 53n + 1n, LONG_MAX),
);

export const int: fc.Arbitrary<number> = fc.oneof(
  fc.integer({ min: INT_MIN, max: INT_MAX }),
  fc.constantFrom(INT_MIN, -1, 0, 1, INT_MAX),
);

/** The first and the last moment that a dateTime with four digits for the year can be. */
export const FIRST = Date.parse('0001-01-01T00:00:00Z');
export const LAST = Date.parse('9999-12-31T23:59:59.999Z');

/** What a dateTime of .NET can be, in milliseconds. */
export const instant: fc.Arbitrary<number> = fc.oneof(
  fc.integer({ min: Date.UTC(1990, 0), max: Date.UTC(2040, 0) }),
  fc.integer({ min: FIRST, max: LAST }),
  fc.constantFrom(FIRST, FIRST + 1, -1, 0, 1, 999, 1000, Date.UTC(2000, 1, 29), LAST - 1, LAST),
);
