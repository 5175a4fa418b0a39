import { html } from '../../html.ts';
import { CSV_START, csvLine } from '../../transfer/csv.ts';
import { field, filters, listOf, pagerOf } from '../lists.ts';
import { PAGE_ROWS } from '../scan.ts';
import { texts } from '../texts/audit.ts';
import { texts as listTexts } from '../texts/lists.ts';
import { get, page, type View, type Visit } from '../visit.ts';
import { time } from '../words.ts';

/** Who changed what, when and from where. */
interface EntryOutput {
  readonly id: string;
  readonly at: string;
  readonly actorKind: string;
  readonly actorName: string;
  readonly address: string | null;
  readonly action: string;
  readonly target: string;
  readonly fields: readonly string[];
}
interface AuditPage {
  readonly items: readonly EntryOutput[];
  readonly next: string | null;
}

const EXPORTED_AT_ONCE = 500;

const pageOf = ({ act, query }: Visit, limit: number, after: string | null): Promise<AuditPage> => {
  const account = query.get('account')?.trim();
  return act.run<AuditPage>('audit list', {
    query: { limit: String(limit), ...(account ? { account } : {}), ...(after ? { after } : {}) },
  });
};

const show = async (visit: Visit): Promise<View> => {
  const { query, zone } = visit;
  const { items, next } = await pageOf(visit, PAGE_ROWS, query.get('after'));
  const rows = items.map((entry) => ({
    key: entry.id,
    cells: [
      time(entry.at, zone),
      html`<bdi>${entry.actorName}</bdi> <span class="quiet">${texts.kinds[entry.actorKind] ?? entry.actorKind}</span>`,
      html`${entry.address ?? ''}`,
      html`${entry.action}`,
      html`<bdi>${entry.target}</bdi>`,
      html`${entry.fields.join(', ')}`,
    ],
  }));
  const list = listOf(texts, rows);
  const filter = filters(visit, [
    field({ isFilter: true, name: 'account', label: texts.account, value: query.get('account') ?? '', lengthMax: 200 }),
  ]);
  const account = query.get('account')?.trim() ?? '';
  const csv = `/console/audit.csv${account === '' ? '' : `?${new URLSearchParams({ account }).toString()}`}`;
  const main = html`<h1>${texts.title}</h1>${filter}${list}${pagerOf(visit, next)}<p><a href="${csv}">${listTexts.download}</a></p>`;
  return page(texts.title, main, { current: 'audit' });
};

async function* lines(visit: Visit): AsyncGenerator<string> {
  yield CSV_START + csvLine(['at', 'kind', 'name', 'address', 'action', 'target', 'fields']);
  for (let after: string | null = null; ; ) {
    const { items, next }: AuditPage = await pageOf(visit, EXPORTED_AT_ONCE, after);
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
        ]),
      )
      .join('');
    if (next === null) return;
    after = next;
  }
}

const download = async (visit: Visit): Promise<View> => ({
  kind: 'download',
  fileName: 'audit.csv',
  text: lines(visit),
});

export const auditRoutes = [get('/audit', show), get('/audit.csv', download)];
