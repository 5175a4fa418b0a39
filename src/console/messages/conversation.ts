import { type Html, html } from '../../base/html.ts';
import { numberEnd, sameNumber } from '../../sms/numbers.ts';
import { contactNames } from '../contacts/contact-names.ts';
import { icon } from '../icons.ts';
import { select, withFirstLine } from '../lists.ts';
import { get, type PageRequest, page, type View } from '../page-request.ts';
import { backLink, empty, face, linkButton, note } from '../parts.ts';
import { SEARCHED_ROWS_MAX, scan } from '../scan.ts';
import { messageText, time } from '../words.ts';
import { isFailed, statusLook, statusWords } from './status-cell.ts';

/** All messages from and to one number, by time. */

const texts = {
  title: (name: string) => `Conversation with ${name}`,
  with: 'Conversation with',
  inbox: 'Inbox',
  messages: 'Messages, oldest first',
  empty: 'No message from or to this number yet.',
  emptyHint: 'Write the first one below.',
  far: 'Only the newest 20,000 messages of each direction were searched.',
  older: 'Only the newest 100 messages of each direction are shown.',
  reply: 'Your reply',
  submit: 'Check the reply',
  templates: 'Template',
  template: 'Start with a template',
  use: 'Use it',
  none: 'no template',
  addContact: 'Add to contacts',
  blacklist: 'Blacklist…',
  noNumber: 'This sender has no number, so you cannot reply.',
} as const;

interface Said {
  readonly key: string;
  readonly at: number;
  readonly look: string;
  readonly html: Html;
}

const SHOWN_MAX = 100;
/** The page polls every few seconds, and new messages are among the newest rows. */
const POLLED_ROWS_MAX = 500;
const NO_TEXTS = { sender: null, text: null, shortCode: null };
const UNUSED = { reference: null, recipient: null, text: null, status: '', updatedAt: 0, marked: false };

async function saidBy({ domain, account, zone, query, base }: PageRequest, number: string) {
  const readMax = query.has('part') ? POLLED_ROWS_MAX : SEARCHED_ROWS_MAX;
  const { ends, matches } = sameNumber(number, await domain.region(account.id));
  // Parsing a number takes 20 times as long as comparing its last digits.
  const isSame = (other: string | null) =>
    other !== null && (other === number || (ends.includes(numberEnd(other)) && matches(other)));
  const received = await scan({
    page: (limit, cursor) =>
      domain.received.newest(account.id, limit, cursor && { ...NO_TEXTS, receivedAt: cursor.at, id: cursor.id }),
    cursorOf: ({ receivedAt, id }) => ({ at: receivedAt, id }),
    isWanted: ({ sender }) => isSame(sender),
    after: undefined,
    rowsMax: SHOWN_MAX,
    readMax,
  });
  const sent = await scan({
    page: (limit, cursor) =>
      domain.sent.newest(account.id, limit, cursor && { ...UNUSED, sentAt: cursor.at, id: cursor.id }),
    cursorOf: ({ sentAt, id }) => ({ at: sentAt, id }),
    isWanted: ({ recipient }) => isSame(recipient),
    after: undefined,
    rowsMax: SHOWN_MAX,
    readMax,
  });
  const said: Said[] = [
    ...received.rows.map(({ id, text, receivedAt }) => ({
      key: `in${id}`,
      at: receivedAt,
      look: '',
      html: html`<p class="bubble">${messageText(text)}</p><p class="meta">${time(receivedAt, zone)}</p>`,
    })),
    ...sent.rows.map(({ id, text, sentAt, status }) => ({
      key: `out${id}`,
      at: sentAt,
      look: isFailed(status) ? ' out failed' : ' out',
      html: html`<p class="bubble">${messageText(text)}</p><p class="meta">${time(sentAt, zone)} <a href="${base}/messages/${id.toString()}" class="${statusLook(status)[0]}">${icon(statusLook(status)[1])}${statusWords(status)}</a></p>`,
    })),
  ].sort((one, other) => one.at - other.at);
  return { said, isCut: received.isCut || sent.isCut, hasMore: received.next !== null || sent.next !== null };
}

const items = (said: readonly Said[]): Html[] =>
  said.map(({ key, look, html: shown }) => html`<li class="msg${look}" data-key="${key}">${shown}</li>`);

const show = async (request: PageRequest): Promise<View> => {
  const { query, base, path } = request;
  const number = (query.get('with') ?? '').slice(0, 200);
  const { said, isCut, hasMore } = await saidBy(request, number);
  if (query.get('part') === 'rows') return { kind: 'fragment', html: html`${items(said)}` };
  const name = (await contactNames(request, [number]))(number);
  const to = new URLSearchParams({ with: number }).toString();
  const title = texts.title(name ?? number);
  const add = `${base}/contacts?${new URLSearchParams({ mobile: number })}#add`;
  const main = html`${backLink(`${base}/inbox`, texts.inbox)}<section class="panel">
<div class="thread-head">${face(name)}<div><h1><span class="unseen">${texts.with} </span><bdi>${name ?? number}</bdi></h1>${name === null ? '' : html`<p class="small quiet one"><span class="tel"><bdi>${number}</bdi></span></p>`}</div>
<div class="row">${name === null ? linkButton(add, texts.addContact, { icon: 'plus', look: 's' }) : ''}
${linkButton(`${base}/blacklist?${new URLSearchParams({ number })}#add`, texts.blacklist, { icon: 'block', look: 's danger' })}</div></div>
${isCut ? note('wait', texts.far) : hasMore ? note('', texts.older) : ''}
${said.length === 0 ? empty(texts.empty, texts.emptyHint, '', 'chat') : ''}
<div class="scroll thread" tabindex="0" role="region" aria-label="${texts.messages}"><ol data-live="${path}?${to}&#38;part=rows" data-mode="append">${items(said)}</ol></div>
${replyForm(request, number, await request.domain.templates.all(request.account.id, 50))}</section>`;
  return page(title, main, { current: 'inbox' });
};

function replyForm(
  { base, query, path }: PageRequest,
  number: string,
  templates: readonly { readonly position: bigint; readonly text: string }[],
): Html {
  if (!/\d/.test(number)) return note('', texts.noNumber);
  const chosen = templates.find(({ position }) => position.toString() === query.get('template'))?.text ?? '';
  const choices = templates.map(({ position, text }) => [position.toString(), text.slice(0, 60)] as const);
  const picker = html`<form method="get" action="${path}"><input type="hidden" name="with" value="${number}"><details class="menu up"><summary class="btn ghost s">${icon('page')}${texts.templates}</summary><div class="stack tight">
${select({ name: 'template', label: texts.template, value: '', choices: [['', texts.none], ...choices] })}<button class="btn s">${texts.use}</button></div></details></form>`;
  return html`<div class="reply"><form class="stack tight" id="reply-form" method="post" action="${base}/compose/check"><input type="hidden" name="to" value="${number}">
<div class="field"><label class="unseen" for="reply">${texts.reply}</label><textarea id="reply" name="text" rows="2" required maxlength="10000" placeholder="${texts.reply}" data-count="${base}/compose/count" data-output="counter">${withFirstLine(chosen)}</textarea></div></form>
<div class="row">${templates.length > 0 ? picker : ''}<span class="count" id="counter" aria-live="polite"></span><button class="btn primary push" form="reply-form">${icon('send')}${texts.submit}</button></div></div>`;
}

export const conversationRoutes = [get('/conversation', show)];
