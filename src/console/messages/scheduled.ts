import { type Html, html } from '../../base/html.ts';
import { snapshotOf } from '../../domain/accounts/ids.ts';
import type { ScheduledMessage } from '../../domain/messages/scheduled.ts';
import type { Found } from '../../domain/search/of-kind.ts';
import { messageCancelMany, messageReschedule } from '../../operator/actions/messages/many-messages.ts';
import type { Cursor } from '../../store/cursor.ts';
import { actOnRows, idBatches, selectableList } from '../bulk.ts';
import { contactNames } from '../contacts/contact-names.ts';
import { counted } from '../counts.ts';
import { addressWith, listWords, noticeOf, pager, type Row, tableRows } from '../lists.ts';
import { get, noticed, type PageRequest, page, post, type View } from '../page-request.ts';
import { button, head, linkButton, num, person } from '../parts.ts';
import { justBefore, readCursor, type Scanned, scan, scanFound } from '../scan.ts';
import { listTexts } from '../texts.ts';
import { instantOf, localTime, time } from '../words.ts';
import { firstTextsOf, scheduledRow, textCell } from './batch-row.ts';
import {
  COUNTED_MAX,
  countSaid,
  filteredList,
  filterForm,
  isFilter,
  keptFilter,
  type MessageFilter,
  missingNote,
  readFilter,
  searchOf,
} from './message-filter.ts';
import { type Entry, scheduledEntries } from './mixed-list.ts';

/** Messages that wait for their time, which can be cancelled or moved. */

const texts = {
  title: 'Scheduled',
  columns: ['To', 'Text', 'Credits held', 'When'],
  search: 'Search in numbers, texts and references',
  state: 'State',
  states: [['', 'All']] as readonly (readonly [string, string])[],
  from: 'From day',
  to: 'To day',
  noMatch: 'No scheduled message matches.',
  noMatchHint: 'Shorten the search, or choose a longer time.',
  lead: 'What was scheduled for several people together is one row; open it to see or cancel all of it.',
  message: (recipient: string) => `the message to ${recipient}`,
  cancel: 'Cancel…',
  move: 'Change the time',
  moveTo: 'New time',
  empty: 'No message is scheduled.',
  emptyHint: 'Choose a time when you write a message, and it waits here.',
  write: 'New message',
  question: (count: number) =>
    html`Cancel ${counted(count, 'scheduled message')}? ${count === 1 ? 'Its' : 'Their'} credits are free again.`,
  submit: (count: number) => html`Cancel ${counted(count, 'message')}`,
  acting: 'Cancelling scheduled messages',
  moving: 'Moving scheduled messages',
  notices: {
    nothing: { nothingDone: 'Nothing was selected, so nothing was done.' },
    notWhole: listTexts.notWhole,
    cancel: (count: bigint) =>
      count === 0n
        ? 'Nothing was changed: the messages are being sent already, or no longer exist.'
        : html`Cancelled ${counted(count, 'message')}. Messages that are being sent already are not counted.`,
    move: (count: bigint) =>
      count === 0n
        ? 'Nothing was changed: the messages are being sent already, or no longer exist.'
        : html`Moved ${counted(count, 'message')}.`,
    tooLate: { nothingDone: 'Nothing was changed: the messages have a latest time before that.' },
    accepted: (count: bigint) => html`${counted(count, 'message')} accepted. Each one waits here for its time.`,
    badTime: { nothingDone: 'Nothing was changed: choose a day and a time in the future.' },
  },
} as const;

/** The list polls every few seconds, so it counts only so far. The page that asks counts all. */
const COUNTED_OF_ALL_MAX = 1_000;
const UNUSED = { reference: null, recipient: null, text: null, createdAt: 0 };

/** Scheduled messages that match, soonest first, each by itself. */
async function scanScheduled(
  { domain, account }: PageRequest,
  filter: MessageFilter,
  searched: Found<ScheduledMessage> | null,
  after: Cursor | undefined,
  rowsMax?: number,
): Promise<Scanned<ScheduledMessage>> {
  const shared = {
    cursorOf: ({ scheduledAt, id }: ScheduledMessage) => ({ at: scheduledAt, id }),
    ...(rowsMax === undefined ? {} : { rowsMax }),
  };
  if (searched) {
    return scanFound<ScheduledMessage>({ ...shared, found: searched, order: 'oldest', range: filter, after });
  }
  return scan<ScheduledMessage>({
    ...shared,
    page: (limit, cursor) =>
      domain.scheduled.soonest(account.id, limit, cursor && { ...UNUSED, scheduledAt: cursor.at, id: cursor.id }),
    isBeyond: ({ scheduledAt }) => filter.to !== null && scheduledAt >= filter.to,
    after: after ?? justBefore(filter.from),
  });
}

async function rowsOf(request: PageRequest, messages: readonly ScheduledMessage[]): Promise<Row[]> {
  const { base, zone, domain, account } = request;
  const names = await contactNames(
    request,
    messages.map(({ recipient }) => recipient),
  );
  const rows: Row[] = [];
  for (const { id, recipient, text, reference, scheduledAt } of messages) {
    const record = await domain.scheduled.show(account.id, id).catch(() => null); // it may have just been sent
    if (!record) continue;
    rows.push({
      key: id.toString(),
      name: texts.message(names(recipient) ?? recipient ?? '?'),
      cells: [
        person(recipient, names(recipient), `${base}/messages/${id}`),
        textCell(text, reference),
        num(record.heldParts),
        time(scheduledAt, zone),
      ],
    });
  }
  return rows;
}

/** Batches as one row between single messages. A filter looks at each message instead. */
async function mixedRows(request: PageRequest, entries: readonly Entry<ScheduledMessage>[]): Promise<Row[]> {
  const batches = entries.flatMap((entry) => (entry.kind === 'batch' ? [entry.batch] : []));
  const first = await firstTextsOf(request, batches);
  const messages = entries.flatMap((entry) => (entry.kind === 'single' ? [entry.message] : []));
  const singles = new Map((await rowsOf(request, messages)).map((row) => [row.key, row]));
  return entries.flatMap((entry) =>
    entry.kind === 'batch'
      ? [scheduledRow(request, entry.batch, first.get(entry.id))]
      : (singles.get(entry.id.toString()) ?? []),
  );
}

const show = async (request: PageRequest): Promise<View> => {
  const { query, base, zone, services, account, now } = request;
  const snapshot = await snapshotOf(services.database, account.id, 'message');
  const filter = readFilter(request, texts, (name) => query.get(name) ?? '');
  const after = readCursor(query.get('after'));
  const { found: searched, missing } = await searchOf(request, filter, request.domain.search.scheduled);
  const found = isFilter(filter) ? await scanScheduled(request, filter, searched, after) : null;
  const mixed = await (found ?? scheduledEntries(request, after));
  const rows = found
    ? await rowsOf(request, found.rows)
    : await mixedRows(request, mixed.rows as Entry<ScheduledMessage>[]);
  if (query.get('part') === 'rows') return { kind: 'fragment', html: html`${tableRows(texts.columns, rows, true)}` };
  const countMax = isFilter(filter) ? COUNTED_MAX : COUNTED_OF_ALL_MAX;
  const list = selectableList({
    texts: listWords(texts, missing === null && !found?.isCut),
    action: `${base}/scheduled`,
    rows,
    isFiltered: isFilter(filter),
    kept: keptFilter(request),
    all:
      missing === null
        ? listTexts.onAll(countSaid(await scanScheduled(request, filter, searched, undefined, countMax)))
        : null,
    snapshot,
    buttons: html`${button(texts.cancel, { act: 'delete', look: 's danger' })}${moveFields(now, zone)}`,
    step: linkButton(`${base}/compose`, texts.write, { icon: 'pen' }),
    live: query.has('after') ? undefined : { url: addressWith(request, { part: 'rows' }), mode: 'replace' },
  });
  const main = html`${head(texts.title, texts.lead)}${noticeOf(request, texts.notices)}${filterForm(request, texts, false)}${missingNote({ missing })}${list}${pager(request, mixed)}`;
  return page(texts.title, main, { current: 'scheduled' });
};

const moveFields = (now: number, zone: string): Html =>
  html`<label for="when">${texts.moveTo}</label> <input id="when" name="when" type="datetime-local" min="${localTime(now, zone)}">
${button(texts.move, { act: 'move', look: 's' })}`;

const act = async (request: PageRequest): Promise<View> => {
  const { form, base, account, zone, now } = request;
  const isMove = form.text('act') === 'move';
  const action = `${base}/scheduled`;
  const filter = readFilter(request, texts, (name) => form.raw(name));
  const back = filteredList(action, request);
  const at = isMove ? instantOf(form.text('when'), zone) : null;
  if (isMove && (at === null || at <= now)) return noticed(back, 'badTime');
  const params = { username: account.username };
  let tooLate = 0;
  return actOnRows(request, {
    title: isMove ? texts.moving : texts.acting,
    back,
    action,
    current: 'scheduled',
    notice: (done) => (isMove ? (done === 0 && tooLate > 0 ? 'tooLate' : 'move') : 'cancel'),
    ...(isMove ? {} : { ask: (total: number) => ({ question: texts.question(total), submit: texts.submit(total) }) }),
    act: async (ids) => {
      if (at === null) {
        return (await request.act.run(messageCancelMany, { params, body: { ids } })).cancelled;
      }
      const body = { ids, sendAt: new Date(at).toISOString() };
      const done = await request.act.run(messageReschedule, { params, body });
      tooLate += done.tooLate;
      return done.moved;
    },
    all: async (snapshot) => {
      const { found, missing } = await searchOf(request, filter, request.domain.search.scheduled);
      const read = (after: Cursor | undefined, rowsMax: number) =>
        scanScheduled(request, filter, found, after, rowsMax);
      return { isWhole: missing === null, batches: () => idBatches(read, snapshot, { once: isMove }) };
    },
  });
};

export const scheduledRoutes = [get('/scheduled', show), post('/scheduled', act)];
