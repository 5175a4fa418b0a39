import { html } from '../../base/html.ts';
import { isInSnapshot, snapshotOf } from '../../domain/accounts/ids.ts';
import type { InboxMessage } from '../../domain/messages/received.ts';
import { inboxChangeMany } from '../../operator/actions/batches.ts';
import { inboxExport } from '../../operator/actions/files.ts';
import type { Cursor } from '../../store/cursor.ts';
import { inboxCsv } from '../../transfer/contact-csv.ts';
import { actOnRows, idBatches, selectableList } from '../bulk.ts';
import { contactNames, withLink } from '../contact-names.ts';
import { addressWith, csvLink, noticeOf, pager, type Row, tableRows } from '../lists.ts';
import {
  filteredDownload,
  filteredList,
  filterForm,
  holdsSearch,
  isFilter,
  isSearch,
  keptFilter,
  type MessageFilter,
  readFilter,
} from '../message-filter.ts';
import { justAfter, readCursor, SEARCHED_ROWS_MAX, scan } from '../scan.ts';
import { listTexts } from '../texts.ts';
import { get, page, post, type View, type Visit } from '../visit.ts';
import { counted, messageText, time } from '../words.ts';

/** Received messages: filter, search, mark, delete, reply. */

const texts = {
  title: 'Inbox',
  columns: ['From', 'Text', 'Short code', 'Received'],
  search: 'Search in senders and texts',
  state: 'State',
  states: [
    ['', 'all, newest first'],
    ['unread', 'unread, oldest first'],
  ] as readonly (readonly [string, string])[],
  from: 'From day',
  to: 'To day',
  read: 'Mark read',
  unread: 'Mark unread',
  delete: 'Delete',
  reply: 'Reply',
  message: (sender: string) => `the message of ${sender}`,
  empty: 'No message has arrived yet.',
  emptyHint: 'Messages that people send to your numbers appear here.',
  noMatch: 'No message matches.',
  noMatchHint: 'Search for less, or for a longer time.',
  deleteQuestion: (count: number) => `Delete ${counted(count, 'received message')}? This cannot be undone.`,
  deleteSubmit: (count: number) => `Delete ${counted(count, 'message')}`,
  acting: 'Working on received messages',
  notices: {
    nothing: 'Nothing was selected, so nothing was done.',
    read: (count: bigint) => `Marked ${counted(count, 'message')} as read.`,
    unread: (count: bigint) => `Marked ${counted(count, 'message')} as unread.`,
    delete: (count: bigint) => `Deleted ${counted(count, 'message')}. Messages that were gone already are not counted.`,
  },
} as const;

const NO_TEXTS = { sender: null, text: null, shortCode: null };
const isUnread = ({ state }: MessageFilter): boolean => state === 'unread';

const wantedBy = (filter: MessageFilter) => (message: InboxMessage) =>
  holdsSearch(filter, message.receivedAt, [message.sender, message.text, message.shortCode]);

/** The unread ones have an index of their own, oldest first; all are listed newest first. */
function scanInbox({ domain, account }: Visit, filter: MessageFilter, after: Cursor | undefined, rowsMax?: number) {
  const { from, to } = filter;
  const last = (cursor: Cursor | undefined) => cursor && { ...NO_TEXTS, receivedAt: cursor.at, id: cursor.id };
  const shared = {
    cursorOf: ({ receivedAt, id }: InboxMessage) => ({ at: receivedAt, id }),
    isWanted: isSearch(filter) ? wantedBy(filter) : undefined,
    ...(rowsMax === undefined ? {} : { rowsMax }),
  };
  if (isUnread(filter)) {
    return scan<InboxMessage>({
      ...shared,
      page: async (limit, cursor) =>
        (await domain.received.unread(account.id, limit, last(cursor))).map((each) => ({ ...each, read: false })),
      isBeyond: to === null ? undefined : ({ receivedAt }) => receivedAt >= to,
      after,
    });
  }
  return scan<InboxMessage>({
    ...shared,
    page: (limit, cursor) => domain.received.newest(account.id, limit, last(cursor)),
    isBeyond: from === null ? undefined : ({ receivedAt }) => receivedAt < from,
    after: after ?? justAfter(to),
  });
}

async function rowsOf(visit: Visit, messages: readonly InboxMessage[]): Promise<Row[]> {
  const { base, zone } = visit;
  const names = await contactNames(
    visit,
    messages.map(({ sender }) => sender),
  );
  return messages.map(({ id, sender, text, shortCode, receivedAt, read }) => ({
    key: id.toString(),
    name: texts.message(names(sender) ?? sender ?? '?'),
    cells: [withLink(base, sender, names), messageText(text, 300), html`${shortCode ?? ''}`, time(receivedAt, zone)],
    isStrong: !read,
  }));
}

/** How many match: exact, as far as a search goes. */
async function countOf(visit: Visit, filter: MessageFilter): Promise<number> {
  const { domain, account } = visit;
  if (!isSearch(filter)) {
    const unread = await domain.received.countUnread(account.id);
    return Number(isUnread(filter) ? unread : unread + (await domain.received.countRead(account.id)));
  }
  return (await scanInbox(visit, filter, undefined, SEARCHED_ROWS_MAX)).rows.length;
}

const show = async (visit: Visit): Promise<View> => {
  const { query, services, account, base } = visit;
  const filter = readFilter(visit, texts, (name) => query.get(name) ?? '');
  const snapshot = await snapshotOf(services.database, account.id, 'message');
  const found = await scanInbox(visit, filter, readCursor(query.get('after')));
  const rows = await rowsOf(visit, found.rows);
  if (query.get('part') === 'rows') return { kind: 'fragment', html: html`${tableRows(texts.columns, rows, true)}` };
  // New rows come first only where the newest are first.
  const isLive = !query.has('after') && filter.q === '' && !isUnread(filter);
  const list = selectableList({
    texts,
    action: `${base}/inbox`,
    rows,
    isFiltered: isFilter(filter),
    all: rows.length === 0 ? null : listTexts.onAll(await countOf(visit, filter)),
    snapshot,
    kept: keptFilter(visit),
    buttons: html`<button name="act" value="read">${texts.read}</button>
<button name="act" value="unread">${texts.unread}</button>
<button name="act" value="delete" class="danger">${texts.delete}</button>`,
    live: isLive ? { url: addressWith(visit, { part: 'rows' }), mode: 'hold' } : undefined,
  });
  const main = html`<h1>${texts.title}</h1>${noticeOf(visit, texts.notices)}${filterForm(visit, texts)}${list}${pager(visit, found)}
<p>${csvLink(visit, isFilter(filter))}</p>`;
  return page(texts.title, main, { current: 'inbox' });
};

const CHANGES = ['read', 'unread', 'delete'] as const;

const act = async (visit: Visit): Promise<View> => {
  const { form, account, base } = visit;
  const change = CHANGES.find((each) => each === form.text('act')) ?? 'read';
  const filter = readFilter(visit, texts, (name) => form.raw(name));
  const params = { username: account.username };
  const ask = (total: number) => ({ question: texts.deleteQuestion(total), submit: texts.deleteSubmit(total) });
  return actOnRows(visit, {
    title: texts.acting,
    back: filteredList(`${base}/inbox`, visit),
    action: `${base}/inbox`,
    current: 'inbox',
    notice: change,
    ...(change === 'delete' ? { ask } : {}),
    act: async (ids) => (await visit.act.run(inboxChangeMany, { params, body: { ids, change } })).done,
    batches: (snapshot) =>
      idBatches((after, rowsMax) => scanInbox(visit, filter, after, rowsMax), snapshot, { isSearch: isSearch(filter) }),
    ...(isSearch(filter) ? {} : { count: (snapshot: bigint) => countWithin(visit, filter, snapshot) }),
  });
};

const LOOKED_AT = 1_000;

/** The tally counts what is there now; what came after the snapshot is taken off. */
async function countWithin(visit: Visit, filter: MessageFilter, snapshot: bigint): Promise<number> {
  const newest = await visit.domain.received.newest(visit.account.id, LOOKED_AT);
  const later = newest.filter(({ id, read }) => !isInSnapshot(snapshot, 'message', id) && !(isUnread(filter) && read));
  return Math.max(0, (await countOf(visit, filter)) - later.length);
}

const csv = filteredDownload({
  fileName: 'inbox.csv',
  action: inboxExport,
  texts,
  scan: scanInbox,
  write: inboxCsv,
});

export const inboxRoutes = [get('/inbox', show), post('/inbox', act), get('/inbox.csv', csv)];
