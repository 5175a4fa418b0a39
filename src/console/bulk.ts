import { nextTurn } from '../base/event-loop.ts';
import { type Html, html } from '../base/html.ts';
import { toProblem } from '../base/problem.ts';
import { isInSnapshot } from '../domain/accounts/ids.ts';
import type { Cursor } from '../store/cursor.ts';
import {
  asking,
  type Confirmation,
  check,
  type EmptyStep,
  emptyNote,
  hidden,
  type ListTexts,
  type Row,
  table,
} from './lists.ts';
import { noticed, type PageRequest, type View } from './page-request.ts';
import { head, note } from './parts.ts';
import type { Scanned } from './scan.ts';
import { listTexts as texts } from './texts.ts';

/**
 * Acts on the selected rows of a list, or on all that match. "All" are the rows that existed when
 * the list was shown: the form has the snapshot, and later rows are left alone.
 */
export interface BulkAct {
  readonly title: string;
  /** The list, which is shown afterwards. */
  readonly back: string;
  /** Where its form is sent; by default to the list. */
  readonly action?: string;
  /** The item of the navigation. */
  readonly current: string;
  /** A key of the screen's notices, which gets the count; a function is called after the work. */
  readonly notice: string | ((done: number) => string);
  /** Whether the list offers to take the act back, if few rows were selected. */
  readonly canUndo?: boolean;
  /** Asks first, with the exact number. */
  readonly ask?: (total: number) => Pick<Confirmation, 'question' | 'submit' | 'details'>;
  /** Acts on at most 500 ids in one transaction. Returns how many of them existed. */
  readonly act: (ids: readonly string[]) => Promise<number>;
  /** Looks up all rows of the snapshot that match, once. Absent for a list without this choice. */
  readonly all?: (snapshot: bigint) => Promise<AllRows>;
}

export interface AllRows {
  /** False if a search may miss rows that match. Then nothing is done to all of them. */
  readonly isWhole: boolean;
  readonly batches: () => AsyncIterable<readonly string[]>;
  /** By default the batches are counted. */
  readonly count?: () => Promise<number>;
}

/** A transaction of this many rows does not delay calls of the account for long. */
export const AT_ONCE = 500;
const ID = /^-?\d{1,19}$/;

export const selectedIds = ({ form }: PageRequest): string[] =>
  [...new Set(form.all('id'))].filter((id) => ID.test(id)).slice(0, AT_ONCE);

const snapshotOfForm = ({ form }: PageRequest): bigint =>
  /^\d{1,19}$/.test(form.text('snapshot')) ? BigInt(form.text('snapshot')) : 0n;

/** Acts on few rows at once, and on many with a page of progress that stops when it is left. */
export async function actOnRows(request: PageRequest, bulk: BulkAct): Promise<View> {
  if (request.form.text('scope') === 'all') return actOnAll(request, bulk);
  const ids = selectedIds(request);
  if (ids.length === 0) return noticed(bulk.back, 'nothing');
  if (bulk.ask && request.form.text('confirmed') !== 'yes') return question(request, bulk, ids.length);
  return noticedDone(bulk, await bulk.act(ids), ids);
}

/** Never acts on more rows than the question named: if more match by now, it asks again. */
async function actOnAll(request: PageRequest, bulk: BulkAct): Promise<View> {
  const all = await bulk.all?.(snapshotOfForm(request));
  if (all?.isWhole === false) return noticed(bulk.back, 'notWhole');
  const total = all ? await countAll(all, request.signal) : 0;
  if (!all || total === 0) return noticed(bulk.back, 'nothing');
  if (bulk.ask && total > confirmedTotal(request)) return question(request, bulk, total);
  const batches = atMost(total, all.batches());
  if (total > AT_ONCE) return { kind: 'progress', title: bulk.title, pieces: progress(request, bulk, batches, total) };
  let done = 0;
  for await (const ids of batches) if (ids.length > 0) done += await bulk.act(ids);
  return noticedDone(bulk, done);
}

function question({ form }: PageRequest, bulk: BulkAct, total: number): View {
  const kept = form.fields.filter(([name]) => name !== 'total' && name !== 'confirmed');
  const fields = [...kept.map(([name, value]) => hidden({ [name]: value })), hidden({ total: String(total) })];
  return asking(bulk.current, {
    ...(bulk.ask?.(total) ?? { question: '', submit: '' }),
    action: bulk.action ?? bulk.back,
    back: bulk.back,
    fields: fields.flat(),
  });
}

const confirmedTotal = ({ form }: PageRequest): number =>
  form.text('confirmed') === 'yes' && /^\d{1,12}$/.test(form.text('total')) ? Number(form.text('total')) : 0;

/** Zero if the person has left, so that nothing is done. */
export async function countAll({ count, batches }: Omit<AllRows, 'isWhole'>, signal: AbortSignal): Promise<number> {
  if (count) return count();
  let total = 0;
  for await (const ids of batches()) {
    if (signal.aborted) return 0;
    total += ids.length;
  }
  return total;
}

async function* atMost(total: number, batches: AsyncIterable<readonly string[]>): AsyncGenerator<readonly string[]> {
  let left = total;
  for await (const ids of batches) {
    yield ids.slice(0, left);
    left -= ids.length;
    if (left <= 0) return;
  }
}

/** The most ids in an address. */
const UNDONE_MAX = 50;

function noticedDone({ back, notice, canUndo }: BulkAct, done: number, ids: readonly string[] = []): View {
  const isUndoable = canUndo && ids.length <= UNDONE_MAX && ids.length === done;
  const key = typeof notice === 'string' ? notice : notice(done);
  return noticed(back, key, done, isUndoable ? { undo: ids.join('.') } : {});
}

async function* progress(
  { signal }: PageRequest,
  { title, back, act }: BulkAct,
  batches: AsyncIterable<readonly string[]>,
  total: number,
): AsyncGenerator<Html> {
  yield html`${head(title, texts.progressStop)}<ol class="progress">`;
  let done = 0;
  try {
    for await (const ids of batches) {
      if (signal.aborted) return;
      if (ids.length === 0) continue;
      done += await act(ids);
      yield html`<li>${texts.progress(done, total)}</li>`;
    }
    yield html`</ol>${note('good', texts.progressDone(done))}`;
  } catch (thrown) {
    yield html`</ol>${note('bad', texts.progressFailed(toProblem(thrown, '').message))}`;
  }
  yield html`<p><a class="btn" href="${back}">${texts.goOn}</a></p>`;
}

/**
 * Yields the ids of a list that are in the snapshot, in batches of 500, with a turn of the event
 * loop for other calls after each. With `once`, a row that an
 * action moves further back is taken only once; a million ids take about 60 MB meanwhile.
 */
export async function* idBatches<R extends { readonly id: bigint }>(
  read: (after: Cursor | undefined, rowsMax: number) => Promise<Scanned<R>>,
  snapshot: bigint,
  { once = false }: { once?: boolean } = {},
): AsyncGenerator<string[]> {
  const seen = new Set<bigint>();
  const fresh = (rows: readonly R[]): string[] => {
    const found = rows.filter(({ id }) => isInSnapshot(snapshot, 'message', id) && !seen.has(id));
    if (once) for (const { id } of found) seen.add(id);
    return found.map(({ id }) => id.toString());
  };
  for (let after: Cursor | undefined; ; ) {
    const { rows, next } = await read(after, AT_ONCE);
    yield fresh(rows);
    if (next === null) return;
    after = next;
    await nextTurn();
  }
}

export interface SelectableList {
  readonly texts: ListTexts;
  /** Where its form is sent. */
  readonly action: string;
  readonly rows: readonly Row[];
  readonly isFiltered: boolean;
  /** The label of the choice of all rows, with their number; null without this choice. */
  readonly all: Html | string | null;
  readonly snapshot?: bigint;
  readonly buttons: Html;
  /** Fields of the filter. */
  readonly kept?: Html;
  readonly live?: { readonly url: string; readonly mode: 'hold' | 'replace' } | undefined;
  /** The next step, if there are no rows. */
  readonly step?: EmptyStep;
}

/** A list with a checkbox in each row, and buttons for the chosen rows. */
export function selectableList(given: SelectableList): Html {
  const { texts: words, rows, live, all, snapshot = 0n, kept = html``, buttons, action } = given;
  if (rows.length === 0) {
    const none = emptyNote(words, given.isFiltered, given.step);
    return html`<section class="panel"${live ? html` data-live="${live.url}" data-mode="first"` : ''}>${none}</section>`;
  }
  const shown = table({
    caption: words.title,
    columns: words.columns,
    rows,
    canSelect: true,
    ...(live ? { live } : {}),
  });
  return html`<form class="panel" method="post" action="${action}">${kept}${scopeFields(all, snapshot, buttons)}
${shown}</form>`;
}

/**
 * The bar that appears while a row is selected: the choice of all that match instead, with the
 * snapshot of this page, and the buttons.
 */
const scopeFields = (all: Html | string | null, snapshot: bigint, buttons: Html): Html =>
  html`<div class="bulk"><label class="check" hidden><input type="checkbox" data-select-page> ${texts.selectPage}</label>
${all === null ? '' : check('scope', html`${texts.actOn} ${all}`, 'all')}${hidden({ snapshot: snapshot.toString() })}${buttons}</div>`;
