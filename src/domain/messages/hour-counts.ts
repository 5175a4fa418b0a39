import type { AccountKey } from '../../store/caller.ts';
import type { Queries, Transaction } from '../../store/database.ts';
import * as sql from './hour-counts.sql.ts';
import { isFinal, isUndelivered } from './statuses.ts';

/**
 * What happened to the messages of an account in each of the last 744 hours. Counts are written in
 * the transaction that changes the messages, with one statement for all of them. Messages of an
 * import are not counted.
 */
export interface HourCounts {
  /** The beginning of the hour. */
  readonly at: number;
  /** Messages that were accepted, or whose time came. */
  readonly accepted: number;
  readonly delivered: number;
  /** Messages that ended without being delivered, except for those that were cancelled. */
  readonly failed: number;
}

const HOUR_MS = 3_600_000;
/** 31 days. */
const SLOTS = 744;

/** The hour of an instant, and the slot of the table in which it is counted. */
export function slotOf(at: number): { readonly hour: number; readonly slot: number } {
  const hour = Math.floor(at / HOUR_MS);
  return { hour, slot: ((hour % SLOTS) + SLOTS) % SLOTS };
}
export const atOfHour = (hour: bigint): number => Number(hour) * HOUR_MS;

export async function countMessages(
  { queries, account, at }: Transaction,
  { accepted = 0, statuses = [] }: { readonly accepted?: number; readonly statuses?: readonly string[] },
): Promise<void> {
  const delivered = statuses.filter((status) => status === 'DELIVERED').length;
  const failed = statuses.filter((status) => isFinal(status) && isUndelivered(status)).length;
  if (accepted + delivered + failed === 0) return;
  await queries.run(sql.addToHour, { account, ...slotOf(at), accepted, delivered, failed });
}

/** The hours since `from` in which something happened, oldest first. */
export async function hourCountsOf(queries: Queries, account: AccountKey, from: number): Promise<HourCounts[]> {
  const rows = await queries.all(sql.hoursOf, { account, from: slotOf(from).hour });
  return rows
    .map(({ hour, accepted, delivered, failed }) => ({
      at: atOfHour(hour),
      accepted: Number(accepted),
      delivered: Number(delivered),
      failed: Number(failed),
    }))
    .sort((one, other) => one.at - other.at);
}
