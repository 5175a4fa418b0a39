import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { formatDate, parseSchemaDate } from '../../src/asmx/contract/dates.ts';
import { dateFormat } from '../../src/asmx/dialect/date-form.ts';
import { runs } from './arbitraries.ts';

const ZONES = [
  'UTC',
  '+02:00',
  '-09:30',
  'Africa/Johannesburg',
  'America/New_York',
  'Europe/Berlin',
  'Australia/Lord_Howe',
  'Asia/Kathmandu',
];
const HOUR_MS = 3_600_000;
const instant = fc.oneof(
  fc.integer({ min: Date.UTC(1972, 0, 1), max: Date.UTC(2100, 0, 1) }),
  // Around the clock changes of 2026 in Berlin and New York.
  fc
    .tuple(
      fc.constantFrom(
        Date.UTC(2026, 2, 8, 7),
        Date.UTC(2026, 2, 29, 1),
        Date.UTC(2026, 9, 25, 1),
        Date.UTC(2026, 10, 1, 6),
      ),
      fc.integer({ min: -26 * HOUR_MS, max: 26 * HOUR_MS }),
    )
    .map(([change, distance]) => change + distance),
);
const fractionDigits = fc.oneof(fc.constant('trimmed' as const), fc.integer({ min: 0, max: 7 }));

const kept = (at: number, digits: number | 'trimmed'): number => {
  const unit = digits === 'trimmed' || digits >= 3 ? 1 : 10 ** (3 - digits);
  return Math.floor(at / unit) * unit;
};

/** The wall clock of a zone, by Intl alone. */
const wallClock = (at: number, timeZone: string): string =>
  new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'medium' }).format(at).replace(' ', 'T');

describe('dates as a dialect writes them', () => {
  test('a date with Z or an offset is read as the same instant, to its last digit', () => {
    fc.assert(
      fc.property(
        instant,
        fc.constantFrom(...ZONES),
        fc.constantFrom('Z', 'offset'),
        fractionDigits,
        (at, timeZone, zone, digits) => {
          const text = dateFormat({ zone, timeZone, fractionDigits: digits })(at);
          assert.equal(parseSchemaDate(text, { now: 0, zone: 'UTC' }), kept(at, digits), text);
        },
      ),
      runs(1_000),
    );
  });

  test('a date without a zone is the wall clock of the zone, also on the day of a clock change', () => {
    fc.assert(
      fc.property(instant, fc.constantFrom(...ZONES), (at, timeZone) => {
        assert.equal(dateFormat({ zone: 'none', timeZone, fractionDigits: 0 })(at), wallClock(at, timeZone));
      }),
      runs(1_000),
    );
  });

  test('a date without a zone is read as the same instant, but for the hour that a clock change repeats', () => {
    fc.assert(
      fc.property(instant, fc.constantFrom(...ZONES), (at, timeZone) => {
        const format = dateFormat({ zone: 'none', timeZone });
        const isRepeated = [-HOUR_MS, HOUR_MS, -HOUR_MS / 2, HOUR_MS / 2].some(
          (other) => format(at + other) === format(at),
        );
        fc.pre(!isRepeated);
        assert.equal(parseSchemaDate(format(at), { now: 0, zone: timeZone }), at);
      }),
      runs(1_000),
    );
  });

  test('Z with trimmed digits is what Columba writes without a dialect', () => {
    fc.assert(
      fc.property(instant, (at) => {
        assert.equal(dateFormat({ zone: 'Z' })(at), formatDate(at));
        assert.equal(dateFormat({ zone: 'none' })(at), formatDate(at).slice(0, -1));
      }),
      runs(300),
    );
  });

  test('the number of digits of a second is as the dialect says', () => {
    const at = Date.UTC(2026, 9, 2, 10, 45, 30, 120);
    const digits = (fractionDigits: number | 'trimmed') =>
      dateFormat({ zone: 'offset', timeZone: 'Africa/Johannesburg', fractionDigits })(at);
    assert.equal(digits('trimmed'), '2026-10-02T12:45:30.12+02:00');
    assert.equal(digits(0), '2026-10-02T12:45:30+02:00');
    assert.equal(digits(1), '2026-10-02T12:45:30.1+02:00');
    assert.equal(digits(7), '2026-10-02T12:45:30.1200000+02:00');
    assert.equal(dateFormat({ zone: 'Z', fractionDigits: 3 })(at), '2026-10-02T10:45:30.120Z');
    assert.equal(dateFormat({ zone: 'Z', fractionDigits: 3 })(-1), '1969-12-31T23:59:59.999Z');
  });

  test('summer time and winter time of a zone have their own offsets', () => {
    const format = dateFormat({ zone: 'offset', timeZone: 'Europe/Berlin' });
    assert.equal(format(Date.UTC(2026, 9, 25, 0, 59, 59)), '2026-10-25T02:59:59+02:00');
    assert.equal(format(Date.UTC(2026, 9, 25, 1, 0, 0)), '2026-10-25T02:00:00+01:00');
    assert.equal(format(Date.UTC(2026, 6, 1)), '2026-07-01T02:00:00+02:00');
  });
});
