import { type Html, html } from '../../base/html.ts';
import { numberEnd, sameNumber } from '../../sms/numbers.ts';
import { contactNames } from '../contacts/contact-names.ts';
import { empty } from '../lists.ts';
import { get, type PageRequest, page, type View } from '../page-request.ts';
import { SEARCHED_ROWS_MAX, scan } from '../scan.ts';
import { messageText, time } from '../words.ts';
import { statusCell } from './status-cell.ts';

/** All messages from and to one number, by time. */

const texts = {
  title: (name: string) => `Conversation with ${name}`,
  received: 'Received',
  sent: 'Sent',
  scheduled: 'Scheduled for',
  empty: 'No message from or to this number yet.',
  emptyHint: 'Write the first one below.',
  far: 'Only the newest 20,000 messages of each direction were searched.',
  older: 'Only the newest 100 messages of each direction are shown.',
  reply: 'Your reply',
  submit: 'Check the reply',
  templates: 'Start with a template',
  use: 'Use it',
  none: 'no template',
  addContact: 'Add to contacts',
  blacklist: 'Put on the blacklist',
  noNumber: 'This sender has no number, so you cannot reply.',
} as const;

interface Said {
  readonly key: string;
  readonly at: number;
  readonly isOut: boolean;
  readonly html: Html;
}

const SHOWN_MAX = 100;
/** The page polls every few seconds, and new messages are among the newest rows. */
const POLLED_ROWS_MAX = 500;
const NO_TEXTS = { sender: null, text: null, shortCode: null };
const UNUSED = { reference: null, recipient: null, text: null, status: '', updatedAt: 0, marked: false };

async function saidBy({ domain, account, zone, query }: PageRequest, number: string) {
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
      isOut: false,
      html: html`${messageText(text)}<small>${texts.received} ${time(receivedAt, zone)}</small>`,
    })),
    ...sent.rows.map(({ id, text, sentAt, status }) => ({
      key: `out${id}`,
      at: sentAt,
      isOut: true,
      html: html`${messageText(text)}<small>${texts.sent} ${time(sentAt, zone)} · ${statusCell(status)}</small>`,
    })),
  ].sort((one, other) => one.at - other.at);
  return { said, isCut: received.isCut || sent.isCut, hasMore: received.next !== null || sent.next !== null };
}

const items = (said: readonly Said[]): Html[] =>
  said.map(
    ({ key, isOut, html: shown }) => html`<li data-key="${key}"${isOut ? html` class="out"` : ''}>${shown}</li>`,
  );

const show = async (request: PageRequest): Promise<View> => {
  const { query, base, path } = request;
  const number = (query.get('with') ?? '').slice(0, 200);
  const { said, isCut, hasMore } = await saidBy(request, number);
  if (query.get('part') === 'rows') return { kind: 'fragment', html: html`${items(said)}` };
  const name = (await contactNames(request, [number]))(number);
  const to = new URLSearchParams({ with: number }).toString();
  const title = texts.title(name ?? number);
  const main = html`<h1>${title}</h1>
${isCut ? html`<p class="note">${texts.far}</p>` : hasMore ? html`<p class="note">${texts.older}</p>` : ''}
${said.length === 0 ? empty(texts.empty, texts.emptyHint) : ''}
<ol class="conversation" data-live="${path}?${to}&#38;part=rows" data-mode="append">${items(said)}</ol>
${replyForm(request, number, await request.domain.templates.all(request.account.id, 50))}
<p class="buttons">${name === null ? html`<a href="${base}/contacts?${new URLSearchParams({ mobile: number }).toString()}#add">${texts.addContact}</a>` : ''}
<a href="${base}/blacklist?${new URLSearchParams({ number }).toString()}">${texts.blacklist}</a></p>`;
  return page(title, main, { current: 'inbox' });
};

function replyForm(
  { base, query, path }: PageRequest,
  number: string,
  templates: readonly { readonly position: bigint; readonly text: string }[],
): Html {
  if (!/\d/.test(number)) return html`<p class="note">${texts.noNumber}</p>`;
  const chosen = templates.find(({ position }) => position.toString() === query.get('template'))?.text ?? '';
  const options = templates.map(
    ({ position, text }) => html`<option value="${position.toString()}">${text.slice(0, 60)}</option>`,
  );
  const picker = html`<form method="get" action="${path}" class="filters"><input type="hidden" name="with" value="${number}">
<p><label for="template">${texts.templates}</label><select id="template" name="template"><option value="">${texts.none}</option>${options}</select></p>
<p><button>${texts.use}</button></p></form>`;
  return html`${templates.length > 0 ? picker : ''}<form method="post" action="${base}/compose/check" class="fields">
<input type="hidden" name="to" value="${number}"><p><label for="reply">${texts.reply}</label>
<textarea id="reply" name="text" required maxlength="10000" data-count="${base}/compose/count" data-output="counter">${chosen}</textarea>
<span class="hint" id="counter" aria-live="polite"></span></p>
<button class="main">${texts.submit}</button></form>`;
}

export const conversationRoutes = [get('/conversation', show)];
