import { type Html, html } from '../base/html.ts';
import { Problem, type ProblemKind } from '../base/problem.ts';
import type { DownloadAction } from '../operator/action.ts';
import type { accountParams } from '../operator/schemas.ts';
import { type PageRequest, page, type View } from './page-request.ts';
import { PAGE_ROWS, type Scanned, writeCursor } from './scan.ts';
import { listTexts as texts } from './texts.ts';
import { type Labels, wrongFields } from './wrong-fields.ts';

/** Lists, forms and notes that screens are made of. */

export type Notices = Readonly<Record<string, string | ((count: bigint) => string)>>;

/** Says what was just done, by the key in the query. An unknown key is ignored. */
export function noticeOf({ query }: PageRequest, notices: Notices): Html {
  const key = query.get('notice') ?? '';
  const notice = Object.hasOwn(notices, key) ? notices[key] : undefined;
  if (notice === undefined) return html``;
  const count = /^\d{1,18}$/.test(query.get('count') ?? '') ? BigInt(query.get('count') as string) : 0n;
  return html`<p class="note done" role="status">${typeof notice === 'string' ? notice : notice(count)}</p>`;
}

/** Says what was refused. `labels` are those of the form, by the field names of its action. */
export function problemNote(problem: Problem | null, labels: Labels = {}): Html {
  if (!problem) return html``;
  const { sentence, each } = wrongFields(problem, labels);
  const items = each.length === 0 ? '' : html`<ul>${each.map((line) => html`<li>${line}</li>`)}</ul>`;
  return html`<div class="note problem" role="alert"><p>${sentence}</p>${items}</div>`;
}

/**
 * Returns a refusal that the person can correct on the same page, and rethrows anything else. If a
 * form names something, `more` is `not-found`.
 */
export function refusalOf(thrown: unknown, more?: ProblemKind): Problem {
  if (thrown instanceof Problem && (CORRECTABLE.includes(thrown.kind) || thrown.kind === more)) return thrown;
  throw thrown;
}
const CORRECTABLE: readonly string[] = ['bad-argument', 'conflict', 'too-large', 'malformed'];

/** A row of a table. Enter opens its link of the class `open`, or else its first link. */
export interface Row {
  readonly key: string;
  readonly cells: readonly Html[];
  /** What the checkbox selects, for screen readers. */
  readonly name?: string;
  readonly isStrong?: boolean;
}

export interface TableOptions {
  readonly caption: string;
  readonly columns: readonly string[];
  readonly rows: readonly Row[];
  readonly canSelect?: boolean;
  /** The script requests the rows again; `hold` shows new rows on demand. */
  readonly live?: { readonly url: string; readonly mode: 'hold' | 'replace' };
}

export function table({ caption, columns, rows, canSelect = false, live }: TableOptions): Html {
  const selector = canSelect ? html`<th scope="col"><span class="unseen">${texts.select('')}</span></th>` : '';
  return html`<table class="cards"><caption class="unseen">${caption}</caption>
<thead><tr>${selector}${columns.map((name) => html`<th scope="col">${name === '' ? html`<span class="unseen">${texts.acts}</span>` : name}</th>`)}</tr></thead>
<tbody${live ? html` data-live="${live.url}" data-mode="${live.mode}"` : ''}>${tableRows(columns, rows, canSelect)}</tbody></table>`;
}

/** The rows alone, for the script. */
export const tableRows = (columns: readonly string[], rows: readonly Row[], canSelect = false): Html[] =>
  rows.map(
    ({ key, cells, name = '', isStrong }) => html`<tr data-key="${key}"${isStrong ? html` class="strong"` : ''}>${
      canSelect
        ? html`<td class="select"><input type="checkbox" name="id" value="${key}" aria-label="${texts.select(name)}"></td>`
        : ''
    }${cells.map((cell, index) => (columns[index] ? html`<td data-label="${columns[index]}">${cell}</td>` : html`<td>${cell}</td>`))}</tr>
`,
  );

/** The texts of a list. `noMatch` is for a list that is empty because of a filter. */
export interface ListTexts {
  readonly title: string;
  readonly columns: readonly string[];
  readonly empty: string;
  readonly emptyHint: string;
  readonly noMatch?: string;
  readonly noMatchHint?: string;
}

/** The table of a list, or why it has no rows. */
export function listOf(texts: ListTexts, rows: readonly Row[], isFiltered = false): Html {
  return rows.length > 0 ? table({ caption: texts.title, columns: texts.columns, rows }) : emptyNote(texts, isFiltered);
}

export const emptyNote = ({ empty: none, emptyHint, noMatch, noMatchHint }: ListTexts, isFiltered = false): Html =>
  isFiltered && noMatch !== undefined ? empty(noMatch, noMatchHint ?? '') : empty(none, emptyHint);

/** The query of a list for its action: a page, with the given parameters of the address. */
export function pageQuery({ query }: Pick<PageRequest, 'query'>, ...names: readonly string[]): Record<string, string> {
  const given = ['after', ...names].map((name) => [name, query.get(name)?.trim() ?? ''] as const);
  return { limit: String(PAGE_ROWS), ...Object.fromEntries(given.filter(([, value]) => value !== '')) };
}

export const isFilteredBy = ({ query }: Pick<PageRequest, 'query'>, ...names: readonly string[]): boolean =>
  names.some((name) => (query.get(name)?.trim() ?? '') !== '');

/** The field of a filter, with its value from the address. */
export const filterField = ({ query }: Pick<PageRequest, 'query'>, name: string, label: string, type = 'text'): Html =>
  field({
    isFilter: true,
    name,
    label,
    type,
    value: query.get(name) ?? '',
    ...(type === 'date' ? {} : { lengthMax: 200 }),
  });

export const searchField = (request: Pick<PageRequest, 'query'>, label: string): Html =>
  filterField(request, 'q', label, 'search');

export const filterSelect = ({ query }: Pick<PageRequest, 'query'>, given: Omit<Choice, 'value'>): Html =>
  select({ ...given, value: query.get(given.name) ?? '' });

/** A screen, which a refused form shows again with the status 400. */
export const screen = (title: string, current: string, main: Html, problem: Problem | null = null): View =>
  page(title, main, { current, ...(problem ? { status: 400 } : {}) });

/** A CSV file that an action of the account writes. */
export const download =
  (fileName: string, action: DownloadAction<typeof accountParams>) =>
  async ({ act, account }: PageRequest): Promise<View> => ({
    kind: 'download',
    fileName,
    text: await act.download(action, { params: { username: account.username } }),
  });

/** The link to the file of a list, with the filter of the list, from its first row on. */
export const csvLink = ({ path, query }: Pick<PageRequest, 'path' | 'query'>, isFiltered: boolean): Html => {
  const address = addressWith({ path: `${path}.csv`, query }, { after: null, balance: null });
  return html`<a href="${address}">${isFiltered ? texts.downloadMatching : texts.download}</a>`;
};

/** The filter of a list, in the form that acts on its rows. */
export const keptFields = ({ query }: Pick<PageRequest, 'query'>, names: readonly string[]): Html =>
  html`${hidden(Object.fromEntries(names.map((name) => [name, query.get(name) ?? ''])))}`;

/** The address of the list with the filter that the form kept, as it was before the action. */
export const keptAddress = (path: string, { form }: Pick<PageRequest, 'form'>, names: readonly string[]): string =>
  addressWith({ path, query: new URLSearchParams(names.map((name): [string, string] => [name, form.raw(name)])) }, {});

/** The page that asks before something is lost. */
export const asking = (current: string, given: Confirmation): View =>
  page(given.question, confirmation(given), { current });

export const empty = (title: string, hint: Html | string): Html =>
  html`<div class="empty"><p><strong>${title}</strong></p><p>${hint}</p></div>`;

/** The address of the same page with other parameters, and without the notice. */
export function addressWith(
  { path, query }: Pick<PageRequest, 'path' | 'query'>,
  changes: Readonly<Record<string, string | null>>,
): string {
  const changed = new URLSearchParams(query);
  for (const name of ['notice', 'count', 'part']) changed.delete(name);
  for (const [name, value] of Object.entries(changes)) value === null ? changed.delete(name) : changed.set(name, value);
  for (const [name, value] of [...changed]) if (value === '') changed.delete(name);
  return `${path}${changed.size > 0 ? `?${changed}` : ''}`;
}

/** Links to the next and the first page, and how far a search came. */
export function pager(
  request: PageRequest,
  { next, isCut, read }: Pick<Scanned<unknown>, 'next' | 'isCut' | 'read'>,
): Html {
  return pagerOf(request, next && writeCursor(next), isCut ? read : null);
}

export function pagerOf(request: PageRequest, next: string | null, searched: number | null = null): Html {
  const isFirst = !request.query.has('after');
  if (next === null && isFirst) return html``;
  const first = isFirst ? '' : html`<a href="${addressWith(request, { after: null })}">${texts.first}</a>`;
  const further = searched === null ? texts.next : texts.readOn;
  const on = next === null ? '' : html`<a rel="next" href="${addressWith(request, { after: next })}">${further}</a>`;
  return html`${searched === null ? '' : html`<p class="note">${texts.readFar(searched)}</p>`}
<nav class="pages" aria-label="${texts.pages}">${first} ${on}</nav>`;
}

export interface Field {
  readonly name: string;
  readonly label: string;
  readonly value?: string;
  readonly hint?: string;
  readonly type?: string;
  readonly isRequired?: boolean;
  readonly lengthMax?: number;
  readonly autocomplete?: string;
  readonly error?: string | undefined;
  /** Whether this is a field of a filter, which may stay empty. */
  readonly isFilter?: boolean;
}

export function field({
  name,
  label,
  value = '',
  hint,
  type = 'text',
  isRequired,
  lengthMax,
  autocomplete,
  error,
  isFilter,
}: Field): Html {
  const described = [hint && `${name}-hint`, error && `${name}-error`].filter(Boolean).join(' ');
  return html`<p><label for="${name}">${label}${isRequired || isFilter ? '' : html` <span class="quiet">${texts.optional}</span>`}</label>${
    error ? html`<strong class="error" id="${name}-error">${error}</strong>` : ''
  }<input id="${name}" name="${name}" type="${type}" value="${value}"${isRequired ? html` required` : ''}${
    lengthMax === undefined ? '' : html` maxlength="${lengthMax}"`
  }${autocomplete === undefined ? '' : html` autocomplete="${autocomplete}"`}${
    described === '' ? '' : html` aria-describedby="${described}"`
  }${error ? html` aria-invalid="true"` : ''}>${hint ? html`<span class="hint" id="${name}-hint">${hint}</span>` : ''}</p>`;
}

export interface Choice {
  readonly name: string;
  readonly label: string;
  readonly value: string;
  readonly choices: readonly (readonly [value: string, label: string])[];
}

export const select = ({ name, label, value, choices }: Choice): Html =>
  html`<p><label for="${name}">${label}</label><select id="${name}" name="${name}">${choices.map(
    ([each, shown]) => html`<option value="${each}"${each === value ? html` selected` : ''}>${shown}</option>`,
  )}</select></p>`;

/** Filters above a list: a GET form, so that a filtered list has an address. */
export const filters = (request: PageRequest, fields: readonly Html[]): Html =>
  html`<form method="get" action="${request.path}" class="filters" role="search">${fields}<p><button>${texts.filter}</button>${
    [...request.query].some(([name, value]) => value !== '' && !['notice', 'count', 'after'].includes(name))
      ? html` <a href="${request.path}">${texts.clear}</a>`
      : ''
  }</p></form>`;

export const hidden = (fields: Readonly<Record<string, string>>): Html[] =>
  Object.entries(fields).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`);

export interface Confirmation {
  /** The question, with the exact number. */
  readonly question: string;
  readonly details?: Html | string;
  readonly action: string;
  readonly fields?: Html | Html[];
  readonly submit: string;
  readonly back: string;
}

function confirmation(given: Confirmation): Html {
  return html`<h1>${texts.confirm}</h1><p class="lead">${given.question}</p>${given.details ? html`<div>${given.details}</div>` : ''}
<form method="post" action="${given.action}">${given.fields ?? []}<input type="hidden" name="confirmed" value="yes">
<p class="buttons"><button class="danger">${given.submit}</button> <a href="${given.back}">${texts.goBack}</a></p></form>`;
}
