import { type Html, html } from '../../base/html.ts';
import { Problem, toProblem } from '../../base/problem.ts';
import { RETENTION_KINDS } from '../../domain/privacy/retention.ts';
import type { Output } from '../../operator/action.ts';
import { personErase } from '../../operator/actions/accounts/persons.ts';
import { retentionSet, retentionShow } from '../../operator/actions/accounts/retention.ts';
import { counted, grouped } from '../counts.ts';
import { asking, bullets, field, fieldRow, hidden, noticeOf, problemNote, refusalOf, screen } from '../lists.ts';
import { get, noticed, type PageRequest, post, type View } from '../page-request.ts';
import { formPanel, head, note, panel, tile } from '../parts.ts';
import { reporting } from '../progress.ts';

/** How long data is kept, and the erasure of a person. */

const texts = {
  title: 'Retention and erasure',
  keep: 'How long data is kept',
  lead: 'For how many days each kind of data is kept. Empty: for ever.',
  kinds: {
    inbox: 'Received messages',
    sent: 'Sent messages with their history',
    audit: 'The audit',
    ledger: 'Single movements of credits',
    unrouted: 'Incoming messages without a route',
    clients: 'Clients of the old server, with their addresses',
  },
  progress: 'Too old now',
  progressLead: 'The service deletes it every hour, and within minutes if a lot is left.',
  preview: 'Show what would be deleted',
  save: 'Set',
  question: 'Set these days? What is older will be deleted within an hour:',
  nothing: 'Nothing is too old.',
  line: (name: string, count: number) => html`${name}: ${grouped(count)}`,
  person: 'Erase a person',
  personLead: 'Everything that all accounts have about a phone number: contacts, messages, evidence on blacklists.',
  number: 'Phone number',
  numberHint: 'In international form, such as +27825550201.',
  account: 'Only in this account',
  count: 'Count what would be erased',
  counts: {
    contacts: 'contacts',
    inbox: 'received messages',
    sent: 'sent messages',
    scheduled: 'scheduled messages, which are cancelled',
    blacklist: 'entries of the blacklist, of which a hash stays',
    movements: 'movements of credits that named the number, which stay without it',
    profiles: 'profiles of accounts with this number, which stay',
    unrouted: 'incoming messages without a route',
  },
  erase: (rows: number) => html`Erase ${counted(rows, 'entry', 'entries')}`,
  eraseQuestion: (accounts: number) =>
    html`Erase this person from ${counted(accounts, 'account')}? This cannot be undone.`,
  unknown: 'No account knows this number.',
  erasing: 'Erasing. Every account is searched …',
  erased: (count: number) => html`Erased ${counted(count, 'entry', 'entries')}.`,
  back: 'Go on',
  notices: { set: 'The days are set.' },
} as const;

type Counts = Output<typeof personErase>;
type Counted = keyof typeof texts.counts;

const HERE = '/console/retention';
const DAYS = RETENTION_KINDS.map((kind) => [kind, texts.kinds[kind]] as const);
const LABELS = { ...Object.fromEntries(DAYS), number: texts.number, username: texts.account };

/** The numbers of rows that are too old, which shrink while the service removes them. */
const tooOld = (older: Output<typeof retentionShow>['older']): Html =>
  html`${RETENTION_KINDS.map((kind) => tile({ key: kind, label: texts.kinds[kind], value: grouped(older[kind]) }))}`;

const show = async (request: PageRequest, problem: Problem | null = null): Promise<View> => {
  const { act, form, query } = request;
  const { days, older } = await act.run(retentionShow);
  if (query.get('part') === 'counts') return { kind: 'fragment', html: tooOld(older) };
  const inputs = DAYS.map(([kind, label]) =>
    field({
      name: kind,
      label,
      value: form.has(kind) ? form.text(kind) : String(days[kind] ?? ''),
      type: 'number',
    }),
  );
  const who = fieldRow([
    field({
      name: 'number',
      label: texts.number,
      type: 'tel',
      value: form.text('number'),
      hint: texts.numberHint,
      isRequired: true,
      lengthMax: 50,
    }),
    field({ name: 'account', label: texts.account, value: form.text('account'), lengthMax: 200 }),
  ]);
  const old = html`<p class="small quiet">${texts.progressLead}</p><ul class="tiles" aria-label="${texts.progress}" data-live="${HERE}?part=counts" data-mode="whole">${tooOld(older)}</ul>`;
  const main = html`${head(texts.title)}${noticeOf(request, texts.notices)}${problemNote(problem, LABELS)}
${formPanel({ title: texts.keep, action: HERE, lead: texts.lead, fields: fieldRow(inputs), submit: texts.preview })}
${panel({ title: texts.progress, content: old })}
${formPanel({ title: texts.person, action: `${HERE}/person`, lead: texts.personLead, fields: who, submit: texts.count })}`;
  return screen(texts.title, 'retention', main, problem);
};

const set = async (request: PageRequest): Promise<View> => {
  const { act, form } = request;
  try {
    const body = Object.fromEntries(
      RETENTION_KINDS.map((kind) => [kind, form.text(kind) === '' ? null : Number(form.text(kind))]),
    );
    const isConfirmed = form.text('confirmed') === 'yes';
    const { older } = await act.run(retentionSet, {
      query: { dry_run: String(!isConfirmed) },
      body,
    });
    if (isConfirmed) return noticed(HERE, 'set');
    const lines = RETENTION_KINDS.flatMap((kind) =>
      older[kind] > 0 ? [texts.line(texts.kinds[kind], older[kind])] : [],
    );
    const details = lines.length > 0 ? bullets(lines) : texts.nothing;
    const fields = hidden(Object.fromEntries(RETENTION_KINDS.map((kind) => [kind, form.text(kind)])));
    const given = { question: texts.question, details, action: HERE, fields, submit: texts.save, back: HERE };
    return asking('retention', given);
  } catch (thrown) {
    return show(request, refusalOf(thrown));
  }
};

const COUNTED = Object.entries(texts.counts) as [Counted, string][];
/** The number of rows that an erasure removes; movements and profiles stay. */
const rowsOf = (counts: Counts): number =>
  COUNTED.reduce((sum, [name]) => sum + (name === 'movements' || name === 'profiles' ? 0 : counts[name]), 0);

const person = async (request: PageRequest): Promise<View> => {
  const { act, form } = request;
  const number = form.text('number');
  const account = form.text('account');
  const query = account === '' ? {} : { username: account };
  if (form.text('confirmed') === 'yes') {
    return { kind: 'progress', title: texts.person, pieces: erasing(request, number, query) };
  }
  try {
    const counts = await act.run(personErase, {
      params: { number },
      query: { dry_run: 'true', ...query },
    });
    if (counts.accounts === 0 && rowsOf(counts) === 0) throw new Problem('bad-argument', texts.unknown);
    const lines = COUNTED.flatMap(([name, said]) => (counts[name] > 0 ? [texts.line(said, counts[name])] : []));
    return asking('retention', {
      question: texts.eraseQuestion(counts.accounts),
      details: bullets(lines),
      action: `${HERE}/person`,
      fields: hidden({ number, account }),
      submit: texts.erase(rowsOf(counts)),
      back: HERE,
    });
  } catch (thrown) {
    return show(request, refusalOf(thrown, 'not-found'));
  }
};

/** Every account is searched, which may take a while, so the page says so before it begins. */
async function* erasing({ act }: PageRequest, number: string, query: Record<string, string>): AsyncGenerator<Html> {
  yield head(texts.person, texts.erasing);
  try {
    const given = { params: { number }, query: { dry_run: 'false', ...query } };
    const counts = yield* reporting((progress) => act.run(personErase, { ...given, progress }));
    yield note('good', texts.erased(rowsOf(counts)));
  } catch (thrown) {
    yield problemNote(toProblem(thrown, ''), LABELS);
  }
  yield html`<p><a class="btn" href="${HERE}">${texts.back}</a></p>`;
}

export const retentionRoutes = [
  get('/retention', (request) => show(request)),
  post('/retention', set),
  post('/retention/person', person),
];
