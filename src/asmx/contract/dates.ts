import type { Instant } from './types.ts';

/**
 * Parses and formats dateTime. SOAP takes the formats of XML Schema. GET and POST take those that
 * ASMX took, and the general formats of .NET's invariant culture. Text without a zone is in the
 * zone of `DateContext`.
 */
export interface DateContext {
  /** A time without a date is on the day of this instant. */
  readonly now: Instant;
  /** The zone of text without one: an IANA name or ±hh:mm. */
  readonly zone: string;
}

interface Civil {
  year: number;
  month: number;
  day: number;
  hour: number;
  minute: number;
  second: number;
  millisecond: number;
}

export function parseSchemaDate(text: string, context: DateContext): Instant | null {
  return parseAs(SCHEMA_FORMATS, SCHEMA_ZONE_MINUTES_MAX, text, context);
}

export function parseGeneralDate(text: string, context: DateContext): Instant | null {
  return parseAs(GENERAL_FORMATS, GENERAL_ZONE_MINUTES_MAX, text, context);
}

/** Parses by the caller's own format, whose named groups are those of GENERAL_FORMATS. */
export function parseDateBy(format: RegExp, text: string, context: DateContext): Instant | null {
  return parseAs([format], GENERAL_ZONE_MINUTES_MAX, text, context);
}

/** Formats in UTC with a final Z. Milliseconds lose their trailing zeros. */
export function formatDate(at: Instant): string {
  const fraction = millisecondOf(at);
  return fraction === 0 ? `${formatSeconds(at)}Z` : `${formatSeconds(at)}.${trimmed(fraction)}Z`;
}

/** Formats in UTC, without a fraction and without a zone. */
export function formatSeconds(at: Instant): string {
  const day = Math.floor(at / DAY_MS);
  if (day !== latestDay) {
    latestDate = dates.get(day) ?? addDate(day);
    latestDay = day;
  }
  const second = Math.floor((at - day * DAY_MS) / 1_000);
  return `${latestDate}${TWO_DIGITS[Math.floor(second / 3_600)]}:${TWO_DIGITS[Math.floor(second / 60) % 60]}:${TWO_DIGITS[second % 60]}`;
}

export const millisecondOf = (at: Instant): number => at - Math.floor(at / 1_000) * 1_000;

const DAY_MS = 86_400_000;
const TWO_DIGITS = Array.from({ length: 60 }, (_, number) => String(number).padStart(2, '0'));
// The messages of a list are mostly of one day, so the day formatted last is tried first.
let latestDay = Number.NaN;
let latestDate = '';
// Formatted days. toISOString takes 4 µs; without this cache a Profile takes 6 % more CPU.
const dates = new Map<number, string>();
const DATES_MAX = 10_000;

function addDate(day: number): string {
  if (dates.size >= DATES_MAX) dates.clear();
  const date = new Date(day * DAY_MS).toISOString().slice(0, -'00:00:00.000Z'.length);
  dates.set(day, date);
  return date;
}

export const trimmed = (fraction: number): string => String(fraction).padStart(3, '0').replace(/0+$/, '');

// In a zone, .NET's schema parser takes any two-digit hour, its general parser at most 14.
const SCHEMA_ZONE_MINUTES_MAX = 99 * 60 + 59;
const GENERAL_ZONE_MINUTES_MAX = 14 * 60;

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

const schemaZone = String.raw`(?<zone>[Zz]|[+-]\d\d:\d\d)?`;
const schemaTime = String.raw`(?<hour>\d\d):(?<minute>\d\d):(?<second>\d\d)(?:\.(?<fraction>\d+))?`;
const SCHEMA_FORMATS = [
  String.raw`(?<year>\d{4})-(?<month>\d\d)-(?<day>\d\d)T${schemaTime}${schemaZone}`,
  String.raw`(?<year>\d{4})(?:-(?<month>\d\d)(?:-(?<day>\d\d))?)?${schemaZone}`,
  `${schemaTime}${schemaZone}`,
].map((format) => new RegExp(`^${format}$`));

const zone = String.raw`(?: *(?<zone>Z|GMT|UTC|[+-]\d\d:?\d\d))?`;
// Browsers write U+202F before AM.
const clock = String.raw`(?<hour>\d{1,2}):(?<minute>\d\d)(?::(?<second>\d\d)(?:\.(?<fraction>\d+))?)?(?:[ \u202f]*(?<half>[AP])M)?`;
// Only after a time, a zone may be hours alone: 2026-10-02-05 is no date.
const time = String.raw`${clock}(?: *(?<zone>Z|GMT|UTC|[+-]\d\d(?::?\d\d)?))?`;
const timeBehind = `(?:,? +${time})?`; // JavaScript writes the comma
const year = String.raw`(?<year>\d{4}|\d\d)`;
const weekday = `(?:(?<weekday>${DAYS.join('|')})[a-z]*,? +)?`;
const monthName = `(?<name>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:tember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)`;
const GENERAL_FORMATS = [
  String.raw`(?<year>\d{4})(?<mark>[-/.])(?<month>\d{1,2})\k<mark>(?<day>\d{1,2})(?:(?:T|,? +)${time}|${zone})`,
  String.raw`(?<year>\d{4})-(?<month>\d\d)`,
  String.raw`(?<month>\d{1,2})(?<mark>[-/])(?<day>\d{1,2})\k<mark>${year}${timeBehind}`,
  String.raw`${weekday}(?<day>\d{1,2})[ -]${monthName}[ -]${year}${timeBehind}`,
  String.raw`${weekday}${monthName} +(?<day>\d{1,2}),? +${year}${timeBehind}`,
  time,
].map((format) => new RegExp(`^${format}$`, 'i'));

// The longest usual text has less than 50 characters; only a fraction can make it longer.
const LENGTH_MAX = 200;

function parseAs(formats: RegExp[], zoneMinutesMax: number, text: string, context: DateContext): Instant | null {
  const trimmed = text.trim(); // trims more kinds of white space than .NET, but no date contains them
  if (trimmed.length > LENGTH_MAX) return null;
  for (const format of formats) {
    const groups = format.exec(trimmed)?.groups;
    if (groups) return toInstant(groups, zoneMinutesMax, context);
  }
  return null;
}

type Groups = Record<string, string | undefined>;

function toInstant(groups: Groups, zoneMinutesMax: number, context: DateContext): Instant | null {
  const hour = hourOf(groups);
  const offset = offsetOf(groups.zone, zoneMinutesMax);
  if (hour === null || offset === 'invalid') return null;
  // A time alone is on the current day of its own zone, else of the default zone.
  const today = groups.year ? null : new Date(context.now + (offset ?? offsetAt(context.zone, context.now)) * 60_000);
  const civil: Civil = {
    year: today ? today.getUTCFullYear() : yearOf(groups.year as string),
    month: today ? today.getUTCMonth() + 1 : monthOf(groups),
    day: today ? today.getUTCDate() : Number(groups.day ?? 1),
    hour,
    minute: Number(groups.minute ?? 0),
    second: Number(groups.second ?? 0),
    millisecond: Number((groups.fraction ?? '').slice(0, 3).padEnd(3, '0')),
  };
  const local = civilToUtc(civil);
  if (local === null) return null;
  if (groups.weekday && DAYS[new Date(local).getUTCDay()] !== groups.weekday.toLowerCase()) return null;
  return local - (offset ?? localOffset(context.zone, local)) * 60_000;
}

function monthOf(groups: Groups): number {
  if (groups.name) return MONTHS.indexOf(groups.name.slice(0, 3).toLowerCase()) + 1;
  return Number(groups.month ?? 1);
}

/** Two digits mean 1930 to 2029, as in .NET Framework's calendar. */
function yearOf(digits: string): number {
  const given = Number(digits);
  if (digits.length > 2) return given;
  return given + (given < 30 ? 2000 : 1900);
}

/** .NET takes PM after a 24-hour time too: 22:45 PM is 22:45. */
function hourOf({ hour = '0', half }: Groups): number | null {
  const given = Number(hour);
  if (!half) return given;
  if (half.toUpperCase() === 'P') return given < 12 ? given + 12 : given;
  return given > 12 ? null : given % 12;
}

/** Minutes east of UTC; null for text without a zone. */
function offsetOf(text: string | undefined, minutesMax: number): number | null | 'invalid' {
  if (!text) return null;
  const match = /^([+-])(\d\d):?(\d\d)?$/.exec(text);
  if (!match) return 0;
  const minutes = Number(match[2]) * 60 + Number(match[3] ?? 0);
  if (Number(match[3] ?? 0) > 59 || minutes > minutesMax) return 'invalid';
  return match[1] === '-' ? -minutes : minutes;
}

function civilToUtc({ year, month, day, hour, minute, second, millisecond }: Civil): number | null {
  if (year < 1 || month < 1 || month > 12 || day < 1 || hour > 23 || minute > 59 || second > 59) return null;
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day); // Date.UTC would read the years 0 to 99 as 1900 to 1999
  if (date.getUTCDate() !== day) return null;
  return date.setUTCHours(hour, minute, second, millisecond);
}

const zoneFormats = new Map<string, Intl.DateTimeFormat>();

/** The offset of `zone` at an instant, in minutes east of UTC. */
export function offsetAt(zone: string, at: Instant): number {
  if (zone === 'UTC') return 0;
  let format = zoneFormats.get(zone);
  if (!format) {
    format = new Intl.DateTimeFormat('en', {
      timeZone: zone,
      hourCycle: 'h23',
      era: 'short',
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
    });
    zoneFormats.set(zone, format);
  }
  const part = Object.fromEntries(format.formatToParts(at).map(({ type, value }) => [type, value]));
  const year = part.era === 'BC' ? 1 - Number(part.year) : Number(part.year);
  const local = new Date(0);
  local.setUTCFullYear(year, Number(part.month) - 1, Number(part.day));
  local.setUTCHours(Number(part.hour), Number(part.minute), Number(part.second));
  return Math.round((local.getTime() - Math.floor(at / 1000) * 1000) / 60_000);
}

/**
 * The offset of a local time. A clock change repeats or skips some local times. .NET reads those in
 * standard time, which has the smaller offset of the days before and after.
 */
function localOffset(zone: string, local: number): number {
  const before = offsetAt(zone, local - DAY_MS);
  const after = offsetAt(zone, local + DAY_MS);
  const holds = [before, after].filter((offset) => offsetAt(zone, local - offset * 60_000) === offset);
  return Math.min(...(holds.length > 0 ? holds : [before, after]));
}
