import { BoundedMap } from '../base/bounded-map.ts';
import { type Html, html } from '../base/html.ts';
import { numberGroups } from '../sms/numbers.ts';

/** How values are shown to people: times in a zone, grouped numbers, texts of strangers. */

/** The colour of a state. Its icon and its word say the same. */
export type Tone = '' | 'good' | 'wait' | 'bad' | 'off';

/** What a cell of a table holds, which decides its place and its shape. */
export interface Cell extends Html {
  readonly kind: 'who' | 'wide' | 'num' | 'time' | 'chip' | 'acts';
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;
/** Offsets by zone and day, for days on which the offset does not change. */
const offsets = new BoundedMap<string, number>(5_000);

/** How far the clocks of a zone are ahead of UTC. Asking Intl for each row would take 15 µs. */
export function offsetOf(at: number, zone: string): number {
  if (zone === 'UTC') return 0;
  const day = Math.floor(at / DAY_MS);
  const key = `${zone}/${day}`;
  const known = offsets.get(key);
  if (known !== undefined) return known;
  const offset = offsetAt(day * DAY_MS, zone);
  if (offset !== offsetAt((day + 1) * DAY_MS - 1, zone)) return offsetAt(at, zone);
  offsets.set(key, offset);
  return offset;
}
const offsetAt = (at: number, zone: string): number =>
  Date.parse(`${localTime(at, zone)}:00Z`) - Math.floor(at / MINUTE_MS) * MINUTE_MS;

const two = (value: number): string => (value < 10 ? `0${value}` : String(value));

const NO_TIME: Cell = { html: '<span class="quiet">–</span>', kind: 'time' };

/**
 * An instant, or its RFC 3339 form, as `16 Nov 2026, 14:05:00`. Where the script runs, it leaves
 * out the year, the day and the seconds that say nothing.
 */
export const time = (at: number | string | null, zone: string): Cell => timeIn(at, zone, html``);

/** The same, where the seconds count with the script as well. */
export const stepTime = (at: number, zone: string): Cell => timeIn(at, zone, html` data-as="step"`);

function timeIn(at: number | string | null, zone: string, place: Html): Cell {
  if (at === null) return NO_TIME;
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return NO_TIME;
  const local = new Date(date.getTime() + offsetOf(date.getTime(), zone));
  const day = `${local.getUTCDate()} ${MONTHS[local.getUTCMonth()] ?? ''} ${local.getUTCFullYear()}`;
  return { ...html`<time datetime="${rfc3339(date)}"${place}>${day}, ${clockOf(local)}</time>`, kind: 'time' };
}

/**
 * The place of a time, by which the script writes it in the way of the browser's language: see
 * assets/locale.js. The whole time is in its title.
 */
type Place = 'list' | 'clock' | 'day';

/** An instant in other words than its whole time. */
export const timeAs = (at: number, place: Place, words: string): Html =>
  html`<time class="time" datetime="${rfc3339(new Date(at))}" data-as="${place}">${words}</time>`;

const localDate = (at: number, zone: string): Date => new Date(at + offsetOf(at, zone));

const minuteOf = (local: Date): string => `${two(local.getUTCHours())}:${two(local.getUTCMinutes())}`;

/** An instant on a day that is known, as `14:05`. */
export const clockTime = (at: number, zone: string): Html => timeAs(at, 'clock', minuteOf(localDate(at, zone)));

/** An instant where there is little room: the clock if it is today, else the day. */
export function listTime(at: number, zone: string, now: number): Html {
  const [local, today] = [localDate(at, zone), localDate(now, zone)];
  if (local.toISOString().slice(0, 10) === today.toISOString().slice(0, 10)) return timeAs(at, 'list', minuteOf(local));
  const year = local.getUTCFullYear() === today.getUTCFullYear() ? '' : ` ${local.getUTCFullYear()}`;
  return timeAs(at, 'list', `${local.getUTCDate()} ${MONTHS[local.getUTCMonth()] ?? ''}${year}`);
}

const clockOf = (date: Date): string =>
  `${two(date.getUTCHours())}:${two(date.getUTCMinutes())}:${two(date.getUTCSeconds())}`;

/** Formats to the second. `toISOString` takes 4 µs, a quarter of the time of an inbox row. */
function rfc3339(date: Date): string {
  const year = date.getUTCFullYear();
  if (year < 1000 || year > 9999) return date.toISOString();
  return `${year}-${two(date.getUTCMonth() + 1)}-${two(date.getUTCDate())}T${clockOf(date)}Z`;
}

/** A day that is known without its time, as `16 Nov 2026`. */
export function day(at: string | null): Cell {
  if (at === null) return NO_TIME;
  const shown = new Date(at).toLocaleDateString('en-GB', {
    timeZone: 'UTC',
    year: 'numeric',
    month: 'short',
    day: 'numeric',
  });
  return { ...html`<time datetime="${at.slice(0, 10)}" data-as="date">${shown}</time>`, kind: 'time' };
}

/** Formats a time in a zone for a field of the type datetime-local: `2026-11-16T14:05`. */
export function localTime(at: number, zone: string): string {
  const parts = formatOf(zone).formatToParts(at);
  const of = (type: string) => parts.find((part) => part.type === type)?.value ?? '00';
  return `${of('year').padStart(4, '0')}-${of('month')}-${of('day')}T${of('hour')}:${of('minute')}`;
}

const formats = new BoundedMap<string, Intl.DateTimeFormat>(500);
function formatOf(zone: string): Intl.DateTimeFormat {
  const known = formats.get(zone);
  if (known) return known;
  const format = new Intl.DateTimeFormat('en-CA', {
    timeZone: zone,
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  });
  formats.set(zone, format);
  return format;
}

const LOCAL = /^(\d{4})-(\d{2})-(\d{2})(?:T(\d{2}):(\d{2}))?$/;

/**
 * The instant of a local time in a zone; null for invalid text. A time that the change to summer
 * time skips counts as an hour later.
 */
export function instantOf(text: string, zone: string): number | null {
  const match = LOCAL.exec(text);
  if (!match) return null;
  const [year, month, day, hour = 0, minute = 0] = match.slice(1).map((part) => Number(part ?? 0)) as [
    number,
    number,
    number,
    number,
    number,
  ];
  const wanted = Date.UTC(year, month - 1, day, hour, minute);
  const written = new Date(wanted).toISOString().slice(0, 16);
  if (Number.isNaN(wanted) || written !== `${text.slice(0, 10)}T${text.slice(11, 16) || '00:00'}`) return null;
  const missing = (instant: number) => wanted - Date.parse(`${localTime(instant, zone)}:00Z`);
  // The offset of the zone depends on the instant, so it is determined twice.
  const first = wanted + missing(wanted);
  const second = first + missing(first);
  return second + Math.max(missing(second), 0); // moves a time within a skipped hour behind it
}

/** The first instant after a day such as `2026-11-16` in a zone. A day may have 23 or 25 hours. */
export function endOfDay(text: string, zone: string): number | null {
  if (instantOf(text, zone) === null) return null;
  return instantOf(new Date(Date.parse(text.slice(0, 10)) + DAY_MS).toISOString().slice(0, 10), zone);
}

/** A list that was typed with commas. */
export const listOf = (text: string): string[] =>
  text
    .split(',')
    .map((each) => each.trim())
    .filter(Boolean);

/** A zone for people, such as `Johannesburg (UTC+2)`: its city, and its distance from UTC. */
export function zoneName(zone: string, at: number): string {
  if (zone === 'UTC') return zone;
  const minutes = offsetOf(at, zone) / MINUTE_MS;
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
  const city = (zone.split('/').at(-1) ?? zone).replaceAll('_', ' ');
  return `${city} (UTC${minutes < 0 ? '−' : '+'}${hours}${rest === 0 ? '' : `:${two(rest)}`})`;
}

// Control characters except line ends and tabs, marks of direction, and U+FFFD for damaged text.
const UNSHOWN = /(?![\n\r\t])[\p{Cc}\p{Cs}\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff\ufffd]/u;
const EACH_UNSHOWN = new RegExp(`(${UNSHOWN.source})`, 'u');

/** The text of a message. Characters that cannot be shown are marked with their number. */
export function messageText(text: string | null, lengthMax = Number.POSITIVE_INFINITY): Html {
  if (text === null || text === '') return html`<span class="quiet">(no text)</span>`;
  // No text has more characters than UTF-16 units, and most have fewer than the limit.
  const cut = text.length > lengthMax ? shortened(text, lengthMax) : text;
  if (!UNSHOWN.test(cut)) return html`<bdi>${cut}</bdi>`;
  const pieces = cut
    .split(EACH_UNSHOWN)
    .map((piece) => (UNSHOWN.test(piece) && [...piece].length === 1 ? unshown(piece) : piece));
  return html`<bdi>${pieces}</bdi>`;
}

function shortened(text: string, lengthMax: number): string {
  const characters = [...text];
  return characters.length > lengthMax ? `${characters.slice(0, lengthMax).join('')}…` : text;
}

function unshown(character: string): Html {
  const code = `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
  return html`<mark class="unshown" title="A character that cannot be shown">${code}</mark>`;
}

/** The text of a message in a row: two lines of it. */
export const clamped = (text: string | null, lengthMax = 300): Cell => ({
  ...html`<span class="clamp" dir="auto">${messageText(text, lengthMax)}</span>`,
  kind: 'wide',
});

/** A name of a program or an address, which breaks behind its punctuation if there is no room. */
export const breakable = (text: string): Html =>
  html`<bdi>${text.split(/(?<=[./+])/).map((piece, index) => (index === 0 ? piece : html`<wbr>${piece}`))}</bdi>`;

/** A phone number with gaps between its groups that are no blanks: a copy has the digits alone. */
export const telephone = (number: string): Html =>
  html`<bdi class="tel">${numberGroups(number).map((group, index) => (index === 0 ? group : html`<span>${group}</span>`))}</bdi>`;

/** A person by the name, or by the number of somebody without one. */
export const nameOr = (name: string | null, number: string): Html =>
  name === null ? telephone(number) : html`<bdi>${name}</bdi>`;

/** A number or a name of a sender, which may be missing. */
export const party = (text: string | null): Html =>
  text === null || text === '' ? html`<span class="quiet">(unknown)</span>` : telephone(text);

const BROWSERS: readonly (readonly [RegExp, string])[] = [
  [/\bEdg(?:e|A|iOS)?\//, 'Edge'],
  [/\b(?:OPR|Opera)\//, 'Opera'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/\b(?:Headless)?Chrom(?:e|ium)\/|\bCriOS\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
];
const SYSTEMS: readonly (readonly [RegExp, string])[] = [
  [/\b(?:iPhone|iPad)\b/, 'iOS'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b/, 'macOS'],
  [/\bLinux\b/, 'Linux'],
];
const namedBy = (names: typeof BROWSERS, agent: string): string | undefined =>
  names.find(([pattern]) => pattern.test(agent))?.[1];

/** A User-Agent in words: `Firefox, Linux`. Another program is named as it names itself. */
export function browserName(agent: string): string {
  const found = [namedBy(BROWSERS, agent), namedBy(SYSTEMS, agent)].filter((name) => name !== undefined);
  return found.length > 0 ? found.join(', ') : agent.slice(0, 40);
}
