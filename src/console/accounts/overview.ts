import { type Html, html } from '../../base/html.ts';
import { accountRecord } from '../../domain/accounts/accounts.ts';
import { createConnectors } from '../../domain/sending/connectors.ts';
import { contactNames, withLink } from '../contacts/contact-names.ts';
import { type Row, table } from '../lists.ts';
import { isFailed, statusCell } from '../messages/status-cell.ts';
import { get, type PageRequest, page } from '../page-request.ts';
import { scan } from '../scan.ts';
import { counted, grouped, instantOf, localTime, messageText, party, time } from '../words.ts';

/** The first screen of the customer. */

const texts = {
  title: 'Overview',
  unread: 'Unread messages',
  failed: 'Failed today',
  scheduled: 'Scheduled in the next 24 hours',
  free: 'Credits free',
  held: 'Credits held',
  received: {
    title: 'Last received',
    columns: ['From', 'Text', 'Received'],
    none: 'No message has arrived yet.',
    more: 'All received messages',
  },
  sent: {
    title: 'Last sent',
    columns: ['To', 'Text', 'State', 'Sent'],
    none: 'No message has been sent yet.',
    more: 'All sent messages',
  },
  stopped: 'Nothing is being sent now. The connection to the carrier has not worked since',
  nothingLost: 'Nothing is lost. Your messages are sent when it works again.',
  waiting: (count: number) => `${counted(count, 'message')} of yours ${count === 1 ? 'waits' : 'wait'} to be sent.`,
  stepsTitle: 'Three first steps',
  steps: {
    contacts: ['Add your contacts', 'one by one or from a CSV file'],
    compose: ['Write a message', 'and see what it costs before you send it'],
    access: ['Choose a password', 'and give your programs a user_id'],
  },
} as const;

const LAST_SHOWN = 5;
const DAY_MS = 24 * 3_600_000;
const COUNTED_MAX = 1_000;

async function failedToday({ domain, account, zone, now }: PageRequest) {
  const midnight = instantOf(localTime(now, zone).slice(0, 10), zone) ?? now - DAY_MS;
  return scan({
    page: (limit, after) =>
      domain.sent.newest(account.id, limit, after && { ...UNUSED_SENT, sentAt: after.at, id: after.id }),
    cursorOf: ({ sentAt, id }) => ({ at: sentAt, id }),
    isWanted: ({ status }) => isFailed(status),
    isBeyond: ({ sentAt }) => sentAt < midnight,
    after: undefined,
    rowsMax: COUNTED_MAX,
    readMax: COUNTED_MAX, // the page is requested again every few seconds
  });
}
const UNUSED_SENT = { reference: null, recipient: null, text: null, status: '', updatedAt: 0, marked: false };

/** A long number breaks after a comma. */
const breakable = (count: string) =>
  count.split(',').map((part, index) => html`${index > 0 ? html`,<wbr>` : ''}${part}`);

async function tiles(request: PageRequest) {
  const { domain, account, base, now } = request;
  const unread = await domain.received.countUnread(account.id);
  const failed = await failedToday(request);
  const soon = (await domain.scheduled.soonest(account.id, COUNTED_MAX)).filter(
    ({ scheduledAt }) => scheduledAt <= now + DAY_MS,
  );
  const { free, held } = await domain.ledger.balances(account.id);
  const tile = (key: string, count: string, name: string, href: string) =>
    html`<li data-key="${key}"><a href="${href}"><strong>${breakable(count)}</strong>${name}</a></li>`;
  const atLeast = (count: number) => `${grouped(count)}${count >= COUNTED_MAX ? '+' : ''}`;
  return html`${tile('unread', grouped(unread), texts.unread, `${base}/inbox?state=unread`)}
${tile('failed', `${grouped(failed.rows.length)}${failed.isCut ? '+' : ''}`, texts.failed, `${base}/sent?state=failed`)}
${tile('scheduled', atLeast(soon.length), texts.scheduled, `${base}/scheduled`)}
${tile('free', grouped(free), texts.free, `${base}/credits`)}
${tile('held', grouped(held), texts.held, `${base}/credits`)}`;
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
  return html`<div class="note problem"><p>${texts.stopped} ${time(since, zone)}. ${texts.nothingLost}</p>${
    waiting.length > 0 ? html`<p>${texts.waiting(waiting.length)}</p>` : ''
  }</div>`;
}
const LOOKED_AT = 500;

async function lastReceived(request: PageRequest): Promise<Row[]> {
  const messages = await request.domain.received.newest(request.account.id, LAST_SHOWN);
  const names = await contactNames(
    request,
    messages.map(({ sender }) => sender),
  );
  return messages.map(({ id, sender, text, receivedAt, read }) => ({
    key: id.toString(),
    cells: [withLink(request.base, sender, names), messageText(text, 160), time(receivedAt, request.zone)],
    isStrong: !read,
  }));
}

async function lastSent(request: PageRequest): Promise<Row[]> {
  const messages = await request.domain.sent.newest(request.account.id, LAST_SHOWN);
  const names = await contactNames(
    request,
    messages.map(({ recipient }) => recipient),
  );
  return messages.map(({ id, recipient, text, status, sentAt }) => ({
    key: id.toString(),
    cells: [
      html`<a href="${request.base}/messages/${id.toString()}">${party(names(recipient) ?? recipient)}</a>`,
      messageText(text, 160),
      statusCell(status),
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

const lastOf = (href: string, words: typeof texts.received | typeof texts.sent, rows: readonly Row[]): Html =>
  html`<h2>${words.title}</h2>${
    rows.length === 0
      ? html`<p class="quiet">${words.none}</p>`
      : html`${table({ caption: words.title, columns: words.columns, rows })}<p><a href="${href}">${words.more}</a></p>`
  }`;

const show = async (request: PageRequest) => {
  const { base, query } = request;
  if (query.get('part') === 'counts') return { kind: 'fragment', html: await tiles(request) } as const;
  const [received, sent] = [await lastReceived(request), await lastSent(request)];
  const isEmpty = received.length === 0 && sent.length === 0 && (await isNew(request));
  const steps = Object.entries(texts.steps).map(
    ([screen, [name, what]]) => html`<li><a href="${base}/${screen}">${name}</a>: ${what}.</li>`,
  );
  const main = html`<h1>${texts.title}</h1>${await stopped(request)}
<ul class="tiles" data-live="${base}/?part=counts" data-mode="whole">${await tiles(request)}</ul>
${
  isEmpty
    ? html`<h2>${texts.stepsTitle}</h2><ol>${steps}</ol>`
    : html`${lastOf(`${base}/inbox`, texts.received, received)}${lastOf(`${base}/sent`, texts.sent, sent)}`
}`;
  return page(texts.title, main, { current: 'overview' });
};

export const overviewRoutes = [get('/', show)];
