/**
 * The hours in which nothing is sent, such as 22:00-06:00, in the zone of the account. They begin
 * with the first minute and end before the second one.
 */
const MINUTE_MS = 60_000;
const DAY_MINUTES = 24 * 60;
const QUIET_HOURS = /^(\d\d):(\d\d)-(\d\d):(\d\d)$/;

/** Two times, such as 22:00-06:00. */
export const QUIET_HOURS_FORM = /^(?:[01]\d|2[0-3]):[0-5]\d-(?:[01]\d|2[0-3]):[0-5]\d$/;

// The longest name of the IANA database has 32 characters.
const ZONE_LENGTH_MAX = 64;

/** Whether this is a time zone such as Africa/Johannesburg. */
export function isTimeZone(name: string): boolean {
  if (name.length > ZONE_LENGTH_MAX) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

/** Returns `at`, or the end of the quiet hours if `at` is within them. */
export function afterQuietHours(at: number, quietHours: string | null, timeZone: string | null): number {
  const [, ...digits] = QUIET_HOURS.exec(quietHours ?? '') ?? [];
  if (digits.length === 0) return at;
  const [fromHour = 0, fromMinute = 0, toHour = 0, toMinute = 0] = digits.map(Number);
  const from = fromHour * 60 + fromMinute;
  const to = toHour * 60 + toMinute;
  return endOf(at, from, to, timeZone ?? 'UTC');
}

/**
 * The first minute from `at` on that is not within the quiet hours, by the clocks of the zone. If
 * the clocks are changed before that, the search continues from the change, because the end may be
 * among the minutes that are skipped or repeated.
 */
function endOf(at: number, from: number, to: number, zone: string): number {
  const minute = minuteOf(at, zone);
  if (!isWithin(minute, from, to)) return at;
  const begin = at - (at % MINUTE_MS);
  const minutes = distance(minute, to);
  const end = begin + minutes * MINUTE_MS;
  if (minuteOf(end, zone) === to) return end;
  let [before, after] = [0, minutes];
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2);
    const isBefore = minuteOf(begin + middle * MINUTE_MS, zone) === (minute + middle) % DAY_MINUTES;
    if (isBefore) before = middle;
    else after = middle;
  }
  return endOf(begin + after * MINUTE_MS, from, to, zone);
}

/** Equal times mean no quiet hours. */
const isWithin = (minute: number, from: number, to: number): boolean =>
  from <= to ? minute >= from && minute < to : minute >= from || minute < to;

const distance = (from: number, to: number): number => (to - from + DAY_MINUTES) % DAY_MINUTES;

// Formats are cached, because making one takes 50 µs and accounts rarely change their zone.
const formats = new Map<string, Intl.DateTimeFormat>();
const ZONES_MAX = 1_000;

function minuteOf(at: number, timeZone: string): number {
  let format = formats.get(timeZone);
  if (!format) {
    if (formats.size >= ZONES_MAX) formats.clear();
    format = new Intl.DateTimeFormat('en-GB', { timeZone, hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
    formats.set(timeZone, format);
  }
  const [hour = 0, minute = 0] = format.format(at).split(':').map(Number);
  return hour * 60 + minute;
}
