import { formatDate, offsetAt } from './dates.ts';
import type { DateForm } from './dialect.ts';
import type { Instant } from './types.ts';

export type FormatDate = (at: Instant) => string;

/** Compiles the form of dates of a dialect. Without one: UTC, Z, trimmed. */
export function dateFormat(form: DateForm | undefined): FormatDate {
  if (!form) return formatDate;
  const { zone, timeZone = 'UTC', fractionDigits = 'trimmed' } = form;
  if (zone === 'Z' && fractionDigits === 'trimmed') return formatDate;
  const fraction = fractionFormat(fractionDigits);
  if (zone === 'Z') return (at) => formatSeconds(at) + fraction(millisecondOf(at)) + zone;
  const offset = offsets(timeZone);
  return (at) => {
    const minutes = offset(at);
    const local = at + minutes * MINUTE_MS;
    const text = formatSeconds(local) + fraction(millisecondOf(local));
    return zone === 'none' ? text : text + formatOffset(minutes);
  };
}

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

const millisecondOf = (at: Instant): number => ((at % 1_000) + 1_000) % 1_000;

/** Without fraction and zone. `formatDate` caches the text of the day. */
const formatSeconds = (at: Instant): string => formatDate(at - millisecondOf(at)).slice(0, -1);

function fractionFormat(digits: number | 'trimmed'): (millisecond: number) => string {
  if (digits === 0) return () => '';
  if (digits === 'trimmed') {
    return (millisecond) => (millisecond === 0 ? '' : `.${String(millisecond).padStart(3, '0').replace(/0+$/, '')}`);
  }
  return (millisecond) => `.${String(millisecond).padStart(3, '0').padEnd(digits, '0').slice(0, digits)}`;
}

const TWO_DIGITS = Array.from({ length: 100 }, (_, number) => String(number).padStart(2, '0'));

/** An offset as XML Schema writes it: +02:00. */
export function formatOffset(minutes: number): string {
  const size = Math.abs(minutes);
  return `${minutes < 0 ? '-' : '+'}${TWO_DIGITS[Math.floor(size / 60)]}:${TWO_DIGITS[size % 60]}`;
}

// Ten years have 3,653 days. Beyond it, the cache starts anew.
const DAYS_MAX = 4_096;

/**
 * The offset of a zone at any instant. Intl takes 5 µs for one, so a day without a clock change is
 * asked for once. On a day with a change, each instant is asked for.
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
  return (at) => {
    const day = Math.floor(at / DAY_MS);
    const known = ofDays.get(day);
    return (known === undefined ? ask(day) : known) ?? offsetAt(timeZone, at);
  };
}
