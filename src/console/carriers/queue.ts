import { type Html, html } from '../../base/html.ts';
import { Problem } from '../../base/problem.ts';
import type { Item } from '../../operator/action.ts';
import { messageRefuse, messageRelease } from '../../operator/actions/accounts/guard.ts';
import { queueList } from '../../operator/actions/carriers/queue.ts';
import { messageDecide } from '../../operator/actions/messages/sending.ts';
import { type SelectableList, selectableList } from '../bulk.ts';
import { counted } from '../counts.ts';
import type { IconName } from '../icons.ts';
import { addressWith, asking, emptyNote, noticeOf, pagerOf, type Row, table, tableRows, tabs } from '../lists.ts';
import { get, noticed, type PageRequest, page, post, type View } from '../page-request.ts';
import { button, chip, head, named, num } from '../parts.ts';
import { PAGE_ROWS, SEARCHED_ROWS_MAX } from '../scan.ts';
import { listTexts } from '../texts.ts';
import { type Cell, type Tone, time } from '../words.ts';

/** Messages on their way out, and decisions about those with an unknown outcome. */

const texts = {
  title: 'Queue',
  columns: ['Account', 'State', 'Due', 'Attempts', 'Credits held', 'Connector', 'Reason'],
  filter: 'Show',
  filters: [
    ['', 'All on their way'],
    ['due', 'Due now'],
    ['claimed', 'Being submitted'],
    ['retrying', 'To be tried again'],
    ['open', 'Unknown outcome'],
    ['restored', 'Held after a restore'],
    ['held', 'Held by the spend guard'],
  ] as readonly (readonly [string, string])[],
  states: {
    waiting: ['wait', 'clock', 'Waiting'],
    submitting: ['', 'pulse', 'Being submitted'],
    'unknown-outcome': ['off', 'question', 'Unknown outcome'],
    'needs-decision': ['bad', 'question', 'Needs a decision'],
    held: ['wait', 'shield', 'Held'],
  } as Readonly<Record<string, readonly [Tone, IconName, string]>>,
  id: (id: string) => `Message ${id}`,
  message: (username: string, id: string) => `message ${id} of ${username}`,
  empty: 'No message is on its way.',
  emptyHint: 'Messages appear here from the moment they are accepted until the carrier has them.',
  noMatch: 'No message is in this state.',
  noMatchHint: 'There is nothing to do here.',
  firstOfAll: (count: number) => `the first ${count} that match`,
  leads: {
    open: 'Nobody knows whether the carrier has a message with an unknown outcome. Ask the carrier, then decide.',
    restored:
      'These messages may have been sent after the backup that was restored. Look in the carrier’s own list, then decide.',
    held: 'The spend guard holds these messages with their credits. The reason names the rule.',
  },
  decisions: [
    ['submitted', 'The carrier has it'],
    ['not-submitted', 'The carrier does not have it'],
    ['submit-again', 'Send it again, although it may arrive twice'],
  ] as readonly (readonly [string, string])[],
  heldDecisions: [
    ['release', 'Release: it goes out when it is due'],
    ['refuse', 'Refuse: it is not sent, and its credits are free again'],
  ] as readonly (readonly [string, string])[],
  question: (count: number, decision: string) => html`Decide about ${counted(count, 'message')}: ${decision}?`,
  submit: (count: number) => html`Decide about ${counted(count, 'message')}`,
  acting: 'Deciding',
  notices: {
    nothing: { nothingDone: 'Nothing was selected, so nothing was done.' },
    decided: (count: bigint) =>
      html`Decided ${counted(count, 'message')}. Messages that were decided in the meantime are not counted.`,
  },
} as const;

type Queued = Item<typeof queueList>;

const HERE = '/console/queue';
/** The most messages that are decided at once: the page that asks names each of them. */
const ALL_MAX = 500;
const READ_AT_ONCE = 200;

/** What waits for an operator has indexes of its own. */
const DECIDABLE = ['open', 'restored', 'held'] as const;
type Decidable = (typeof DECIDABLE)[number];
const isDecidable = (choice: string): choice is Decidable => DECIDABLE.some((each) => each === choice);

const pageAfter = ({ act }: PageRequest, choice: string, limit: number, after: string | null) =>
  act.run(queueList, {
    query: { limit: String(limit), ...(isDecidable(choice) ? { [choice]: 'true' } : {}), ...(after ? { after } : {}) },
  });

/**
 * Whether a choice of the filter shows a message. Messages with an unknown outcome have an index;
 * others are searched for.
 */
const isShown = (choice: string, now: number, { state, attempts, dueAt }: Queued): boolean => {
  const isDue = state === 'waiting' && dueAt !== null && Date.parse(dueAt) <= now;
  if (choice === 'due') return isDue;
  if (choice === 'claimed') return state === 'submitting';
  if (choice === 'retrying') return state === 'waiting' && attempts > 0;
  return true;
};

/** Reads a page of the wanted messages. A search looks at 20,000 messages and says so. */
async function found(request: PageRequest, choice: string) {
  const items: Queued[] = [];
  let read = 0;
  for (let after = request.query.get('after'); ; ) {
    const limit = choice === '' || isDecidable(choice) ? PAGE_ROWS : READ_AT_ONCE;
    const { items: some, next } = await pageAfter(request, choice, limit, after);
    for (const [index, item] of some.entries()) {
      if (!isShown(choice, request.now, item)) continue;
      items.push(item);
      if (items.length < PAGE_ROWS) continue;
      const isLast = index === some.length - 1;
      const end = isLast ? next : (await pageAfter(request, choice, index + 1, after)).next;
      return { items, next: end, isCut: false };
    }
    read += some.length;
    if (next === null) return { items, next, isCut: false };
    if (read >= SEARCHED_ROWS_MAX) return { items, next, isCut: true };
    after = next;
  }
}

const show = async (request: PageRequest): Promise<View> => {
  const { query } = request;
  const choice = texts.filters.find(([value]) => value === query.get('show'))?.[0] ?? '';
  const { items, next, isCut } = await found(request, choice);
  const rows = rowsOf(request, items);
  if (query.get('part') === 'rows') {
    return { kind: 'fragment', html: html`${tableRows(texts.columns, rows, isDecidable(choice))}` };
  }
  const live = query.has('after')
    ? undefined
    : ({ url: addressWith(request, { part: 'rows' }), mode: 'replace' } as const);
  const list = isDecidable(choice)
    ? await decidableList(request, choice, rows, live)
    : html`<section class="panel" aria-label="${texts.title}">${
        rows.length === 0
          ? emptyNote(texts, choice !== '')
          : table({ caption: texts.title, columns: texts.columns, rows, ...(live ? { live } : {}) })
      }</section>`;
  const filter = tabs(request, { name: 'show', label: texts.filter, choices: texts.filters });
  const main = html`${head(texts.title, isDecidable(choice) ? texts.leads[choice] : '')}${noticeOf(request, texts.notices)}<div class="filters">${filter}</div>${list}${pagerOf(request, next, isCut)}`;
  return page(texts.title, main, { current: 'queue' });
};

const decisionsOf = (choice: string) => (choice === 'held' ? texts.heldDecisions : texts.decisions);

async function decidableList(
  request: PageRequest,
  choice: Decidable,
  rows: readonly Row[],
  live: SelectableList['live'],
): Promise<Html> {
  const all = await pageAfter(request, choice, ALL_MAX, null);
  return selectableList({
    texts,
    action: HERE,
    rows,
    isFiltered: true,
    all: all.next === null ? listTexts.onAll(all.items.length) : texts.firstOfAll(all.items.length),
    kept: html`<input type="hidden" name="show" value="${choice}">`,
    buttons: html`${decisionsOf(choice).map(([value, name]) => button(name, { act: value, look: 's' }))}`,
    live,
  });
}

const rowsOf = ({ zone }: PageRequest, items: readonly Queued[]): Row[] =>
  items.map(({ username, id, state, dueAt, attempts, held, connector, reason }) => ({
    key: `${username}/${id}`,
    name: texts.message(username, id),
    cells: [
      named(
        html`<a class="open" href="/console/accounts/${encodeURIComponent(username)}/messages/${id}"><bdi>${username}</bdi></a>`,
        texts.id(id),
      ),
      stateCell(state),
      time(dueAt, zone),
      num(attempts),
      num(held),
      html`${connector ?? ''}`,
      html`${reason ?? ''}`,
    ],
  }));

function stateCell(state: string): Cell {
  const [tone, shape, words] = texts.states[state] ?? ['off', 'question', state];
  return chip(tone, shape, words);
}

const decide = async (request: PageRequest): Promise<View> => {
  const { form, act } = request;
  const choice = DECIDABLE.find((each) => each === form.text('show')) ?? 'open';
  const back = `${HERE}?show=${choice}`;
  const decisions = decisionsOf(choice);
  const [decision, said] =
    decisions.find(([value]) => value === form.text('act')) ?? (decisions[0] as [string, string]);
  const isConfirmed = form.text('confirmed') === 'yes';
  // The page that asks names each message, so that exactly those are decided.
  const keys =
    form.text('scope') === 'all' && !isConfirmed
      ? (await pageAfter(request, choice, ALL_MAX, null)).items.map(({ username, id }) => `${username}/${id}`)
      : form.all('id');
  const chosen = keys.slice(0, ALL_MAX).flatMap((key) => {
    const at = key.lastIndexOf('/');
    return at > 0 ? [{ username: key.slice(0, at), id: key.slice(at + 1) }] : [];
  });
  if (chosen.length === 0) return noticed(back, 'nothing');
  if (!isConfirmed) {
    const question = texts.question(chosen.length, said);
    const fields = [
      html`<input type="hidden" name="act" value="${decision}"><input type="hidden" name="show" value="${choice}">`,
      ...keys.map((key) => html`<input type="hidden" name="id" value="${key}">`),
    ];
    return asking('queue', { question, action: HERE, fields, submit: texts.submit(chosen.length), back });
  }
  let done = 0;
  for (const params of chosen) {
    const decided =
      choice === 'held'
        ? act.run(decision === 'release' ? messageRelease : messageRefuse, { params })
        : act.run(messageDecide, { params, body: { decision } });
    const isDone = await decided.then(
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
