import { type Html, html } from '../../base/html.ts';
import { Problem } from '../../base/problem.ts';
import { randomBytes } from '../../base/random.ts';
import { snapshotOf } from '../../domain/accounts/ids.ts';
import type { SentMessage } from '../../domain/messages/sent.ts';
import type { Found } from '../../domain/search/of-kind.ts';
import { messageExport } from '../../operator/actions/contacts/files.ts';
import { messageChangeMany } from '../../operator/actions/messages/many-messages.ts';
import { messageResend } from '../../operator/actions/messages/sending.ts';
import { partsOf } from '../../sms/parts.ts';
import type { Cursor } from '../../store/cursor.ts';
import { sentCsv } from '../../transfer/contact-csv.ts';
import { actOnRows, idBatches, selectableList } from '../bulk.ts';
import { contactNames } from '../contacts/contact-names.ts';
import { counted, grouped } from '../counts.ts';
import { addressWith, hidden, listWords, noticeOf, pager, type Row, tableRows } from '../lists.ts';
import { get, noticed, type PageRequest, page, post, type View } from '../page-request.ts';
import { button, head, linkButton, num, person } from '../parts.ts';
import { justAfter, readCursor, type Scanned, scan, scanFound } from '../scan.ts';
import { listTexts } from '../texts.ts';
import { time } from '../words.ts';
import { firstTextsOf, sentRow, textCell } from './batch-row.ts';
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
import { type Entry, sentEntries } from './mixed-list.ts';
import { isFailed, isResting, statusCell } from './status-cell.ts';

/** Sent messages and their statuses. */

const texts = {
  title: 'Sent',
  lead: 'What was sent to several people together is one row; open it to see each of them.',
  columns: ['To', 'Text', 'State', 'Parts', 'Sent'],
  search: 'Search in numbers, texts and references',
  state: 'State',
  states: [
    ['', 'All'],
    ['moving', 'On their way'],
    ['DELIVERED', 'Delivered'],
    ['failed', 'Not delivered'],
    ['UNKNOWN', 'Not known'],
    ['DELETED', 'Cancelled'],
    ['unseen', 'With a new state'],
  ] as readonly (readonly [string, string])[],
  from: 'From day',
  to: 'To day',
  mark: 'Mark seen',
  newState: 'new state',
  allNew: (all: Html, isFiltered: boolean) =>
    isFiltered ? html`${all} that match and have a new state` : html`${all} with a new state`,
  resend: 'Send again…',
  resendQuestion: (count: number) =>
    html`Send ${counted(count, 'message')} again? Each becomes a new message and costs credits again.`,
  resendSubmit: (count: number) => html`Send ${counted(count, 'message')} again`,
  message: (recipient: string) => `the message to ${recipient}`,
  empty: 'No message has been sent yet.',
  emptyHint: 'What you send appears here, with what became of it.',
  write: 'New message',
  noMatch: 'No message matches.',
  noMatchHint: 'Shorten the search, or choose a longer time.',
  acting: 'Working on sent messages',
  notices: {
    nothing: { nothingDone: 'Nothing was selected, so nothing was done.' },
    notWhole: listTexts.notWhole,
    mark: (count: bigint) => html`Marked ${counted(count, 'message')} as seen.`,
    selectFirst: { nothingDone: 'Nothing was sent: select the messages to send again.' },
    resent: (count: bigint) =>
      html`${counted(count, 'message')} accepted again. Messages that cannot be sent are not counted.`,
    accepted: (count: bigint) =>
      html`${counted(count, 'message')} accepted. Each one is on its way or waits for its time.`,
  },
} as const;

const UNUSED = { reference: null, recipient: null, text: null, status: '', marked: false };

const isPlain = (filter: MessageFilter): boolean => !isSearch(filter) && ['', 'unseen'].includes(filter.state);

type IsWanted = ((message: SentMessage) => boolean) | undefined;

/** Undefined for all states. */
function inState({ state }: MessageFilter): IsWanted {
  if (state === '') return undefined;
  if (state === 'unseen') return ({ marked }) => !marked;
  if (state === 'failed') return ({ status, isDeletedByCarrier }) => isFailed(status) || isDeletedByCarrier === true;
  if (state === 'moving') return ({ status }) => !isResting(status);
  return ({ status, isDeletedByCarrier }) => status === state && !isDeletedByCarrier;
}

/**
 * Messages with a new status have an index of their own, oldest change first, and so have those
 * that may have reached nobody. Other states are looked for among all messages.
 */
async function scanSent(
  { domain, account }: PageRequest,
  filter: MessageFilter,
  searched: Found<SentMessage> | null,
  after: Cursor | undefined,
  rowsMax?: number,
  isWanted: IsWanted = inState(filter),
): Promise<Scanned<SentMessage>> {
  const bySent = ({ sentAt, id }: SentMessage) => ({ at: sentAt, id });
  const shared = { isWanted, ...(rowsMax === undefined ? {} : { rowsMax }) };
  if (searched) {
    return scanFound<SentMessage>({
      ...shared,
      found: searched,
      order: 'newest',
      cursorOf: bySent,
      range: filter,
      after,
    });
  }
  if (filter.state === 'unseen' && !isSearch(filter)) {
    const last = (cursor: Cursor) => ({ ...UNUSED, sentAt: 0, updatedAt: cursor.at, id: cursor.id });
    return scan<SentMessage>({
      ...shared,
      page: (limit, cursor) => domain.sent.unmarked(account.id, limit, cursor && last(cursor)),
      cursorOf: ({ updatedAt, id }) => ({ at: updatedAt, id }),
      after,
    });
  }
  const { from } = filter;
  const last = (cursor: Cursor) => ({ ...UNUSED, updatedAt: 0, sentAt: cursor.at, id: cursor.id });
  const isUndelivered = filter.state === 'failed' || isFailed(filter.state);
  return scan<SentMessage>({
    ...shared,
    page: (limit, cursor) =>
      isUndelivered
        ? domain.sent.undelivered(account.id, limit, cursor)
        : domain.sent.newest(account.id, limit, cursor && last(cursor)),
    cursorOf: bySent,
    isBeyond: from === null ? undefined : ({ sentAt }) => sentAt < from,
    after: after ?? justAfter(filter.to),
  });
}

/** Marking concerns new statuses, so "all" are the messages that match the filter and have one. */
function scanNew(
  request: PageRequest,
  filter: MessageFilter,
  searched: Found<SentMessage> | null,
  after: Cursor | undefined,
  rowsMax: number,
) {
  if (isPlain(filter)) return scanSent(request, { ...filter, state: 'unseen' }, null, after, rowsMax);
  const isWanted = inState(filter);
  return scanSent(
    request,
    filter,
    searched,
    after,
    rowsMax,
    (message) => !message.marked && (isWanted?.(message) ?? true),
  );
}

/** How many these are. `shown` is the page of the list. */
async function newSaid(
  request: PageRequest,
  filter: MessageFilter,
  searched: Found<SentMessage> | null,
  shown: Scanned<SentMessage> | null,
): Promise<Html> {
  const { domain, account, query } = request;
  if (isPlain(filter)) return html`all ${grouped(await domain.sent.countUnmarked(account.id))}`;
  const isWhole = shown?.next === null && !query.has('after');
  const { rows, next } = isWhole ? shown : await scanNew(request, filter, searched, undefined, COUNTED_MAX);
  return countSaid({ rows: rows.filter(({ marked }) => !marked), next });
}

async function rowsOf(request: PageRequest, messages: readonly SentMessage[]): Promise<Row[]> {
  const { base, zone } = request;
  const names = await contactNames(
    request,
    messages.map(({ recipient }) => recipient),
  );
  return messages.map(({ id, recipient, text, status, isDeletedByCarrier, reference, sentAt, marked }) => {
    const name = names(recipient);
    return {
      key: id.toString(),
      name: texts.message(name ?? recipient ?? '?'),
      cells: [
        person(recipient, name, `${base}/messages/${id}`),
        textCell(text, reference),
        statusCell(status, isDeletedByCarrier),
        num(partsOf(text ?? '')),
        time(sentAt, zone),
      ],
      fresh: marked ? undefined : texts.newState,
    };
  });
}

/** Batches as one row between single messages. A filter looks at each message instead. */
async function mixedRows(request: PageRequest, entries: readonly Entry<SentMessage>[]): Promise<Row[]> {
  const batches = entries.flatMap((entry) => (entry.kind === 'batch' ? [entry.batch] : []));
  const unnamed = await firstTextsOf(
    request,
    batches.filter(({ name }) => name === null),
  );
  const messages = entries.flatMap((entry) => (entry.kind === 'single' ? [entry.message] : []));
  const singles = new Map((await rowsOf(request, messages)).map((row) => [row.key, row]));
  return entries.flatMap((entry) =>
    entry.kind === 'batch'
      ? [sentRow(request, entry.batch, unnamed.get(entry.id))]
      : (singles.get(entry.id.toString()) ?? []),
  );
}

const show = async (request: PageRequest): Promise<View> => {
  const { query, base, services, account } = request;
  const filter = readFilter(request, texts, (name) => query.get(name) ?? '');
  const snapshot = await snapshotOf(services.database, account.id, 'message');
  const after = readCursor(query.get('after'));
  const { found: searched, missing } = await searchOf(request, filter, request.domain.search.sent);
  const found = isFilter(filter) ? await scanSent(request, filter, searched, after) : null;
  const mixed = await (found ?? sentEntries(request, after));
  const rows = found ? await rowsOf(request, found.rows) : await mixedRows(request, mixed.rows as Entry<SentMessage>[]);
  if (query.get('part') === 'rows') return { kind: 'fragment', html: html`${tableRows(texts.columns, rows, true)}` };
  const list = selectableList({
    texts: listWords(texts, missing === null && !found?.isCut),
    action: `${base}/sent`,
    rows,
    isFiltered: isFilter(filter),
    all: missing === null ? texts.allNew(await newSaid(request, filter, searched, found), !isPlain(filter)) : null,
    snapshot,
    kept: html`${keptFilter(request)}${hidden({ key: randomBytes(16).toString('hex') })}`,
    buttons: html`${button(texts.mark, { act: 'mark', look: 's' })}${button(texts.resend, { act: 'resend', look: 's', icon: 'again' })}`,
    step: linkButton(`${base}/compose`, texts.write, { icon: 'pen' }),
    live: query.has('after') ? undefined : { url: addressWith(request, { part: 'rows' }), mode: 'replace' },
  });
  const main = html`${head(texts.title, texts.lead)}${noticeOf(request, texts.notices)}${filterForm(request, texts)}${missingNote({ missing })}${list}${pager(request, mixed)}`;
  return page(texts.title, main, { current: 'sent' });
};

const act = async (request: PageRequest): Promise<View> => {
  const { base, account, domain, form } = request;
  const params = { username: account.username };
  const isResend = form.text('act') === 'resend';
  const filter = readFilter(request, texts, (name) => form.raw(name));
  const action = `${base}/sent`;
  const list = { title: texts.acting, back: filteredList(action, request), action, current: 'sent' };
  if (isResend && form.text('scope') === 'all') return noticed(list.back, 'selectFirst');
  if (isResend) {
    return actOnRows(request, {
      ...list,
      notice: 'resent',
      ask: (total) => ({ question: texts.resendQuestion(total), submit: texts.resendSubmit(total) }),
      act: (ids) => resendEach(request, ids),
    });
  }
  return actOnRows(request, {
    ...list,
    notice: 'mark',
    act: async (ids) => (await request.act.run(messageChangeMany, { params, body: { ids, change: 'mark' } })).done,
    all: async (snapshot) => {
      const { found, missing } = await searchOf(request, filter, domain.search.sent);
      return {
        isWhole: missing === null,
        batches: () => idBatches((after, rowsMax) => scanNew(request, filter, found, after, rowsMax), snapshot),
        ...(isPlain(filter) ? { count: async () => Number(await domain.sent.countUnmarked(account.id)) } : {}),
      };
    },
  });
};

/** Sends each message once, however often the button is pressed. Returns how many were accepted. */
async function resendEach(request: PageRequest, ids: readonly string[]): Promise<number> {
  const key = request.form.text('key');
  let accepted = 0;
  for (const id of ids) {
    const given = { params: { username: request.account.username, id } };
    try {
      await request.act.once(`${key}/${id}`, messageResend, given, () => true);
      accepted += 1;
    } catch (thrown) {
      if (!(thrown instanceof Problem) || !['conflict', 'not-found'].includes(thrown.kind)) throw thrown;
    }
  }
  return accepted;
}

const csv = filteredDownload({
  fileName: 'sent.csv',
  action: messageExport,
  texts,
  find: ({ domain }) => domain.search.sent,
  scan: scanSent,
  write: sentCsv,
});

export const sentRoutes = [get('/sent', show), post('/sent', act), get('/sent.csv', csv)];
