import { RETENTION_KINDS } from '../../domain/retention.ts';
import { type Html, html } from '../../html.ts';
import { Problem } from '../../problem.ts';
import { confirmation, field, hidden, noticeOf, problemNote, refusalOf } from '../lists.ts';
import { texts } from '../texts/retention.ts';
import { get, noticed, page, post, type View, type Visit } from '../visit.ts';

/** For how long data is kept, and erasing one person. */
interface RetentionOutput {
  readonly days: Readonly<Record<string, number | null>>;
  readonly older: Readonly<Record<string, number>>;
}
type CountsOutput = Readonly<Record<string, number | string | boolean>> & { readonly accounts: number };

const KINDS: readonly string[] = RETENTION_KINDS;
const HERE = '/console/retention';

const show = async (visit: Visit, problem: Problem | null = null): Promise<View> => {
  const { act, form } = visit;
  const { days, older } = await act.run<RetentionOutput>('retention show');
  const inputs = KINDS.map((kind) =>
    field({
      name: kind,
      label: texts.days(texts.kinds[kind] ?? kind),
      value: form.has(kind) ? form.text(kind) : String(days[kind] ?? ''),
      hint: texts.older(older[kind] ?? 0),
      type: 'number',
    }),
  );
  const main = html`<h1>${texts.title}</h1>${noticeOf(visit, texts.notices)}${problemNote(problem)}<p class="lead">${texts.lead}</p>
<form method="post" action="${HERE}" class="fields">${inputs}<button class="main">${texts.preview}</button></form>
<h2>${texts.person}</h2><p>${texts.personLead}</p><form method="post" action="${HERE}/person" class="fields">
${field({ name: 'number', label: texts.number, type: 'tel', value: form.text('number'), hint: texts.numberHint, isRequired: true, lengthMax: 50 })}
${field({ name: 'account', label: texts.account, value: form.text('account'), lengthMax: 200 })}<button>${texts.count}</button></form>`;
  return page(texts.title, main, { current: 'retention', ...(problem ? { status: 400 } : {}) });
};

const set = async (visit: Visit): Promise<View> => {
  const { act, form } = visit;
  try {
    const body = Object.fromEntries(
      KINDS.map((kind) => [kind, form.text(kind) === '' ? null : Number(form.text(kind))]),
    );
    const isConfirmed = form.text('confirmed') === 'yes';
    const { older } = await act.run<RetentionOutput>('retention set', {
      query: { dry_run: String(!isConfirmed) },
      body,
    });
    if (isConfirmed) return noticed(HERE, 'set');
    const lines = KINDS.flatMap((kind) =>
      (older[kind] ?? 0) > 0 ? [html`<li>${texts.line(texts.kinds[kind] ?? kind, older[kind] ?? 0)}</li>`] : [],
    );
    const details = lines.length > 0 ? html`<ul>${lines}</ul>` : texts.nothing;
    const fields = hidden(Object.fromEntries(KINDS.map((kind) => [kind, form.text(kind)])));
    return page(texts.question, asked(texts.question, details, HERE, fields, texts.save), { current: 'retention' });
  } catch (thrown) {
    return show(visit, refusalOf(thrown));
  }
};

const asked = (question: string, details: Html | string, action: string, fields: Html[], submit: string): Html =>
  html`${confirmation({ question, action, fields: [html`<div>${details}</div>`, ...fields], submit, back: HERE })}`;

const rowsOf = (counts: CountsOutput): number =>
  Object.keys(texts.counts).reduce(
    (sum, name) => sum + (name === 'movements' || name === 'profiles' ? 0 : Number(counts[name] ?? 0)),
    0,
  );

const person = async (visit: Visit): Promise<View> => {
  const { act, form } = visit;
  try {
    const number = form.text('number');
    const account = form.text('account');
    const isConfirmed = form.text('confirmed') === 'yes';
    const query = { dry_run: String(!isConfirmed), ...(account === '' ? {} : { account }) };
    const counts = await act.run<CountsOutput>('person erase', { params: { number }, query });
    if (isConfirmed) return noticed(HERE, 'erased', rowsOf(counts));
    if (counts.accounts === 0 && rowsOf(counts) === 0) throw new Problem('bad-argument', texts.unknown);
    const lines = Object.entries(texts.counts).flatMap(([name, said]) =>
      Number(counts[name] ?? 0) > 0 ? [html`<li>${texts.line(said, Number(counts[name]))}</li>`] : [],
    );
    const question = texts.eraseQuestion(counts.accounts);
    return page(
      question,
      asked(
        question,
        html`<ul>${lines}</ul>`,
        `${HERE}/person`,
        hidden({ number, account }),
        texts.erase(rowsOf(counts)),
      ),
      { current: 'retention' },
    );
  } catch (thrown) {
    return show(visit, refusalOf(thrown));
  }
};

export const retentionRoutes = [
  get('/retention', (visit) => show(visit)),
  post('/retention', set),
  post('/retention/person', person),
];
