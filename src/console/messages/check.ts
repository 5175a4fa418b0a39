import { hash } from 'node:crypto';
import { type Html, html } from '../../base/html.ts';
import { Problem } from '../../base/problem.ts';
import { randomBytes } from '../../base/random.ts';
import { ownerKey } from '../../domain/access/owners.ts';
import { rememberedAt } from '../../domain/accounts/idempotency.ts';
import { PAST_MAX_MS } from '../../domain/sending/accept.ts';
import { messageSend } from '../../operator/actions/messages/sending.ts';
import { fieldKey, fieldsOf, hasFields } from '../../sms/fields.ts';
import { CSV_BYTES_MAX } from '../../transfer/csv.ts';
import { contactNames } from '../contacts/contact-names.ts';
import { counted, grouped } from '../counts.ts';
import { bullets, hidden, noticeOf, refusalOf, table } from '../lists.ts';
import { type PageRequest, page, redirect, type View } from '../page-request.ts';
import { button, head, linkButton, note, panel, steps, tablePanel, tile } from '../parts.ts';
import { instantOf, messageText, telephone, time } from '../words.ts';
import {
  acceptedDraft,
  asWritten,
  digestOf,
  findDraft,
  goneDraft,
  isDraftKey,
  recipientsOf,
  saveDraft,
  type Written,
  writtenOf,
} from './draft.ts';
import { type Recipient, type Recipients, readLine, readRecipients } from './recipients.ts';

/**
 * The check before sending, and sending. Exactly the numbers that were checked get the message. A
 * form that is sent twice sends the message once.
 */

const texts = {
  title: 'Check before sending',
  steps: ['Write', 'Check', 'Sent'],
  tilesName: 'What will happen',
  willGo: 'Will go',
  wouldGo: 'Would go',
  willNotGo: 'Will not go',
  texts: 'Text',
  goes: (count: number) => html`${counted(count, 'message')} will go.`,
  none: 'No message can be sent.',
  lacking: 'No message will be sent, because credits are missing.',
  refused: (count: number) => html`${counted(count, 'number')} cannot get the message:`,
  duplicates: (count: number) => html`${counted(count, 'number')} more than once: each gets one message.`,
  shifted: 'Because of your quiet hours, the messages are sent at:',
  past: 'The time has passed already, so the messages are sent now.',
  due: 'To be sent',
  atOnce: 'at once',
  cost: 'Cost',
  costSaid: (credits: bigint, parts: number) => html`${counted(credits, 'credit')} (${counted(parts, 'part')})`,
  after: 'Credits left afterwards',
  free: 'Credits that you have',
  missing: (credits: bigint) =>
    html`${counted(credits, 'credit is missing', 'credits are missing')}. Ask the operator for more, or send to fewer numbers.`,
  before:
    'You have already sent or scheduled exactly this text to exactly these numbers. Send it again only if you mean to. The first time was:',
  columns: ['Where', 'Number', 'Why not'],
  without: (count: number) =>
    html`${counted(count, 'person has', 'people have')} no value for a field of the text, and will get no message:`,
  withoutHint: 'Go back and add the values to the file or to the contacts, or send without them.',
  asRead: 'As it will be read',
  more: (count: number) => html`and ${grouped(count)} more`,
  send: (count: number) => html`Send ${counted(count, 'message')}`,
  back: 'Go back and change it',
  reason: (detail: string) => `${detail.charAt(0).toUpperCase()}${detail.slice(1)}.`,
  notices: {
    changed: { nothingDone: 'Nothing was sent: what you wrote was changed in another window. This is how it is now.' },
  },
  errors: {
    noText: 'Write a text.',
    noRecipients: 'Choose the recipients: a number, a group or a file.',
    badWhen: 'Send at: expected a day and a time, such as 2026-11-16T14:05.',
    badNotAfter: 'Do not send after: expected a day and a time.',
    past: 'Send at: this is more than 24 hours in the past. Leave it empty to send now.',
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
export const AT_ONCE = 1_000;
const REFUSED_SHOWN = 200;
const PREVIEWS = 3;
/** How many people without a value are named above the table of all. */
const NAMED = 5;
/** Enough for a file, or for its numbers as the form carries them on. */
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

export type Again = (request: PageRequest, problem: Problem | null) => Promise<View>;

/** Stores what was written and leads to its check; a mistake is shown on the form. */
export async function writeDraft(request: PageRequest, key: string, again: Again): Promise<View> {
  try {
    const { form } = request;
    if (form.raw('text').trim() === '') throw new Problem('bad-argument', texts.errors.noText);
    timesOf(request);
    const recipients = await readRecipients(request);
    if (recipients.list.length === 0) throw new Problem('bad-argument', texts.errors.noRecipients);
    const own = isDraftKey(key) ? key : newKey();
    const written = writtenOf(request, own, recipients, neededOf(form.raw('text'), recipients));
    const present = await findDraft(request, own);
    // The same content under the same key is sent once, and its check leads to what was sent.
    if (present?.accepted?.digest !== digestOf(written)) await saveDraft(request, own, written);
    return redirect(checkAddress(request, own));
  } catch (thrown) {
    return again(request, refusalOf(thrown));
  }
}

/** A random key, by which content that is sent twice is sent once. */
export const newKey = (): string => randomBytes(16).toString('hex');

export const checkAddress = ({ base }: PageRequest, key: string): string => `${base}/compose/check/${key}`;

export async function checkDraft(request: PageRequest, again: Again): Promise<View> {
  const key = request.params.draft ?? '';
  const draft = await findDraft(request, key);
  if (draft?.accepted) return acceptedDraft(request, draft.accepted.path);
  if (!draft?.written) return goneDraft(request);
  const { written } = draft;
  const asTyped = asWritten(request, written);
  try {
    const checked = await dryRun(asTyped, written, timesOf(asTyped));
    return await checkPage(asTyped, key, written, checked);
  } catch (thrown) {
    return again(asTyped, refusalOf(thrown));
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
export const bodyOf = (
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

async function dryRun(request: PageRequest, written: Written, times: Record<string, string>): Promise<Checked> {
  const { lines, columns } = written;
  const list = recipientsOf(written);
  const sum = { accepted: 0, parts: 0, credits: 0n, dueAt: '', isShifted: false, isPast: false };
  const previews: Checked['previews'][number][] = [];
  const refused: Checked['refused'][number][] = [];
  for (let start = 0; start < list.length; start += AT_ONCE) {
    const some = list.slice(start, start + AT_ONCE);
    const body = bodyOf(request, lines.slice(start, start + AT_ONCE), columns, times);
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
export const contentOf = (text: string, numbers: readonly string[]): string =>
  hash('sha256', JSON.stringify([text, [...numbers].sort()]));
export const contentName = ({ session, account }: PageRequest, content: string): string =>
  hash('sha256', JSON.stringify(['console content', ownerKey(session.owner), account.username, content]));

async function checkPage(request: PageRequest, key: string, written: Written, checked: Checked): Promise<View> {
  const { base, form, zone, now, domain, account, services } = request;
  const { lines } = written;
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
  const afterwards = left < 0n ? html`${texts.free}: ${grouped(free)}` : html`${texts.after}: ${grouped(left)}`;
  const back = linkButton(`${base}/compose?draft=${key}`, texts.back, { icon: 'left' });
  const send = html`<form method="post" action="${base}/compose/send">${hidden({ key, content: digestOf(written) })}${button(texts.send(checked.accepted), { look: 'primary', icon: 'send' })}</form>`;
  const previews = checked.previews.map(
    ({ recipient, text, parts }) =>
      html`<p>${names(recipient) === null ? '' : html`<strong><bdi>${names(recipient) ?? ''}</bdi></strong> `}${telephone(recipient)} <span class="small quiet">${counted(parts, 'part')}</span></p><p class="bubble">${messageText(text)}</p>`,
  );
  const main = html`${noticeOf(request, texts.notices)}${head(texts.title, when)}${steps(texts.steps, 1)}
${sentBefore === null ? '' : note('bad', html`<p>${texts.before} ${time(sentBefore, zone)}</p>`)}
${left < 0n ? note('bad', texts.missing(-left)) : ''}
${checked.isPast ? note('wait', texts.past) : ''}${checked.isShifted ? note('wait', html`<p>${texts.shifted} ${time(checked.dueAt, zone)}</p>`) : ''}
<ul class="tiles" aria-label="${texts.tilesName}">${tile({ key: 'goes', label: left < 0n ? texts.wouldGo : texts.willGo, value: grouped(checked.accepted) })}${tile({ key: 'refused', label: texts.willNotGo, value: grouped(checked.refused.length) })}${tile({ key: 'cost', label: texts.cost, value: grouped(checked.credits), more: html`${texts.costSaid(checked.credits, checked.parts)}. ${afterwards}` })}</ul>
${written.duplicates > 0 ? note('', texts.duplicates(written.duplicates)) : ''}
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

/** Compares with the present time, because a message that is due at once was due a moment ago. */
export const isLater = ({ services }: PageRequest, dueAt: string): boolean => Date.parse(dueAt) > services.now();
