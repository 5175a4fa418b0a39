import { LIST_ORDERS, type ListOperation } from '../../asmx/dialect/list-orders.ts';
import { counted } from '../../base/counted.ts';
import { Counts, type Doubt, type Finding, type Learned, type Observation } from './learned.ts';

/** Learns the orders and caps of lists from values, which have our names already. */
type Row = Readonly<Record<string, unknown>>;

interface OrderStatistics {
  /** Pairs of neighbours that differ and follow the order. */
  following: number;
  /** Pairs of neighbours that break the order. */
  breaking: number;
}

// Fewer pairs may follow an order by chance.
const PAIRS_MIN = 10;

export class OrdersLearner {
  readonly #seen = new Map<ListOperation, Map<string, OrderStatistics>>();

  see({ name }: Pick<Observation, 'name'>, rows: unknown): void {
    if (!Object.hasOwn(LIST_ORDERS, name) || !Array.isArray(rows) || rows.length < 2) return;
    const operation = name as ListOperation;
    const orders = this.#seen.get(operation) ?? new Map<string, OrderStatistics>();
    this.#seen.set(operation, orders);
    for (const order of LIST_ORDERS[operation]) {
      const statistics = orders.get(order) ?? { following: 0, breaking: 0 };
      orders.set(order, statistics);
      countPairs(rows, order, statistics);
    }
  }

  learned(): Learned {
    const orders: Record<string, string> = {};
    const findings: Finding[] = [];
    const uncertain: Doubt[] = [];
    for (const [operation, seen] of this.#seen) {
      const entry = `orders.${operation}`;
      const compared = [...seen].filter(([, { following, breaking }]) => following + breaking > 0);
      const found = compared.find(([, { breaking }]) => breaking === 0);
      if (compared.length === 0) continue;
      if (!found) {
        uncertain.push({ entry, reason: `the rows are in none of the orders ${[...seen.keys()].join(', ')}` });
        continue;
      }
      const [order, { following }] = found;
      findings.push({ entry, count: following, text: `by ${order}` });
      if (order !== LIST_ORDERS[operation][0]) orders[operation] = order;
      if (following < PAIRS_MIN)
        uncertain.push({
          entry,
          reason: `only ${following} ${following === 1 ? 'pair of rows shows' : 'pairs of rows show'} ${order}`,
        });
    }
    return { dialect: Object.keys(orders).length > 0 ? { orders } : {}, findings, uncertain };
  }
}

function countPairs(rows: readonly Row[], order: string, statistics: OrderStatistics): void {
  const field = order.replace('-', '');
  for (let index = 1; index < rows.length; index++) {
    const difference = compare(rows[index - 1]?.[field], rows[index]?.[field]);
    if (difference === 0) continue;
    if (difference < 0 === order.startsWith('-')) statistics.breaking += 1;
    else statistics.following += 1;
  }
}

/** Negative if the first value is smaller. Ids are numbers, even if the contract has texts. */
function compare(one: unknown, other: unknown): number {
  const [first, second] = [numberOf(one), numberOf(other)];
  if (first === undefined || second === undefined || first === second) return 0;
  return first < second ? -1 : 1;
}

function numberOf(value: unknown): bigint | undefined {
  if (typeof value === 'bigint') return value;
  if (typeof value === 'number') return BigInt(value);
  return typeof value === 'string' && /^-?\d{1,19}$/.test(value) ? BigInt(value) : undefined;
}

// A cap is assumed if this many answers had the same number of rows although more were requested.
const CAP_ANSWERS_MIN = 3;

interface CapStatistics {
  most: number;
  /** Answers that had `most` rows, although more were requested. */
  answers: number;
  readonly accounts: Counts;
  /** How often a count had shown that there are more rows. */
  proven: number;
}

/** The operations that count all rows of a list. */
const COUNTED_BY: Readonly<Record<string, string>> = {
  'inbox.CountUnread': 'inbox.Unread',
  'sent.CountUnMarkedDeliveryStatus': 'sent.FetchUnmarkedDeliveryStatus',
};

export class CapsLearner {
  readonly #seen = new Map<string, CapStatistics>();
  /** The last count by list and account. */
  readonly #counts = new Map<string, number>();

  see({ name, account, texts }: Observation, value: unknown): void {
    const listed = COUNTED_BY[name];
    if (listed !== undefined) this.#counts.set(`${listed} ${account}`, Number(value));
    const asked = Number(texts.max_count?.[0] ?? texts.max?.[0] ?? Number.NaN);
    if (!Object.hasOwn(LIST_ORDERS, name) || !Array.isArray(value) || !Number.isFinite(asked)) return;
    const rows = value.length;
    const before = this.#seen.get(name);
    if (rows === 0 || (before && before.most > rows)) return;
    const seen = before?.most === rows ? before : { most: rows, answers: 0, accounts: new Counts(), proven: 0 };
    this.#seen.set(name, seen);
    if (asked <= rows) return;
    seen.answers += 1;
    seen.accounts.add(String(account));
    if ((this.#counts.get(`${name} ${account}`) ?? 0) > rows) seen.proven += 1;
  }

  /** A cap is certain if a count showed more rows, and likely if several accounts got it. */
  learned(): Learned {
    const caps: Record<string, number> = {};
    const findings: Finding[] = [];
    const uncertain: Doubt[] = [];
    for (const [operation, { most, answers, accounts, proven }] of this.#seen) {
      const entry = `caps.${operation}`;
      const isLikely = answers >= CAP_ANSWERS_MIN && most % 10 === 0 && accounts.ranked.length > 1;
      if (proven === 0 && !isLikely) continue;
      caps[operation] = most;
      findings.push({ entry, count: answers, text: `${counted(most, 'row')} where more were asked for` });
      if (proven === 0)
        uncertain.push({
          entry,
          reason: `${counted(most, 'row')} came ${counted(answers, 'time')}; are there ever more?`,
        });
    }
    return { dialect: Object.keys(caps).length > 0 ? { caps } : {}, findings, uncertain };
  }
}
