import { type Html, html } from '../../base/html.ts';
import type { Found } from '../../domain/search/of-kind.ts';
import type { DownloadAction } from '../../operator/action.ts';
import type { accountParams } from '../../operator/schemas.ts';
import type { Cursor } from '../../store/cursor.ts';
import { grouped } from '../counts.ts';
import {
  csvLink,
  download,
  fieldRow,
  filterField,
  filters,
  keptAddress,
  keptFields,
  searchField,
  tabs,
} from '../lists.ts';
import { type PageRequest, page, type View } from '../page-request.ts';
import { head, note } from '../parts.ts';
import { matchingRows, type Scanned } from '../scan.ts';
import { listTexts } from '../texts.ts';
import { endOfDay, instantOf } from '../words.ts';

/** The filter above lists of messages: a search, a state and a range of days. */
export interface MessageFilter {
  readonly q: string;
  /** One of the states that the list offers; '' for all. */
  readonly state: string;
  /** The beginning of the first day and the end of the last one, in the zone of the account. */
  readonly from: number | null;
  readonly to: number | null;
}

export interface MessageFilterTexts {
  readonly search: string;
  readonly state: string;
  readonly states: readonly (readonly [value: string, label: string])[];
  readonly from: string;
  readonly to: string;
}

const FIELDS = ['q', 'state', 'from', 'to'];
const SEARCH_LENGTH_MAX = 200;

/** Reads the filter from the address of a list, or from the form that acts on it. */
export function readFilter(
  { zone }: PageRequest,
  texts: MessageFilterTexts,
  get: (name: string) => string,
): MessageFilter {
  return {
    q: get('q').trim().toLowerCase().slice(0, SEARCH_LENGTH_MAX),
    state: texts.states.find(([each]) => each === get('state'))?.[0] ?? '',
    from: instantOf(get('from'), zone),
    to: endOfDay(get('to'), zone),
  };
}

/** Whether the filter asks for words or days, which the counts of an account do not know. */
export const isSearch = ({ q, from, to }: MessageFilter): boolean => q !== '' || from !== null || to !== null;

/** Whether the filter leaves anything out. */
export const isFilter = (filter: MessageFilter): boolean => isSearch(filter) || filter.state !== '';

/** A search whose words are looked up once, for all pages of a list, a file or an act. */
export interface MessageSearch<R> {
  /** Null without words. */
  readonly found: Found<R> | null;
  /** Why messages that match may be missing; null if the search sees them all. */
  readonly missing: Missing | null;
}
type Missing = 'notIndexed' | 'tooShort';

/** The index gets what has just arrived first. `find` is a function of `domain.search`. */
export async function searchOf<R>(
  { domain, account }: PageRequest,
  { q }: Pick<MessageFilter, 'q'>,
  find: (account: bigint, text: string) => Promise<Found<R>>,
): Promise<MessageSearch<R>> {
  if (q === '') return { found: null, missing: null };
  const isIndexed = await domain.search.isComplete(account.id);
  const found = await find(account.id, q);
  return { found, missing: isIndexed ? (found.isTooShort ? 'tooShort' : null) : 'notIndexed' };
}

/** Says above a list what it may not show. `texts` are those of what is in the list. */
export const missingNote = (
  { missing }: Pick<MessageSearch<unknown>, 'missing'>,
  texts: Readonly<Record<Missing, string>> = listTexts,
): Html => (missing === null ? html`` : note('wait', texts[missing]));

/** Instead of a file that would lack some of what matches. */
export const noFile = (missing: Missing, texts?: Readonly<Record<Missing, string>>): View =>
  page(listTexts.noFile, html`${head(listTexts.noFile)}${missingNote({ missing }, texts)}`, {
    ...(missing === 'notIndexed' ? { status: 503, retryAfter: 60 } : { status: 400 }),
  });

/** All, with their number, or the number of those that were looked at so far, if there are any. */
export const countSaid = ({ rows, next }: Pick<Scanned<unknown>, 'rows' | 'next'>): Html =>
  next !== null && rows.length === 0 ? html`all` : html`all ${grouped(rows.length)}${next === null ? '' : '+'}`;

/** A list tells this number beside its own page. */
export const COUNTED_MAX = 100;

/** The row above a list of messages: its states as tabs, the other fields folded, and its file. */
export const filterForm = (request: PageRequest, texts: MessageFilterTexts, hasFile = true): Html => {
  const { query } = request;
  const isFiltered = FIELDS.some((name) => (query.get(name) ?? '') !== '');
  const fields = [
    searchField(request, texts.search),
    fieldRow([filterField(request, 'from', texts.from, 'date'), filterField(request, 'to', texts.to, 'date')]),
  ];
  const hasStates = texts.states.length > 1;
  const before = hasStates ? tabs(request, { name: 'state', label: texts.state, choices: texts.states }) : '';
  const after = hasFile ? csvLink(request, isFiltered) : '';
  return filters(request, fields, { before, after, kept: hasStates ? ['state'] : [] });
};

/** The fields of the filter, for the form that acts on all that match. */
export const keptFilter = (request: PageRequest): Html => keptFields(request, FIELDS);

/** The address of the list as it was before the action. */
export const filteredList = (path: string, request: PageRequest): string => keptAddress(path, request, FIELDS);

export interface FilteredFile<R> {
  readonly fileName: string;
  /** Writes the file of all messages. */
  readonly action: DownloadAction<typeof accountParams>;
  readonly texts: MessageFilterTexts;
  readonly find: (request: PageRequest) => (account: bigint, text: string) => Promise<Found<R>>;
  readonly scan: (
    request: PageRequest,
    filter: MessageFilter,
    found: Found<R> | null,
    after: Cursor | undefined,
    rowsMax: number,
  ) => Promise<Scanned<R>>;
  readonly write: (rows: AsyncIterable<readonly R[]>) => AsyncIterable<string>;
}

/** The CSV file of the messages that match the filter of a list, or of all messages. */
export function filteredDownload<R>({ fileName, action, texts, find, scan, write }: FilteredFile<R>) {
  const whole = download(fileName, action);
  return async (request: PageRequest): Promise<View> => {
    const filter = readFilter(request, texts, (name) => request.query.get(name) ?? '');
    if (!isFilter(filter)) return whole(request);
    const { found, missing } = await searchOf(request, filter, find(request));
    if (missing !== null) return noFile(missing);
    const rows = matchingRows((after, rowsMax) => scan(request, filter, found, after, rowsMax), request.signal);
    return { kind: 'download', fileName, text: write(rows) };
  };
}
