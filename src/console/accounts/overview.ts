import { type Html, html } from '../../base/html.ts';
import { accountRecord } from '../../domain/accounts/accounts.ts';
import { type HourCounts, hourCountsOf } from '../../domain/messages/hour-counts.ts';
import type { Conversation } from '../../domain/search/conversations.ts';
import { createConnectors } from '../../domain/sending/connectors.ts';
import { CHART_HOURS, dayChart } from '../charts.ts';
import { contactNames } from '../contacts/contact-names.ts';
import { counted, grouped } from '../counts.ts';
import { type Row, table } from '../lists.ts';
import { conversationItems } from '../messages/conversation-list.ts';
import { statusCell } from '../messages/status-cell.ts';
import { get, type PageRequest, page } from '../page-request.ts';
import { empty, head, linkButton, note, panel, person, tablePanel, tile, unreadBadge } from '../parts.ts';
import { clamped, instantOf, localTime, time } from '../words.ts';
import { CONVERSATIONS_MAX, customerNeeds } from './overview-needs.ts';

/** The first screen of the customer. */

const texts = {
  title: 'Overview',
  tilesName: 'Now',
  unread: 'Unread messages',
  failed: 'Failed today',
  scheduled: 'Scheduled, next 24 hours',
  free: 'Credits free',
  held: (credits: bigint) => (credits === 0n ? '' : html`${grouped(credits)} held for scheduled ones`),
  conversations: {
    title: 'Latest conversations',
    none: 'No conversation yet.',
    hint: 'It begins with the first message that you send or receive.',
    more: 'All conversations',
  },
  sent: {
    title: 'Last sent',
    columns: ['To', 'Text', 'State', 'Sent'],
    none: 'No message has been sent yet.',
    hint: 'What you send appears here, with what became of it.',
    more: 'All sent',
  },
  chart: 'Messages, last 14 days',
  stopped: 'Nothing is being sent now. The connection to the carrier has not worked since',
  nothingLost: 'Nothing is lost. Your messages are sent when it works again.',
  waiting: (count: number) => html`${counted(count, 'message')} of yours ${count === 1 ? 'waits' : 'wait'} to be sent.`,
  stepsTitle: 'Three first steps',
  steps: {
    contacts: ['Add your contacts', 'one by one or from a CSV file'],
    compose: ['Write a message', 'and see what it costs before you send it'],
    access: ['Choose a password', 'and give your programs a user_id'],
  },
} as const;

const LAST_SHOWN = 5;
const LATEST_SHOWN = 5;
const DAY_MS = 24 * 3_600_000;
const COUNTED_MAX = 1_000;

function failedToday({ domain, account, zone, now }: PageRequest): Promise<number> {
  const midnight = instantOf(localTime(now, zone).slice(0, 10), zone) ?? now - DAY_MS;
  return domain.sent.countUndelivered(account.id, midnight, COUNTED_MAX);
}

type Balances = Awaited<ReturnType<PageRequest['domain']['ledger']['balances']>>;

async function tiles(request: PageRequest, { free, held }: Balances) {
  const { domain, account, base, now } = request;
  const unread = await domain.received.countUnread(account.id);
  const failed = await failedToday(request);
  const soon = await domain.scheduled.countUntil(account.id, now + DAY_MS, COUNTED_MAX);
  const atLeast = (count: number) => html`${grouped(count)}${count >= COUNTED_MAX ? '+' : ''}`;
  return html`<ul class="tiles" aria-label="${texts.tilesName}">${[
    tile({ key: 'unread', label: texts.unread, value: grouped(unread), href: `${base}/inbox?state=unread` }),
    tile({ key: 'failed', label: texts.failed, value: atLeast(failed), href: `${base}/sent?state=failed` }),
    tile({ key: 'scheduled', label: texts.scheduled, value: atLeast(soon), href: `${base}/scheduled` }),
    tile({ key: 'free', label: texts.free, value: grouped(free), href: `${base}/credits`, more: texts.held(held) }),
  ]}</ul>`;
}

/** Says in words why the connector of the account does not work, without its secrets. */
async function stopped({ services, account, zone, domain }: PageRequest) {
  const { database, now } = services;
  const { connector } = await accountRecord(database, account.username);
  const all = await createConnectors(database, now).list();
  const own = all.find(({ name, isDefault }) => (connector === null ? isDefault : name === connector));
  const since = own?.pausedAt ?? own?.downSince ?? null;
  if (since === null) return html``;
  const waiting = (await domain.sent.newest(account.id, LOOKED_AT)).filter(({ status }) => status === 'QUEUED');
  const said = html`<p>${texts.stopped} ${time(since, zone)}. ${texts.nothingLost}</p>`;
  return note('wait', html`${said}${waiting.length > 0 ? html`<p>${texts.waiting(waiting.length)}</p>` : ''}`, 'pause');
}
const LOOKED_AT = 500;

async function lastSent(request: PageRequest): Promise<Row[]> {
  const messages = await request.domain.sent.newest(request.account.id, LAST_SHOWN);
  const names = await contactNames(
    request,
    messages.map(({ recipient }) => recipient),
  );
  return messages.map(({ id, recipient, text, status, isDeletedByCarrier, sentAt }) => ({
    key: id.toString(),
    cells: [
      person(recipient, names(recipient), `${request.base}/messages/${id}`),
      clamped(text, 160),
      statusCell(status, isDeletedByCarrier),
      time(sentAt, request.zone),
    ],
  }));
}

/** Whether the account has nothing at all, so that it is shown first steps. */
async function isNew({ domain, account }: PageRequest): Promise<boolean> {
  const scheduled = await domain.scheduled.soonest(account.id, 1);
  const filter = { group: undefined, q: undefined, mobile: undefined };
  return scheduled.length === 0 && (await domain.contacts.list(account.id, filter, 1, null)).items.length === 0;
}

function lastSentPanel(base: string, rows: readonly Row[]): Html {
  const { title, none, hint, columns, more } = texts.sent;
  const content = rows.length === 0 ? empty(none, hint, '', 'send') : table({ caption: title, columns, rows });
  return tablePanel(title, content, html`<a class="small" href="${base}/sent">${more}</a>`);
}

function conversationsPanel(base: string, items: readonly Html[]): Html {
  const { title, none, hint, more } = texts.conversations;
  const list = html`<ul class="list" data-live="${base}/?part=conversations" data-mode="replace">${items}</ul>`;
  const content = html`${items.length === 0 ? empty(none, hint, '', 'chat') : ''}${list}`;
  return tablePanel(title, content, html`<a class="small" href="${base}/conversations">${more}</a>`);
}

const hoursOf = ({ services, account, now }: PageRequest): Promise<HourCounts[]> =>
  hourCountsOf(services.database, account.id, now - CHART_HOURS * HOUR_MS);
const HOUR_MS = 3_600_000;

/** What needs the customer, and its counts. */
async function counts(
  request: PageRequest,
  balances: Balances,
  hours: readonly HourCounts[],
  newest: readonly Conversation[],
): Promise<Html> {
  return html`${await customerNeeds(request, balances.free, hours, newest)}${await tiles(request, balances)}`;
}

/** Counting what is unread takes half of it, however few are listed, so a page lists them once. */
async function newestConversations({ domain, account }: PageRequest, count: number): Promise<readonly Conversation[]> {
  return (await domain.conversations.list(account.id, count)).conversations;
}

const show = async (request: PageRequest) => {
  const { base, query, domain, account } = request;
  if (query.get('part') === 'unread')
    return { kind: 'fragment', html: unreadBadge(await domain.received.countUnread(account.id)) } as const;
  if (query.get('part') === 'counts')
    return {
      kind: 'fragment',
      html: await counts(
        request,
        await domain.ledger.balances(account.id),
        await hoursOf(request),
        await newestConversations(request, CONVERSATIONS_MAX),
      ),
    } as const;
  await domain.search.isComplete(account.id); // brings the conversations up to date
  if (query.get('part') === 'conversations') {
    const latest = await conversationItems(request, await newestConversations(request, LATEST_SHOWN));
    return { kind: 'fragment', html: html`${latest}` } as const;
  }
  const newest = await newestConversations(request, CONVERSATIONS_MAX);
  const latest = await conversationItems(request, newest.slice(0, LATEST_SHOWN));
  const sent = await lastSent(request);
  const isEmpty = latest.length === 0 && sent.length === 0 && (await isNew(request));
  const steps = Object.entries(texts.steps).map(
    ([screen, [name, what]], index) =>
      html`<li><span class="face" aria-hidden="true">${index + 1}</span><div><strong>${name}</strong><p>${what}.</p></div>${linkButton(`${base}/${screen}`, name, { look: 's' })}</li>`,
  );
  const hours = await hoursOf(request);
  const balances = await domain.ledger.balances(account.id);
  // A new account needs credits before its first message.
  const shown =
    isEmpty && balances.free > 0n ? await tiles(request, balances) : await counts(request, balances, hours, newest);
  const live = isEmpty ? '' : html` data-live="${base}/?part=counts" data-mode="whole"`;
  const chart = dayChart(texts.chart, hours, request.now, request.zone);
  const main = html`${head(texts.title)}${await stopped(request)}<div class="stack"${live}>${shown}</div>
${
  isEmpty
    ? panel({ title: texts.stepsTitle, content: html`<ol class="needs">${steps}</ol>`, isFlush: true })
    : html`<div class="cols">${panel({ title: texts.chart, content: chart })}${conversationsPanel(base, latest)}</div>${lastSentPanel(base, sent)}`
}`;
  return page(texts.title, main, { current: 'overview' });
};

export const overviewRoutes = [get('/', show)];
