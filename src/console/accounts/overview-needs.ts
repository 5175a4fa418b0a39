import { type Html, html } from '../../base/html.ts';
import { newestBatches, newestSingles } from '../../domain/messages/batches.ts';
import type { HourCounts } from '../../domain/messages/hour-counts.ts';
import type { Conversation } from '../../domain/search/conversations.ts';
import { contactNames } from '../contacts/contact-names.ts';
import { counted, durationSaid, grouped } from '../counts.ts';
import { batchName, firstTextsOf } from '../messages/batch-row.ts';
import type { PageRequest } from '../page-request.ts';
import { linkButton, need, panel } from '../parts.ts';
import { messageText, nameOr, type Tone } from '../words.ts';

/** What a customer should look at first: each a sentence, and the button that helps. */

const texts = {
  title: 'What needs you',
  nothing: 'Nothing needs your attention now.',
  batch: (failed: number, all: number) =>
    html`${grouped(failed)} of ${counted(all, 'message')} ${failed === 1 ? 'was' : 'were'} not delivered.`,
  single: (failed: number, isAtLeast: boolean, isOther: boolean) =>
    html`${grouped(failed)}${isAtLeast ? '+' : ''}${isOther ? ' other' : ''} ${failed === 1 ? 'message was' : 'messages were'} not delivered.`,
  singleWhy: (person: Html) => html`In the last 48 hours. The newest is to ${person}.`,
  again: 'See and send again',
  unanswered: (people: number, isAtLeast: boolean) =>
    people === 1 && !isAtLeast
      ? '1 person waits for an answer.'
      : html`${grouped(people)}${isAtLeast ? '+' : ''} people wait for an answer.`,
  unansweredWhy: (person: Html, waited: Html) => html`The message of ${person} has been unread for ${waited}.`,
  answer: 'Answer',
  noCredits: 'There are no free credits.',
  noCreditsWhy: 'Nothing can be sent until your operator adds some.',
  credits: (days: Html | string) => html`Credits last for about ${days}.`,
  creditsWhy: (free: bigint, perDay: number) =>
    html`${grouped(free)} ${free === 1n ? 'is' : 'are'} free, and about ${grouped(perDay)} a day ${perDay === 1 ? 'goes' : 'go'} out.`,
  days: (days: number) => (days < 1 ? 'less than a day' : counted(days, 'day')),
  seeCredits: 'See credits',
} as const;

const DAY_MS = 24 * 3_600_000;
/** A failure is shown for this long. */
const FAILED_MS = 2 * DAY_MS;
/** The page is requested again every few seconds, so it looks only so far. */
const MESSAGES_MAX = 100;
const BATCHES_MAX = 20;
export const CONVERSATIONS_MAX = 50;
const SHOWN_BATCHES = 3;
const UNANSWERED_MS = 30 * 60_000;
const CREDIT_DAYS = 3;
const SPENT_DAYS = 7;
const ENDED: readonly string[] = ['EXPIRED', 'UNDELIVERABLE', 'REJECTED'];

const line = (tone: Tone, shape: 'cross' | 'chat' | 'coin', words: Html | string, why: Html | string, to: Link): Html =>
  need(
    tone,
    shape,
    html`<a href="${to.href}"><strong>${words}</strong></a><p>${why}</p>`,
    linkButton(to.href, to.act, { look: 's', about: words }),
  );
interface Link {
  readonly href: string;
  readonly act: string;
}

/** Messages that ended undelivered and were not sent again. */
async function failures(request: PageRequest): Promise<Html[]> {
  const { services, account, base, now } = request;
  const { database } = services;
  const batches = (await newestBatches(database, account.id, BATCHES_MAX, null))
    .filter(({ failed, dueAt }) => failed > 0 && dueAt > now - FAILED_MS)
    .slice(0, SHOWN_BATCHES);
  const first = await firstTextsOf(request, batches);
  const ofBatches = batches.map((batch) => {
    const to = { href: `${base}/batches/${batch.batchId}?state=failed`, act: texts.again };
    return line(
      'bad',
      'cross',
      texts.batch(batch.failed, batch.accepted),
      batchName(batch, first.get(batch.batchId)),
      to,
    );
  });
  const newest = await newestSingles(database, account.id, MESSAGES_MAX, null);
  const failed = newest.filter(({ status, sentAt }) => ENDED.includes(status) && sentAt > now - FAILED_MS);
  const [last] = failed;
  if (!last) return ofBatches;
  const isAtLeast = newest.length === MESSAGES_MAX && (newest.at(-1)?.sentAt ?? 0) > now - FAILED_MS;
  const name = (await contactNames(request, [last.recipient]))(last.recipient);
  const href = failed.length === 1 && !isAtLeast ? `${base}/messages/${last.id}` : `${base}/sent?state=failed`;
  const why = texts.singleWhy(nameOr(name, last.recipient ?? '?'));
  return [
    ...ofBatches,
    line('bad', 'cross', texts.single(failed.length, isAtLeast, ofBatches.length > 0), why, { href, act: texts.again }),
  ];
}

/** Whoever wrote last and is not read after half an hour. */
async function unanswered(request: PageRequest, conversations: readonly Conversation[]): Promise<Html[]> {
  const { base, now } = request;
  const waiting = conversations.filter(
    ({ last, lastAt, unread }) => unread > 0 && last?.kind === 'received' && lastAt <= now - UNANSWERED_MS,
  );
  const longest = waiting.at(-1);
  if (!longest) return [];
  // If even the last of these waits, there may be more.
  const isAtLeast = conversations.length === CONVERSATIONS_MAX && longest === conversations.at(-1);
  const name = (await contactNames(request, [longest.number]))(longest.number);
  const waited = durationSaid(now - longest.lastAt);
  const why = html`${texts.unansweredWhy(nameOr(name, longest.number), waited)} <span class="quiet">${messageText(longest.last?.text ?? null, 60)}</span>`;
  const to = { href: `${base}/conversations?show=unread`, act: texts.answer };
  return [line('wait', 'chat', texts.unanswered(waiting.length, isAtLeast), why, to)];
}

/** Measured by the messages of the last week. */
function credits(free: bigint, hours: readonly HourCounts[], { base, now }: PageRequest): Html[] {
  const to = { href: `${base}/credits`, act: texts.seeCredits };
  if (free <= 0n) return [line('bad', 'coin', texts.noCredits, texts.noCreditsWhy, to)];
  const sum = hours
    .filter(({ at }) => at > now - SPENT_DAYS * DAY_MS)
    .reduce((total, { accepted }) => total + accepted, 0);
  const perDay = Math.ceil(sum / SPENT_DAYS);
  if (perDay === 0 || free >= BigInt(perDay * CREDIT_DAYS)) return [];
  const said = texts.days(Math.floor(Number(free) / perDay));
  return [line('wait', 'coin', texts.credits(said), texts.creditsWhy(free, perDay), to)];
}

/** `newest` are the newest conversations, at most CONVERSATIONS_MAX. */
export async function customerNeeds(
  request: PageRequest,
  free: bigint,
  hours: readonly HourCounts[],
  newest: readonly Conversation[],
): Promise<Html> {
  const found = [
    ...(await failures(request)),
    ...(await unanswered(request, newest)),
    ...credits(free, hours, request),
  ];
  return found.length === 0
    ? html`<p class="quiet">${texts.nothing}</p>`
    : panel({ title: texts.title, content: html`<ul class="needs">${found}</ul>`, isFlush: true });
}
