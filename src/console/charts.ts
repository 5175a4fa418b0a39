import { type Html, html } from '../base/html.ts';
import { decimal, grouped, unmarked } from './counts.ts';
import { offsetOf } from './words.ts';

/**
 * Charts that the server draws. The shapes are SVG without styles of their own, because the
 * Content-Security-Policy forbids those; every chart has its numbers beside it or in a table.
 */

const texts = {
  accepted: 'Accepted',
  delivered: 'Delivered',
  failed: 'Not delivered',
  none: (days: number) => `Nothing in the last ${days} days.`,
  asTable: 'The same as a table',
  day: 'Day',
  today: 'Today',
  bars: (name: string) => `${name}: bars for each day. The table below has every number.`,
  said: ({ accepted, delivered, failed }: Omit<DayCounts, 'at'>) =>
    html`${grouped(accepted)} accepted, ${grouped(delivered)} delivered, ${grouped(failed)} not delivered`,
} as const;

export interface DayCounts {
  /** Any instant of the day. */
  readonly at: number;
  readonly accepted: number;
  readonly delivered: number;
  readonly failed: number;
}

const DAY_MS = 86_400_000;
const HEIGHT = 168;
const GRID_LINES = 3;

/** Sums hours to the last `days` days of a zone, oldest first; days without an hour are 0. */
function daysOf(hours: readonly DayCounts[], days: number, now: number, zone: string): DayCounts[] {
  const dayOf = (at: number): number => Math.floor((at + offsetOf(at, zone)) / DAY_MS);
  const today = dayOf(now);
  const sums = Array.from({ length: days }, (_, index) => ({
    at: now - (days - 1 - index) * DAY_MS,
    accepted: 0,
    delivered: 0,
    failed: 0,
  }));
  for (const { at, accepted, delivered, failed } of hours) {
    const sum = sums[days - 1 - (today - dayOf(at))];
    if (!sum) continue;
    sum.accepted += accepted;
    sum.delivered += delivered;
    sum.failed += failed;
  }
  return sums;
}

/** The top of the scale: 3, 6, 9, 12, 15 or 30 times a power of ten, which three lines divide. */
function roundedUp(most: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(most, 10) / 3));
  return ([3, 6, 9, 12, 15].find((step) => step * power >= most) ?? 30) * power;
}

const fixed = (value: number): string => value.toFixed(2);

/** Three bars for each day: accepted, delivered and not delivered. */
function barsOf(days: readonly DayCounts[], top: number, dayName: (at: number) => Html): Html[] {
  const step = 100 / days.length;
  const bar = (look: string, place: number, index: number, count: number): Html | string => {
    if (count === 0) return '';
    const height = Math.max(2, (count / top) * HEIGHT);
    const x = index * step + step * (0.14 + place * 0.24);
    return html`<rect class="${look}" x="${fixed(x)}" width="${fixed(step * 0.22)}" y="${fixed(HEIGHT - height)}" height="${fixed(height)}"/>`;
  };
  return days.map(
    (each, index) =>
      html`<g><title>${dayName(each.at)}: ${texts.said(each)}</title>${bar('f-wait', 0, index, each.accepted)}${bar('f-good', 1, index, each.delivered)}${bar('f-bad', 2, index, each.failed)}</g>`,
  );
}

const key = (look: string, words: string): Html =>
  html`<span><svg viewBox="0 0 10 10" aria-hidden="true"><rect class="${look}" width="10" height="10" rx="2"/></svg>${words}</span>`;

export const CHART_DAYS = 14;
/** The hours to ask for, so that the first day is whole in every zone. */
export const CHART_HOURS = (CHART_DAYS + 1) * 24;

// Making a format takes longer than a hundred uses of it.
const WEEKDAY = new Intl.DateTimeFormat('en-GB', { weekday: 'short', timeZone: 'UTC' });
const WEEKDAY_DATE = new Intl.DateTimeFormat('en-GB', {
  weekday: 'short',
  day: 'numeric',
  month: 'short',
  timeZone: 'UTC',
});
/** A day of the calendar, which the script writes in the browser's language. */
const dateAs = (date: Date, place: string, format: Intl.DateTimeFormat): Html =>
  html`<time datetime="${date.toISOString().slice(0, 10)}" data-as="${place}">${format.format(date).replace(',', '')}</time>`;

/**
 * The last 14 days as bars, with a table of the same numbers, or a sentence if nothing happened.
 * `hours` are those in which something happened; `name` says what they are of.
 */
export function dayChart(name: string, hours: readonly DayCounts[], now: number, zone: string): Html {
  const days = daysOf(hours, CHART_DAYS, now, zone);
  if (days.every(({ accepted, delivered, failed }) => accepted + delivered + failed === 0)) {
    return html`<p class="quiet">${texts.none(CHART_DAYS)}</p>`;
  }
  const dateOf = (at: number) => new Date(at + offsetOf(at, zone));
  const dayName = (at: number): Html => dateAs(dateOf(at), 'weekday-date', WEEKDAY_DATE);
  const top = roundedUp(
    Math.max(...days.map(({ accepted, delivered, failed }) => Math.max(accepted, delivered, failed))),
  );
  const lines = Array.from({ length: GRID_LINES + 1 }, (_, index) => (HEIGHT * index) / GRID_LINES);
  const labels = lines.map((_, index) => html`<span>${short((top * (GRID_LINES - index)) / GRID_LINES)}</span>`);
  const places = days.map(({ at }, index) =>
    index === days.length - 1
      ? html`<span class="today">${texts.today}</span>`
      : html`<span>${dateAs(dateOf(at), 'weekday', WEEKDAY)}<br>${dateOf(at).getUTCDate()}</span>`,
  );
  const rows = [...days].reverse().map((each) => {
    const cells = [each.accepted, each.delivered, each.failed].map(
      (count) => html`<td class="num">${grouped(count)}</td>`,
    );
    return html`<tr><th scope="row" class="time">${dayName(each.at)}</th>${cells}</tr>`;
  });
  const heads = [texts.accepted, texts.delivered, texts.failed].map(
    (words) => html`<th scope="col" class="num">${words}</th>`,
  );
  return html`<figure class="stack tight"><p class="legend">${key('f-wait', texts.accepted)}${key('f-good', texts.delivered)}${key('f-bad', texts.failed)}</p>
<div class="chart"><div class="y" aria-hidden="true">${labels}</div><svg viewBox="0 0 100 ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label="${texts.bars(name)}">${lines.map(
    (y) => html`<line class="grid-line" x1="0" x2="100" y1="${fixed(y)}" y2="${fixed(y)}"/>`,
  )}${barsOf(days, top, dayName)}</svg>
<div class="x" aria-hidden="true">${places}</div></div>
<details class="fold"><summary>${texts.asTable}</summary><table class="table keep small"><caption class="unseen">${name}</caption><thead><tr><th scope="col">${texts.day}</th>${heads}</tr></thead><tbody>${rows}</tbody></table></details></figure>`;
}

/** `500`, `1.5 k`, `20 M`: a label of an axis, which has little room. */
function short(value: number): Html {
  if (value >= 1_000_000) return html`${exact(value / 1_000_000)}\u00a0M`;
  return html`${value >= 1_000 ? html`${exact(value / 1_000)}\u00a0k` : value}`;
}

const exact = (value: number): Html => (Number.isInteger(value) ? grouped(value) : decimal(value));

/** A line through a row of counts. `said` has the numbers for those who do not see it. */
export function spark(counts: readonly number[], said: Html | string, isBad = false): Html {
  const most = Math.max(1, ...counts);
  const points = counts.map((count, index) => `${index},${fixed(9.5 - (count / most) * 9)}`).join(' ');
  return html`<svg class="spark${isBad ? ' bad' : ''}" viewBox="0 0 ${Math.max(1, counts.length - 1)} 10" preserveAspectRatio="none" aria-hidden="true"><polyline points="${points}"/></svg><span class="unseen">${said}</span>`;
}

/** Shares of a whole as one bar. `said` has the numbers, which also stand below it. */
export function meter(
  shares: readonly (readonly [look: 'f-good' | 'f-wait' | 'f-bad', count: number])[],
  said: Html | string,
): Html {
  const total = shares.reduce((sum, [, count]) => sum + count, 0);
  let x = 0;
  const rects = shares.map(([look, count]) => {
    const width = total === 0 ? 0 : (count / total) * 100;
    const rect = width === 0 ? '' : html`<rect class="${look}" x="${fixed(x)}" width="${fixed(width)}" height="4"/>`;
    x += width;
    return rect;
  });
  return html`<svg class="meter" viewBox="0 0 100 4" preserveAspectRatio="none" role="img" aria-label="${unmarked(said)}">${rects}</svg>`;
}
