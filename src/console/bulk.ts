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
  /** The ids of the snapshot that match, in batches. */
  readonly batches: (snapshot: bigint) => AsyncIterable<readonly string[]>;
  /** Counts the ids of the snapshot. By default the batches are counted. */
  readonly count?: (snapshot: bigint) => Promise<number>;
}

/** A transaction of this many rows does not delay calls of the account for long. */
export const AT_ONCE = 500;
const ID = /^-?\d{1,19}$/;

export const selectedIds = ({ form }: PageRequest): string[] =>
  [...new Set(form.all('id'))].filter((id) => ID.test(id)).slice(0, AT_ONCE);

const isForAll = ({ form }: PageRequest): boolean => form.text('scope') === 'all';

const snapshotOfForm = ({ form }: PageRequest): bigint =>
  /^\d{1,19}$/.test(form.text('snapshot')) ? BigInt(form.text('snapshot')) : 0n;

/** Acts on few rows at once, and on many with a page of progress that stops when it is left. */
export async function actOnRows(request: PageRequest, bulk: BulkAct): Promise<View> {
  const { form } = request;
  const isAll = isForAll(request);
  const snapshot = snapshotOfForm(request);
  const isConfirmed = form.text('confirmed') === 'yes';
  const total = isAll ? await totalOf(request, bulk, snapshot) : selectedIds(request).length;
  if (total === 0) return noticed(bulk.back, 'nothing');
  if (bulk.ask && !isConfirmed) {
    const fields = [...form.fields.map(([name, value]) => hidden({ [name]: value })), hidden({ total: String(total) })];
    return asking(bulk.current, {
      ...bulk.ask(total),
      action: bulk.action ?? bulk.back,
      back: bulk.back,
      fields: fields.flat(),
    });
  }
  if (!isAll) return noticedDone(bulk, await bulk.act(selectedIds(request)), selectedIds(request));
  if (total <= AT_ONCE) {
    let done = 0;
    for await (const ids of bulk.batches(snapshot)) if (ids.length > 0) done += await bulk.act(ids);
    return noticedDone(bulk, done);
  }
  return { kind: 'progress', title: bulk.title, pieces: progress(request, bulk, bulk.batches(snapshot), total) };
}

/** The most ids in an address. */
const UNDONE_MAX = 50;

function noticedDone({ back, notice, canUndo }: BulkAct, done: number, ids: readonly string[] = []): View {
  const isUndoable = canUndo && ids.length <= UNDONE_MAX && ids.length === done;
  const key = typeof notice === 'string' ? notice : notice(done);
  return noticed(back, key, done, isUndoable ? { undo: ids.join('.') } : {});
}

/** The page that asks has counted already. Its number is only shown. */
async function totalOf({ form }: PageRequest, { count, batches }: BulkAct, snapshot: bigint): Promise<number> {
  if (form.text('confirmed') === 'yes' && /^\d{1,12}$/.test(form.text('total'))) return Number(form.text('total'));
  if (count) return count(snapshot);
  let total = 0;
  for await (const ids of batches(snapshot)) total += ids.length;
  return total;
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
 * Yields the ids of a list that are in the snapshot, in batches of 500. With `once`, a row that an
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
  }
}

/** For a list without the choice of all rows. */
export async function* noBatches(): AsyncGenerator<readonly string[]> {}

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
