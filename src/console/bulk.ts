import { type Html, html } from '../html.ts';
import { toProblem } from '../problem.ts';
import { hidden } from './lists.ts';
import { texts } from './texts/lists.ts';
import { noticed, type View, type Visit } from './visit.ts';
import { grouped } from './words.ts';

/**
 * Acting on the selected rows of a list, or on all that match. "All" are those that were there when
 * the list was shown. The form has the snapshot, and what came later is left alone.
 */
export interface BulkAct {
  readonly title: string;
  /** Where to go afterwards. */
  readonly back: string;
  /** A key of the screen's notices, which gets the count. */
  readonly notice: string;
  /** Acts on at most 500 ids in one transaction; how many were there. */
  readonly act: (ids: readonly string[]) => Promise<number>;
}

const AT_ONCE = 500;
const ID = /^-?\d{1,19}$/;

export const selectedIds = ({ form }: Visit): string[] =>
  [...new Set(form.all('id'))].filter((id) => ID.test(id)).slice(0, AT_ONCE);

export const isForAll = ({ form }: Visit): boolean => form.text('scope') === 'all';

export async function actOnSelected(visit: Visit, { back, notice, act }: BulkAct): Promise<View> {
  const ids = selectedIds(visit);
  if (ids.length === 0) return noticed(back, 'nothing');
  return noticed(back, notice, await act(ids));
}

/** Few at once; many with a page that tells the progress and stops when it is left. */
export async function actOnAll(
  visit: Visit,
  { title, back, notice, act }: BulkAct,
  batches: AsyncIterable<readonly string[]>,
  total: number,
): Promise<View> {
  if (total <= AT_ONCE) {
    let done = 0;
    for await (const ids of batches) if (ids.length > 0) done += await act(ids);
    return noticed(back, notice, done);
  }
  return { kind: 'progress', title, pieces: progress(visit, title, back, act, batches, total) };
}

async function* progress(
  { signal }: Visit,
  title: string,
  back: string,
  act: BulkAct['act'],
  batches: AsyncIterable<readonly string[]>,
  total: number,
): AsyncGenerator<Html> {
  yield html`<h1>${title}</h1><p>${texts.progressStop}</p><ol class="progress">`;
  let done = 0;
  try {
    for await (const ids of batches) {
      if (signal.aborted) return;
      if (ids.length === 0) continue;
      done += await act(ids);
      yield html`<li>${texts.progress(done, total)}</li>`;
    }
    yield html`</ol><p class="note done" role="status">${texts.progressDone(done)}</p>`;
  } catch (thrown) {
    yield html`</ol><p class="note problem" role="alert">${texts.progressFailed(toProblem(thrown, '').message)}</p>`;
  }
  yield html`<p><a href="${back}">${texts.goOn}</a></p>`;
}

/** The choice between the selected rows and all that match, with the snapshot of this page. */
export const scopeFields = (count: number | string, snapshot: bigint, buttons: Html): Html => html`<div class="toolbar">
<label hidden><input type="checkbox" data-select-page> ${texts.selectPage}</label>
<span id="act-on">${texts.actOn}:</span>
<label><input type="radio" name="scope" value="selected" checked> ${texts.onSelected}</label>
<label><input type="radio" name="scope" value="all"> ${texts.onAll(typeof count === 'string' ? count : grouped(count))}</label>
${hidden({ snapshot: snapshot.toString() })}${buttons}</div>`;

export const snapshotOfForm = ({ form }: Visit): bigint =>
  /^\d{1,19}$/.test(form.text('snapshot')) ? BigInt(form.text('snapshot')) : 0n;
