import { type Html, html, joined } from '../../base/html.ts';
import type { Movement } from '../../domain/accounts/ledger.ts';
import type { Queued, Story, StoryEvent, Words } from '../../domain/queue/story.ts';
import type { Attempt } from '../../domain/sending/attempts.ts';
import { linkedMessage } from '../../domain/sending/resend.ts';
import { counted, durationSaid, grouped } from '../counts.ts';
import type { IconName } from '../icons.ts';
import { icon } from '../icons.ts';
import { type Row, table } from '../lists.ts';
import { note, panel, tablePanel } from '../parts.ts';
import { deletedByCarrier } from '../texts.ts';
import { stepTime, type Tone, time } from '../words.ts';
import { isFailed, statusHint, statusLook, statusWords } from './status-cell.ts';

/** Why a message did not arrive, or what it waits for, and everything that happened to it. */

const texts = {
  why: 'Why it did not arrive',
  next: 'What happens next',
  history: 'What happened',
  newestLast: 'oldest first',
  doNow: 'What to do:',
  acts: {
    EXPIRED: 'send it again if it still matters.',
    DELETED: 'send it again if it still matters.',
    UNDELIVERABLE: 'check the number, and send it again if the number is right.',
    REJECTED: 'check the number and the text. If both are right, tell your operator what the carrier said.',
    UNKNOWN: 'ask the recipient before you send it again.',
  } as Readonly<Record<string, string>>,
  ourAct: 'nothing was paid for it. Send it again once the reason is gone.',
  ended: 'Ended by Columba',
  our: 'Our reason:',
  carrier: 'The carrier’s words:',
  lastWords: 'Last answer:',
  accepted: 'Accepted from you',
  acceptedSaid: (credits: bigint) =>
    credits === 0n ? 'Checked and stored.' : html`Checked and stored, ${counted(credits, 'credit')} held.`,
  credits: {
    capture: (amount: bigint) => html`${counted(amount, 'credit')} used.`,
    release: (amount: bigint) => html`${counted(amount, 'credit')} free again.`,
    other: (amount: bigint) => html`${counted(amount, 'credit')} moved.`,
  },
  attempt: (number: number, words: string) => html`Attempt ${grouped(number)}: ${words}`,
  attemptStates: {
    submitting: 'on its way to the carrier',
    accepted: 'the carrier took it',
    refused: 'not taken',
    'unknown-outcome': 'no answer, so its outcome is unknown',
  } as Readonly<Record<string, string>>,
  through: (connector: string, tookMs: number | null) =>
    tookMs === null
      ? `Through ${connector}.`
      : html`Through ${connector}, answered ${tookMs < 50 ? 'at once' : html`after ${durationSaid(tookMs)}`}.`,
  carrierId: 'The carrier’s id:',
  moreIds: (count: number) => html` and ${grouped(count)} more`,
  times: (times: number) => html`${grouped(times)} times`,
  ownRefusal: 'Columba did not hand it to a carrier.',
  carrierRefusal: 'The carrier did not take or deliver it.',
  queued: {
    retry: (attempts: number) => html`Attempt ${grouped(attempts)} was not successful. The next one is at`,
    until: 'Columba tries until',
    waiting: 'It waits to be submitted. Its turn is at',
    scheduled: 'It waits for its time:',
    submitting: 'It is being handed to the carrier at this moment.',
    held: 'The spend guard of the account holds it, and nothing is sent. An operator releases or refuses it; ask yours.',
    'unknown-outcome':
      'The carrier did not answer, so nobody knows whether it has the message. A receipt may still come. Without one, the account’s settings decide at',
    'needs-decision':
      'Nobody knows whether the carrier has the message, so an operator decides. It is not sent again by itself, and its credits stay held until then.',
  },
  awaiting: 'The carrier has it. Its receipt is awaited for up to 72 hours; this page shows it as soon as it comes.',
  attempts: 'Each part',
  attemptColumns: ['Attempt', 'Part', 'Connector', 'Carrier’s id', 'Answer', 'Receipt', 'When'],
  ours: 'ours',
} as const;

/** A number of another message in the words becomes a link. */
function quoted(base: string, { text, isOurs }: Words): Html {
  const other = linkedMessage(text);
  if (other !== null) return html`<p class="said"><a href="${base}/messages/${other}">${text}</a></p>`;
  const shown = html`<bdi>${text}</bdi>`;
  return html`<p class="said">${isOurs ? texts.our : texts.carrier} ${isOurs ? shown : html`<code>${shown}</code>`}</p>`;
}

/** A message is DELETED by its cancellation, or because a receipt says so. */
export const isDeletedByCarrier = (status: string | null, { events }: Story): boolean =>
  status === 'DELETED' &&
  events.some((event) => event.kind === 'attempt' && event.parts.some((part) => part.status === status));

/** What needs to be known first: why, and what to do or what happens next. */
export function whySaid(status: string | null, story: Story, base: string, zone: string): Html {
  if (story.queued) return nextSaid(story.queued, base, zone);
  if (status === null) return html``;
  if (!isFailed(status) && status !== 'DELETED') {
    const awaits = ['SUBMITTED', 'ENROUTE', 'ACCEPTED'].includes(status);
    return html`<p class="quiet">${statusHint(status)}${awaits ? ` ${texts.awaiting}` : ''}</p>`;
  }
  const last = story.events.findLast(
    (event) => event.kind !== 'accepted' && event.words !== null && linkedMessage(event.words.text) === null,
  );
  const words = last && last.kind !== 'accepted' ? last.words : null;
  const byCarrier = isDeletedByCarrier(status, story);
  const what = words?.isOurs ? texts.ended : byCarrier ? deletedByCarrier.words : statusWords(status);
  const who = words === null ? '' : words.isOurs ? texts.ownRefusal : texts.carrierRefusal;
  return note(
    status === 'UNKNOWN' ? 'wait' : status === 'DELETED' && !byCarrier ? '' : 'bad',
    html`<h2>${texts.why}</h2><p>${what}. ${who}</p>${words === null ? '' : quoted(base, words)}<p><strong>${texts.doNow}</strong> ${words?.isOurs && status !== 'UNKNOWN' ? texts.ourAct : (texts.acts[status] ?? statusHint(status))}</p>`,
  );
}

function nextSaid({ state, dueAt, expiresAt, attempts, isScheduled, words }: Queued, base: string, zone: string): Html {
  const said = words === null ? '' : quoted(base, words);
  const until = html`${texts.queued.until} ${time(expiresAt, zone)}.`;
  const lead =
    state === 'waiting'
      ? isScheduled
        ? html`${texts.queued.scheduled} ${time(dueAt, zone)}.`
        : html`${attempts > 0 ? texts.queued.retry(attempts) : texts.queued.waiting} ${time(dueAt, zone)}. ${until}`
      : state === 'unknown-outcome'
        ? html`${texts.queued[state]} ${time(dueAt, zone)}.`
        : html`${texts.queued[state]}`;
  const isCalm = state === 'submitting' || (state === 'waiting' && attempts === 0);
  return note(isCalm ? '' : 'wait', html`<h2>${texts.next}</h2><p>${lead}</p>${said}`);
}

/** What each kind of movement adds up to. */
const creditsSaid = (movements: readonly Movement[]): Html =>
  joined(
    [...Map.groupBy(movements, ({ kind }) => kind)].map(([kind, own]) => {
      const words = kind === 'capture' || kind === 'release' ? texts.credits[kind] : texts.credits.other;
      return words(own.reduce((sum, { amount }) => sum + amount, 0n));
    }),
    ' ',
  );

const ATTEMPT_LOOKS: Readonly<Record<string, readonly [Tone, IconName]>> = {
  submitting: ['', 'clock'],
  accepted: ['good', 'tick'],
  refused: ['wait', 'again'],
  'unknown-outcome': ['wait', 'question'],
};

const ENDED = ['DELETED', 'REJECTED', 'EXPIRED'];
/** The table of the parts has the other ids. */
const IDS_SHOWN = 3;

/** An event, and how often it came in a row: each part of a long message has the same states. */
interface Step {
  readonly event: StoryEvent;
  readonly times: number;
}

/** What a carrier says of one part, such as `part 3 of 66: DELIVERED`, without the part. */
const ofPart = (words: Words | null): string | undefined => words?.text.replace(/^part \d+ of \d+: /, '');

export function stepsOf(events: readonly StoryEvent[]): Step[] {
  const steps: Step[] = [];
  for (const event of events) {
    const { event: before, times } = steps.at(-1) ?? { times: 0 };
    const text = event.kind === 'status' ? ofPart(event.words) : undefined;
    if (before?.kind !== 'status' || event.kind !== 'status' || before.status !== event.status) {
      steps.push({ event, times: 1 });
    } else if (ofPart(before.words) !== text) steps.push({ event, times: 1 });
    else {
      const words = event.words && { ...event.words, text: text ?? '' };
      const credits = [...new Map([...before.credits, ...event.credits].map((each) => [each.id, each])).values()];
      steps[steps.length - 1] = { event: { ...before, words, credits }, times: times + 1 };
    }
  }
  return steps;
}

function step({ event, times }: Step, base: string, zone: string): Html {
  const line = (look: readonly [Tone, IconName], title: Html | string, more: Html) =>
    html`<li class="${look[0]}">${icon(look[1])}<div class="row"><strong>${title}</strong><span class="push small quiet">${stepTime(event.at, zone)}</span></div>${more}</li>`;
  const small = (words: Html | string) => html`<p class="small quiet">${words}</p>`;
  if (event.kind === 'accepted')
    return line(['good', 'tick'], texts.accepted, html`${small(texts.acceptedSaid(event.credits))}`);
  const words = event.words === null ? '' : quoted(base, event.words);
  if (event.kind === 'status') {
    const isOurs = event.words?.isOurs === true && ENDED.includes(event.status);
    const title = isOurs ? texts.ended : statusWords(event.status);
    return line(
      statusLook(event.status),
      times === 1 ? title : html`${title} <span class="quiet">${texts.times(times)}</span>`,
      html`${event.credits.length === 0 ? '' : small(creditsSaid(event.credits))}${words}`,
    );
  }
  const settledAt = event.parts.map((part) => part.settledAt).find((at) => at !== null);
  const took = settledAt === undefined || settledAt === null ? null : Math.max(0, settledAt - event.at);
  const ids = event.parts.flatMap(({ gatewayId }) => (gatewayId === null ? [] : [gatewayId]));
  const more = ids.length > IDS_SHOWN ? texts.moreIds(ids.length - IDS_SHOWN) : '';
  const id =
    ids.length === 0
      ? ''
      : html`<p class="said">${texts.carrierId} <code>${ids.slice(0, IDS_SHOWN).join(', ')}</code>${more}</p>`;
  const title = texts.attempt(event.attempt, texts.attemptStates[event.state] ?? event.state);
  return line(
    ATTEMPT_LOOKS[event.state] ?? ['', 'clock'],
    title,
    html`${small(texts.through(event.connector, took))}${words}${id}`,
  );
}

export const timeline = ({ events }: Story, base: string, zone: string): Html =>
  panel({
    title: texts.history,
    content: html`<ol class="timeline">${stepsOf(events).map((each) => step(each, base, zone))}</ol>`,
    acts: html`<span class="small quiet">${texts.newestLast}</span>`,
  });

/** Each part of a message of several parts, with its answer and its receipt. */
export function partTable({ events }: Story, zone: string): Html {
  const parts = events.flatMap((event) => (event.kind === 'attempt' ? event.parts : []));
  if (parts.length <= 1) return html``;
  const rows = parts.map((part) => partRow(part, zone));
  return tablePanel(texts.attempts, table({ caption: texts.attempts, columns: texts.attemptColumns, rows }));
}

const partRow = (
  { attempt, part, connector, gatewayId, state, status, statusAt, submittedAt }: Attempt,
  zone: string,
): Row => ({
  key: `${attempt}/${part}`,
  cells: [
    html`${attempt}`,
    html`${part}`,
    html`${connector}`,
    html`${gatewayId ?? '–'}`,
    html`${texts.attemptStates[state] ?? state}`,
    status === null ? html`–` : html`${statusWords(status)} ${statusAt === null ? '' : time(statusAt, zone)}`,
    time(submittedAt, zone),
  ],
});
