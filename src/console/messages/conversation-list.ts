import { type Html, html } from '../../base/html.ts';
import {
  type Conversation,
  type ConversationPosition,
  type Conversations,
  LOOKED_AT_MAX,
} from '../../domain/search/conversations.ts';
import { contactNames } from '../contacts/contact-names.ts';
import { grouped } from '../counts.ts';
import { icon } from '../icons.ts';
import { addressWith, tabs } from '../lists.ts';
import { type PageRequest, page, type View } from '../page-request.ts';
import { empty, face, linkButton, unreadBadge } from '../parts.ts';
import { listTime, messageText, nameOr, zoneName } from '../words.ts';
import { statusLook, statusWords } from './status-cell.ts';

/** The list of conversations, alone or beside one of them. */

const texts = {
  list: 'Conversations',
  all: 'All conversations',
  noneYet: 'No conversation yet.',
  noneYetHint: 'It begins with the first message that you send or receive.',
  choose: 'Choose a conversation',
  chooseHint: 'Its messages appear here.',
  write: 'New message',
  show: 'Which conversations',
  shows: [
    ['', 'All'],
    ['unread', 'Unread'],
    ['unanswered', 'Unanswered'],
    ['failed', 'Failed'],
  ],
  noMatch: {
    unread: 'Everything is read.',
    unanswered: 'Everybody has an answer.',
    failed: 'No conversation ends with a message that failed.',
  },
  noMatchHint: 'Choose All to see every conversation.',
  onlyUnnamed: 'No conversation has unread messages.',
  onlyUnnamedHint: (inbox: string) => html`Unread messages without a number are in the <a href="${inbox}">Inbox</a>.`,
  cut: html`The newest ${grouped(LOOKED_AT_MAX)} unread messages were looked through.`,
  further: 'Look further back',
  older: 'Earlier conversations',
  newest: 'Newest conversations',
  zone: (zone: string) => `All times ${zone}`,
} as const;

const LISTED = 40;
async function listItems(
  request: PageRequest,
  conversations: readonly Conversation[],
  current: string | null,
): Promise<Html[]> {
  const { base, zone, now, query } = request;
  const names = await contactNames(
    request,
    conversations.map(({ number }) => number),
  );
  return conversations.map(({ number, lastAt, last, unread }) => {
    const name = names(number);
    const status = last?.kind === 'sent' ? (last.status ?? '') : null;
    const [tone, shape] = statusLook(status ?? '', last?.isDeletedByCarrier);
    const state =
      status === null
        ? ''
        : html`<span class="${tone === 'bad' ? 'bad' : ''}">${icon(shape)}<span class="unseen">${statusWords(status, last?.isDeletedByCarrier)}: </span></span>`;
    return html`<li data-key="${number}"><a href="${addressWith({ path: `${base}/conversation`, query }, { with: number, list: null, until: null, template: null })}"${unread > 0 ? html` class="fresh"` : ''}${number === current ? html` aria-current="true"` : ''}>${face(name)}<span class="name">${nameOr(name, number)}</span>${listTime(lastAt, zone, now)}<span class="text">${state}<span class="one" dir="auto">${messageText(last?.text ?? null, 80)}</span></span><span class="end">${unreadBadge(BigInt(unread))}</span></a></li>`;
  });
}

const LIST_POSITION = /^(-?\d{1,16})\.(.{1,100})$/s;

/** The choice of the tabs above the list. */
const shownOf = ({ query }: PageRequest) =>
  (['unread', 'unanswered', 'failed'] as const).find((each) => each === query.get('show'));

function conversationsOf(request: PageRequest, after?: ConversationPosition): Promise<Conversations> {
  const { domain, account } = request;
  const shown = shownOf(request);
  return domain.conversations.list(account.id, LISTED, after, shown);
}

/** What a list without conversations says. */
async function noneOf(request: PageRequest, isCut: boolean): Promise<Html> {
  const { domain, account, base } = request;
  const shown = shownOf(request);
  if (!shown) return empty(texts.noneYet, texts.noneYetHint, '', 'chat');
  if (shown === 'unread' && !isCut && (await domain.received.countUnread(account.id)) > 0n) {
    return empty(texts.onlyUnnamed, texts.onlyUnnamedHint(`${base}/inbox?state=unread`), '', 'search');
  }
  return empty(isCut ? texts.cut : texts.noMatch[shown], texts.noMatchHint, '', 'search');
}

/** The list at the left, or alone on a phone. */
export async function listPane(request: PageRequest, current: string | null): Promise<Html> {
  const { base, query, zone, now } = request;
  const [, at, number] = LIST_POSITION.exec(query.get('list') ?? '') ?? [];
  const after = number === undefined ? undefined : { at: Number(at), number };
  const shown = shownOf(request);
  const { conversations, next, isCut } = await conversationsOf(request, after);
  const items = await listItems(request, conversations, current);
  const title = current === null ? html`<h1>${texts.list}</h1>` : html`<h2 class="t">${texts.list}</h2>`;
  const choice = { path: `${base}/conversations`, query: new URLSearchParams(shown && { show: shown }) };
  const older = next && addressWith(request, { list: `${next.at}.${next.number}` });
  const back = after ? linkButton(addressWith(request, { list: null }), texts.newest, { icon: 'left', look: 's' }) : '';
  const live = after ? '' : html` data-live="${addressWith(choice, { part: 'rows' })}" data-mode="replace"`;
  return html`<section class="talk-list" aria-label="${texts.list}"><div class="list-head"><div class="row">${title}<span class="zone-line">${texts.zone(zoneName(zone, now))}</span></div>${tabs(choice, { name: 'show', label: texts.show, choices: texts.shows })}</div>
<div class="scroll" tabindex="0" role="region" aria-label="${texts.all}">${items.length === 0 ? await noneOf(request, isCut) : ''}<ul class="list"${live}>${items}</ul>${
    older || back
      ? html`${isCut && items.length > 0 ? html`<p class="in small quiet">${texts.cut}</p>` : ''}<nav class="pager in" aria-label="${texts.list}"><span class="row">${back}</span><span class="row">${older ? linkButton(older, isCut ? texts.further : texts.older, { look: 's' }) : ''}</span></nav>`
      : ''
  }</div></section>`;
}

/** Conversations as the overview shows them. */
export const conversationItems = (request: PageRequest, conversations: readonly Conversation[]): Promise<Html[]> =>
  listItems(request, conversations, null);

export const showList = async (request: PageRequest): Promise<View> => {
  const { query, domain, account, base } = request;
  await domain.search.isComplete(account.id);
  if (query.get('part') === 'rows') {
    const { conversations } = await conversationsOf(request);
    return { kind: 'fragment', html: html`${await listItems(request, conversations, null)}` };
  }
  const step = linkButton(`${base}/compose`, texts.write, { icon: 'pen' });
  const main = html`${await listPane(request, null)}<section class="talk-thread" aria-label="${texts.choose}">${empty(texts.choose, texts.chooseHint, step, 'chat')}</section>`;
  return page(texts.list, main, { current: 'conversations', layout: 'talk' });
};
