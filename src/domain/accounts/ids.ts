import { Problem } from '../../base/problem.ts';
import type { AccountKey } from '../../store/caller.ts';
import type { Queries } from '../../store/database.ts';
import * as sql from './ids.sql.ts';

/**
 * New ids of an account's rows. They come from counters, so the id of a deleted row is never used
 * again. Received, sent and scheduled messages share one counter.
 */
export type IdKind = 'contact' | 'group' | 'message' | 'template' | 'write';

/**
 * Counters use the lower half of the range that clients can read: 32 bits for contacts and groups,
 * else 64. The upper half is left for imported ids. So an imported id of 2147483647 does not use up
 * the counter.
 */
export const LAST_COUNTED: Readonly<Record<IdKind, bigint>> = {
  contact: 2n ** 30n,
  group: 2n ** 30n,
  message: 2n ** 62n,
  template: 2n ** 62n,
  write: 2n ** 62n, // the writes of a migration
};

/** Takes `count` new ids and returns the first one. Call it in a transaction of the account. */
export async function takeIds(queries: Queries, account: AccountKey, kind: IdKind, count = 1): Promise<bigint> {
  const row = await queries.first(sql.takeIds, { account, kind, count: BigInt(count) });
  const last = row?.last_id ?? 0n;
  if (last > LAST_COUNTED[kind]) throw new Problem('bad-argument', `the account has no ${kind} ids left`);
  return last - BigInt(count) + 1n;
}

/** Moves the counter above ids that came from another system, such as an import. */
export async function reserveIds(
  queries: Queries,
  account: AccountKey,
  kind: IdKind,
  ids: Iterable<bigint>,
): Promise<void> {
  let last = 0n;
  for (const id of ids) if (id > last && id <= LAST_COUNTED[kind]) last = id;
  if (last > 0n) await queries.run(sql.raiseCounter, { account, kind, last });
}

/**
 * Identifies the rows that exist now; rows that are added later are not in the snapshot. So a
 * person who acts on all rows of a list acts on what the list showed.
 */
export async function snapshotOf(queries: Queries, account: AccountKey, kind: IdKind): Promise<bigint> {
  return (await queries.first(sql.lastId, { account, kind }))?.last_id ?? 0n;
}
export const isInSnapshot = (snapshot: bigint, kind: IdKind, id: bigint): boolean =>
  id <= snapshot || id > LAST_COUNTED[kind];
