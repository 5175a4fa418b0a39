import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { type DateContext, formatDate, parseGeneralDate, parseSchemaDate } from '../../src/asmx/contract/dates.ts';
import { instant, runs } from './arbitraries.ts';

const UTC: DateContext = { now: 0, zone: 'UTC' };
const DAY_MS = 86_400_000;
const two = (number: number): string => String(number).padStart(2, '0');

/** A calendar and a clock of which not every time exists. */
const civil = fc.record({
  year: fc.oneof(fc.integer({ min: 1, max: 9999 }), fc.constantFrom(0, 1, 4, 1900, 2000, 2024, 2100, 9999)),
  month: fc.integer({ min: 0, max: 13 }),
  day: fc.integer({ min: 0, max: 32 }),
  hour: fc.integer({ min: 0, max: 25 }),
  minute: fc.integer({ min: 0, max: 61 }),
  second: fc.integer({ min: 0, max: 61 }),
  fraction: fc.string({ unit: fc.constantFrom(...'0123456789'), maxLength: 9 }),
});
const offset = fc.record({
  sign: fc.constantFrom('+', '-'),
  hours: fc.integer({ min: 0, max: 14 }),
  minutes: fc.integer({ min: 0, max: 61 }),
});
type Civil = typeof civil extends fc.Arbitrary<infer T> ? T : never;

const isLeap = (year: number) => year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
const daysIn = (year: number, month: number) =>
  [31, isLeap(year) ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1] ?? 0;

const exists = ({ year, month, day, hour, minute, second }: Civil) =>
  year >= 1 && day >= 1 && day <= daysIn(year, month) && hour <= 23 && minute <= 59 && second <= 59;

/** Milliseconds since 1970, by counting days. */
function count({ year, month, day, hour, minute, second, fraction }: Civil): number {
  const before = year - 1;
  const days = before * 365 + Math.floor(before / 4) - Math.floor(before / 100) + Math.floor(before / 400);
  const inYear = Array.from({ length: month - 1 }, (_, index) => daysIn(year, index + 1)).reduce((a, b) => a + b, 0);
  const sinceEpoch = days + inYear + day - 1 - 719_162; // days from 0001-01-01 to 1970-01-01
  const seconds = ((sinceEpoch * 24 + hour) * 60 + minute) * 60 + second;
  return seconds * 1000 + Number(fraction.slice(0, 3).padEnd(3, '0'));
}

const textOf = ({ year, month, day, hour, minute, second, fraction }: Civil): string =>
  `${String(year).padStart(4, '0')}-${two(month)}-${two(day)}T${two(hour)}:${two(minute)}:${two(second)}${fraction && `.${fraction}`}`;

describe('dates and times', () => {
  test('a date is written in UTC with Z, four digits of the year and no trailing zeros, and Date reads it as the same instant', () => {
    fc.assert(
      fc.property(instant, (at) => {
        const text = formatDate(at);
        assert.match(text, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{0,2}[1-9])?Z$/);
        assert.equal(Date.parse(text), at);
      }),
      runs(1_000),
    );
  });

  test('a date and time with a zone is read if it exists in the calendar, as the right instant', () => {
    fc.assert(
      fc.property(civil, fc.oneof(fc.constantFrom('Z', 'z'), offset), (time, zone) => {
        const shift = typeof zone === 'string' ? 0 : (zone.hours * 60 + zone.minutes) * (zone.sign === '-' ? -1 : 1);
        const valid = typeof zone === 'string' || zone.minutes <= 59;
        const expected = valid && exists(time) ? count(time) - shift * 60_000 : null;
        const mark = typeof zone === 'string' ? zone : `${zone.sign}${two(zone.hours)}:${two(zone.minutes)}`;
        assert.equal(parseSchemaDate(textOf(time) + mark, UTC), expected);
        if (Math.abs(shift) <= 14 * 60) assert.equal(parseGeneralDate(textOf(time) + mark, UTC), expected);
      }),
      runs(3_000),
    );
  });

  test('a date and time without zone is in the zone of the setting', () => {
    const zones = [
      'UTC',
      'Africa/Johannesburg',
      '+02:00',
      '-03:30',
      'Europe/Berlin',
      'America/New_York',
      'Asia/Kathmandu',
    ];
    // Swedish writes dates as ISO 8601 does.
    const clocks = new Map(
      zones.map((timeZone) => [
        timeZone,
        new Intl.DateTimeFormat('sv', { timeZone, dateStyle: 'short', timeStyle: 'medium' }),
      ]),
    );
    const seconds = fc.integer({ min: Date.UTC(1990, 0) / 1000, max: Date.UTC(2037, 0) / 1000 });
    // The hours around the changes to and from summer time.
    const changes = fc
      .tuple(
        fc.constantFrom(
          Date.UTC(2026, 2, 29, 1),
          Date.UTC(2026, 9, 25, 1),
          Date.UTC(2026, 2, 8, 7),
          Date.UTC(2026, 10, 1, 6),
        ),
        fc.integer({ min: -90_000, max: 90_000 }),
      )
      .map(([at, away]) => at / 1000 + away);
    fc.assert(
      fc.property(fc.oneof(seconds, changes), fc.constantFrom(...zones), (second, zone) => {
        const clock = clocks.get(zone) as Intl.DateTimeFormat;
        const local = clock.format(second * 1000);
        const context = { now: 0, zone };
        for (const at of [parseSchemaDate(local.replace(' ', 'T'), context), parseGeneralDate(local, context)]) {
          assert.ok(at !== null);
          // An hour that comes twice may be either of them.
          assert.equal(clock.format(at), local);
        }
      }),
      runs(1_000),
    );
  });

  test('the general forms of GET and POST mean what they say', () => {
    const between = (from: number, to: number) =>
      fc.integer({ min: Date.UTC(from, 0) / 60_000, max: Date.UTC(to, 0) / 60_000 });
    const minutes = fc.oneof(between(1000, 9999), between(1920, 2040)); // of the second, two digits may say the year
    fc.assert(
      fc.property(minutes, fc.integer({ min: 0, max: 59 }), (minute, second) => {
        const at = minute * 60_000 + second * 1000;
        const date = new Date(at);
        const [year, month, day] = [date.getUTCFullYear(), date.getUTCMonth() + 1, date.getUTCDate()];
        const [hour, minutePart] = [date.getUTCHours(), two(date.getUTCMinutes())];
        const half = `${hour % 12 === 0 ? 12 : hour % 12}:${minutePart}:${two(second)} ${hour < 12 ? 'AM' : 'PM'}`;
        const name = date.toLocaleString('en', { month: 'long', timeZone: 'UTC' });
        const clock = `${two(hour)}:${minutePart}:${two(second)}`;
        for (const text of [
          date.toUTCString(),
          `${year}-${month}-${day} ${clock}`,
          `${year}/${two(month)}/${two(day)} ${clock}`,
          `${month}/${day}/${year} ${half}`,
          `${two(month)}-${two(day)}-${year} ${clock}`,
          `${day} ${name} ${year} ${clock}`,
          `${name.slice(0, 3)} ${day}, ${year} ${clock}`,
          `${name} ${day}, ${year} ${half}`,
          `${month}/${day}/${year}, ${half}`,
          `${month}/${day}/${year} ${clock} ${hour < 12 ? '' : 'PM'}`,
          `${year}.${two(month)}.${two(day)} ${clock}`,
          `${year}-${two(month)}-${two(day)} ${clock}+00`,
          ...(year >= 1930 && year <= 2029
            ? [`${month}/${day}/${two(year % 100)} ${half}`, `${day}-${name.slice(0, 3)}-${two(year % 100)} ${clock}`]
            : []),
        ]) {
          assert.equal(parseGeneralDate(text, UTC), at, text);
        }
        assert.equal(parseGeneralDate(`${month}/${day}/${year}`, UTC), Math.floor(at / DAY_MS) * DAY_MS);
      }),
      runs(500),
    );
  });
});
