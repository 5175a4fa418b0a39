import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import fc from 'fast-check';
import type { DateContext } from '../../src/asmx/contract/dates.ts';
import { parseInt32, parseLong, scalarText } from '../../src/asmx/contract/scalars.ts';
import type { ScalarName } from '../../src/asmx/contract/types.ts';
import { anyText, FIRST, INT_MAX, INT_MIN, instant, int, LAST, LONG_MAX, LONG_MIN, long, runs } from './arbitraries.ts';

const UTC: DateContext = { now: Date.UTC(2026, 10, 15, 12), zone: 'UTC' };
const PARSERS = ['parseSchema', 'parseGeneral'] as const;
const SCALARS = Object.keys(scalarText) as ScalarName[];

const VALUES: Record<ScalarName, fc.Arbitrary<unknown>> = {
  string: anyText(),
  int,
  long,
  boolean: fc.boolean(),
  dateTime: instant,
};

/** What .NET takes for white space around a number or a date. */
const blanks = fc.string({ unit: fc.constantFrom(' ', '\t', '\n', '\v', '\f', '\r'), maxLength: 3 });
const zeros = fc.nat({ max: 40 }).map((count) => '0'.repeat(count));

describe('text of scalars', () => {
  for (const name of SCALARS) {
    test(`a value of type ${name} is read as it was written, in SOAP and in GET and POST`, () => {
      const { format } = scalarText[name] as { format(value: unknown): string };
      fc.assert(
        fc.property(VALUES[name], (value) => {
          for (const parse of PARSERS) assert.equal(scalarText[name][parse](format(value), UTC), value);
        }),
        runs(1_000),
      );
    });

    test(`any text is read as ${name} or refused, and what is read can be written and read again`, () => {
      const { format } = scalarText[name] as { format(value: unknown): string };
      const types: Record<ScalarName, string> = {
        string: 'string',
        int: 'number',
        long: 'bigint',
        boolean: 'boolean',
        dateTime: 'number',
      };
      fc.assert(
        fc.property(fc.oneof(anyText(40), nearly(name), names), fc.constantFrom(...PARSERS), (text, parse) => {
          const value = scalarText[name][parse](text, UTC);
          if (value === null) return;
          assert.equal(typeof value, types[name]);
          // A zone can lead out of the years that can be written: the day after DateTime.MaxValue is still a fine `to`.
          if (name === 'dateTime' && ((value as number) < FIRST || (value as number) > LAST)) return;
          assert.equal(scalarText[name][parse](format(value), UTC), value);
        }),
        runs(2_000),
      );
    });
  }

  test('an int or a long is what BigInt reads, if it is in range', () => {
    const sign = fc.constantFrom('', '+', '-');
    const digits = fc.oneof(fc.bigInt({ min: 0n, max: 2n ** 65n }), fc.bigInt({ min: 0n, max: 2n ** 33n }));
    fc.assert(
      fc.property(blanks, sign, zeros, digits, blanks, (before, mark, leading, number, after) => {
        const text = `${before}${mark}${leading}${number}${after}`;
        const value = mark === '-' ? -number : number;
        assert.equal(parseLong(text), value >= LONG_MIN && value <= LONG_MAX ? value : null);
        assert.equal(parseInt32(text), value >= INT_MIN && value <= INT_MAX ? Number(value) : null);
      }),
      runs(2_000),
    );
  });

  test('a text is an int or a long only if it is digits with at most a sign before and blanks around', () => {
    const model = (text: string): bigint | null => {
      const match = /^([+-]?)([0-9]+)$/.exec(text.replace(/^[\t-\r ]*/, '').replace(/[\t-\r ]*$/, ''));
      if (!match) return null;
      const value = BigInt(match[2] as string) * (match[1] === '-' ? -1n : 1n);
      return value >= LONG_MIN && value <= LONG_MAX ? value : null;
    };
    const unit = fc.constantFrom(...'0123456789+-. \t\n\r\u00A0eEx,_n٣𝟙');
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 24 }), (text) => {
        assert.equal(parseLong(text), model(text));
      }),
      runs(3_000),
    );
  });

  test('a value as long as a request may be is read or refused in little time', async () => {
    // In a thread of its own, which can be ended: a pattern that takes the square of its input needs hours for these.
    const source = `
      import { parentPort, workerData } from 'node:worker_threads';
      const { scalarText } = await import(workerData);
      const context = { now: 0, zone: 'UTC' };
      const size = 1_000_000;
      for (const unit of [' ', '\\t', '0', '9', '1 ', '+', '-', ':', '.', '2026-', 'jan ', '0 ', 'a', '\\u00A0', '\\r\\n']) {
        const long = unit.repeat(size / unit.length);
        for (const text of [long, 'a' + long, long + 'a', 'a' + long + 'a', '1' + long + '1', '2026-10-02T10:45:30.' + long]) {
          for (const { parseSchema, parseGeneral } of Object.values(scalarText)) {
            parseSchema(text, context);
            parseGeneral(text, context);
          }
        }
      }
      parentPort.postMessage('done');
    `;
    const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(source)}`), {
      workerData: new URL('../../src/asmx/contract/scalars.ts', import.meta.url).href,
    });
    const finished = await new Promise((resolve, reject) => {
      const deadline = setTimeout(() => resolve('still at it after 60 s'), 60_000);
      worker.once('message', resolve).once('error', reject);
      worker.once('exit', () => clearTimeout(deadline));
    });
    await worker.terminate();
    assert.equal(finished, 'done');
  });
});

/** Names that every object of JavaScript has. */
const names = fc.constantFrom('constructor', 'toString', '__proto__', 'hasOwnProperty', 'valueOf');

/** A right text of that scalar with something done to it. */
function nearly(name: ScalarName): fc.Arbitrary<string> {
  const { format } = scalarText[name] as { format(value: unknown): string };
  return fc
    .tuple(
      VALUES[name],
      fc.nat({ max: 40 }),
      fc.nat({ max: 2 }),
      fc.constantFrom('', ' ', '0', '9', '-', ':', 'Z', '+14:00', '-99:59'),
    )
    .map(([value, at, cut, put]) => {
      const text = format(value);
      const from = Math.min(at, text.length);
      return text.slice(0, from) + put + text.slice(from + cut);
    });
}
