import { html } from '../../base/html.ts';
import { notFound } from '../../base/problem.ts';
import type { Contact } from '../../domain/contacts/contacts.ts';
import type { LastMessage } from '../../domain/search/conversations.ts';
import type { Found } from '../../domain/search/of-kind.ts';
import type { Output } from '../../operator/action.ts';
import { contactList, type contactShow } from '../../operator/actions/contacts/contacts.ts';
import { pageQuery, type Row } from '../lists.ts';
import { searchOf } from '../messages/message-filter.ts';
import type { PageRequest } from '../page-request.ts';
import { acts, chip, linkButton, person } from '../parts.ts';
import { EXPORTED_AT_ONCE, matchingRows, PAGE_ROWS, readCursor, scanFound, writeCursor } from '../scan.ts';
import { type Cell, time } from '../words.ts';
import { conversationWith } from './contact-names.ts';

/** The contacts of a filter, as rows of a list and of a file. */

const texts = {
  openConversation: 'Conversation',
  contact: (name: string) => `the contact ${name}`,
  optedOut: 'Opted out',
  failed: 'Last one not delivered',
} as const;

export const CONTACT_COLUMNS = ['Name', 'Group', 'Last message', 'State', ''] as const;

type Shown = Output<typeof contactShow>;

export const nameOf = ({ name, surname, mobile }: Shown): string =>
  [name, surname].filter(Boolean).join(' ') || mobile || '?';

const ID = /^(?:0|-?[1-9]\d{0,18})$/;

/** The group of the filter. An invalid id in the address matches no group. */
export function groupOf({ query }: PageRequest): bigint | undefined {
  const text = query.get('group')?.trim() ?? '';
  if (text === '') return undefined;
  const id = ID.test(text) ? BigInt(text) : null;
  if (id === null || id !== BigInt.asIntN(64, id)) throw notFound('such group');
  return id;
}

/** The searched words; '' for all contacts. */
const wordsOf = ({ query }: PageRequest): string => query.get('q')?.trim() ?? '';

/** A page: the contacts that a search finds, or all of them or of a group, by their ids. */
export async function listed(request: PageRequest) {
  const { query, domain, act, account } = request;
  const { found, missing } = await searchOf(request, { q: wordsOf(request) }, domain.search.contactsWith);
  if (!found) {
    await domain.search.isComplete(account.id); // the rows show the last message
    const params = { username: account.username };
    const page = await act.run(contactList, { params, query: pageQuery(request, 'group') });
    return { ...page, missing: null, isWhole: true };
  }
  const { rows, next, isCut } = await scanned(request, found, readCursor(query.get('after')), PAGE_ROWS);
  const items = rows.map(({ id, groupId, ...contact }) => ({
    ...contact,
    id: id.toString(),
    groupId: groupId?.toString() ?? null,
  }));
  return { items, next: next && writeCursor(next), missing, isWhole: !isCut };
}

/** Contacts with these words or this number, and in the group of the filter. */
async function scanned(
  request: PageRequest,
  found: Found<Contact>,
  after: ReturnType<typeof readCursor>,
  rowsMax: number,
) {
  const group = groupOf(request);
  return scanFound<Contact>({
    found,
    order: 'oldest',
    cursorOf: ({ id }) => ({ at: 0, id }),
    isWanted: group === undefined ? undefined : ({ groupId }) => groupId === group,
    range: { from: null, to: null },
    after,
    rowsMax,
  });
}

/** The contacts of the filter in pieces, for a file. */
export async function matching(request: PageRequest, group: bigint | undefined) {
  const { found, missing } = await searchOf(request, { q: wordsOf(request) }, request.domain.search.contactsWith);
  const rows = found
    ? matchingRows((after, rowsMax) => scanned(request, found, after, rowsMax), request.signal)
    : ofGroup(request, group);
  return { rows, missing };
}

async function* ofGroup({ domain, account, signal }: PageRequest, group: bigint | undefined) {
  const filter = { group, q: undefined, mobile: undefined };
  for (let after: bigint | null = null; !signal.aborted; ) {
    const { items, next }: Awaited<ReturnType<typeof domain.contacts.list>> = await domain.contacts.list(
      account.id,
      filter,
      EXPORTED_AT_ONCE,
      after,
    );
    yield items;
    if (next === null) return;
    after = next;
  }
}

export async function rowsOf(
  { base, zone, domain, account }: PageRequest,
  items: readonly Shown[],
  groupNames: ReadonlyMap<string, string>,
): Promise<Row[]> {
  const numbers = items.flatMap(({ mobile }) => (mobile !== null && /\d/.test(mobile) ? [mobile] : []));
  const optedOut = await domain.blacklist.among(account.id, numbers);
  const last = await domain.conversations.lastOf(account.id, numbers);
  return items.map((contact) => {
    const { id, name, surname, mobile, groupId } = contact;
    const group =
      groupId === null ? html`` : html`<span class="tag"><bdi>${groupNames.get(groupId) ?? groupId}</bdi></span>`;
    const lastMessage = last.get(mobile ?? '');
    return {
      key: id,
      name: texts.contact(nameOf(contact)),
      cells: [
        person(mobile, [name, surname].filter(Boolean).join(' ') || null, `${base}/contacts/${id}`),
        group,
        time(lastMessage?.at ?? null, zone),
        stateOf(optedOut.has(mobile ?? ''), lastMessage),
        mobile
          ? acts(
              linkButton(conversationWith(base, mobile), texts.openConversation, {
                icon: 'chat',
                look: 'ghost s',
                about: nameOf(contact),
              }),
            )
          : html``,
      ],
    };
  });
}

/** What may keep a message from reaching the person. */
function stateOf(isOptedOut: boolean, last: LastMessage | undefined): Cell {
  if (isOptedOut) return chip('off', 'block', texts.optedOut);
  return last?.isFailed ? chip('bad', 'cross', texts.failed) : { ...html``, kind: 'chip' };
}
