import { all, words } from './page.js';

/**
 * Writes times and numbers as the language of the browser does. The server has marked each with its
 * value, and a time with the place that it has: see counts.ts and words.ts.
 */

const formatOf = (options) => {
  try {
    return new Intl.DateTimeFormat(undefined, { timeZone: words.zone, ...options });
  } catch {
    return new Intl.DateTimeFormat(undefined, options);
  }
};
const MINUTE = { hour: '2-digit', minute: '2-digit' };
const DAY = { day: 'numeric', month: 'short' };
const YEAR = { year: 'numeric' };
const LONG_DAY = { weekday: 'short', day: 'numeric', month: 'long' };
const whole = formatOf({ dateStyle: 'long', timeStyle: 'medium' });
const SECOND = { ...MINUTE, second: '2-digit' };
const clock = formatOf(MINUTE);
const date = formatOf({ ...YEAR, month: 'numeric', day: 'numeric' });
const yearOf = formatOf(YEAR);
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto' });

/** Each way to write an instant: today, in the last days, in this year, and before. */
const dayAndMinute = formatOf({ ...DAY, ...MINUTE });
const longDay = formatOf(LONG_DAY);
const WAYS = {
  row: [clock, dayAndMinute, dayAndMinute, formatOf({ ...DAY, ...YEAR, ...MINUTE })],
  list: [clock, formatOf({ weekday: 'short' }), formatOf(DAY), formatOf({ ...DAY, ...YEAR })],
  day: [{ format: () => relative.format(0, 'day') }, longDay, longDay, formatOf({ ...LONG_DAY, ...YEAR })],
  clock: [clock, clock, clock, clock],
  step: [
    formatOf(SECOND),
    formatOf({ ...DAY, ...SECOND }),
    formatOf({ ...DAY, ...SECOND }),
    formatOf({ ...DAY, ...YEAR, ...SECOND }),
  ],
};

/** Days of the calendar, which are the same in every zone. */
const DATES = {
  date: formatOf({ ...DAY, ...YEAR, timeZone: 'UTC' }),
  weekday: formatOf({ weekday: 'short', timeZone: 'UTC' }),
  'weekday-date': formatOf({ weekday: 'short', ...DAY, timeZone: 'UTC' }),
};

const UNITS = [
  ['minute', 60],
  ['hour', 3_600],
  ['day', 86_400],
];
/** How long ago, or in how long: `3 hours ago`. */
function agoSaid(seconds) {
  const [unit, length] = UNITS[Math.abs(seconds) < 3_600 ? 0 : Math.abs(seconds) < 86_400 ? 1 : 2];
  return relative.format(Math.round(seconds / length), unit);
}

/**
 * An instant without what goes without saying: the day if it is today, the year if it is this one.
 * The whole time and how long ago it was are in the title.
 */
function writeInstant(time, now) {
  const at = new Date(time.dateTime);
  const seconds = (at - now) / 1_000;
  const isThisYear = yearOf.format(at) === yearOf.format(now);
  const isOfLastDays = isThisYear && seconds <= 0 && seconds > -6 * 86_400;
  const isToday = date.format(at) === date.format(now);
  const way = WAYS[time.dataset.as] ?? WAYS.row;
  time.title = `${whole.format(at)}, ${agoSaid(seconds)}`;
  time.textContent = way[isToday ? 0 : isOfLastDays ? 1 : isThisYear ? 2 : 3].format(at);
}

const counts = new Intl.NumberFormat();
const fractions = new Map();
/** English is how the server writes numbers. */
const isEnglish = counts.format(1234.5) === '1,234.5';

function numberSaid(value) {
  const [, fraction] = value.split('.');
  if (fraction === undefined) return counts.format(BigInt(value));
  if (!fractions.has(fraction.length))
    fractions.set(fraction.length, new Intl.NumberFormat(undefined, { minimumFractionDigits: fraction.length }));
  return fractions.get(fraction.length).format(Number(value));
}

/** Times and numbers of a page or a part of it. */
export function localize(within) {
  const now = new Date();
  for (const time of all('time[datetime*=T]:not([title])', within)) writeInstant(time, now);
  for (const day of all('time[data-as]:not([datetime*=T])', within))
    day.textContent = DATES[day.dataset.as].format(new Date(day.dateTime));
  if (!isEnglish) for (const number of all('data', within)) number.textContent = numberSaid(number.value);
}

export const clockSaid = (at) => clock.format(at);
