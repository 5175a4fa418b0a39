import { BoundedMap } from '../../base/bounded-map.ts';
import { type Html, html } from '../../base/html.ts';
import type { Problem } from '../../base/problem.ts';
import { randomBytes } from '../../base/random.ts';
import type { FoundMessage, Position } from '../../domain/search/search.ts';
import { inboxChangeMany } from '../../operator/actions/messages/many-messages.ts';
import { messageSend } from '../../operator/actions/messages/sending.ts';
import { hasFields } from '../../sms/fields.ts';
import { contactNames, conversationWith } from '../contacts/contact-names.ts';
import { counted, grouped } from '../counts.ts';
import { icon } from '../icons.ts';
import { addressWith, hidden, noticeOf, problemNote, refusalOf, select, withFirstLine } from '../lists.ts';
import { get, noticed, type PageRequest, page, post, type View } from '../page-request.ts';
import { button, empty, face, fact, facts, linkButton, note } from '../parts.ts';
import { clockTime, listTime, messageText, nameOr, offsetOf, telephone, timeAs } from '../words.ts';
import { listPane, showList } from './conversation-list.ts';
import { readPosition, writePosition } from './search.ts';
import { isFailed, statusLook, statusWords } from './status-cell.ts';

/** All messages from and to one number, with the reply in place. */

const texts = {
  title: (name: string) => `Conversation with ${name}`,
  with: 'Conversation with',
  all: 'All conversations',
  messages: 'Messages, newest at the end',
  empty: 'No message from or to this number yet.',
  emptyHint: 'Write the first one below.',
  earlier: 'Show earlier messages',
  later: 'Show the newest messages',
  incomplete: 'Older messages are still being added to the index, so they may be missing here.',
  fresh: (count: number) => html`${grouped(count)} new`,
  markRead: 'Mark as read',
  you: 'You: ',
  them: (name: string) => `${name}: `,
  why: 'Why?',
  reply: 'Your reply',
  submit: 'Send',
  templates: 'Template',
  template: 'Start with a template',
  use: 'Use it',
  none: 'no template',
  details: 'Details',
  about: (name: string) => `About ${name}`,
  addContact: 'Add to contacts',
  editContact: 'Edit',
  blacklist: 'Opt out…',
  blacklistHint: (scheduled: number) =>
    scheduled === 0
      ? 'It asks first.'
      : html`It asks first. ${counted(scheduled, 'scheduled message')} would be cancelled.`,
  group: 'Group',
  delivered: 'Delivered',
  deliveredOf: (delivered: number, sent: number) => html`${grouped(delivered)} of ${grouped(sent)}`,
  next: 'Next',
  nextOf: (others: number) => html`, and ${counted(others, 'other')}`,
  wanted: 'Wants messages?',
  wants: 'Yes.',
  optedOut: 'No: the number is on the blacklist.',
  blocked: 'This number is on the blacklist, so nothing is sent to it.',
  toBlacklist: 'To the blacklist',
  noNumber: 'This sender has no number, so you cannot reply.',
  refused: 'It was not sent, and costs nothing.',
  notices: {
    sent: 'Sent. It is on its way.',
    read: (count: bigint) => html`Marked ${counted(count, 'message')} as read.`,
    held: 'Accepted, and held until an operator releases it.',
  },
} as const;

const SHOWN = 50;

const dayNames = new BoundedMap<string, string>(5_000);
/** The day of a message. Formatting takes 10 µs, so each day is formatted once. */
function dayOf(at: number, zone: string): string {
  const day = Math.floor((at + offsetOf(at, zone)) / DAY_MS);
  const key = String(day);
  const known = dayNames.get(key);
  if (known !== undefined) return known;
  const name = DAY_FORMAT.format(day * DAY_MS).replace(',', '');
  dayNames.set(key, name);
  return name;
}
const DAY_MS = 86_400_000;
const DAY_FORMAT = new Intl.DateTimeFormat('en-GB', {
  weekday: 'short',
  day: 'numeric',
  month: 'long',
  year: 'numeric',
  timeZone: 'UTC',
});

function bubble({ base, zone }: PageRequest, name: string, message: FoundMessage): Html {
  const { kind, id, text, at, status, isDeletedByCarrier } = message;
  if (kind === 'received') {
    return html`<li class="msg" data-key="in${id.toString()}"><span class="unseen">${texts.them(name)}</span><p class="bubble">${messageText(text)}</p><p class="meta">${clockTime(at, zone)}</p></li>`;
  }
  const [tone, shape] = statusLook(status ?? '', isDeletedByCarrier);
  const failed = isFailed(status ?? '') || isDeletedByCarrier === true;
  const href = `${base}/messages/${id}`;
  const state = html`<a href="${href}"${tone === '' ? '' : html` class="${tone}"`}>${icon(shape)}${statusWords(status ?? '', isDeletedByCarrier)}${failed ? html`. ${texts.why}` : ''}</a>`;
  return html`<li class="msg out${failed ? ' failed' : ''}" data-key="out${id.toString()}"><span class="unseen">${texts.you}</span><p class="bubble">${messageText(text)}</p><p class="meta">${clockTime(at, zone)} ${state}</p></li>`;
}

/** The messages in their order, with the day before the first message of each day. */
function bubbles(request: PageRequest, number: string, name: string, messages: readonly FoundMessage[]): Html[] {
  const firstUnread = messages.find(({ isUnread }) => isUnread);
  const unread = unreadLine(request, number, messages.filter(({ isUnread }) => isUnread).length);
  let last = '';
  return messages.map((message) => {
    const today = dayOf(message.at, request.zone);
    const isNew = today !== last;
    last = today;
    const day = isNew ? html`<li class="day" data-key="day${today}">${timeAs(message.at, 'day', today)}</li>` : '';
    return html`${day}${message === firstUnread ? unread : ''}${bubble(request, name, message)}`;
  });
}

/** Stands above the first unread message. To open a page changes nothing, so this has a button. */
function unreadLine({ base }: PageRequest, number: string, count: number): Html {
  return html`<li class="day row" data-key="new"><span class="badge">${texts.fresh(count)}</span><form method="post" action="${base}/conversation">${hidden({ with: number })}${button(texts.markRead, { act: 'read', look: 'ghost s', icon: 'tick' })}</form></li>`;
}

interface Typed {
  readonly text: string;
  readonly problem: Problem | string | null;
}

const show = async (request: PageRequest, typed: Typed = { text: '', problem: null }): Promise<View> => {
  const { query, domain, account, form } = request;
  const number = (query.get('with') ?? form.raw('with')).slice(0, 200);
  const isComplete = await domain.search.isComplete(account.id);
  const until = readPosition(query.get('until'));
  // The message itself is the last one that is shown.
  const before = until && { ...until, id: until.id + 1n };
  const { messages, scheduled, earlier } = await domain.conversations.thread(account.id, number, SHOWN, before);
  const name = (await contactNames(request, [number]))(number);
  const said = bubbles(request, number, name ?? number, messages);
  if (query.get('part') === 'rows') return { kind: 'fragment', html: html`${said}` };
  const isBlocked = /\d/.test(number) && (await domain.blacklist.holds(account.id, number));
  const isOld = until !== undefined;
  const view = { request, number, name, messages, scheduled, said, earlier, isComplete, isOld, isBlocked, typed };
  const key = await domain.conversations.keyOf(account.id, number);
  const main = html`${await listPane(request, key)}${await threadPane(view)}${await aboutPane(view)}`;
  const status = typed.problem === null ? {} : { status: 400 };
  return page(texts.title(name ?? number), main, { current: 'conversations', layout: 'talk open', ...status });
};

interface ThreadView {
  readonly request: PageRequest;
  readonly number: string;
  readonly name: string | null;
  readonly messages: readonly FoundMessage[];
  readonly scheduled: readonly FoundMessage[];
  readonly said: readonly Html[];
  readonly earlier: Position | null;
  readonly isComplete: boolean;
  readonly isOld: boolean;
  readonly isBlocked: boolean;
  readonly typed: Typed;
}

async function threadPane(view: ThreadView): Promise<Html> {
  const { request, number, name, messages, said, earlier, isComplete, isOld, typed } = view;
  const { base } = request;
  const path = `${base}/conversation`;
  const to = new URLSearchParams({ with: number });
  const here = { path, query: to };
  const shownName = name ?? number;
  const before =
    earlier === null
      ? ''
      : html`<li class="day"><a href="${addressWith(here, { until: writePosition({ ...earlier, id: earlier.id - 1n }) })}">${texts.earlier}</a></li>`;
  const later = isOld ? html`<li class="day"><a href="${addressWith(here, {})}">${texts.later}</a></li>` : '';
  const live = isOld ? '' : html` data-live="${path}?${to.toString()}&#38;part=rows" data-mode="append"`;
  const notes = html`${noticeOf(request, texts.notices)}${isComplete ? '' : note('wait', texts.incomplete)}${
    typed.problem === null
      ? ''
      : typeof typed.problem === 'string'
        ? note('bad', html`<p>${typed.problem} ${texts.refused}</p>`)
        : problemNote(typed.problem)
  }`;
  return html`<section class="talk-thread" aria-label="${texts.title(shownName)}"><header class="thread-head"><a class="btn ghost s back" href="${addressWith({ path: `${base}/conversations`, query: request.query }, { with: null, until: null, template: null })}">${icon('left')}<span class="unseen">${texts.all}</span></a>${face(name)}<div><h1><span class="unseen">${texts.with} </span>${nameOr(name, number)}</h1>${name === null ? '' : html`<p class="small quiet one">${telephone(number)}</p>`}</div><a class="btn s to-about" href="#about">${icon('info')}<span class="lbl">${texts.details}</span></a></header>
${notes}${messages.length === 0 ? empty(texts.empty, texts.emptyHint, '', 'chat') : ''}
<div class="scroll thread" tabindex="0" role="region" aria-label="${texts.messages}"><ol${live}>${before}${said}${later}</ol></div>
${await replyForm(view)}</section>`;
}

/** A text with fields, such as a template, is filled from the contact. */
const contentOf = (text: string) => (hasFields(text) ? { template: text, fromContacts: true } : { text });

async function replyForm({ request, number, isBlocked, typed }: ThreadView): Promise<Html> {
  const { base, query } = request;
  if (!/\d/.test(number)) return note('', texts.noNumber);
  if (isBlocked)
    return note('', html`<p>${texts.blocked} <a href="${base}/blacklist">${texts.toBlacklist}</a></p>`, 'block');
  const templates = await request.domain.templates.all(request.account.id, 50);
  const chosen = templates.find(({ position }) => position.toString() === query.get('template'))?.text ?? '';
  const choices = templates.map(({ position, text }) => [position.toString(), text.slice(0, 60)] as const);
  const picker = html`<form method="get" action="${base}/conversation"><input type="hidden" name="with" value="${number}"><details class="menu up"><summary class="btn ghost s">${icon('page')}${texts.templates}</summary><div class="stack tight">
${select({ name: 'template', label: texts.template, value: '', choices: [['', texts.none], ...choices] })}<button class="btn s">${texts.use}</button></div></details></form>`;
  const key = randomBytes(16).toString('hex');
  return html`<div class="reply"><form class="stack tight" id="reply-form" method="post" action="${base}/conversation"><input type="hidden" name="with" value="${number}"><input type="hidden" name="key" value="${key}">
<div class="field"><label class="unseen" for="reply">${texts.reply}</label><textarea id="reply" name="text" rows="2" required maxlength="10000" placeholder="${texts.reply}" data-count="${base}/compose/count" data-output="counter" data-quick>${withFirstLine(typed.text || chosen)}</textarea></div></form>
<div class="row">${templates.length > 0 ? picker : ''}<span class="count" id="counter" aria-live="polite"></span><button class="btn primary push" form="reply-form">${icon('send')}${texts.submit}</button></div></div>`;
}

/** Who it is, at the right, or behind a link where there is little room. */
async function aboutPane(view: ThreadView): Promise<Html> {
  const { request, number, name } = view;
  const { base, domain, account } = request;
  const isNumber = /\d/.test(number);
  const [found] = isNumber ? await domain.search.contacts(account.id, number) : [];
  const contact = found ? await domain.contacts.contact(account.id, found.id).catch(() => null) : null;
  const noted = contact?.note ? note('', html`<p dir="auto">${messageText(contact.note)}</p>`, 'page') : '';
  const edit = contact
    ? linkButton(`${base}/contacts/${contact.id}`, texts.editContact, { icon: 'pen', look: 's' })
    : linkButton(`${base}/contacts?${new URLSearchParams({ mobile: number })}#add`, texts.addContact, {
        icon: 'plus',
        look: 's',
      });
  return html`<aside class="about" id="about" aria-label="${texts.about(name ?? number)}"><header>${face(name, ' big')}<h2>${nameOr(name, number)}</h2>${name === null ? '' : html`<p class="quiet small">${telephone(number)}</p>`}<div class="row">${edit}<span hidden data-copy>${number}</span></div></header>${noted}
${await factsOf(view, contact?.groupId ?? null)}${isNumber ? wantsMessages(view) : ''}</aside>`;
}

async function factsOf({ request, messages, scheduled }: ThreadView, groupId: bigint | null): Promise<Html> {
  const { base, domain, account, zone, now } = request;
  const group = groupId === null ? null : await domain.contacts.group(account.id, groupId).catch(() => null);
  const sent = messages.filter(({ kind }) => kind === 'sent');
  const delivered = sent.filter(({ status }) => status === 'DELIVERED').length;
  const next = scheduled.at(-1);
  const others = scheduled.length > 1 ? texts.nextOf(scheduled.length - 1) : '';
  return facts([
    group
      ? fact(
          texts.group,
          html`<a class="tag" href="${base}/contacts?group=${String(group.id)}"><bdi>${group.name ?? String(group.id)}</bdi></a>`,
        )
      : '',
    sent.length > 0 ? fact(texts.delivered, texts.deliveredOf(delivered, sent.length)) : '',
    next
      ? fact(
          texts.next,
          html`<a href="${base}/messages/${next.id.toString()}"><span class="clamp" dir="auto">${messageText(next.text, 80)}</span></a> ${listTime(next.at, zone, now)}${others}`,
        )
      : '',
  ]);
}

function wantsMessages({ request: { base }, number, scheduled, isBlocked }: ThreadView): Html {
  const block = linkButton(`${base}/blacklist?${new URLSearchParams({ number })}#add`, texts.blacklist, {
    icon: 'block',
    look: 's danger',
  });
  const content = isBlocked
    ? html`<p class="small"><span class="bad">${icon('block')}</span> ${texts.optedOut}</p>${linkButton(`${base}/blacklist`, texts.toBlacklist, { look: 's' })}`
    : html`<p class="small"><span class="good">${icon('tick')}</span> ${texts.wants}</p><div>${block}</div><p class="hint">${texts.blacklistHint(scheduled.length)}</p>`;
  return html`<div class="stack tight"><h3>${texts.wanted}</h3>${content}</div>`;
}

/** Marks what the number has sent as read, and returns how much that was. */
async function markRead({ domain, account, act }: PageRequest, number: string): Promise<bigint> {
  const ids = (await domain.conversations.unreadIds(account.id, number)).slice(0, CHANGED_MAX).map(String);
  if (ids.length === 0) return 0n;
  const given = { params: { username: account.username }, body: { ids, change: 'read' as const } };
  await act.run(inboxChangeMany, given);
  return BigInt(ids.length);
}
const CHANGED_MAX = 500;

/** Sends at once: for one recipient there is nothing to check that the reply does not say. */
const reply = async (request: PageRequest): Promise<View> => {
  const { form, account, base } = request;
  const number = form.raw('with').slice(0, 200);
  if (form.text('act') === 'read')
    return noticed(conversationWith(base, number), 'read', await markRead(request, number));
  const text = form.raw('text');
  const again = (problem: Problem | string) => show(request, { text, problem });
  try {
    const sent = await request.act.once(
      form.text('key'),
      messageSend,
      { params: { username: account.username }, body: { recipients: [number], ...contentOf(text) } },
      ({ accepted, refused }) => ({
        isHeld: accepted[0]?.heldBy !== undefined,
        refused: accepted.length === 0 ? (refused[0]?.detail ?? texts.refused) : null,
      }),
    );
    if (sent.refused !== null) return again(sent.refused);
    await markRead(request, number);
    return noticed(conversationWith(base, number), sent.isHeld ? 'held' : 'sent');
  } catch (thrown) {
    return again(refusalOf(thrown));
  }
};

export const conversationRoutes = [
  get('/conversations', showList),
  get('/conversation', (request) => show(request)),
  post('/conversation', reply),
];
