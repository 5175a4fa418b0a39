import { html } from '../../base/html.ts';
import type { Output } from '../../operator/action.ts';
import { auditList } from '../../operator/actions/accounts/service.ts';
import { CSV_START, csvLine } from '../../transfer/csv.ts';
import { csvLink, fieldRow, filterField, filters, isFilteredBy, listPanel, pagerOf } from '../lists.ts';
import { get, type PageRequest, page, type View } from '../page-request.ts';
import { head, named, wide } from '../parts.ts';
import { EXPORTED_AT_ONCE, PAGE_ROWS } from '../scan.ts';
import { breakable, endOfDay, instantOf, time } from '../words.ts';

/** Who changed what, when and from where. */

const texts = {
  title: 'Audit',
  columns: ['Who', 'What', 'On what', 'Changed', 'From', 'When'],
  change: (field: string, from: string, to: string) => `${field}: ${from} → ${to}`,
  none: 'none',
  account: 'Account',
  actor: 'Who',
  action: 'What',
  from: 'From day',
  to: 'To day',
  kinds: {
    command: 'at the machine',
    operator: 'operator’s token',
    account: 'account’s token',
    'console operator': 'operator',
    'console account': 'customer',
    contract: 'client of the contract',
    message: 'received message',
  } as Readonly<Record<string, string>>,
  empty: 'Nothing has been changed yet.',
  noMatch: 'Nothing matches.',
  noMatchHint: 'Change the filter, or clear it.',
  emptyHint: 'Every change by an operator or a customer appears here, and everything that clients delete.',
} as const;

const FIELDS = ['account', 'actor', 'action', 'from', 'to'] as const;

/** The days of the filter as times: from the beginning of the first day to the end of the last. */
function filterOf({ query, zone }: PageRequest): Record<string, string> {
  const [from, to] = [instantOf(query.get('from') ?? '', zone), endOfDay(query.get('to') ?? '', zone)];
  const given = {
    username: query.get('account')?.trim() ?? '',
    actor: query.get('actor')?.trim() ?? '',
    action: query.get('action')?.trim() ?? '',
    since: from === null ? '' : new Date(from).toISOString(),
    until: to === null ? '' : new Date(to).toISOString(),
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== ''));
}

const pageOf = (request: PageRequest, limit: number, after: string | null): Promise<Output<typeof auditList>> =>
  request.act.run(auditList, {
    query: { ...filterOf(request), limit: String(limit), ...(after ? { after } : {}) },
  });

type Entry = Output<typeof auditList>['items'][number];
const changeSaid = ({ field, from, to }: Entry['changes'][number]): string =>
  texts.change(field, from ?? texts.none, to ?? texts.none);

/** The values before and after, and the names of other fields that were given. */
const changedSaid = ({ changes, fields }: Entry): string => {
  const known = new Set(changes.map(({ field }) => field));
  return [...changes.map(changeSaid), ...fields.filter((field) => !known.has(field))].join(', ');
};

const show = async (request: PageRequest): Promise<View> => {
  const { query, zone } = request;
  const { items, next } = await pageOf(request, PAGE_ROWS, query.get('after'));
  const rows = items
    .map((entry) => ({ entry, changed: changedSaid(entry) }))
    .map(({ entry, changed }) => ({
      key: entry.id,
      cells: [
        named(html`<bdi>${entry.actorName}</bdi>`, texts.kinds[entry.actorKind] ?? entry.actorKind),
        html`${entry.action}`,
        wide(breakable(entry.target)),
        changed === '' ? html`` : html`<bdi>${changed}</bdi>`,
        entry.address === null ? html`` : html`<span class="num">${entry.address}</span>`,
        time(entry.at, zone),
      ],
    }));
  const isFiltered = isFilteredBy(request, ...FIELDS);
  const list = listPanel(texts, rows, isFiltered);
  const fields = [
    filterField(request, 'account', texts.account),
    filterField(request, 'actor', texts.actor),
    filterField(request, 'action', texts.action),
    fieldRow([filterField(request, 'from', texts.from, 'date'), filterField(request, 'to', texts.to, 'date')]),
  ];
  const filter = filters(request, fields, { after: csvLink(request, isFiltered) });
  // Fewer rows than a page although more follow: a search has ended at its limit.
  const isCut = next !== null && rows.length < PAGE_ROWS;
  const main = html`${head(texts.title)}${filter}${list}${pagerOf(request, next, isCut)}`;
  return page(texts.title, main, { current: 'audit' });
};

async function* lines(request: PageRequest, first: Output<typeof auditList>): AsyncGenerator<string> {
  yield CSV_START + csvLine(['at', 'kind', 'name', 'address', 'action', 'target', 'fields', 'changes']);
  for (let { items, next } = first; ; { items, next } = await pageOf(request, EXPORTED_AT_ONCE, next)) {
    yield items
      .map((entry) =>
        csvLine([
          entry.at,
          entry.actorKind,
          entry.actorName,
          entry.address ?? '',
          entry.action,
          entry.target,
          entry.fields.join(' '),
          entry.changes.map(changeSaid).join('; '),
        ]),
      )
      .join('');
    if (next === null) return;
  }
}

const download = async (request: PageRequest): Promise<View> => ({
  kind: 'download',
  fileName: 'audit.csv',
  text: lines(request, await pageOf(request, EXPORTED_AT_ONCE, null)), // read first, so that a wrong filter is refused
});

export const auditRoutes = [get('/audit', show), get('/audit.csv', download)];
