import type { Cursor } from '../../domain/cursor.ts';
import { isInSnapshot, snapshotOf } from '../../domain/ids.ts';
import type { SentMessage } from '../../domain/outbox.ts';
import { html } from '../../html.ts';
import { partsOf } from '../../sms/parts.ts';
import { actOnAll, actOnSelected, isForAll, scopeFields, snapshotOfForm } from '../bulk.ts';
import { contactNames } from '../contact-names.ts';
import {
  addressWith,
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
import { statusCell } from '../status-cell.ts';
import { texts as listTexts } from '../texts/lists.ts';
import { texts } from '../texts/sent.ts';
import { FAILED, RESTING } from '../texts/statuses.ts';
import { get, noticed, page, post, type View, type Visit } from '../visit.ts';
import { instantOf, messageText, party, time } from '../words.ts';

/** Sent messages and what became of them. */

const DAY_MS = 24 * 3_600_000;
const UNUSED = { reference: null, recipient: null, text: null, status: '', marked: false };

interface Filter {
  readonly q: string;
  readonly state: string;
  readonly from: number | null;
  readonly to: number | null;
}

function filterOf({ zone }: Visit, get: (name: string) => string): Filter {
  const to = instantOf(get('to'), zone);
  const q = get('q').trim().toLowerCase().slice(0, 200);
  const state = texts.states.find(([each]) => each === get('state'))?.[0] ?? '';
  return { q, state, from: instantOf(get('from'), zone), to: to === null ? null : to + DAY_MS };
}

const isPlain = ({ q, state, from, to }: Filter): boolean =>
  q === '' && from === null && to === null && (state === '' || state === 'unseen');

function wantedBy({ q, state, from, to }: Filter) {
  const inState = ({ status }: SentMessage) => {
    if (state === 'failed') return FAILED.includes(status);
    if (state === 'moving') return !RESTING.includes(status);
    return state === '' || state === 'unseen' || status === state;
  };
  const holds = ({ recipient, text, reference }: SentMessage) =>
    q === '' || [recipient, text, reference].some((each) => each?.toLowerCase().includes(q));
  return (message: SentMessage) =>
    inState(message) &&
    holds(message) &&
    (from === null || message.sentAt >= from) &&
    (to === null || message.sentAt < to);
}

/** Those with a new state have an index of their own, oldest change first. */
function scanSent({ domain, account }: Visit, filter: Filter, after: Cursor | undefined, rowsMax?: number) {
  const isWanted = isPlain(filter) ? undefined : wantedBy(filter);
  const size = rowsMax === undefined ? {} : { rowsMax };
  if (filter.state === 'unseen') {
    return scan<SentMessage>({
      ...size,
      page: (limit, cursor) =>
        domain.outbox.unmarked(
          account.id,
          limit,
          cursor && { ...UNUSED, sentAt: 0, updatedAt: cursor.at, id: cursor.id },
        ),
      cursorOf: ({ updatedAt, id }) => ({ at: updatedAt, id }),
      isWanted,
      after,
    });
  }
  const { from } = filter;
  return scan<SentMessage>({
    ...size,
    page: (limit, cursor) =>
      domain.outbox.newestSent(
        account.id,
        limit,
        cursor && { ...UNUSED, updatedAt: 0, sentAt: cursor.at, id: cursor.id },
      ),
    cursorOf: ({ sentAt, id }) => ({ at: sentAt, id }),
    isWanted,
    isBeyond: from === null ? undefined : ({ sentAt }) => sentAt < from,
    after: after ?? justAfter(filter.to),
  });
}

async function rowsOf(visit: Visit, messages: readonly SentMessage[]): Promise<Row[]> {
  const { base, zone } = visit;
  const names = await contactNames(
    visit,
    messages.map(({ recipient }) => recipient),
  );
  return messages.map(({ id, recipient, text, status, reference, sentAt, marked }) => {
    const href = `${base}/messages/${id}`;
    const name = names(recipient);
    const who =
      name === null ? party(recipient) : html`<bdi>${name}</bdi> <span class="quiet">${recipient ?? ''}</span>`;
    return {
      key: id.toString(),
      name: texts.message(name ?? recipient ?? '?'),
      cells: [
        html`<a href="${href}">${who}</a>`,
        messageText(text, 160),
        statusCell(status),
        html`${reference ?? ''}`,
        html`${partsOf(text ?? '')}`,
        time(sentAt, zone),
      ],
      href,
      isStrong: !marked,
    };
  });
}

const countOf = async (visit: Visit, filter: Filter): Promise<number> => {
  if (isPlain(filter) && filter.state === 'unseen')
    return Number(await visit.domain.outbox.countUnmarked(visit.account.id));
  return (await scanSent(visit, filter, undefined, SEARCHED_ROWS_MAX)).rows.length;
};

const show = async (visit: Visit): Promise<View> => {
  const { query, base, services, account } = visit;
  const filter = filterOf(visit, (name) => query.get(name) ?? '');
  const snapshot = await snapshotOf(services.database, account.id, 'message');
  const found = await scanSent(visit, filter, readCursor(query.get('after')));
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
    select({ name: 'state', label: texts.state, value: filter.state, choices: texts.states }),
    field({ isFilter: true, name: 'from', label: texts.from, type: 'date', value: query.get('from') ?? '' }),
    field({ isFilter: true, name: 'to', label: texts.to, type: 'date', value: query.get('to') ?? '' }),
  ]);
  const kept = hidden(Object.fromEntries(['q', 'state', 'from', 'to'].map((name) => [name, query.get(name) ?? ''])));
  const live = query.has('after')
    ? {}
    : { live: { url: addressWith(visit, { part: 'rows' }), mode: 'replace' as const } };
  // Marking is about new states, so "all" are those that have one.
  const unseen =
    filter.state === 'unseen'
      ? await countOf(visit, filter)
      : Number(await visit.domain.outbox.countUnmarked(account.id));
  const list =
    rows.length === 0
      ? isPlain(filter)
        ? empty(texts.empty, texts.emptyHint)
        : empty(texts.noMatch, texts.noMatchHint)
      : html`<form method="post" action="${base}/sent">${kept}${scopeFields(unseen, snapshot, html`<button name="act" value="mark">${texts.mark}</button>`)}
${table({ caption: texts.title, columns: texts.columns, rows, canSelect: true, ...live })}</form>`;
  const main = html`<h1>${texts.title}</h1>${noticeOf(visit, texts.notices)}${filtersForm}${list}${pager(visit, found)}
<p><a href="${base}/sent.csv">${listTexts.download}</a></p>`;
  return page(texts.title, main, { current: 'sent' });
};

const AT_ONCE = 500;

/** All that have a new state and were there when the list was shown. */
async function* unseen(visit: Visit, snapshot: bigint): AsyncGenerator<string[]> {
  const filter = { q: '', state: 'unseen', from: null, to: null };
  for (let after: Cursor | undefined; ; ) {
    const { rows, next } = await scanSent(visit, filter, after, AT_ONCE);
    yield rows.filter(({ id }) => isInSnapshot(snapshot, 'message', id)).map(({ id }) => id.toString());
    if (next === null) return;
    after = next;
  }
}

const act = async (visit: Visit): Promise<View> => {
  const { base, account, domain } = visit;
  const bulk = {
    title: texts.acting,
    back: `${base}/sent`,
    notice: 'mark',
    act: async (ids: readonly string[]) => {
      const given = { params: { username: account.username }, body: { ids, change: 'mark' } };
      return (await visit.act.run<{ done: number }>('message change-many', given)).done;
    },
  };
  if (!isForAll(visit)) return actOnSelected(visit, bulk);
  const total = Number(await domain.outbox.countUnmarked(account.id));
  if (total === 0) return noticed(bulk.back, 'nothing');
  return actOnAll(visit, bulk, unseen(visit, snapshotOfForm(visit)), total);
};

const download = async ({ act: acting, account }: Visit): Promise<View> => ({
  kind: 'download',
  fileName: 'sent.csv',
  text: await acting.download('message export', { params: { username: account.username } }),
});

export const sentRoutes = [get('/sent', show), post('/sent', act), get('/sent.csv', download)];
