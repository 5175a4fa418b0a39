import { hash } from 'node:crypto';
import { counted, grouped } from '../../base/counted.ts';
import { type Html, html } from '../../base/html.ts';
import { Problem, toProblem } from '../../base/problem.ts';
import { ownerKey } from '../../domain/access/owners.ts';
import { rememberedAt, rememberOnce } from '../../domain/accounts/idempotency.ts';
import { PAST_MAX_MS } from '../../domain/sending/accept.ts';
import { messageSend } from '../../operator/actions/sending.ts';
import { fieldKey, fieldsOf, hasFields } from '../../sms/fields.ts';
import { CSV_BYTES_MAX } from '../../transfer/csv.ts';
import { contactNames } from '../contacts/contact-names.ts';
import { bullets, hidden, refusalOf, table, withFirstLine } from '../lists.ts';
import { noticed, type PageRequest, page, type View } from '../page-request.ts';
import { button, head, note, panel, steps, tablePanel, tile } from '../parts.ts';
import { instantOf, messageText, time } from '../words.ts';
import { wrongFields } from '../wrong-fields.ts';
import { columnsOf, lineOf, type Recipient, type Recipients, readLine, readRecipients } from './recipients.ts';

/**
 * The check before sending, and sending. The page of the check carries the numbers that it checked,
 * so that exactly those get the message. A form that is sent twice sends the message once.
 */

const texts = {
  title: 'Check before sending',
  steps: ['Write', 'Check', 'Sent'],
  figures: 'What will happen',
  willGo: 'Will go',
  willNotGo: 'Will not go',
  texts: 'Text',
  goes: (count: number) => `${counted(count, 'message')} will go.`,
  none: 'No message can be sent.',
  lacking: 'No message will be sent, because credits are missing.',
  refused: (count: number) => `${counted(count, 'number')} cannot get the message:`,
  duplicates: (count: number) => `${counted(count, 'number')} more than once: each gets one message.`,
  shifted: 'Because of your quiet hours, the messages are sent at:',
  past: 'The time has passed already, so the messages are sent now.',
  due: 'To be sent',
  atOnce: 'at once',
  cost: 'Cost',
  costSaid: (credits: bigint, parts: number) => `${counted(credits, 'credit')} (${counted(parts, 'part')})`,
  after: 'Credits left afterwards',
  free: 'Credits that you have',
  missing: (credits: bigint) =>
    `${counted(credits, 'credit is missing', 'credits are missing')}. Ask the operator for more, or send to fewer numbers.`,
  before:
    'You have already sent or scheduled exactly this text to exactly these numbers. Send it again only if you mean to. The first time was:',
  columns: ['Where', 'Number', 'Why not'],
  without: (count: number) =>
    `${counted(count, 'person has', 'people have')} no value for a field of the text, and will get no message:`,
  withoutHint: 'Go back and add the values to the file or to the contacts, or send without them.',
  asRead: 'As it will be read',
  more: (count: number) => `and ${grouped(count)} more`,
  send: (count: number) => `Send ${counted(count, 'message')}`,
  back: 'Go back and change it',
  reason: (detail: string) => `${detail.charAt(0).toUpperCase()}${detail.slice(1)}.`,
  errors: {
    noText: 'Write a text.',
    noRecipients: 'Choose the recipients: a number, a group or a file.',
    badWhen: 'Send at: expected a day and a time, such as 2026-11-16T14:05.',
    badNotAfter: 'Do not send after: expected a day and a time.',
    past: 'Send at: this is more than 24 hours in the past. Leave it empty to send now.',
  },
  sending: {
    title: 'Sending',
    progress: (done: number, total: number) => `${grouped(done)} of ${grouped(total)} numbers done …`,
    done: (accepted: number, refused: number) =>
      `${counted(accepted, 'message')} accepted, ${grouped(refused)} refused.`,
    failed: (message: string, left: number) =>
      `Sending stopped: ${message} ${counted(left, 'number')} left. Reload this page to continue; messages that are accepted are not sent again.`,
    stopped: 'Keep this page open until it has finished. If it is interrupted, reload it; nothing is sent twice.',
    toBatch: 'To what was sent',
    toSent: 'To the sent messages',
    toScheduled: 'To the scheduled messages',
  },
} as const;

/** The labels of the form by the field names of the action. */
export const COMPOSE_LABELS = {
  recipients: 'To',
  text: 'Text',
  sendAt: 'Send at',
  notAfter: 'Do not send after',
  reference: 'Reference',
  file: 'File with numbers',
};

/** The most recipients of one action. */
const AT_ONCE = 1_000;
const REFUSED_SHOWN = 200;
const PREVIEWS = 3;
/** How many people without a value are named above the table of all. */
const NAMED = 5;
/** Enough for a file, or for its numbers three times: as sent, as carried on and as checked. */
export const CHECK_BYTES_MAX = CSV_BYTES_MAX + 1_048_576;

interface Checked {
  readonly accepted: number;
  readonly previews: readonly { readonly recipient: string; readonly text: string; readonly parts: number }[];
  readonly refused: readonly (Recipient & { readonly detail: string; readonly reason: string })[];
  readonly parts: number;
  readonly credits: bigint;
  readonly dueAt: string;
  readonly isShifted: boolean;
  readonly isPast: boolean;
}

type Again = (request: PageRequest, problem: Problem | null) => Promise<View>;

export async function checkMessage(request: PageRequest, key: string, again: Again): Promise<View> {
  try {
    const { form } = request;
    if (form.raw('text').trim() === '') throw new Problem('bad-argument', texts.errors.noText);
    const times = timesOf(request);
    const recipients = await readRecipients(request);
    if (recipients.list.length === 0) throw new Problem('bad-argument', texts.errors.noRecipients);
    const checked = await dryRun(request, recipients, times);
    return await checkPage(request, key, recipients, checked);
  } catch (thrown) {
    return again(request, refusalOf(thrown));
  }
}

/** The fields of the action about time, as they were typed in the zone of the account. */
function timesOf({ form, zone, now }: PageRequest): Record<string, string> {
  const { badWhen, badNotAfter, past } = texts.errors;
  const read = (name: string, refusal: string): number | null => {
    if (form.text(name) === '') return null;
    const at = instantOf(form.text(name), zone);
    if (at === null) throw new Problem('bad-argument', refusal);
    return at;
  };
  const sendAt = read('when', badWhen);
  const notAfter = read('notAfter', badNotAfter);
  if (sendAt !== null && sendAt < now - PAST_MAX_MS) throw new Problem('bad-argument', past);
  return {
    ...(sendAt === null ? {} : { sendAt: new Date(sendAt).toISOString() }),
    ...(notAfter === null ? {} : { notAfter: new Date(notAfter).toISOString() }),
  };
}

/** Lines are numbers, with their values for the fields of the text. */
const bodyOf = (
  { form }: PageRequest,
  lines: readonly string[],
  columns: readonly string[],
  times: Record<string, string>,
) => ({
  ...contentFor(form.raw('text'), lines, columns),
  ...(form.text('reference') === '' ? {} : { reference: form.text('reference') }),
  ...times,
});

function contentFor(text: string, lines: readonly string[], columns: readonly string[]) {
  const read = lines.map((line) => readLine(line, columns));
  const recipients = read.map(({ number }) => number);
  if (!hasFields(text)) return { recipients, text };
  return { recipients, template: text, values: read.map(({ values = {} }) => values), fromContacts: true };
}

/** The columns of the file that the text needs. */
const neededOf = (text: string, { fileColumns }: Recipients): string[] => {
  const keys = new Set(fieldsOf(text).map(fieldKey));
  return fileColumns.filter((name) => keys.has(fieldKey(name)));
};

const linesOf = (list: readonly Recipient[], columns: readonly string[]): string[] =>
  list.map(({ number, values = {} }) =>
    columns.length === 0
      ? number
      : lineOf(
          number,
          columns.map((name) => values[name] ?? ''),
        ),
  );

async function dryRun(
  request: PageRequest,
  { list, ...others }: Recipients,
  times: Record<string, string>,
): Promise<Checked> {
  const columns = neededOf(request.form.raw('text'), { list, ...others });
  const sum = { accepted: 0, parts: 0, credits: 0n, dueAt: '', isShifted: false, isPast: false };
  const previews: Checked['previews'][number][] = [];
  const refused: Checked['refused'][number][] = [];
  for (let start = 0; start < list.length; start += AT_ONCE) {
    const some = list.slice(start, start + AT_ONCE);
    const body = bodyOf(request, linesOf(some, columns), columns, times);
    const given = { params: { username: request.account.username }, query: { dry_run: 'true' }, body };
    const found = await request.act.run(messageSend, given);
    sum.accepted += found.accepted.length;
    sum.parts += found.parts;
    sum.credits += BigInt(found.credits);
    sum.dueAt = found.dueAt;
    sum.isShifted = found.isShifted;
    // A minute that is not over yet counts as now.
    sum.isPast = found.isPast && Date.parse(times.sendAt ?? '') < request.now - 60_000;
    const shown = found.accepted.slice(0, Math.max(0, PREVIEWS - previews.length));
    for (const { recipient, text, parts } of shown) {
      previews.push({ recipient: recipient ?? '', text: text ?? request.form.raw('text'), parts });
    }
    refused.push(
      ...found.refused.map(({ index, detail, reason }) => ({ ...(some[index] as Recipient), detail, reason })),
    );
  }
  return { ...sum, previews, refused };
}

/** Recognises the same text to the same numbers by a hash, so that no number is stored for it. */
const contentOf = (text: string, numbers: readonly string[]): string =>
  hash('sha256', JSON.stringify([text, [...numbers].sort()]));
const contentName = ({ session, account }: PageRequest, content: string): string =>
  hash('sha256', JSON.stringify(['console content', ownerKey(session.owner), account.username, content]));

async function checkPage(request: PageRequest, key: string, recipients: Recipients, checked: Checked): Promise<View> {
  const { base, form, zone, now, domain, account, services } = request;
  const columns = neededOf(form.raw('text'), recipients);
  const lines = linesOf(recipients.list, columns);
  const names = await contactNames(
    request,
    checked.previews.map(({ recipient }) => recipient),
  );
  const sentBefore = await rememberedAt(
    services.database,
    contentName(request, contentOf(form.raw('text'), lines)),
    now,
  );
  const { free } = await domain.ledger.balances(account.id);
  const left = free - checked.credits;
  const isDelayed = isLater(request, checked.dueAt);
  const notAfter = instantOf(form.text('notAfter'), zone);
  const canSend = checked.accepted > 0 && left >= 0n;
  const lead = checked.accepted === 0 ? texts.none : left < 0n ? texts.lacking : texts.goes(checked.accepted);
  const when = html`${texts.due} ${isDelayed ? time(checked.dueAt, zone) : texts.atOnce}${notAfter === null ? '' : html`. ${COMPOSE_LABELS.notAfter} ${time(notAfter, zone)}`}`;
  const afterwards = left < 0n ? `${texts.free}: ${grouped(free)}` : `${texts.after}: ${grouped(left)}`;
  const kept = hidden({
    key,
    when: form.text('when'),
    notAfter: form.text('notAfter'),
    reference: form.text('reference'),
    fileName: recipients.fileName,
    fileColumns: recipients.fileColumns.join('\t'),
  });
  const groups = form.all('group').map((group) => html`<input type="hidden" name="group" value="${group}">`);
  const fields = html`${kept}${groups}${hiddenArea('to', form.raw('to'))}${hiddenArea('text', form.raw('text'))}${hiddenArea('fileNumbers', recipients.fileNumbers.join('\n'))}`;
  const back = html`<form method="post" action="${base}/compose/check">${fields}${button(texts.back, { act: 'back', icon: 'left' })}</form>`;
  const send = html`<form method="post" action="${base}/compose/send">${fields}${hidden({ columns: columns.join('\t') })}${hiddenArea('recipients', lines.join('\n'))}${button(texts.send(checked.accepted), { look: 'primary', icon: 'send' })}</form>`;
  const previews = checked.previews.map(
    ({ recipient, text, parts }) =>
      html`<p>${names(recipient) === null ? '' : html`<strong><bdi>${names(recipient) ?? ''}</bdi></strong> `}<span class="tel"><bdi>${recipient}</bdi></span> <span class="small quiet">${counted(parts, 'part')}</span></p><p class="bubble">${messageText(text)}</p>`,
  );
  const main = html`${head(texts.title, when)}${steps(texts.steps, 1)}
${sentBefore === null ? '' : note('bad', html`<p>${texts.before} ${time(sentBefore, zone)}</p>`)}
${left < 0n ? note('bad', texts.missing(-left)) : ''}
${checked.isPast ? note('wait', texts.past) : ''}${checked.isShifted ? note('wait', html`<p>${texts.shifted} ${time(checked.dueAt, zone)}</p>`) : ''}
<ul class="tiles" aria-label="${texts.figures}">${tile({ key: 'goes', label: texts.willGo, figure: grouped(checked.accepted) })}${tile({ key: 'refused', label: texts.willNotGo, figure: grouped(checked.refused.length) })}${tile({ key: 'cost', label: texts.cost, figure: grouped(checked.credits), more: `${texts.costSaid(checked.credits, checked.parts)}. ${afterwards}` })}</ul>
${recipients.duplicates.length > 0 ? note('', texts.duplicates(recipients.duplicates.length)) : ''}
${missingNote(checked.refused)}
${panel({ title: hasFields(form.raw('text')) ? texts.asRead : texts.texts, content: html`${previews}` })}
${refusedTable(checked.refused)}
<div class="cta"><strong>${lead}</strong>${back}${canSend ? send : ''}</div>`;
  return page(texts.title, main, { current: 'compose' });
}

/** Names whoever lacks a value for a field, before anything is sent. */
function missingNote(refused: Checked['refused']): Html {
  const missing = refused.filter(({ reason }) => reason === 'missing-value');
  if (missing.length === 0) return html``;
  const byDetail = [...Map.groupBy(missing, ({ detail }) => detail)].map(
    ([detail, own]) =>
      html`${texts.reason(detail)} ${own
        .slice(0, NAMED)
        .map(({ number, from }) => `${number} (${from})`)
        .join(', ')}${own.length > NAMED ? html`, ${texts.more(own.length - NAMED)}` : ''}`,
  );
  return note('wait', html`<p>${texts.without(missing.length)}</p>${bullets(byDetail)}<p>${texts.withoutHint}</p>`);
}

function refusedTable(refused: Checked['refused']): Html {
  if (refused.length === 0) return html``;
  const rows = refused.slice(0, REFUSED_SHOWN).map(({ number, from, detail }, index) => ({
    key: String(index),
    cells: [html`${from}`, html`<bdi>${number}</bdi>`, html`${texts.reason(detail)}`],
  }));
  const more = refused.length - rows.length;
  const title = texts.refused(refused.length);
  return html`${tablePanel(title, table({ caption: title, columns: texts.columns, rows }))}${more > 0 ? html`<p>${texts.more(more)}</p>` : ''}`;
}

const hiddenArea = (name: string, value: string): Html =>
  html`<textarea hidden name="${name}">${withFirstLine(value)}</textarea>`;

interface Summary {
  readonly accepted: number;
  readonly refused: number;
  readonly isLater: boolean;
  readonly batch: string | null;
}

/** If something is refused that passed the check, the form returns with everything typed. */
export async function sendMessage(request: PageRequest, again: Again): Promise<View> {
  const { form } = request;
  const numbers = form
    .raw('recipients')
    .split('\n')
    .filter((number) => number !== '');
  if (numbers.length === 0) throw new Problem('bad-argument', texts.errors.noRecipients);
  if (numbers.length > AT_ONCE)
    return { kind: 'progress', title: texts.sending.title, pieces: sendMany(request, numbers) };
  try {
    const { accepted, isLater, batch } = await sendBatch(request, numbers, 0);
    await remember(request, numbers);
    if (batch !== null) return noticed(`${request.base}/batches/${batch}`, 'sent', accepted);
    return noticed(`${request.base}/${isLater ? 'scheduled' : 'sent'}`, 'accepted', accepted);
  } catch (thrown) {
    return again(request, refusalOf(thrown));
  }
}

/** The key covers page and content: the same content is sent once, other content is new. */
function keyOf({ form }: PageRequest, numbers: readonly string[], batch: number): string {
  const content = [
    form.text('key'),
    contentOf(form.raw('text'), numbers),
    form.text('when'),
    form.text('notAfter'),
    form.text('reference'),
  ];
  return hash('sha256', JSON.stringify([...content, batch]));
}

/** Compares with the present time, because a message that is due at once was due a moment ago. */
const isLater = ({ services }: PageRequest, dueAt: string): boolean => Date.parse(dueAt) > services.now();

async function sendBatch(
  request: PageRequest,
  numbers: readonly string[],
  batch: number,
  into: string | null = null,
): Promise<Summary> {
  const columns = columnsOf(request.form.raw('columns'));
  const body = { ...bodyOf(request, numbers, columns, sendTimes(request)), ...(into === null ? {} : { batch: into }) };
  const given = { params: { username: request.account.username }, query: {}, body };
  return request.act.once(keyOf(request, numbers, batch), messageSend, given, (output) => ({
    accepted: output.accepted.length,
    refused: output.refused.length,
    isLater: isLater(request, output.dueAt),
    batch: output.batch,
  }));
}

/** A time that has passed since the check means now. A reload must give the same times. */
function sendTimes({ form, zone }: PageRequest): Record<string, string> {
  const fields = [['sendAt', 'when'] as const, ['notAfter', 'notAfter'] as const].flatMap(([field, name]) => {
    const at = form.text(name) === '' ? null : instantOf(form.text(name), zone);
    return at === null ? [] : [[field, new Date(at).toISOString()]];
  });
  return Object.fromEntries(fields);
}

const remember = (request: PageRequest, numbers: readonly string[]): Promise<void> =>
  rememberOnce(
    request.services.database,
    contentName(request, contentOf(request.form.raw('text'), numbers)),
    request.now,
  );

/** Sends in batches, each once. If the page breaks, a reload continues with the next batch. */
async function* sendMany(request: PageRequest, numbers: readonly string[]): AsyncGenerator<Html> {
  const { sending } = texts;
  yield html`${head(sending.title, sending.stopped)}<ol class="progress">`;
  let [accepted, refused, isLater, done] = [0, 0, false, 0];
  let into: string | null = null;
  try {
    for (let start = 0; start < numbers.length; start += AT_ONCE) {
      const some = numbers.slice(start, start + AT_ONCE);
      const summary: Summary = await sendBatch(request, some, start / AT_ONCE, into);
      into = summary.batch ?? into;
      accepted += summary.accepted;
      refused += summary.refused;
      isLater = summary.isLater;
      done = start + some.length;
      yield html`<li>${sending.progress(done, numbers.length)}</li>`;
    }
    await remember(request, numbers);
    yield html`</ol>${note('good', sending.done(accepted, refused))}`;
  } catch (thrown) {
    const { sentence } = wrongFields(toProblem(thrown, ''), COMPOSE_LABELS);
    yield html`</ol>${note('bad', sending.failed(sentence, numbers.length - done))}`;
  }
  const path = into === null ? (isLater ? 'scheduled' : 'sent') : `batches/${into}`;
  const words = into === null ? (isLater ? sending.toScheduled : sending.toSent) : sending.toBatch;
  yield html`<p><a class="btn" href="${request.base}/${path}">${words}</a></p>`;
}
