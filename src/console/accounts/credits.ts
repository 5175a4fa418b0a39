import { html } from '../../base/html.ts';
import type { Movement } from '../../domain/accounts/ledger.ts';
import { CSV_START, csvLine } from '../../transfer/csv.ts';
import { grouped } from '../counts.ts';
import { csvLink, listPanel, pager, tabs } from '../lists.ts';
import { get, type PageRequest, page, type View } from '../page-request.ts';
import { head, note, num, tile } from '../parts.ts';
import { EXPORTED_AT_ONCE, readCursor, scan } from '../scan.ts';
import { type Cell, time } from '../words.ts';

/** The credits of an account, and every movement with the balance after it. */

const texts = {
  title: 'Credits',
  free: 'Free',
  held: 'Held for messages that are not sent yet',
  used: 'Used',
  movements: 'Movements',
  columns: ['What', 'Change', 'Free afterwards', 'Cause', 'When'],
  kinds: {
    grant: 'Granted',
    hold: 'Held for a message',
    release: 'Free again',
    capture: 'Used for a message',
    adjust: 'Corrected',
  } as Readonly<Record<string, string>>,
  begunWith: { held: 'Held from the beginning', used: 'Used before' } as Readonly<Record<string, string>>,
  kind: 'Show',
  allKinds: 'All',
  message: (id: string) => `Message ${id}`,
  empty: 'No credits have moved yet.',
  emptyHint: 'Ask the operator for credits.',
  wrong: 'The balances do not add up. Please tell the operator to run columba check --ledger, which finds the reason.',
  noMatch: 'No movement of this kind.',
  noMatchHint: 'Show everything to see the others.',
} as const;

/** How a movement changes the free credits. */
const changeOf = ({ from, to, amount }: Movement): bigint => (to === 'free' ? amount : from === 'free' ? -amount : 0n);

/** An imported account begins with credits that are held or used already. */
const kindOf = ({ kind, to }: Movement): string =>
  (kind === 'grant' ? texts.begunWith[to] : undefined) ?? texts.kinds[kind] ?? kind;

const signed = (amount: bigint): Cell => ({
  ...(amount > 0n ? html`+${grouped(amount)}` : amount < 0n ? html`−${grouped(-amount)}` : grouped(amount)),
  kind: 'num',
});

/** The address has the balance at the newest row of the page, so a page reads only its rows. */
const balanceText = (query: URLSearchParams): bigint | null =>
  /^-?\d{1,19}$/.test(query.get('balance') ?? '') ? BigInt(query.get('balance') as string) : null;

interface Line {
  readonly movement: Movement;
  /** The free credits after the movement. */
  readonly after: bigint | null;
}

/** Lists movements of a kind, newest first, and computes the balance after each. */
async function scanMovements({ domain, account, query }: PageRequest, kind: string, free: bigint) {
  let balance = query.has('after') ? balanceText(query) : free;
  const found = await scan<Line>({
    page: async (limit, cursor) => {
      const movements = await domain.ledger.movements(account.id, limit, cursor);
      return movements.map((movement) => ({ movement, after: null }));
    },
    cursorOf: ({ movement: { at, id } }) => ({ at, id }),
    isWanted: kind === '' ? undefined : ({ movement }) => movement.kind === kind,
    after: readCursor(query.get('after')),
    onRead: (line) => {
      const after = balance;
      if (balance !== null) balance -= changeOf(line.movement);
      return { movement: line.movement, after };
    },
  });
  return { ...found, balance };
}

const show = async (request: PageRequest): Promise<View> => {
  const { domain, account, query, zone, base } = request;
  const balances = await domain.ledger.balances(account.id);
  if (query.get('part') === 'counts') return { kind: 'fragment', html: tiles(balances) };
  const kind = query.get('kind') ?? '';
  const { rows, next, isCut, balance } = await scanMovements(request, kind, balances.free);
  // Before the oldest movement the balance is 0, unless a sum is wrong.
  const isWrong = next === null && balance !== null && balance !== 0n;
  const lines = rows.map(({ movement, after }) => ({
    key: movement.id.toString(),
    cells: [
      // A use of held credits does not change the free ones, so the row itself has the number.
      changeOf(movement) === 0n ? html`${kindOf(movement)}: ${grouped(movement.amount)}` : html`${kindOf(movement)}`,
      signed(changeOf(movement)),
      after === null ? html`–` : num(after),
      html`${movement.reason ?? ''} ${movement.reference ?? ''} ${movement.messageId === null ? '' : html`<a href="${base}/messages/${movement.messageId.toString()}">${texts.message(movement.messageId.toString())}</a>`}`,
      time(movement.at, zone),
    ],
  }));
  const choices = [['', texts.allKinds] as const, ...Object.entries(texts.kinds)];
  const filter = html`<div class="filters">${tabs(request, { name: 'kind', label: texts.kind, choices })}${csvLink(request, kind !== '')}</div>`;
  const withBalance = new URLSearchParams(query);
  if (balance !== null) withBalance.set('balance', balance.toString());
  const pages = pager({ ...request, query: withBalance }, { next, isCut });
  const main = html`${head(texts.title)}<ul class="tiles" aria-label="${texts.title}" data-live="${request.path}?part=counts" data-mode="whole">${tiles(balances)}</ul>
${isWrong ? note('bad', texts.wrong) : ''}${filter}${listPanel({ ...texts, title: texts.movements }, lines, kind !== '')}${pages}`;
  return page(texts.title, main, { current: 'credits' });
};

const tiles = ({ free, held, used }: { free: bigint; held: bigint; used: bigint }) =>
  html`${tile({ key: 'free', label: texts.free, value: grouped(free) })}${tile({ key: 'held', label: texts.held, value: grouped(held) })}${tile({ key: 'used', label: texts.used, value: grouped(used) })}`;

async function* lines({ domain, account, query, signal }: PageRequest): AsyncGenerator<string> {
  const wanted = query.get('kind') ?? '';
  yield CSV_START + csvLine(['at', 'kind', 'from', 'to', 'amount', 'message', 'reason', 'reference']);
  for (let after: Movement | undefined; !signal.aborted; ) {
    const rows: Movement[] = await domain.ledger.movements(account.id, EXPORTED_AT_ONCE, after);
    yield rows
      .filter(({ kind }) => wanted === '' || kind === wanted)
      .map(({ at, kind, from, to, amount, messageId, reason, reference }) => {
        const when = new Date(at).toISOString();
        return csvLine([when, kind, from, to, amount, String(messageId ?? ''), reason ?? '', reference ?? '']);
      })
      .join('');
    if (rows.length < EXPORTED_AT_ONCE) return;
    after = rows.at(-1);
  }
}

const download = async (request: PageRequest): Promise<View> => ({
  kind: 'download',
  fileName: 'credits.csv',
  text: lines(request),
});

export const creditRoutes = [get('/credits', show), get('/credits.csv', download)];
