import { type Html, html } from '../../base/html.ts';
import { isNumber } from '../../domain/search/query.ts';
import type { FoundContact, FoundMessage, Position } from '../../domain/search/search.ts';
import { e164 } from '../../sms/numbers.ts';
import { contactNames, conversationWith } from '../contacts/contact-names.ts';
import { addressWith, table } from '../lists.ts';
import { get, type PageRequest, page, type View } from '../page-request.ts';
import { acts, chip, empty, head, linkButton, note, panel, person } from '../parts.ts';
import { listTexts } from '../texts.ts';
import { type Cell, clamped, telephone, time } from '../words.ts';
import { statusCell } from './status-cell.ts';

/** People and messages by name, number, words, reference or id. */

const texts = {
  title: (words: string) => `“${words}”`,
  plainTitle: 'Search',
  lead: 'People, and received, sent and scheduled messages, of all time',
  people: 'People',
  peopleColumns: ['Person', ''],
  messages: 'Messages',
  columns: ['Person', 'Text', 'State', 'When'],
  received: 'Received',
  unread: 'Received, unread',
  scheduled: 'Scheduled',
  write: 'Conversation',
  edit: 'Contact',
  none: (words: string) => `Nothing was found for “${words}”.`,
  noneHint:
    'All contacts and all received, sent and scheduled messages were looked through. Try fewer words, or only the beginning of a name.',
  nothing: 'What are you looking for?',
  nothingHint:
    'A first name or surname, a number in any spelling or its last four digits, words of a message, a reference, or the id of a message.',
  cut: 'Many messages have one of these words. All of the words were looked for in the newest ones so far.',
  goOn: 'Look further back',
  later: 'Later messages',
  earlier: 'Earlier messages',
  first: 'Newest messages',
  withNumber: (number: string) => html`Write to ${telephone(number)}`,
} as const;

const LENGTH_MAX = 200;
const POSITION = /^(-?\d{1,16})\.(\d)\.(-?\d{1,19})$/;

/** A position in a list of messages as the address has it. */
export function readPosition(text: string | null): Position | undefined {
  const [, at, kind, id] = POSITION.exec(text ?? '') ?? [];
  return id === undefined ? undefined : { at: Number(at), kind: Number(kind), id: BigInt.asIntN(64, BigInt(id)) };
}
export const writePosition = ({ at, kind, id }: Position): string => `${at}.${kind}.${id}`;

const KINDS = { received: 1, sent: 2, scheduled: 3 } as const;

/** Where a message is read: in its conversation, at its place. */
function placeOf(base: string, { kind, id, at, number }: FoundMessage): string | null {
  if (kind === 'scheduled') return `${base}/messages/${id}`;
  if (number === null || number === '') return kind === 'sent' ? `${base}/messages/${id}` : null;
  return `${conversationWith(base, number)}&until=${writePosition({ at, kind: KINDS[kind], id })}`;
}

function stateOf({ kind, status, isDeletedByCarrier, isUnread, id }: FoundMessage, base: string): Cell {
  if (kind === 'received') return chip('', 'chat', isUnread ? texts.unread : texts.received);
  if (kind === 'scheduled') return chip('wait', 'calendar', texts.scheduled);
  return {
    ...html`<a href="${base}/messages/${id.toString()}">${statusCell(status, isDeletedByCarrier)}</a>`,
    kind: 'chip',
  };
}

function peopleOf({ base }: PageRequest, contacts: readonly FoundContact[]): Html {
  const rows = contacts.map(({ id, name, number }) => ({
    key: id.toString(),
    cells: [
      person(
        number,
        name === '' ? null : name,
        number === null ? `${base}/contacts/${id}` : conversationWith(base, number),
      ),
      acts(linkButton(`${base}/contacts/${id}`, texts.edit, { icon: 'pen', look: 's', about: name })),
    ],
  }));
  const content = table({ caption: texts.people, columns: texts.peopleColumns, rows });
  return panel({ title: texts.people, content, isFlush: true });
}

async function messagesOf(request: PageRequest, messages: readonly FoundMessage[]): Promise<Html> {
  const { base, zone } = request;
  const names = await contactNames(
    request,
    messages.map(({ number }) => number),
  );
  const rows = messages.map((each) => ({
    key: `${each.kind}${each.id}`,
    cells: [
      person(each.number, names(each.number), placeOf(base, each)),
      clamped(each.text),
      stateOf(each, base),
      time(each.at, zone),
    ],
  }));
  return panel({
    title: texts.messages,
    content: table({ caption: texts.messages, columns: texts.columns, rows }),
    isFlush: true,
  });
}

const show = async (request: PageRequest): Promise<View> => {
  const { query, domain, account, base } = request;
  const words = (query.get('q') ?? '').trim().slice(0, LENGTH_MAX);
  if (words === '') {
    const main = html`${head(texts.plainTitle)}${empty(texts.nothing, texts.nothingHint, '', 'search')}`;
    return page(texts.plainTitle, main, { current: 'search' });
  }
  const after = readPosition(query.get('after'));
  const isComplete = await domain.search.isComplete(account.id);
  const contacts = after ? [] : await domain.search.contacts(account.id, words);
  const { messages, next, isCut, isTooShort } = await domain.search.messages(account.id, words, after);
  const found = contacts.length + messages.length > 0;
  const number = isNumber(words) ? e164(words, await domain.region(account.id)) : null;
  const write = number && linkButton(conversationWith(base, number), texts.withNumber(number), { icon: 'chat' });
  const notes = html`${isComplete ? '' : note('wait', listTexts.notIndexed)}${isTooShort ? note('wait', listTexts.tooShort, 'search') : ''}${isCut ? note('wait', texts.cut, 'search') : ''}`;
  const nothing =
    isComplete && !isCut && !isTooShort && !after
      ? empty(texts.none(words), texts.noneHint, write ?? '', 'search')
      : '';
  const main = html`${head(html`<bdi>${texts.title(words)}</bdi>`, texts.lead, found && contacts.length === 0 ? (write ?? '') : '')}${notes}
${contacts.length > 0 ? peopleOf(request, contacts) : ''}${messages.length > 0 ? await messagesOf(request, messages) : ''}${found ? '' : nothing}${pages(request, next, isCut)}`;
  return page(texts.title(words), main, { current: 'search' });
};

function pages(request: PageRequest, next: Position | null, isCut: boolean): Html {
  const back = request.query.has('after')
    ? linkButton(addressWith(request, { after: null }), texts.first, { icon: 'left', look: 's' })
    : '';
  const on =
    next === null
      ? ''
      : linkButton(addressWith(request, { after: writePosition(next) }), isCut ? texts.goOn : texts.earlier, {
          icon: 'right',
          look: 's',
        });
  return back === '' && on === ''
    ? html``
    : html`<nav class="pager" aria-label="${texts.messages}"><span class="row">${back}</span><span class="row">${on}</span></nav>`;
}

export const searchRoutes = [get('/search', show)];
