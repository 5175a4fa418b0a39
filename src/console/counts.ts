import { grouped as groupedText } from '../base/counted.ts';
import { type Html, html } from '../base/html.ts';

/**
 * Counts and durations as people read them. A number that other languages write in another way is
 * marked with its value, and the script writes it as the language of the browser does.
 */

/** `7`, `1,234`. A number below 1,000 is written alike everywhere, so it needs no mark. */
export function grouped(value: number | bigint | string): Html {
  const text = groupedText(value);
  return text.includes(',') ? html`<data value="${String(value)}">${text}</data>` : { html: text };
}

/** A number with digits behind its point, such as `0.4`. */
export const decimal = (value: number, digits = 1): Html => {
  const text = value.toFixed(digits);
  return html`<data value="${text}">${text}</data>`;
};

/** `1 message`, `2,000 messages`. */
export const counted = (count: number | bigint, one: string, many = `${one}s`): Html =>
  html`${grouped(count)} ${BigInt(count) === 1n ? one : many}`;

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;

/** `0.4 s`, `12 s`, `3 min`, `5 h`, `2 days`. */
export function durationSaid(ms: number): Html {
  if (ms < 10_000) return html`${decimal(ms / 1_000)} s`;
  if (ms < 2 * MINUTE_MS) return html`${Math.round(ms / 1_000)} s`;
  if (ms < 2 * HOUR_MS) return html`${Math.round(ms / MINUTE_MS)} min`;
  return ms < 2 * DAY_MS ? html`${Math.round(ms / HOUR_MS)} h` : html`${grouped(Math.round(ms / DAY_MS))} days`;
}

const MARKS = /<\/?data\b[^>]*>/g;

/** Words without marks, for an attribute, an option or a title, which hold text alone. */
export const unmarked = (words: Html | string): Html | string =>
  typeof words === 'string' ? words : { html: words.html.replace(MARKS, '') };
