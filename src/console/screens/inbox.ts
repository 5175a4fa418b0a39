import type { Cursor } from '../../domain/cursor.ts';
import { isInSnapshot, snapshotOf } from '../../domain/ids.ts';
import type { InboxMessage } from '../../domain/inbox.ts';
import { type Html, html } from '../../html.ts';
import { actOnAll, actOnSelected, isForAll, scopeFields, selectedIds, snapshotOfForm } from '../bulk.ts';
import { contactNames, withLink } from '../contact-names.ts';
import {
  addressWith,
  confirmation,
  empty,
  field,
  filters,
  hidden,
  noticeOf,
  pager,
  type Row,
  select,
  table,
  tableRows,
} from '../lists.ts';
import { justAfter, readCursor, SEARCHED_ROWS_MAX, scan } from '../scan.ts';
import { texts } from '../texts/inbox.ts';
import { texts as listTexts } from '../texts/lists.ts';
import { get, noticed, page, post, type View, type Visit } from '../visit.ts';
import { instantOf, messageText, time } from '../words.ts';

/** Received messages: filter, search, mark, delete, reply. */

const DAY_MS = 24 * 3_600_000;
const NO_TEXTS = { sender: null, text: null, shortCode: null };

interface Filter {
  readonly q: string;
  readonly isUnread: boolean;
  readonly from: number | null;
  readonly to: number | null;
}

function filterOf({ zone }: Visit, get: (name: string) => string): Filter {
  const to = instantOf(get('to'), zone);
  return {
    q: get('q').trim().toLowerCase().slice(0, 200),
    isUnread: get('state') === 'unread',
    from: instantOf(get('from'), zone),
    to: to === null ? null : to + DAY_MS,
  };
}

const matches = (q: string) => (message: InboxMessage) =>
  [message.sender, message.text, message.shortCode].some((text) => text?.toLowerCase().includes(q));

const isPlain = ({ q, from, to }: Filter): boolean => q === '' && from === null && to === null;

/** The unread ones have an index of their own, oldest first; all are listed newest first. */
function scanInbox({ domain, account }: Visit, filter: Filter, after: Cursor | undefined, rowsMax?: number) {
  const { q, isUnread, from, to } = filter;
  const last = (cursor: Cursor | undefined) => cursor && { ...NO_TEXTS, receivedAt: cursor.at, id: cursor.id };
  const inRange = ({ receivedAt }: InboxMessage) =>
    (from === null || receivedAt >= from) && (to === null || receivedAt < to);
  const isWanted = q === '' ? undefined : matches(q);
  const shared = {
    cursorOf: ({ receivedAt, id }: InboxMessage) => ({ at: receivedAt, id }),
    ...(rowsMax === undefined ? {} : { rowsMax }),
  };
  if (isUnread) {
    return scan<InboxMessage>({
      ...shared,
      page: async (limit, cursor) =>
        (await domain.inbox.unread(account.id, limit, last(cursor))).map((each) => ({ ...each, read: false })),
      isWanted: isPlain(filter) ? undefined : (message) => inRange(message) && (isWanted?.(message) ?? true),
      isBeyond: to === null ? undefined : ({ receivedAt }) => receivedAt >= to,
      after,
    });
  }
  return scan<InboxMessage>({
    ...shared,
    page: (limit, cursor) => domain.inbox.newest(account.id, limit, last(cursor)),
    isWanted,
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
  return messages.map(({ id, sender, text, shortCode, receivedAt, read }) => {
    const href =
      sender !== null && /\d/.test(sender) ? `${base}/conversation?${new URLSearchParams({ with: sender })}` : null;
    return {
      key: id.toString(),
      name: texts.message(names(sender) ?? sender ?? '?'),
      cells: [withLink(base, sender, names), messageText(text, 300), html`${shortCode ?? ''}`, time(receivedAt, zone)],
      isStrong: !read,
      ...(href === null ? {} : { href, reply: `${href}#reply` }),
    };
  });
}

/** How many match: exact, as far as a search goes. */
async function countOf(visit: Visit, filter: Filter): Promise<number> {
  const { domain, account } = visit;
  if (isPlain(filter)) {
    const unread = await domain.inbox.countUnread(account.id);
    return Number(filter.isUnread ? unread : unread + (await domain.inbox.countRead(account.id)));
  }
  return (await scanInbox(visit, filter, undefined, SEARCHED_ROWS_MAX)).rows.length;
}

const show = async (visit: Visit): Promise<View> => {
  const { query, services, account } = visit;
  const filter = filterOf(visit, (name) => query.get(name) ?? '');
  const snapshot = await snapshotOf(services.database, account.id, 'message');
  const found = await scanInbox(visit, filter, readCursor(query.get('after')));
  const rows = await rowsOf(visit, found.rows);
  if (query.get('part') === 'rows') return { kind: 'fragment', html: html`${tableRows(texts.columns, rows, true)}` };
  const filtersForm = filters(visit, [
    field({
      isFilter: true,
      name: 'q',
      label: texts.search,
      type: 'search',
      value: query.get('q') ?? '',
      lengthMax: 200,
    }),
    select({ name: 'state', label: texts.state, value: query.get('state') ?? '', choices: texts.states }),
    field({ isFilter: true, name: 'from', label: texts.from, type: 'date', value: query.get('from') ?? '' }),
    field({ isFilter: true, name: 'to', label: texts.to, type: 'date', value: query.get('to') ?? '' }),
  ]);
  const list =
    rows.length === 0 ? emptyNote(filter) : listForm(visit, rows, filter, await countOf(visit, filter), snapshot);
  const main = html`<h1>${texts.title}</h1>${noticeOf(visit, texts.notices)}${filtersForm}${list}${pager(visit, found)}
<p><a href="${visit.base}/inbox.csv">${listTexts.download}</a></p>`;
  return page(texts.title, main, { current: 'inbox' });
};

const emptyNote = (filter: Filter): Html =>
  isPlain(filter) && !filter.isUnread ? empty(texts.empty, texts.emptyHint) : empty(texts.noMatch, texts.noMatchHint);

function listForm(visit: Visit, rows: readonly Row[], filter: Filter, count: number, snapshot: bigint): Html {
  const { query } = visit;
  const buttons = html`<button name="act" value="read">${texts.read}</button>
<button name="act" value="unread">${texts.unread}</button>
<button name="act" value="delete" class="danger">${texts.delete}</button>`;
  const kept = hidden(Object.fromEntries(['q', 'state', 'from', 'to'].map((name) => [name, query.get(name) ?? ''])));
  const live =
    query.has('after') || filter.q !== '' || filter.isUnread
      ? {}
      : { live: { url: addressWith(visit, { part: 'rows' }), mode: 'hold' as const } };
  return html`<form method="post" action="${visit.base}/inbox">${kept}${scopeFields(count, snapshot, buttons)}
${table({ caption: texts.title, columns: texts.columns, rows, canSelect: true, ...live })}</form>`;
}

const CHANGES = ['read', 'unread', 'delete'] as const;

const act = async (visit: Visit): Promise<View> => {
  const { form, account, base } = visit;
  const change = CHANGES.find((each) => each === form.text('act')) ?? 'read';
  const back = `${base}/inbox`;
  const bulk = {
    title: texts.acting,
    back,
    notice: change,
    act: async (ids: readonly string[]) => {
      const body = { ids, change };
      const { done } = await visit.act.run<{ done: number }>('inbox change-many', {
        params: { username: account.username },
        body,
      });
      return done;
    },
  };
  const filter = filterOf(visit, (name) => form.raw(name));
  const snapshot = snapshotOfForm(visit);
  const isAll = isForAll(visit);
  const total = isAll ? await countWithin(visit, filter, snapshot) : selectedIds(visit).length;
  if (total === 0) return noticed(back, 'nothing');
  if (change === 'delete' && form.text('confirmed') !== 'yes') return askToDelete(visit, total);
  return isAll ? actOnAll(visit, bulk, batches(visit, filter, snapshot), total) : actOnSelected(visit, bulk);
};

const askToDelete = ({ form, base }: Visit, total: number): View => {
  const fields = form.fields.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`);
  const question = texts.deleteQuestion(total);
  const submit = texts.deleteSubmit(total);
  return page(question, confirmation({ question, action: `${base}/inbox`, fields, submit, back: `${base}/inbox` }), {
    current: 'inbox',
  });
};

/** The tally counts what is there now; what came after the snapshot is taken off. */
async function countWithin(visit: Visit, filter: Filter, snapshot: bigint): Promise<number> {
  if (!isPlain(filter)) {
    const { rows } = await scanInbox(visit, filter, undefined, SEARCHED_ROWS_MAX);
    return rows.filter(({ id }) => isInSnapshot(snapshot, 'message', id)).length;
  }
  const { inbox } = visit.domain;
  const later = (await inbox.newest(visit.account.id, 1_000)).filter(
    ({ id, read }) => !isInSnapshot(snapshot, 'message', id) && !(filter.isUnread && read),
  );
  return Math.max(0, (await countOf(visit, filter)) - later.length);
}

const AT_ONCE = 500;

/** Ids in batches of 500: of the whole list, or of what one search finds. */
async function* batches(visit: Visit, filter: Filter, snapshot: bigint): AsyncGenerator<string[]> {
  const wanted = (rows: readonly InboxMessage[]) =>
    rows.filter(({ id }) => isInSnapshot(snapshot, 'message', id)).map(({ id }) => id.toString());
  if (!isPlain(filter)) {
    const ids = wanted((await scanInbox(visit, filter, undefined, SEARCHED_ROWS_MAX)).rows);
    for (let start = 0; start < ids.length; start += AT_ONCE) yield ids.slice(start, start + AT_ONCE);
    return;
  }
  for (let after: Cursor | undefined; ; ) {
    const { rows, next } = await scanInbox(visit, filter, after, AT_ONCE);
    yield wanted(rows);
    if (next === null) return;
    after = next;
  }
}

const download = async ({ act: acting, account }: Visit): Promise<View> => ({
  kind: 'download',
  fileName: 'inbox.csv',
  text: await acting.download('inbox export', { params: { username: account.username } }),
});

export const inboxRoutes = [get('/inbox', show), post('/inbox', act), get('/inbox.csv', download)];
