import { formatDate, formatSeconds, millisecondOf, offsetAt, trimmed } from '../contract/dates.ts';
import type { Instant } from '../contract/types.ts';
import type { DateForm } from './dialect.ts';

export type FormatDate = (at: Instant) => string;

/**
 * Compiles the formatter for the dates of a dialect. Without a form, dates are in UTC, end in Z and
 * have a trimmed fraction.
 */
export function dateFormat(form: DateForm | undefined): FormatDate {
  if (!form) return formatDate;
  const { zone, timeZone = 'UTC', fractionDigits = 'trimmed' } = form;
  if (zone === 'Z' && fractionDigits === 'trimmed') return formatDate;
  const fraction = fractionFormat(fractionDigits);
  if (zone === 'Z') return (at) => formatSeconds(at) + fraction(millisecondOf(at)) + zone;
  const offset = offsets(timeZone);
  if (zone === 'none') return (at) => formatSeconds(at + offset(at) * MINUTE_MS) + fraction(millisecondOf(at));
  let latestMinutes = 0;
  let latestText = formatOffset(0);
  return (at) => {
    const minutes = offset(at);
    if (minutes !== latestMinutes) {
      latestText = formatOffset(minutes);
      latestMinutes = minutes;
    }
    return formatSeconds(at + minutes * MINUTE_MS) + fraction(millisecondOf(at)) + latestText;
  };
}

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

const THREE_DIGITS = Array.from({ length: 1_000 }, (_, number) => String(number).padStart(3, '0'));

function fractionFormat(digits: number | 'trimmed'): (millisecond: number) => string {
  if (digits === 0) return () => '';
  if (digits === 'trimmed') return (millisecond) => (millisecond === 0 ? '' : `.${trimmed(millisecond)}`);
  const zeros = '0'.repeat(Math.max(digits - 3, 0));
  if (digits >= 3) return (millisecond) => `.${THREE_DIGITS[millisecond]}${zeros}`;
  return (millisecond) => `.${THREE_DIGITS[millisecond]?.slice(0, digits)}`;
}

const TWO_DIGITS = Array.from({ length: 100 }, (_, number) => String(number).padStart(2, '0'));

/** An offset as XML Schema writes it: +02:00. */
export function formatOffset(minutes: number): string {
  const size = Math.abs(minutes);
  return `${minutes < 0 ? '-' : '+'}${TWO_DIGITS[Math.floor(size / 60)]}:${TWO_DIGITS[size % 60]}`;
}

// Ten years have 3,653 days. A full cache is emptied.
const DAYS_MAX = 4_096;

/**
 * Finds the offset of a zone at any instant. Intl takes 5 µs per offset, so it is asked once for a
 * day without a clock change, and for every instant only on a day with one.
 */
function offsets(timeZone: string): (at: Instant) => number {
  const ofDays = new Map<number, number | null>();
  const ask = (day: number): number | null => {
    const first = offsetAt(timeZone, day * DAY_MS);
    const last = offsetAt(timeZone, (day + 1) * DAY_MS - 1);
    const offset = first === last ? first : null;
    if (ofDays.size >= DAYS_MAX) ofDays.clear();
    ofDays.set(day, offset);
    return offset;
  };
  let latestDay = Number.NaN;
  let latest: number | null = null;
  return (at) => {
    const day = Math.floor(at / DAY_MS);
    if (day !== latestDay) {
      const known = ofDays.get(day);
      latest = known === undefined ? ask(day) : known;
      latestDay = day;
    }
    return latest ?? offsetAt(timeZone, at);
  };
}
