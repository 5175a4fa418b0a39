import { type Html, html, joined } from '../../base/html.ts';
import { type Batch, firstTexts, leftOf, waitingOf, withdrawnOf } from '../../domain/messages/batches.ts';
import { grouped, unmarked } from '../counts.ts';
import { icon } from '../icons.ts';
import type { Row } from '../lists.ts';
import type { PageRequest } from '../page-request.ts';
import { chip, named, num, wide } from '../parts.ts';
import { type Cell, clamped, messageText, time } from '../words.ts';

/** What was sent together, as one row of a list: its name, how far it is, and what became of it. */

const texts = {
  people: (count: number) => (count === 1 ? '1 person' : html`${grouped(count)} people`),
  send: 'Send',
  reference: 'Reference',
  delivered: (count: number) => html`${grouped(count)} delivered`,
  failed: (count: number) => html`${grouped(count)} not delivered`,
  resent: (count: number) => html`${grouped(count)} sent again`,
  onWay: (count: number) => html`${grouped(count)} on their way`,
  waiting: (count: number) => html`${grouped(count)} waiting`,
  unknown: (count: number) => html`${grouped(count)} not known`,
  cancelled: (count: number) => html`${grouped(count)} cancelled or deleted`,
  states: {
    scheduled: 'Scheduled',
    sending: 'Sending',
    underWay: 'On its way',
    cancelled: 'Cancelled',
    done: 'Done',
  },
} as const;

/** The counts of a batch in words, those that are not 0. */
export function countsSaid(batch: Batch): Html {
  const { delivered, failed, resent, submitted, unknown } = batch;
  const said: [number, (count: number) => Html][] = [
    [delivered, texts.delivered],
    [failed, texts.failed],
    [resent, texts.resent],
    [submitted, texts.onWay],
    [waitingOf(batch), texts.waiting],
    [unknown, texts.unknown],
    [withdrawnOf(batch), texts.cancelled],
  ];
  const shown = said.filter(([count]) => count > 0).map(([count, words]) => words(count));
  return joined(shown, ', ');
}

/** The parts of a batch as a bar; the counts stand beside it. */
export function meter(batch: Batch): Html {
  const { accepted, delivered, failed, resent, submitted, unknown } = batch;
  const width = (count: number): string => ((100 * count) / Math.max(1, accepted)).toFixed(2);
  const bars: Html[] = [];
  let at = 0;
  for (const [look, count] of [
    ['f-good', delivered],
    ['f-wait', submitted + unknown],
    ['f-bad', failed + resent],
  ] as const) {
    if (count > 0) bars.push(html`<rect class="${look}" x="${width(at)}" width="${width(count)}" height="4"/>`);
    at += count;
  }
  return html`<svg class="meter" viewBox="0 0 100 4" preserveAspectRatio="none" role="img" aria-label="${unmarked(countsSaid(batch))}">${bars}</svg>`;
}

/** The state of a batch: what needs somebody, else how far it is. */
export function batchChip(batch: Batch): Cell {
  const { failed, queued, submitted, inSchedule, delivered, unknown } = batch;
  if (queued > 0 || (inSchedule > 0 && leftOf(batch) > 0)) return chip('wait', 'pulse', texts.states.sending);
  if (inSchedule > 0) return chip('', 'calendar', texts.states.scheduled);
  if (submitted > 0) return chip('wait', 'move', texts.states.underWay);
  if (failed > 0) return chip('bad', 'cross', texts.failed(failed));
  if (unknown > 0) return chip('off', 'question', texts.unknown(unknown));
  if (delivered === 0 && withdrawnOf(batch) > 0) return chip('off', 'cross', texts.states.cancelled);
  return chip('good', 'ticks', texts.states.done);
}

export const peopleSaid = texts.people;

/** The text of a message, and the reference that its sender gave it. */
export const textCell = (text: string | null, reference: string | null): Cell =>
  reference
    ? wide(html`${clamped(text)}<small class="small quiet">${texts.reference} <bdi>${reference}</bdi></small>`)
    : clamped(text);

/** The name of a batch; without one, its first text stands for it. */
export const batchName = (batch: Batch, text: string | undefined): Html =>
  batch.name === null ? messageText(text ?? texts.send, 60) : html`<bdi>${batch.name}</bdi>`;

export const firstTextsOf = (
  { services, account }: PageRequest,
  batches: readonly Batch[],
): Promise<ReadonlyMap<bigint, string>> =>
  firstTexts(
    services.database,
    account.id,
    batches.map(({ batchId }) => batchId),
  );

const whoCell = ({ base }: PageRequest, batch: Batch, text: string | undefined, people: number): Cell =>
  named(
    html`<a class="open" href="${base}/batches/${String(batch.batchId)}">${icon('people')} ${batchName(batch, text)}</a>`,
    texts.people(people),
  );

/** For the list of sent messages. */
export const sentRow = (request: PageRequest, batch: Batch, text: string | undefined): Row => ({
  key: `b${batch.batchId}`,
  isFixed: true,
  cells: [
    whoCell(request, batch, text, batch.accepted),
    wide(html`${meter(batch)}<span class="small">${countsSaid(batch)}</span>`),
    batchChip(batch),
    num(batch.parts),
    time(batch.dueAt, request.zone),
  ],
});

/** For the list of scheduled messages. */
export const scheduledRow = (request: PageRequest, batch: Batch, text: string | undefined): Row => ({
  key: `b${batch.batchId}`,
  isFixed: true,
  cells: [
    whoCell(request, batch, text, batch.inSchedule),
    clamped(text ?? null),
    num(batch.credits - batch.used),
    time(batch.dueAt, request.zone),
  ],
});
