import { type Html, html } from '../../base/html.ts';
import { Problem } from '../../base/problem.ts';
import { randomBytes } from '../../base/random.ts';
import { type Batch, batchOf, waitingOf, withdrawnOf } from '../../domain/messages/batches.ts';
import { type Forecast, forecastOf } from '../../domain/queue/forecast.ts';
import type { Output } from '../../operator/action.ts';
import { batchCancel, batchExport, batchMessages, batchResend } from '../../operator/actions/messages/batches.ts';
import { BATCH_STATES } from '../../operator/batch-members.ts';
import { partsOf } from '../../sms/parts.ts';
import { contactNames } from '../contacts/contact-names.ts';
import { counted, decimal, durationSaid, grouped } from '../counts.ts';
import { icon } from '../icons.ts';
import { addressWith, emptyNote, noticeOf, pageQuery, pagerOf, type Row, table, tableRows, tabs } from '../lists.ts';
import { get, noticed, type PageRequest, page, post, type View } from '../page-request.ts';
import { backLink, chip, fact, facts, head, linkButton, note, num, panel, person, question, tile } from '../parts.ts';
import { clamped, time } from '../words.ts';
import { batchChip, batchName, countsSaid, firstTextsOf, meter, peopleSaid } from './batch-row.ts';
import { statusCell } from './status-cell.ts';

/** What was sent together: how far it is, what became of it, and what can be done about it. */

const texts = {
  title: 'Sent together',
  lists: { sent: 'Sent', scheduled: 'Scheduled' },
  tilesName: 'What became of it',
  tiles: {
    delivered: 'Delivered',
    failed: 'Not delivered',
    onWay: 'On their way',
    waiting: 'Waiting',
    cost: 'Credits',
  },
  costSaid: (used: bigint, credits: bigint) => html`used of ${grouped(credits)}${used === credits ? '' : ' held'}`,
  progress: (ended: number, total: number) => html`${grouped(ended)} of ${counted(total, 'message')} have ended`,
  states: [
    ['', 'All'],
    ['scheduled', 'Scheduled'],
    ['queued', 'Waiting'],
    ['submitted', 'On their way'],
    ['delivered', 'Delivered'],
    ['failed', 'Not delivered'],
    ['unknown', 'Not known'],
    ['cancelled', 'Cancelled'],
  ] as readonly (readonly [string, string])[],
  state: 'State',
  columns: ['To', 'Text', 'State', 'Parts', 'When'],
  empty: 'No message of this send is listed any more.',
  emptyHint: 'Its messages were deleted, or they were too old.',
  noMatch: 'No message of this send is in this state.',
  noMatchHint: 'Choose another state above.',
  scheduled: 'Scheduled',
  resentAs: 'Sent again',
  csv: 'CSV',
  cancel: (count: number) => html`Cancel ${grouped(count)}…`,
  cancelQuestion: (count: number) =>
    html`Cancel ${counted(count, 'message')} of this send that ${count === 1 ? 'waits' : 'wait'}? ${count === 1 ? 'It is' : 'They are'} not sent, and ${count === 1 ? 'its' : 'their'} credits are free again.`,
  cancelSubmit: (count: number) => html`Cancel ${counted(count, 'message')}`,
  resend: (count: number) => html`Send ${grouped(count)} again…`,
  resendQuestion: (count: number) =>
    html`Send ${counted(count, 'message')} again that ${count === 1 ? 'was' : 'were'} not delivered? Each becomes a new message and costs credits again.`,
  resendDetails:
    'Only messages that ended undelivered are sent again, and none of them twice. Numbers on the blacklist are left out.',
  resendSubmit: (count: number) => html`Send ${counted(count, 'message')} again`,
  facts: 'About it',
  reference: 'Reference',
  id: 'Id',
  createdAt: 'Accepted',
  dueAt: 'Due',
  people: 'People',
  refused: 'Refused when it was accepted',
  parts: 'Parts',
  cancelledCount: 'Cancelled or deleted',
  forecast: {
    done: 'Probably all submitted by',
    speed: (perSecond: number, basis: 'measured' | 'rate') =>
      html`at ${perSecond >= 10 ? grouped(Math.round(perSecond)) : decimal(perSecond)} a second, ${basis === 'measured' ? 'as so far' : 'the rate of the carrier'}`,
    starts: 'Goes out from',
    none: 'When it will be done is not known yet: nothing has gone out so far.',
    stopped: {
      paused: 'Sending is paused by the operator, so nothing goes out at this moment. Nothing is lost.',
      down: 'The carrier cannot be reached at this moment. Columba tries again by itself, and nothing is lost.',
      disabled: 'The account is disabled, so nothing goes out.',
    },
  },
  notices: {
    sent: (count: bigint) => html`${counted(count, 'message')} accepted. This page shows what becomes of them.`,
    cancelled: (count: bigint) => html`Cancelled ${counted(count, 'message')}. Their credits are free again.`,
    resent: (count: bigint) => html`${counted(count, 'message')} accepted again, as this new send.`,
    resentOne: '1 message accepted again.',
    notCancelled: { nothingDone: 'Nothing was cancelled: no message of this send waits any more.' },
    notResent: { nothingDone: 'Nothing was sent again: no message is left that can be sent again.' },
  },
} as const;

type Member = Output<typeof batchMessages>['items'][number];

const idOf = ({ params }: PageRequest): bigint => {
  if (!/^-?\d{1,19}$/.test(params.id ?? '')) throw new Problem('not-found', 'There is no such batch.');
  return BigInt.asIntN(64, BigInt(params.id as string));
};
const paramsOf = (request: PageRequest) => ({ username: request.account.username, id: idOf(request).toString() });

const show = async (request: PageRequest): Promise<View> => {
  const { services, account, query, base, now } = request;
  const batch = await batchOf(services.database, account.id, idOf(request));
  const state = BATCH_STATES.find((each) => each === query.get('state'));
  const { items, next } = await request.act.run(batchMessages, {
    params: paramsOf(request),
    query: { ...pageQuery(request), ...(state === undefined ? {} : { state }) },
  });
  const rows = await rowsOf(request, items);
  if (query.get('part') === 'rows') return { kind: 'fragment', html: html`${tableRows(texts.columns, rows)}` };
  const first = (await firstTextsOf(request, [batch])).get(batch.batchId);
  const forecast = await forecastOf(services.database, account.username, batch, now);
  const summary = summaryOf(request, batch, forecast);
  if (query.get('part') === 'summary') return { kind: 'fragment', html: summary };
  const list = batch.inSchedule === batch.accepted ? 'scheduled' : 'sent';
  const isMoving = waitingOf(batch) + batch.submitted > 0;
  const url = (part: string) => addressWith(request, { part });
  const live = isMoving && !query.has('after') ? { live: { url: url('rows'), mode: 'replace' as const } } : {};
  const members =
    rows.length === 0
      ? emptyNote({ ...texts, title: texts.title }, state !== undefined)
      : table({ caption: texts.title, columns: texts.columns, rows, ...live });
  const main = html`${backLink(`${base}/${list}`, texts.lists[list])}${noticeOf(request, texts.notices)}
${head(html`${icon('people')} ${batchName(batch, first)}`, html`${peopleSaid(batch.accepted)} · ${time(batch.dueAt, request.zone)}`, batchChip(batch))}
<div class="stack"${isMoving ? html` data-live="${url('summary')}" data-mode="whole"` : ''}>${summary}</div>
${buttons(request, batch)}
<div class="filters">${tabs(request, { name: 'state', label: texts.state, choices: statesOf(batch) })}${linkButton(`${base}/batches/${batch.batchId}/messages.csv${state === undefined ? '' : `?state=${state}`}`, texts.csv, { icon: 'download', look: 's' })}</div>
<section class="panel" aria-label="${texts.title}">${members}</section>${pagerOf(request, next)}
${panel({ title: texts.facts, content: factsOf(request, batch) })}`;
  return page(batch.name ?? texts.title, main, { current: list });
};

/** The tabs of states that the batch has. */
function statesOf(batch: Batch): typeof texts.states {
  const { inSchedule, queued, submitted, delivered, failed, resent, unknown, cancelled } = batch;
  const counts: Readonly<Record<string, number>> = {
    scheduled: inSchedule,
    failed: failed + resent,
    queued,
    submitted,
    delivered,
    unknown,
    cancelled,
  };
  return texts.states.filter(([value]) => value === '' || (counts[value] ?? 0) > 0);
}

function summaryOf({ zone, base }: PageRequest, batch: Batch, forecast: Forecast | null): Html {
  const { delivered, failed, resent, submitted, unknown, used, credits, accepted, batchId } = batch;
  const to = (state: string) => `${base}/batches/${batchId}?state=${state}`;
  const waiting = waitingOf(batch);
  const ended = accepted - waiting - submitted - unknown;
  const tiles = [
    tile({ key: 'delivered', label: texts.tiles.delivered, value: grouped(delivered), href: to('delivered') }),
    tile({ key: 'failed', label: texts.tiles.failed, value: grouped(failed + resent), href: to('failed') }),
    tile({ key: 'onWay', label: texts.tiles.onWay, value: grouped(submitted), href: to('submitted') }),
    tile({
      key: 'waiting',
      label: texts.tiles.waiting,
      value: grouped(waiting),
      href: to(batch.inSchedule > 0 ? 'scheduled' : 'queued'),
    }),
    tile({ key: 'cost', label: texts.tiles.cost, value: grouped(used), more: texts.costSaid(used, credits) }),
  ];
  return html`<ul class="tiles" aria-label="${texts.tilesName}">${tiles}</ul>
<div class="stack tight">${meter(batch)}<p class="small">${texts.progress(ended, accepted)}. ${countsSaid(batch)}</p></div>
${forecast === null ? '' : forecastSaid(forecast, batch, zone)}`;
}

function forecastSaid({ doneAt, perSecond, basis, startsAt, stopped }: Forecast, batch: Batch, zone: string): Html {
  const words = texts.forecast;
  if (stopped !== null) return note('wait', words.stopped[stopped]);
  const starts =
    batch.dueAt < startsAt || batch.startedAt === null ? html`${words.starts} ${time(startsAt, zone)}. ` : '';
  if (doneAt === null || perSecond === null || basis === null) return html`<p class="quiet">${starts}${words.none}</p>`;
  return html`<p class="quiet">${starts}${words.done} ${time(doneAt, zone)} (${durationSaid(Math.max(0, doneAt - startsAt))}), ${words.speed(perSecond, basis)}.</p>`;
}

function factsOf({ zone }: PageRequest, batch: Batch): Html {
  const withdrawn = withdrawnOf(batch);
  return facts([
    fact(texts.reference, batch.name === null ? '–' : html`<bdi>${batch.name}</bdi>`),
    fact(texts.createdAt, time(batch.createdAt, zone)),
    fact(texts.dueAt, time(batch.dueAt, zone)),
    fact(texts.people, grouped(batch.accepted)),
    batch.refused === 0 ? '' : fact(texts.refused, grouped(batch.refused)),
    withdrawn === 0 ? '' : fact(texts.cancelledCount, grouped(withdrawn)),
    fact(texts.parts, grouped(batch.parts)),
    fact(texts.id, html`<code data-copy>${String(batch.batchId)}</code>`),
  ]);
}

/** Each button opens its question in place; the page knows the exact numbers. */
function buttons({ base }: PageRequest, batch: Batch): Html {
  const waiting = waitingOf(batch);
  const { failed, batchId } = batch;
  if (waiting + failed === 0) return html``;
  const again = question({
    words: texts.resend(failed),
    icon: 'again',
    question: texts.resendQuestion(failed),
    details: texts.resendDetails,
    action: `${base}/batches/${batchId}/resend`,
    fields: html`<input type="hidden" name="key" value="${randomBytes(16).toString('hex')}">`,
    submit: texts.resendSubmit(failed),
  });
  const cancel = question({
    words: texts.cancel(waiting),
    question: texts.cancelQuestion(waiting),
    action: `${base}/batches/${batchId}/cancel`,
    submit: texts.cancelSubmit(waiting),
  });
  return html`<div class="row">${failed === 0 ? '' : again}${waiting === 0 ? '' : cancel}</div>`;
}

async function rowsOf(request: PageRequest, members: readonly Member[]): Promise<Row[]> {
  const { base, zone } = request;
  const names = await contactNames(
    request,
    members.map(({ recipient }) => recipient),
  );
  return members.map(({ id, recipient, text, status, at, resentAs }) => ({
    key: id,
    cells: [
      person(recipient, names(recipient), `${base}/messages/${id}`),
      clamped(text),
      status === null
        ? chip('', 'calendar', texts.scheduled)
        : resentAs === null
          ? statusCell(status)
          : {
              ...html`${statusCell(status)} <a class="small" href="${base}/messages/${resentAs}">${texts.resentAs}</a>`,
              kind: 'chip' as const,
            },
      num(partsOf(text ?? '')),
      time(at, zone),
    ],
  }));
}

const cancel = async (request: PageRequest): Promise<View> => {
  const back = `${request.base}/batches/${idOf(request)}`;
  let cancelled = 0;
  // Each call is a short transaction; what is being submitted at this moment stays.
  for (;;) {
    const done = await request.act.run(batchCancel, { params: paramsOf(request) });
    cancelled += done.cancelled;
    if (done.cancelled === 0 || done.left === 0) break;
  }
  return cancelled === 0 ? noticed(back, 'notCancelled') : noticed(back, 'cancelled', cancelled);
};

interface Resent {
  readonly sent: number;
  readonly batch: string | null;
  readonly next: string | null;
}

const resend = async (request: PageRequest): Promise<View> => {
  const { base, form } = request;
  const back = `${base}/batches/${idOf(request)}`;
  const key = form.text('key');
  if (key === '') return noticed(back, 'notResent');
  let [resent, into, after]: [number, string | null, string | null] = [0, null, null];
  for (let call = 0; ; call += 1) {
    const body: { after?: string; into?: string } = {
      ...(after === null ? {} : { after }),
      ...(into === null ? {} : { into }),
    };
    const done: Resent = await request.act.once(
      `${key}/${call}`,
      batchResend,
      { params: paramsOf(request), body },
      ({ resent: sent, batch, next }) => ({ sent, batch, next }),
    );
    resent += done.sent;
    into = done.batch ?? into;
    after = done.next;
    if (after === null) break;
  }
  if (resent === 0) return noticed(back, 'notResent');
  return into === null ? noticed(back, 'resentOne') : noticed(`${base}/batches/${into}`, 'resent', resent);
};

const csv = async (request: PageRequest): Promise<View> => {
  const state = BATCH_STATES.find((each) => each === request.query.get('state'));
  const query = state === undefined ? {} : { state };
  return {
    kind: 'download',
    fileName: `send-${idOf(request)}.csv`,
    text: await request.act.download(batchExport, { params: paramsOf(request), query }),
  };
};

export const batchRoutes = [
  get('/batches/:id/messages.csv', csv),
  get('/batches/:id', show),
  post('/batches/:id/cancel', cancel),
  post('/batches/:id/resend', resend),
];
