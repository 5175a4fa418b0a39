import type { AccountKey, Queries } from '../../store/database.ts';
import { elementsOf } from '../../store/json.ts';
import * as attemptSql from './attempts.sql.ts';
import { statusOfParts } from './receipt-status.ts';
import { attemptsOf } from './receipts.sql.ts';

/** What is known of the parts of a message, over all of its attempts. */
export interface KnownParts {
  /** By an answer or by a receipt: a carrier has these. */
  readonly accepted: ReadonlySet<number>;
  /** No answer came, and no receipt. */
  readonly unsure: ReadonlySet<number>;
}
const NOTHING: KnownParts = { accepted: new Set(), unsure: new Set() };

export async function knownParts(
  queries: Queries,
  account: AccountKey,
  ids: readonly bigint[],
): Promise<(id: bigint) => KnownParts> {
  const known = new Map<bigint, { accepted: Set<number>; unsure: Set<number> }>();
  if (ids.length === 0) return () => NOTHING;
  for (const row of await queries.all(attemptSql.partStates, { account, ids: elementsOf(ids) })) {
    const own = known.get(row.message_id) ?? { accepted: new Set(), unsure: new Set() };
    if (Number(row.is_accepted) === 1) own.accepted.add(Number(row.part));
    else if (Number(row.is_unsure) === 1) own.unsure.add(Number(row.part));
    known.set(row.message_id, own);
  }
  return (id) => known.get(id) ?? NOTHING;
}

/** The statuses of messages that a carrier has, by the receipts that came so far. */
export async function statusesByReceipts(
  queries: Queries,
  account: AccountKey,
  ids: readonly bigint[],
): Promise<Map<bigint, string>> {
  const rows = await queries.all(attemptsOf, { account, ids: elementsOf(ids) });
  const statuses = new Map<bigint, string>();
  for (const [id, own] of Map.groupBy(rows, ({ message_id }) => message_id)) {
    const attempts = own.map(({ attempt, part, state, status }) => ({ attempt, part, state, status, statusAt: null }));
    statuses.set(id, statusOfParts(attempts) ?? 'SUBMITTED');
  }
  return statuses;
}
