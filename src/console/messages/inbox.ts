import { type Html, html } from '../../base/html.ts';
import { isInSnapshot, snapshotOf } from '../../domain/accounts/ids.ts';
import type { InboxMessage } from '../../domain/messages/received.ts';
import type { Found } from '../../domain/search/of-kind.ts';
import { inboxExport } from '../../operator/actions/contacts/files.ts';
import { inboxChangeMany } from '../../operator/actions/messages/many-messages.ts';
import type { Cursor } from '../../store/cursor.ts';
import { inboxCsv } from '../../transfer/contact-csv.ts';
import { actOnRows, idBatches, selectableList } from '../bulk.ts';
import { contactNames, withLink } from '../contacts/contact-names.ts';
import { counted } from '../counts.ts';
import { addressWith, hidden, listWords, noticeOf, pager, type Row, tableRows } from '../lists.ts';
import { get, type PageRequest, page, post, type View } from '../page-request.ts';
import { button, head, linkButton } from '../parts.ts';
import { justAfter, justBefore, readCursor, type Scanned, scan, scanFound } from '../scan.ts';
import { frameTexts, listTexts } from '../texts.ts';
import { clamped, telephone, time } from '../words.ts';
import {
  COUNTED_MAX,
  countSaid,
  filteredDownload,
  filteredList,
  filterForm,
  isFilter,
  isSearch,
  keptFilter,
  type MessageFilter,
  missingNote,
  readFilter,
  searchOf,
} from './message-filter.ts';

/** Received messages: filter, search, mark, delete, reply. */

const texts = {
  title: 'Inbox',
  columns: ['From', 'Text', 'To', 'Received'],
  search: 'Search in senders and texts',
  state: 'State',
  states: [
    ['', 'All'],
    ['unread', 'Unread, oldest first'],
  ] as readonly (readonly [string, string])[],
  from: 'From day',
  to: 'To day',
  read: 'Mark read',
  unread: 'Mark unread',
  delete: 'Delete',
  message: (sender: string) => `the message of ${sender}`,
  empty: 'No message has arrived yet.',
  emptyHint: 'Messages that people send to your numbers appear here. Begin with a message to yourself.',
  write: 'New message',
  undo: 'Undo',
  noMatch: 'No message matches.',
  noMatchHint: 'Shorten the search, or choose a longer time.',
  deleteQuestion: (count: number) => html`Delete ${counted(count, 'received message')}? This cannot be undone.`,
  deleteSubmit: (count: number) => html`Delete ${counted(count, 'message')}`,
  acting: 'Working on received messages',
  notices: {
    nothing: { nothingDone: 'Nothing was selected, so nothing was done.' },
    notWhole: listTexts.notWhole,
    read: (count: bigint) => html`Marked ${counted(count, 'message')} as read.`,
    unread: (count: bigint) => html`Marked ${counted(count, 'message')} as unread.`,
    delete: (count: bigint) =>
      html`Deleted ${counted(count, 'message')}. Messages that were deleted before are not counted.`,
  },
} as const;

const NO_TEXTS = { sender: null, text: null, shortCode: null };
const isUnread = ({ state }: MessageFilter): boolean => state === 'unread';

/** Unread messages have an index of their own, oldest first; all are listed newest first. */
async function scanInbox(
  { domain, account }: PageRequest,
  filter: MessageFilter,
  searched: Found<InboxMessage> | null,
  after: Cursor | undefined,
  rowsMax?: number,
): Promise<Scanned<InboxMessage>> {
  const { from, to } = filter;
  const last = (cursor: Cursor | undefined) => cursor && { ...NO_TEXTS, receivedAt: cursor.at, id: cursor.id };
  const shared = {
    cursorOf: ({ receivedAt, id }: InboxMessage) => ({ at: receivedAt, id }),
    ...(rowsMax === undefined ? {} : { rowsMax }),
  };
  if (searched) {
    return scanFound<InboxMessage>({
      ...shared,
      found: searched,
      order: isUnread(filter) ? 'oldest' : 'newest',
      isWanted: isUnread(filter) ? ({ read }) => !read : undefined,
      range: filter,
      after,
    });
  }
  if (isUnread(filter)) {
    return scan<InboxMessage>({
      ...shared,
      page: async (limit, cursor) =>
        (await domain.received.unread(account.id, limit, last(cursor))).map((each) => ({ ...each, read: false })),
      isBeyond: to === null ? undefined : ({ receivedAt }) => receivedAt >= to,
      after: after ?? justBefore(from),
    });
  }
  return scan<InboxMessage>({
    ...shared,
    page: (limit, cursor) => domain.received.newest(account.id, limit, last(cursor)),
    isBeyond: from === null ? undefined : ({ receivedAt }) => receivedAt < from,
    after: after ?? justAfter(to),
  });
}

async function rowsOf(request: PageRequest, messages: readonly InboxMessage[]): Promise<Row[]> {
  const { base, zone } = request;
  const names = await contactNames(
    request,
    messages.map(({ sender }) => sender),
  );
  return messages.map(({ id, sender, text, shortCode, receivedAt, read }) => ({
    key: id.toString(),
    name: texts.message(names(sender) ?? sender ?? '?'),
    cells: [
      withLink(base, sender, names),
      clamped(text),
      html`${shortCode ? telephone(shortCode) : ''}`,
      time(receivedAt, zone),
    ],
    fresh: read ? undefined : frameTexts.unread,
  }));
}

/** Counts the messages of a state. */
async function countOf({ domain, account }: PageRequest, filter: MessageFilter): Promise<number> {
  const unread = await domain.received.countUnread(account.id);
  return Number(isUnread(filter) ? unread : unread + (await domain.received.countRead(account.id)));
}

/** How many match, for the choice of all. */
async function allSaid(
  request: PageRequest,
  filter: MessageFilter,
  searched: Found<InboxMessage> | null,
  shown: Scanned<InboxMessage>,
): Promise<Html> {
  if (!isSearch(filter)) return listTexts.onAll(await countOf(request, filter));
  const isWhole = shown.next === null && !request.query.has('after');
  return listTexts.onAll(
    countSaid(isWhole ? shown : await scanInbox(request, filter, searched, undefined, COUNTED_MAX)),
  );
}

const show = async (request: PageRequest): Promise<View> => {
  const { query, services, account, base } = request;
  const filter = readFilter(request, texts, (name) => query.get(name) ?? '');
  const snapshot = await snapshotOf(services.database, account.id, 'message');
  const { found: searched, missing } = await searchOf(request, filter, request.domain.search.received);
  const found = await scanInbox(request, filter, searched, readCursor(query.get('after')));
  const rows = await rowsOf(request, found.rows);
  if (query.get('part') === 'rows') return { kind: 'fragment', html: html`${tableRows(texts.columns, rows, true)}` };
  // New rows appear at the top only if the newest are first.
  const isLive = !query.has('after') && filter.q === '' && !isUnread(filter);
  const list = selectableList({
    texts: listWords(texts, missing === null && !found.isCut),
    action: `${base}/inbox`,
    rows,
    isFiltered: isFilter(filter),
    all: rows.length === 0 || missing !== null ? null : await allSaid(request, filter, searched, found),
    snapshot,
    kept: keptFilter(request),
    buttons: html`${button(texts.read, { act: 'read', look: 's' })}${button(texts.unread, { act: 'unread', look: 's' })}
${button(texts.delete, { act: 'delete', look: 's danger' })}`,
    step: linkButton(`${base}/compose`, texts.write, { icon: 'pen' }),
    live: isLive ? { url: addressWith(request, { part: 'rows' }), mode: 'hold' } : undefined,
  });
  const main = html`${head(texts.title)}${noticeOf(request, texts.notices, undoForm(request))}${filterForm(request, texts)}${missingNote({ missing })}${list}${pager(request, found)}`;
  return page(texts.title, main, { current: 'inbox' });
};

/** Takes back that messages were marked. Their ids are in the address, if they are few. */
function undoForm({ query, base }: PageRequest): Html {
  const opposite = { read: 'unread', unread: 'read' }[query.get('notice') ?? ''];
  const ids = (query.get('undo') ?? '').split('.').filter((id) => /^-?\d{1,19}$/.test(id));
  if (opposite === undefined || ids.length === 0) return html``;
  const fields = html`${hidden({ act: opposite })}${ids.map((id) => hidden({ id }))}`;
  return html`<form method="post" action="${base}/inbox">${fields}<button>${texts.undo}</button></form>`;
}

const CHANGES = ['read', 'unread', 'delete'] as const;

const act = async (request: PageRequest): Promise<View> => {
  const { form, account, base } = request;
  const change = CHANGES.find((each) => each === form.text('act')) ?? 'read';
  const filter = readFilter(request, texts, (name) => form.raw(name));
  const params = { username: account.username };
  const ask = (total: number) => ({ question: texts.deleteQuestion(total), submit: texts.deleteSubmit(total) });
  return actOnRows(request, {
    title: texts.acting,
    back: filteredList(`${base}/inbox`, request),
    action: `${base}/inbox`,
    current: 'inbox',
    notice: change,
    ...(change === 'delete' ? { ask } : { canUndo: true }),
    act: async (ids) => (await request.act.run(inboxChangeMany, { params, body: { ids, change } })).done,
    all: async (snapshot) => {
      const { found, missing } = await searchOf(request, filter, request.domain.search.received);
      return {
        isWhole: missing === null,
        batches: () => idBatches((after, rowsMax) => scanInbox(request, filter, found, after, rowsMax), snapshot),
        ...(isSearch(filter) ? {} : { count: () => countWithin(request, filter, snapshot) }),
      };
    },
  });
};

const LOOKED_AT = 1_000;

/** Subtracts messages that came after the snapshot from the present count. */
async function countWithin(request: PageRequest, filter: MessageFilter, snapshot: bigint): Promise<number> {
  const newest = await request.domain.received.newest(request.account.id, LOOKED_AT);
  const later = newest.filter(({ id, read }) => !isInSnapshot(snapshot, 'message', id) && !(isUnread(filter) && read));
  return Math.max(0, (await countOf(request, filter)) - later.length);
}

const csv = filteredDownload({
  fileName: 'inbox.csv',
  action: inboxExport,
  texts,
  find: ({ domain }) => domain.search.received,
  scan: scanInbox,
  write: inboxCsv,
});

export const inboxRoutes = [get('/inbox', show), post('/inbox', act), get('/inbox.csv', csv)];
