import { html } from '../../html.ts';
import { Problem } from '../../problem.ts';
import { asking, empty, filters, noticeOf, pagerOf, select, table } from '../lists.ts';
import { PAGE_ROWS } from '../scan.ts';
import { texts } from '../texts/queue.ts';
import { get, noticed, page, post, type View, type Visit } from '../visit.ts';
import { grouped, time } from '../words.ts';

/** Messages on their way out, and the decision about those of which nobody knows enough. */
interface QueueOutput {
  readonly username: string;
  readonly id: string;
  readonly state: string;
  readonly dueAt: string | null;
  readonly attempts: number;
  readonly held: string;
  readonly connector: string | null;
  readonly reason: string | null;
}
interface QueuePage {
  readonly items: readonly QueueOutput[];
  readonly next: string | null;
}

const ALL_MAX = 500;

const listOf = ({ act }: Visit, isOpen: boolean, limit: number, after: string | null): Promise<QueuePage> =>
  act.run<QueuePage>('queue list', {
    query: { limit: String(limit), ...(isOpen ? { open: 'true' } : {}), ...(after ? { after } : {}) },
  });

const show = async (visit: Visit): Promise<View> => {
  const { query, zone } = visit;
  const isOpen = query.get('show') === 'open';
  const { items, next } = await listOf(visit, isOpen, PAGE_ROWS, query.get('after'));
  const rows = items.map(({ username, id, state, dueAt, attempts, held, connector, reason }) => ({
    key: `${username}/${id}`,
    name: texts.message(username, id),
    cells: [
      html`<a href="/console/accounts/${encodeURIComponent(username)}/">${username}</a>`,
      html`<a href="/console/accounts/${encodeURIComponent(username)}/messages/${id}">${id}</a>`,
      html`<span class="${state === 'undecided' ? 'bad' : ''}">${texts.states[state] ?? state}</span>`,
      time(dueAt, zone),
      html`${grouped(attempts)}`,
      html`${grouped(held)}`,
      html`${connector ?? ''}`,
      html`${reason ?? ''}`,
    ],
  }));
  const buttons = texts.decisions.map(([value, name]) => html`<button name="act" value="${value}">${name}</button>`);
  const all = isOpen ? await listOf(visit, true, ALL_MAX, null) : null;
  const scope = html`<div class="toolbar"><label><input type="radio" name="scope" value="selected" checked> the selected ones</label>
<label><input type="radio" name="scope" value="all"> all ${grouped(all?.items.length ?? 0)} that match</label>${buttons}</div>`;
  const list =
    rows.length === 0
      ? empty(texts.empty, texts.emptyHint)
      : isOpen
        ? html`<p>${texts.lead}</p><form method="post" action="/console/queue">${scope}${table({ caption: texts.title, columns: texts.columns, rows, canSelect: true })}</form>`
        : table({ caption: texts.title, columns: texts.columns, rows });
  const filter = filters(visit, [
    select({ name: 'show', label: texts.filter, value: query.get('show') ?? '', choices: texts.filters }),
  ]);
  const main = html`<h1>${texts.title}</h1>${noticeOf(visit, texts.notices)}${filter}${list}${pagerOf(visit, next)}`;
  return page(texts.title, main, { current: 'queue' });
};

const decide = async (visit: Visit): Promise<View> => {
  const { form, act } = visit;
  const back = '/console/queue?show=open';
  const [decision, said] = texts.decisions.find(([value]) => value === form.text('act')) ?? ['submitted', ''];
  const isConfirmed = form.text('confirmed') === 'yes';
  // The page that asks names each message, so exactly those are decided.
  const keys =
    form.text('scope') === 'all' && !isConfirmed
      ? (await listOf(visit, true, ALL_MAX, null)).items.map(({ username, id }) => `${username}/${id}`)
      : form.all('id');
  const chosen = keys.slice(0, ALL_MAX).flatMap((key) => {
    const at = key.lastIndexOf('/');
    return at > 0 ? [{ username: key.slice(0, at), id: key.slice(at + 1) }] : [];
  });
  if (chosen.length === 0) return noticed(back, 'nothing');
  if (!isConfirmed) {
    const question = texts.question(chosen.length, said);
    const fields = [
      html`<input type="hidden" name="act" value="${decision}">`,
      ...keys.map((key) => html`<input type="hidden" name="id" value="${key}">`),
    ];
    return asking('queue', { question, action: '/console/queue', fields, submit: texts.submit(chosen.length), back });
  }
  let done = 0;
  for (const params of chosen) {
    const isDone = await act.run('message decide', { params, body: { decision } }).then(
      () => true,
      (thrown) => {
        if (thrown instanceof Problem && ['not-found', 'conflict'].includes(thrown.kind)) return false;
        throw thrown;
      },
    );
    if (isDone) done += 1;
  }
  return noticed(back, 'decided', done);
};

export const queueRoutes = [get('/queue', show), post('/queue', decide)];
