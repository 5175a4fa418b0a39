import { type Html, html } from '../base/html.ts';
import { Problem, type ProblemKind } from '../base/problem.ts';
import type { DownloadAction } from '../operator/action.ts';
import type { accountParams } from '../operator/schemas.ts';
import { icon } from './icons.ts';
import { type PageRequest, page, type View } from './page-request.ts';
import { button, chip, empty, head, linkButton, note } from './parts.ts';
import { PAGE_ROWS, type Scanned, writeCursor } from './scan.ts';
import { listTexts as texts } from './texts.ts';
import type { Cell } from './words.ts';
import { type Labels, wrongFields } from './wrong-fields.ts';

/** Lists, forms and notes that screens are made of. */

/**
 * The notice that a page shows after an act. An act that did nothing says so in the page, where it
 * stays.
 */
export type Notices = Readonly<
  Record<string, string | ((count: bigint) => Html | string) | { readonly nothingDone: string }>
>;

/**
 * Says what was just done, by the key in the query, and offers `undo` beside it. An unknown key is
 * ignored.
 */
export function noticeOf({ query }: PageRequest, notices: Notices, undo: Html | string = ''): Html {
  const key = query.get('notice') ?? '';
  const notice = Object.hasOwn(notices, key) ? notices[key] : undefined;
  if (notice === undefined) return html``;
  if (typeof notice === 'object') return note('wait', notice.nothingDone);
  const count = /^\d{1,18}$/.test(query.get('count') ?? '') ? BigInt(query.get('count') as string) : 0n;
  const words = typeof notice === 'string' ? notice : notice(count);
  return html`<div class="toast" role="status"><span>${words}</span>${undo}</div>`;
}

/** Says what was refused. `labels` are those of the form, by the field names of its action. */
export function problemNote(problem: Problem | null, labels: Labels = {}): Html {
  if (!problem) return html``;
  const { sentence, each } = wrongFields(problem, labels);
  return note('bad', html`<p>${sentence}</p>${each.length === 0 ? '' : bullets(each)}`);
}

export const bullets = (lines: readonly (Html | string)[]): Html =>
  html`<ul class="bullets">${lines.map((line) => html`<li>${line}</li>`)}</ul>`;

/**
 * Returns a refusal that the person can correct on the same page, and rethrows anything else. If a
 * form names something, `more` is `not-found`.
 */
export function refusalOf(thrown: unknown, more?: ProblemKind): Problem {
  if (thrown instanceof Problem && (CORRECTABLE.includes(thrown.kind) || thrown.kind === more)) return thrown;
  throw thrown;
}
const CORRECTABLE: readonly string[] = ['bad-argument', 'conflict', 'too-large', 'malformed'];

/**
 * A row of a table. A click and Enter open its link of the class `open`, or else its first link.
 * The first cell names the row, unless it has another kind.
 */
export interface Row {
  readonly key: string;
  readonly cells: readonly (Html | Cell)[];
  /** What the checkbox selects, for screen readers. */
  readonly name?: string;
  /**
   * The word for what is new about the row, such as `unread`. The row is marked, and screen readers
   * say the word.
   */
  readonly fresh?: string | undefined;
  /** Whether the row has no checkbox, because it stands for something else than the other rows. */
  readonly isFixed?: boolean;
}

export interface TableOptions {
  readonly caption: Html | string;
  readonly columns: readonly string[];
  readonly rows: readonly Row[];
  readonly canSelect?: boolean;
  /** The script requests the rows again; `hold` shows new rows on demand. */
  readonly live?: { readonly url: string; readonly mode: 'hold' | 'replace' };
}

const kindOf = (cell: Html | Cell, index: number): string => ('kind' in cell ? cell.kind : index === 0 ? 'who' : '');

/** A table, which becomes a list of cards where there is little room. It belongs into a panel. */
export function table({ caption, columns, rows, canSelect = false, live }: TableOptions): Html {
  const selector = canSelect ? html`<th class="pick"><span class="unseen">${texts.select('')}</span></th>` : '';
  const isNumber = (index: number) => rows[0]?.cells[index] && kindOf(rows[0].cells[index], index) === 'num';
  const heads = columns.map(
    (name, index) =>
      html`<th scope="col"${isNumber(index) ? html` class="num"` : ''}>${name === '' ? html`<span class="unseen">${texts.acts}</span>` : name}</th>`,
  );
  return html`<table class="table"><caption class="unseen">${caption}</caption>
<thead><tr>${selector}${heads}</tr></thead>
<tbody${live ? html` data-live="${live.url}" data-mode="${live.mode}"` : ''}>${tableRows(columns, rows, canSelect)}</tbody></table>`;
}

/** The rows alone, for the script. */
export const tableRows = (columns: readonly string[], rows: readonly Row[], canSelect = false): Html[] =>
  rows.map(
    ({
      key,
      cells,
      name = '',
      fresh,
      isFixed = false,
    }) => html`<tr data-key="${key}"${fresh ? html` class="fresh"` : ''}>${
      canSelect
        ? html`<td class="pick">${isFixed ? '' : html`<input type="checkbox" name="id" value="${key}" aria-label="${texts.select(name)}">`}</td>`
        : ''
    }${cells.map((cell, index) => cellOf(index === 0 && fresh ? marked(cell, fresh) : cell, index, columns[index] ?? '', index === cells.length - 1))}</tr>
`,
  );

/** The first cell of a row that is new says so to those who do not see the mark. */
const marked = (cell: Html | Cell, fresh: string): Html => ({
  ...cell,
  html: html`<span class="unseen">${fresh}: </span>${cell}`.html,
});

/** A card names the values that do not explain themselves. */
function cellOf(cell: Html | Cell, index: number, column: string, isLast: boolean): Html {
  const kind = kindOf(cell, index);
  if (kind === 'who') return html`<th class="who" scope="row">${cell}</th>`;
  const isNamed = column !== '' && (kind === '' || kind === 'num' || (kind === 'time' && !isLast));
  return html`<td${kind === '' || kind === 'chip' ? '' : html` class="${kind}"`}${isNamed ? html` data-l="${column}"` : ''}>${cell}</td>`;
}

/** The texts of a list. `noMatch` is for a list that is empty because of a filter. */
export interface ListTexts {
  readonly title: string;
  readonly columns: readonly string[];
  readonly empty: string;
  readonly emptyHint: string;
  readonly noMatch?: string;
  readonly noMatchHint?: string;
}

/** An empty list says that nothing matches only if everything was looked at. */
export const listWords = (words: ListTexts, isWhole: boolean): ListTexts =>
  isWhole ? words : { ...words, noMatch: texts.noMatchYet, noMatchHint: '' };

/** The next step from a list that is empty. */
export type EmptyStep = Html | string;

/** The table of a list, or why it has no rows. */
export const listOf = (texts: ListTexts, rows: readonly Row[], isFiltered = false, step: EmptyStep = ''): Html =>
  rows.length > 0 ? table({ caption: texts.title, columns: texts.columns, rows }) : emptyNote(texts, isFiltered, step);

export const listPanel = (texts: ListTexts, rows: readonly Row[], isFiltered = false, step: EmptyStep = ''): Html =>
  html`<section class="panel" aria-label="${texts.title}">${listOf(texts, rows, isFiltered, step)}</section>`;

export const emptyNote = (
  { empty: none, emptyHint, noMatch, noMatchHint }: ListTexts,
  isFiltered = false,
  step: EmptyStep = '',
): Html =>
  isFiltered && noMatch !== undefined ? empty(noMatch, noMatchHint ?? '', '', 'search') : empty(none, emptyHint, step);

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
  return linkButton(address, isFiltered ? texts.downloadMatching : texts.download, { icon: 'download', look: 's' });
};

/** The filter of a list, in the form that acts on its rows. */
export const keptFields = ({ query }: Pick<PageRequest, 'query'>, names: readonly string[]): Html =>
  html`${hidden(Object.fromEntries(names.map((name) => [name, query.get(name) ?? ''])))}`;

/** The address of the list with the filter that the form kept, as it was before the action. */
export const keptAddress = (path: string, { form }: Pick<PageRequest, 'form'>, names: readonly string[]): string =>
  addressWith({ path, query: new URLSearchParams(names.map((name): [string, string] => [name, form.raw(name)])) }, {});

/**
 * The page that asks before something is lost. It is the answer to a form, so a browser may keep it
 * for somebody who goes back; it has no name, number or text.
 */
export const asking = (current: string, given: Confirmation): View =>
  page(given.question, confirmation(given), { current, cacheControl: 'private, no-cache' });

/** The address of the same page with other parameters, and without the notice. */
export function addressWith(
  { path, query }: Pick<PageRequest, 'path' | 'query'>,
  changes: Readonly<Record<string, string | null>>,
): string {
  const changed = new URLSearchParams(query);
  for (const name of ['notice', 'count', 'part', 'undo']) changed.delete(name);
  for (const [name, value] of Object.entries(changes)) value === null ? changed.delete(name) : changed.set(name, value);
  for (const [name, value] of [...changed]) if (value === '') changed.delete(name);
  return `${path}${changed.size > 0 ? `?${changed}` : ''}`;
}

/** Links to the next and the first page, and how far a search came. */
export function pager(request: PageRequest, { next, isCut }: Pick<Scanned<unknown>, 'next' | 'isCut'>): Html {
  return pagerOf(request, next && writeCursor(next), isCut);
}

export function pagerOf(request: PageRequest, next: string | null, isCut = false): Html {
  const isFirst = !request.query.has('after');
  if (next === null && isFirst) return html``;
  const first = isFirst
    ? ''
    : linkButton(addressWith(request, { after: null }), texts.first, { icon: 'left', look: 's' });
  const further = isCut ? texts.readOn : texts.next;
  const on =
    next === null
      ? ''
      : html`<a class="btn s" rel="next" href="${addressWith(request, { after: next })}">${further}${icon('right')}</a>`;
  return html`${isCut ? note('wait', texts.cut, 'search') : ''}
<nav class="pager" aria-label="${texts.pages}"><span class="row">${first}</span><span class="row">${on}</span></nav>`;
}

/** The choices of a filter as links, with the chosen one marked. */
export const tabs = (
  request: Pick<PageRequest, 'path' | 'query'>,
  { name, label, choices }: Omit<Choice, 'value'>,
): Html => {
  const chosen = choices.find(([value]) => value === (request.query.get(name) ?? ''))?.[0] ?? '';
  return html`<nav class="tabs" aria-label="${label}">${choices.map(
    ([value, words]) =>
      html`<a href="${addressWith(request, { [name]: value === '' ? null : value, after: null, balance: null })}"${value === chosen ? html` aria-current="true"` : ''}>${words}</a>`,
  )}</nav>`;
};

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
  return html`<div class="field"><label for="${name}">${label}${isRequired || isFilter ? '' : html` <span class="quiet">${texts.optional}</span>`}</label><input id="${name}" name="${name}" type="${type}" value="${value}"${isRequired ? html` required` : ''}${
    lengthMax === undefined ? '' : html` maxlength="${lengthMax}"`
  }${autocomplete === undefined ? '' : html` autocomplete="${autocomplete}"`}${
    described === '' ? '' : html` aria-describedby="${described}"`
  }${error ? html` aria-invalid="true"` : ''}>${hint ? html`<p class="hint" id="${name}-hint">${hint}</p>` : ''}${
    error ? html`<p class="error" id="${name}-error">${icon('alert')}${error}</p>` : ''
  }</div>`;
}

/** Fields side by side, as many as fit. */
export const fieldRow = (fields: readonly (Html | string)[]): Html => html`<div class="fields">${fields}</div>`;

export interface Area {
  readonly name: string;
  readonly label: Html | string;
  readonly value?: string;
  readonly rows?: number;
  readonly hint?: Html | string;
  readonly isRequired?: boolean;
  readonly lengthMax?: number;
  /** Attributes for the script. */
  readonly more?: Html;
}

/** A field for a longer text. */
export const area = ({ name, label, value = '', rows = 3, hint = '', isRequired, lengthMax, more }: Area): Html =>
  html`<div class="field"><label for="${name}">${label}</label><textarea id="${name}" name="${name}" rows="${rows}"${isRequired ? html` required` : ''}${
    lengthMax === undefined ? '' : html` maxlength="${lengthMax}"`
  }${hint === '' ? '' : html` aria-describedby="${name}-hint"`}${more ?? ''}>${withFirstLine(value)}</textarea>${
    hint === '' ? '' : html`<p class="hint" id="${name}-hint">${hint}</p>`
  }</div>`;

/** Doubles the first line end, because an HTML parser drops the first one of a text area. */
export const withFirstLine = (value: string): string => (value.startsWith('\n') ? `\n${value}` : value);

/** A box to tick, with its words. */
export const check = (name: string, words: Html | string, value = 'on', isChecked = false): Html =>
  html`<label class="check"><input type="checkbox" name="${name}" value="${value}"${isChecked ? html` checked` : ''}><span>${words}</span></label>`;

/** Boxes under a common legend. */
export const checks = (legend: string, boxes: readonly Html[]): Html =>
  html`<fieldset><legend>${legend}</legend><div class="choices">${boxes}</div></fieldset>`;

export interface Choice {
  readonly name: string;
  readonly label: string;
  readonly value: string;
  readonly choices: readonly (readonly [value: string, label: string])[];
}

export const select = ({ name, label, value, choices }: Choice): Html =>
  html`<div class="field"><label for="${name}">${label}</label><select id="${name}" name="${name}">${optionsOf(choices, value)}</select></div>`;

export const optionsOf = (choices: Choice['choices'], value: string): Html[] =>
  choices.map(
    ([each, shown]) => html`<option value="${each}"${each === value ? html` selected` : ''}>${shown}</option>`,
  );

const NOT_FILTERS = ['notice', 'count', 'after', 'balance', 'undo', 'part'];

/**
 * The row above a list: tabs, the other fields of the filter folded up, and buttons. The fields are
 * a GET form, so that a filtered list has an address. `kept` are fields that the tabs stand for.
 */
export const filters = (
  request: PageRequest,
  fields: readonly Html[],
  {
    before = '',
    after = '',
    kept = [],
  }: { before?: Html | string; after?: Html | string; kept?: readonly string[] } = {},
): Html => {
  const used = [...request.query].filter(([name, value]) => value !== '' && ![...NOT_FILTERS, ...kept].includes(name));
  const stay = hidden(Object.fromEntries(kept.map((name) => [name, request.query.get(name) ?? ''])));
  const clear = used.length === 0 ? '' : linkButton(request.path, texts.clear, { look: 'ghost s' });
  return html`<div class="filters">${before}<details class="menu"><summary class="btn s">${icon('filter')}${used.length === 0 ? texts.filters : texts.filtersUsed(used.length)}</summary><div><form method="get" action="${request.path}" class="stack tight" role="search" aria-label="${texts.filters}">${stay}${fields}
<div class="row">${button(texts.filter, { look: 's' })}</div></form></div></details>${clear}${after}</div>`;
};

export const hidden = (fields: Readonly<Record<string, string>>): Html[] =>
  Object.entries(fields).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`);

export interface Confirmation {
  /** The question, with the exact number. */
  readonly question: Html | string;
  readonly details?: Html | string;
  readonly action: string;
  readonly fields?: Html | Html[];
  readonly submit: Html | string;
  readonly back: string;
}

const confirmation = (given: Confirmation): Html => html`${head(texts.confirm)}
<section class="panel"><form class="in" method="post" action="${given.action}"><p><strong>${given.question}</strong></p>${
  given.details ? html`<div>${given.details}</div>` : ''
}${given.fields ?? []}<input type="hidden" name="confirmed" value="yes">
<div class="row">${button(given.submit, { look: 'danger' })} <a class="btn" href="${given.back}">${texts.goBack}</a></div></form></section>`;

/** Whether something is switched on. */
export const onOff = (isOn: boolean, on: string, off: string): Cell =>
  isOn ? chip('good', 'tick', on) : chip('off', 'pause', off);
