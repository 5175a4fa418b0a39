import type { Cursor } from '../../domain/cursor.ts';
import { isInSnapshot, snapshotOf } from '../../domain/ids.ts';
import type { ScheduledMessage } from '../../domain/outbox.ts';
import { type Html, html } from '../../html.ts';
import { isAction } from '../acting.ts';
import { actOnAll, actOnSelected, isForAll, scopeFields, selectedIds, snapshotOfForm } from '../bulk.ts';
import { contactNames } from '../contact-names.ts';
import { addressWith, confirmation, empty, noticeOf, pager, type Row, table, tableRows } from '../lists.ts';
import { readCursor, scan } from '../scan.ts';
import { texts } from '../texts/scheduled.ts';
import { get, noticed, page, post, type View, type Visit } from '../visit.ts';
import { grouped, instantOf, localTime, messageText, party, time, zoneName } from '../words.ts';

/** Messages that wait for their time: cancel them, or move the time. */

const COUNTED_MAX = 1_000;
const AT_ONCE = 500;
const UNUSED = { reference: null, recipient: null, text: null, createdAt: 0 };

const scanScheduled = ({ domain, account }: Visit, after: Cursor | undefined, rowsMax?: number) =>
  scan<ScheduledMessage>({
    page: (limit, cursor) =>
      domain.outbox.soonest(account.id, limit, cursor && { ...UNUSED, scheduledAt: cursor.at, id: cursor.id }),
    cursorOf: ({ scheduledAt, id }) => ({ at: scheduledAt, id }),
    after,
    ...(rowsMax === undefined ? {} : { rowsMax }),
  });

async function rowsOf(visit: Visit, messages: readonly ScheduledMessage[]): Promise<Row[]> {
  const { base, zone, domain, account } = visit;
  const names = await contactNames(
    visit,
    messages.map(({ recipient }) => recipient),
  );
  const rows: Row[] = [];
  for (const { id, recipient, text, reference, scheduledAt } of messages) {
    const record = await domain.messages.scheduled(account.id, id).catch(() => null); // sent this moment
    if (!record) continue;
    const href = `${base}/messages/${id}`;
    rows.push({
      key: id.toString(),
      name: texts.message(names(recipient) ?? recipient ?? '?'),
      cells: [
        html`<a href="${href}">${time(scheduledAt, zone)}</a>`,
        html`${names(recipient) === null ? party(recipient) : html`<bdi>${names(recipient) ?? ''}</bdi> <span class="quiet">${recipient ?? ''}</span>`}`,
        messageText(text, 160),
        html`${reference ?? ''}`,
        html`${grouped(record.heldParts)}`,
      ],
      href,
    });
  }
  return rows;
}

const show = async (visit: Visit): Promise<View> => {
  const { query, base, zone, services, account, now } = visit;
  const snapshot = await snapshotOf(services.database, account.id, 'message');
  const found = await scanScheduled(visit, readCursor(query.get('after')));
  const rows = await rowsOf(visit, found.rows);
  if (query.get('part') === 'rows') return { kind: 'fragment', html: html`${tableRows(texts.columns, rows, true)}` };
  const live = { url: addressWith(visit, { part: 'rows' }), mode: 'hold' as const };
  const buttons = html`<button name="act" value="delete" class="danger">${texts.cancel}</button>${isAction('message reschedule') ? moveFields(now, zone) : ''}`;
  const count = await countOf(visit, snapshot);
  const list =
    rows.length === 0
      ? empty(texts.empty, texts.emptyHint)
      : html`<form method="post" action="${base}/scheduled">${scopeFields(count >= COUNTED_MAX ? `${grouped(count)}+` : count, snapshot, buttons)}
${table({ caption: texts.title, columns: texts.columns, rows, canSelect: true, ...(query.has('after') ? {} : { live }) })}</form>`;
  const main = html`<h1>${texts.title}</h1>${noticeOf(visit, texts.notices)}<p class="quiet">${texts.zone(zoneName(zone))}</p>${list}${pager(visit, found)}`;
  return page(texts.title, main, { current: 'scheduled' });
};

const moveFields = (now: number, zone: string): Html =>
  html`<label for="when">${texts.moveTo}</label> <input id="when" name="when" type="datetime-local" min="${localTime(now, zone)}">
<button name="act" value="move">${texts.move}</button>`;

const countOf = async (visit: Visit, snapshot: bigint): Promise<number> =>
  (await scanScheduled(visit, undefined, COUNTED_MAX)).rows.filter(({ id }) => isInSnapshot(snapshot, 'message', id))
    .length;

/**
 * A moved message comes again later in the list, so each id is taken once. A million ids take
 * about 20 MB while the work goes on.
 */
async function* batches(visit: Visit, snapshot: bigint): AsyncGenerator<string[]> {
  const seen = new Set<bigint>();
  for (let after: Cursor | undefined; ; ) {
    const { rows, next } = await scanScheduled(visit, after, AT_ONCE);
    const fresh = rows.filter(({ id }) => isInSnapshot(snapshot, 'message', id) && !seen.has(id));
    for (const { id } of fresh) seen.add(id);
    yield fresh.map(({ id }) => id.toString());
    if (next === null) return;
    after = next;
  }
}

const act = async (visit: Visit): Promise<View> => {
  const { form, base, account, zone, now } = visit;
  const isMove = form.text('act') === 'move';
  const back = `${base}/scheduled`;
  const at = isMove ? instantOf(form.text('when'), zone) : null;
  if (isMove && (at === null || at <= now)) return noticed(back, 'badTime');
  const params = { username: account.username };
  const bulk = {
    title: texts.acting,
    back,
    notice: isMove ? 'move' : 'cancel',
    act: async (ids: readonly string[]) => {
      if (at === null) {
        return (await visit.act.run<{ cancelled: number }>('message cancel-many', { params, body: { ids } })).cancelled;
      }
      const body = { ids, sendAt: new Date(at).toISOString() };
      return (await visit.act.run<{ moved: number }>('message reschedule', { params, body })).moved;
    },
  };
  const snapshot = snapshotOfForm(visit);
  const total = isForAll(visit) ? await countOf(visit, snapshot) : selectedIds(visit).length;
  if (total === 0) return noticed(back, 'nothing');
  if (!isMove && form.text('confirmed') !== 'yes') return askToCancel(visit, total);
  return isForAll(visit) ? actOnAll(visit, bulk, batches(visit, snapshot), total) : actOnSelected(visit, bulk);
};

const askToCancel = ({ form, base }: Visit, total: number): View => {
  const fields = form.fields.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`);
  const question = total >= COUNTED_MAX ? texts.questionMany(total) : texts.question(total);
  const given = {
    question,
    action: `${base}/scheduled`,
    fields,
    submit: texts.submit(total),
    back: `${base}/scheduled`,
  };
  return page(question, confirmation(given), { current: 'scheduled' });
};

export const scheduledRoutes = [get('/scheduled', show), post('/scheduled', act)];
