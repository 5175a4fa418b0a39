import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { afterQuietHours } from '../../src/domain/quiet-hours.ts';

const at = (text: string) => Date.parse(text);
const shown = (ms: number) => new Date(ms).toISOString();

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
  ];
  for (const [now, hours, zone, then] of CASES) {
    test(`${now} with ${hours} in ${zone} is ${then}`, () =>
      assert.equal(shown(afterQuietHours(at(now), hours, zone)), then));
  }

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
