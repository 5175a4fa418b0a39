import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { afterQuietHours } from '../../../src/domain/sending/quiet-hours.ts';

const at = (text: string) => Date.parse(text);
const shown = (ms: number) => new Date(ms).toISOString();

const MINUTE = 60_000;
const QUARTER = 15 * MINUTE;
const DAY = 24 * 60;

/** By how many minutes a zone is ahead of UTC, as its name says: GMT+05:45. */
function offsetIn(zone: string): (ms: number) => number {
  const format = new Intl.DateTimeFormat('en', { timeZone: zone, timeZoneName: 'longOffset' });
  return (ms) => {
    const name = format.formatToParts(ms).find(({ type }) => type === 'timeZoneName')?.value ?? '';
    const [, sign = '+', hours = '0', minutes = '0'] = /GMT(?:([+-])(\d\d):(\d\d))?/.exec(name) ?? [];
    return (Number(hours) * 60 + Number(minutes)) * (sign === '-' ? -1 : 1);
  };
}

/** The first quarters of an hour with another offset. No zone changes its clocks at another minute. */
function changesOf(zone: string, from: number, to: number): number[] {
  const offset = offsetIn(zone);
  const changes: number[] = [];
  for (let week = from; week < to; week += 7 * DAY * MINUTE) {
    let [before, after] = [week, week + 7 * DAY * MINUTE];
    const known = offset(before);
    if (known === offset(after)) continue;
    while (after - before > QUARTER) {
      const middle = before + Math.floor((after - before) / QUARTER / 2) * QUARTER;
      if (offset(middle) === known) before = middle;
      else after = middle;
    }
    changes.push(after);
  }
  return changes;
}

/** The minutes that the clocks of a zone show from five hours before a change to two days after it. */
function clockAround(zone: string, change: number): (ms: number) => number {
  const offset = offsetIn(zone);
  const [before, after] = [offset(change - 1), offset(change)];
  return (ms) => ms / MINUTE + (ms < change ? before : after) + 2 * DAY;
}

describe('quiet hours', () => {
  const CASES: readonly [now: string, hours: string | null, zone: string | null, then: string][] = [
    ['2026-11-17T12:00:00Z', null, null, '2026-11-17T12:00:00.000Z'],
    ['2026-11-17T21:59:59Z', '22:00-06:00', 'UTC', '2026-11-17T21:59:59.000Z'],
    ['2026-11-17T22:00:00Z', '22:00-06:00', 'UTC', '2026-11-18T06:00:00.000Z'],
    ['2026-11-18T05:59:59.999Z', '22:00-06:00', 'UTC', '2026-11-18T06:00:00.000Z'],
    ['2026-11-18T06:00:00Z', '22:00-06:00', 'UTC', '2026-11-18T06:00:00.000Z'],
    ['2026-11-17T20:30:00Z', '22:00-06:00', 'Africa/Johannesburg', '2026-11-18T04:00:00.000Z'],
    ['2026-11-17T12:30:00Z', '12:00-13:00', null, '2026-11-17T13:00:00.000Z'],
    ['2026-11-17T12:30:00Z', '12:00-12:00', null, '2026-11-17T12:30:00.000Z'],
    // Clocks go forward in the night of 29 March 2026 and back in that of 25 October in Berlin.
    ['2026-03-28T23:00:00Z', '22:00-06:00', 'Europe/Berlin', '2026-03-29T04:00:00.000Z'],
    ['2026-10-24T23:00:00Z', '22:00-06:00', 'Europe/Berlin', '2026-10-25T05:00:00.000Z'],
    // The clocks of this night have no 02:30.
    ['2026-03-28T20:00:00Z', '21:00-02:30', 'Europe/Berlin', '2026-03-29T01:00:00.000Z'],
    ['2026-03-29T00:59:00Z', '21:00-02:30', 'Europe/Berlin', '2026-03-29T01:00:00.000Z'],
    ['2026-03-29T01:00:00Z', '21:00-02:30', 'Europe/Berlin', '2026-03-29T01:00:00.000Z'],
    // And this one has two.
    ['2026-10-24T20:00:00Z', '21:00-02:30', 'Europe/Berlin', '2026-10-25T00:30:00.000Z'],
    ['2026-10-25T01:00:00Z', '21:00-02:30', 'Europe/Berlin', '2026-10-25T01:30:00.000Z'],
  ];
  for (const [now, hours, zone, then] of CASES) {
    test(`${now} with ${hours} in ${zone} is ${then}`, () =>
      assert.equal(shown(afterQuietHours(at(now), hours, zone)), then));
  }

  test('quiet hours end with the first minute that is outside of them, at every change of every clock in two years', () => {
    const format = (minute: number) =>
      `${String(Math.floor(minute / 60)).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}`;
    const wrong: string[] = [];
    const seen = new Set<string>(); // many zones share their rules
    let cases = 0;
    for (const zone of Intl.supportedValuesOf('timeZone')) {
      for (const change of changesOf(zone, at('2026-01-01T00:00:00Z'), at('2028-01-01T00:00:00Z'))) {
        const clock = clockAround(zone, change);
        const rule = `${change} ${clock(change - MINUTE)} ${clock(change)}`;
        if (seen.has(rule)) continue;
        seen.add(rule);
        const after = clock(change) % DAY;
        for (const to of [-90, -60, -45, -30, -15, -1, 0, 1, 15, 30, 60].map((each) => (after + each + DAY) % DAY)) {
          for (const length of [15, 60, 330, 1_425]) {
            const from = (to - length + DAY) % DAY;
            const isQuiet = (minute: number) =>
              from <= to ? minute >= from && minute < to : minute >= from || minute < to;
            for (const ahead of [-300, -61, -30, -1, 0, 20]) {
              const now = change + ahead * MINUTE;
              let then = now;
              while (isQuiet(clock(then) % DAY)) then += MINUTE;
              const hours = `${format(from)}-${format(to)}`;
              const found = afterQuietHours(now, hours, zone);
              cases++;
              if (found !== then) wrong.push(`${zone} ${shown(now)} ${hours}: ${shown(found)}, not ${shown(then)}`);
            }
          }
        }
      }
    }
    assert.ok(cases > 10_000, String(cases));
    assert.deepEqual(wrong.slice(0, 10), [], `${wrong.length} of ${cases}`);
  });

  test('the time after quiet hours is never earlier, never in them, and at most 26 hours later', () => {
    const time = fc.integer({ min: 0, max: 1439 });
    const format = (minute: number) =>
      `${String(Math.floor(minute / 60)).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}`;
    const zones = fc.constantFrom('UTC', 'Africa/Johannesburg', 'Asia/Kathmandu', 'America/New_York');
    const instants = fc.integer({ min: at('2026-04-10T00:00:00Z'), max: at('2026-10-01T00:00:00Z') });
    fc.assert(
      fc.property(instants, time, time, zones, (now, from, to, zone) => {
        const hours = `${format(from)}-${format(to)}`;
        const then = afterQuietHours(now, hours, zone);
        assert.ok(then >= now && then - now <= 26 * 3_600_000);
        assert.equal(afterQuietHours(then, hours, zone), then);
      }),
    );
  });
});
