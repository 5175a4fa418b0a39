import { type Html, html } from '../../base/html.ts';
import type { Problem } from '../../base/problem.ts';
import { randomBytes } from '../../base/random.ts';
import type { Conversation } from '../../domain/search/conversations.ts';
import type { FoundMessage, Position } from '../../domain/search/search.ts';
import { inboxChangeMany } from '../../operator/actions/messages/many-messages.ts';
import { messageSend } from '../../operator/actions/messages/sending.ts';
import { hasFields } from '../../sms/fields.ts';
import { contactNames, conversationWith } from '../contacts/contact-names.ts';
import { icon } from '../icons.ts';
import { addressWith, noticeOf, problemNote, refusalOf, select, withFirstLine } from '../lists.ts';
import { get, noticed, type PageRequest, page, post, type View } from '../page-request.ts';
import { empty, face, fact, facts, linkButton, note, unreadBadge } from '../parts.ts';
import { messageText, time, zoneName } from '../words.ts';
import { readPosition, writePosition } from './search.ts';
import { isFailed, statusLook, statusWords } from './status-cell.ts';

/** Conversations: their list, and all messages from and to one number, with the reply in place. */

const texts = {
  title: (name: string) => `Conversation with ${name}`,
  with: 'Conversation with',
  list: 'Conversations',
  all: 'All conversations',
  messages: 'Messages, newest at the end',
  empty: 'No message from or to this number yet.',
  emptyHint: 'Write the first one below.',
  noneYet: 'No conversation yet.',
  noneYetHint: 'It begins with the first message that you send or receive.',
  choose: 'Choose a conversation',
  chooseHint: 'Its messages appear here.',
  write: 'New message',
  earlier: 'Show earlier messages',
  later: 'Show the newest messages',
  older: 'Earlier conversations',
  newest: 'Newest conversations',
  incomplete: 'Older messages are still being added to the index, so they may be missing here.',
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
  number: 'Number',
  shown: 'Messages shown',
  unread: 'Unread',
  noNumber: 'This sender has no number, so you cannot reply.',
  refused: 'It was not sent, and costs nothing.',
  zone: (zone: string) => `All times ${zone}`,
  notices: {
    sent: 'Sent. It is on its way.',
    held: 'Accepted, and held until an operator releases it.',
  },
} as const;

const SHOWN = 50;
const LISTED = 40;

const nameOfDay = (at: number, zone: string): string =>
  new Intl.DateTimeFormat('en-GB', { weekday: 'short', day: 'numeric', month: 'long', year: 'numeric', timeZone: zone })
    .format(at)
    .replace(',', '');
const days = new Map<string, string>();
/** The day of a message in the zone; formatting takes 10 µs, so each hour is formatted once. */
function dayOf(at: number, zone: string): string {
  const key = `${zone}/${Math.floor(at / 900_000)}`;
  const known = days.get(key) ?? nameOfDay(at, zone);
  if (days.size > 5_000) days.clear();
  days.set(key, known);
  return known;
}

function bubble({ base, zone }: PageRequest, name: string, message: FoundMessage): Html {
  const { kind, id, text, at, status } = message;
  if (kind === 'received') {
    return html`<li class="msg" data-key="in${id.toString()}"><span class="unseen">${texts.them(name)}</span><p class="bubble">${messageText(text)}</p><p class="meta">${time(at, zone)}</p></li>`;
  }
  const [tone, shape] = statusLook(status ?? '');
  const failed = isFailed(status ?? '');
  const href = `${base}/messages/${id}`;
  const state = html`<a href="${href}"${tone === '' ? '' : html` class="${tone}"`}>${icon(shape)}${statusWords(status ?? '')}${failed ? html`. ${texts.why}` : ''}</a>`;
  return html`<li class="msg out${failed ? ' failed' : ''}" data-key="out${id.toString()}"><span class="unseen">${texts.you}</span><p class="bubble">${messageText(text)}</p><p class="meta">${time(at, zone)} ${state}</p></li>`;
}

/** The messages in their order, with the day before the first message of each day. */
function bubbles(request: PageRequest, name: string, messages: readonly FoundMessage[]): Html[] {
  let last = '';
  return messages.map((message) => {
    const today = dayOf(message.at, request.zone);
    const isNew = today !== last;
    last = today;
    const day = isNew ? html`<li class="day" data-key="day${today}">${today}</li>` : '';
    return html`${day}${bubble(request, name, message)}`;
  });
}

async function listItems(
  request: PageRequest,
  conversations: readonly Conversation[],
  current: string | null,
): Promise<Html[]> {
  const { base, zone } = request;
  const names = await contactNames(
    request,
    conversations.map(({ number }) => number),
  );
  return conversations.map(({ number, lastAt, last, unread }) => {
    const name = names(number);
    const status = last?.kind === 'sent' ? (last.status ?? '') : null;
    const [tone, shape] = statusLook(status ?? '');
    const state =
      status === null
        ? ''
        : html`<span class="${tone === 'bad' ? 'bad' : ''}">${icon(shape)}<span class="unseen">${statusWords(status)}: </span></span>`;
    return html`<li data-key="${number}"><a href="${conversationWith(base, number)}"${unread > 0 ? html` class="fresh"` : ''}${number === current ? html` aria-current="true"` : ''}>${face(name)}<span class="name"><bdi>${name ?? number}</bdi></span>${time(lastAt, zone)}<span class="text">${state}<span class="one" dir="auto">${messageText(last?.text ?? null, 80)}</span></span><span class="end">${unreadBadge(BigInt(unread))}</span></a></li>`;
  });
}

const LIST_POSITION = /^(-?\d{1,16})\.(.{1,100})$/s;

/** The list at the left, or alone on a phone. */
async function listPane(request: PageRequest, current: string | null): Promise<Html> {
  const { base, query, zone, now, domain, account } = request;
  const [, at, number] = LIST_POSITION.exec(query.get('list') ?? '') ?? [];
  const after = number === undefined ? undefined : { at: Number(at), number };
  const { conversations, next } = await domain.conversations.list(account.id, LISTED, after);
  const items = await listItems(request, conversations, current);
  const title = current === null ? html`<h1>${texts.list}</h1>` : html`<h2 class="t">${texts.list}</h2>`;
  const older = next && addressWith(request, { list: `${next.at}.${next.number}` });
  const back = after ? linkButton(addressWith(request, { list: null }), texts.newest, { icon: 'left', look: 's' }) : '';
  const live = after ? '' : html` data-live="${base}/conversations?part=rows" data-mode="replace"`;
  return html`<section class="talk-list" aria-label="${texts.list}"><div class="list-head"><div class="row">${title}<span class="zone-line">${texts.zone(zoneName(zone, now))}</span></div></div>
<div class="scroll" tabindex="0" role="region" aria-label="${texts.all}">${
    items.length === 0 ? empty(texts.noneYet, texts.noneYetHint, '', 'chat') : ''
  }<ul class="list"${live}>${items}</ul>${
    older || back
      ? html`<nav class="pager" aria-label="${texts.list}"><span class="row">${back}</span><span class="row">${older ? linkButton(older, texts.older, { look: 's' }) : ''}</span></nav>`
      : ''
  }</div></section>`;
}

const showList = async (request: PageRequest): Promise<View> => {
  const { query, domain, account, base } = request;
  await domain.search.isComplete(account.id);
  if (query.get('part') === 'rows') {
    const { conversations } = await domain.conversations.list(account.id, LISTED);
    return { kind: 'fragment', html: html`${await listItems(request, conversations, null)}` };
  }
  const step = linkButton(`${base}/compose`, texts.write, { icon: 'pen' });
  const main = html`${await listPane(request, null)}<section class="talk-thread" aria-label="${texts.choose}">${empty(texts.choose, texts.chooseHint, step, 'chat')}</section>`;
  return page(texts.list, main, { current: 'conversations', layout: 'talk' });
};

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
  const { messages, earlier } = await domain.conversations.thread(account.id, number, SHOWN, before);
  const name = (await contactNames(request, [number]))(number);
  const said = bubbles(request, name ?? number, messages);
  if (query.get('part') === 'rows') return { kind: 'fragment', html: html`${said}` };
  const view = { request, number, name, messages, said, earlier, isComplete, isOld: until !== undefined, typed };
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
  readonly said: readonly Html[];
  readonly earlier: Position | null;
  readonly isComplete: boolean;
  readonly isOld: boolean;
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
  return html`<section class="talk-thread" aria-label="${texts.title(shownName)}"><header class="thread-head"><a class="btn ghost s back" href="${base}/conversations">${icon('left')}<span class="unseen">${texts.all}</span></a>${face(name)}<div><h1><span class="unseen">${texts.with} </span><bdi>${shownName}</bdi></h1>${name === null ? '' : html`<p class="small quiet one"><span class="tel"><bdi>${number}</bdi></span></p>`}</div><a class="btn s to-about" href="#about">${icon('info')}<span class="lbl">${texts.details}</span></a></header>
${notes}${messages.length === 0 ? empty(texts.empty, texts.emptyHint, '', 'chat') : ''}
<div class="scroll thread" tabindex="0" role="region" aria-label="${texts.messages}"><ol${live}>${before}${said}${later}</ol></div>
${await replyForm(view)}</section>`;
}

/** A text with fields, such as a template, is filled from the contact. */
const contentOf = (text: string) => (hasFields(text) ? { template: text, fromContacts: true } : { text });

async function replyForm({ request, number, typed }: ThreadView): Promise<Html> {
  const { base, query } = request;
  if (!/\d/.test(number)) return note('', texts.noNumber);
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
async function aboutPane({ request, number, name, messages }: ThreadView): Promise<Html> {
  const { base, domain, account } = request;
  const [contact] = /\d/.test(number) ? await domain.search.contacts(account.id, number) : [];
  const kept = contact ? await domain.contacts.contact(account.id, contact.id).catch(() => null) : null;
  const noted = kept?.note ? note('', html`<p dir="auto">${messageText(kept.note)}</p>`, 'page') : '';
  const unread = messages.filter(({ isUnread }) => isUnread).length;
  const edit = contact
    ? linkButton(`${base}/contacts/${contact.id}`, texts.editContact, { icon: 'pen', look: 's' })
    : linkButton(`${base}/contacts?${new URLSearchParams({ mobile: number })}#add`, texts.addContact, {
        icon: 'plus',
        look: 's',
      });
  const block = linkButton(`${base}/blacklist?${new URLSearchParams({ number })}#add`, texts.blacklist, {
    icon: 'block',
    look: 's danger',
  });
  return html`<aside class="about" id="about" aria-label="${texts.about(name ?? number)}"><header>${face(name, ' big')}<h2><bdi>${name ?? number}</bdi></h2><p class="quiet small"><span class="tel"><bdi>${number}</bdi></span></p><div class="row">${edit}</div></header>${noted}
${facts([fact(texts.number, html`<code data-copy>${number}</code>`), fact(texts.shown, String(messages.length)), fact(texts.unread, String(unread))])}
<div>${/\d/.test(number) ? block : ''}</div></aside>`;
}

/** Sends at once: for one recipient there is nothing to check that the reply does not say. */
const reply = async (request: PageRequest): Promise<View> => {
  const { form, account, base, domain } = request;
  const number = form.raw('with').slice(0, 200);
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
    const ids = await domain.conversations.unreadIds(account.id, number);
    if (ids.length > 0) {
      const body = { ids: ids.map(String).slice(0, 500), change: 'read' as const };
      await request.act.run(inboxChangeMany, { params: { username: account.username }, body });
    }
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
