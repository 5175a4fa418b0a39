import type { AccountKey, Queries } from '../../store/database.ts';
import { elementsOf } from '../../store/json.ts';
import type { Database } from '../../store/transactions.ts';
import { isFinal } from '../messages/statuses.ts';
import * as sql from './attempts.sql.ts';
import { attemptsOf as attemptStates } from './receipts.sql.ts';

/** Submissions of parts: what each of them got, and what follows for the message. */

/** Every submission of a part of a message, oldest first. */
export interface Attempt {
  readonly attempt: number;
  readonly part: number;
  readonly connector: string;
  /** The carrier's own id. */
  readonly gatewayId: string | null;
  readonly state: string;
  readonly submittedAt: number;
}

export async function attemptsOf(database: Database, account: bigint, id: bigint): Promise<Attempt[]> {
  const rows = await database.all(sql.ofMessage, { account, id });
  return rows.map((row) => ({
    attempt: Number(row.attempt),
    part: Number(row.part),
    connector: row.connector,
    gatewayId: row.gateway_id,
    state: row.state,
    submittedAt: Number(row.submitted_at),
  }));
}

/** The known results of the parts of a message, over all of its attempts. */
export interface KnownParts {
  /** By an answer or by a receipt: a carrier has these. */
  readonly accepted: ReadonlySet<number>;
  /** No answer came, and no receipt. */
  readonly unknown: ReadonlySet<number>;
}
const NOTHING: KnownParts = { accepted: new Set(), unknown: new Set() };

export async function knownParts(
  queries: Queries,
  account: AccountKey,
  ids: readonly bigint[],
): Promise<(id: bigint) => KnownParts> {
  const known = new Map<bigint, { accepted: Set<number>; unknown: Set<number> }>();
  if (ids.length === 0) return () => NOTHING;
  for (const row of await queries.all(sql.partStates, { account, ids: elementsOf(ids) })) {
    const own = known.get(row.message_id) ?? { accepted: new Set(), unknown: new Set() };
    if (Number(row.is_accepted) === 1) own.accepted.add(Number(row.part));
    else if (Number(row.is_unknown) === 1) own.unknown.add(Number(row.part));
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
  const rows = await queries.all(attemptStates, { account, ids: elementsOf(ids) });
  const statuses = new Map<bigint, string>();
  for (const [id, own] of Map.groupBy(rows, ({ message_id }) => message_id)) {
    const attempts = own.map(({ attempt, part, state, status }) => ({ attempt, part, state, status, statusAt: null }));
    statuses.set(id, statusOfParts(attempts) ?? 'SUBMITTED');
  }
  return statuses;
}

/**
 * Which status follows from receipts. Receipts come in any order and more than once. So the result
 * depends on what they say, and not on when they come.
 */
export interface PartAttempt {
  readonly attempt: bigint;
  readonly part: bigint;
  readonly state: string;
  readonly status: string | null;
  readonly statusAt: number | null;
}

/** From the worst to the best. */
const PENDING = ['UNKNOWN', 'SUBMITTED', 'ENROUTE', 'ACCEPTED'];
const FINAL = ['REJECTED', 'UNDELIVERABLE', 'EXPIRED', 'DELETED', 'DELIVERED'];

/** A gateway that refuses a submission may report the refusal too. That proves nothing. */
export const provesSubmission = (status: string): boolean => ['ENROUTE', 'ACCEPTED', 'DELIVERED'].includes(status);

/** Whether a receipt tells more than what is known of its attempt. A final status stays. */
export function tellsMore(
  { status, statusAt }: Pick<PartAttempt, 'status' | 'statusAt'>,
  receipt: { readonly status: string; readonly at: number },
): boolean {
  if (status === null) return true;
  if (isFinal(status)) return false;
  if (isFinal(receipt.status)) return true;
  const at = statusAt ?? 0;
  if (receipt.at !== at) return receipt.at > at;
  return PENDING.indexOf(receipt.status) > PENDING.indexOf(status);
}

/**
 * The status of a message by the attempts of its parts: that of the worst part. It is final only
 * when all parts are. Null where a carrier does not have all parts yet.
 */
export function statusOfParts(attempts: readonly PartAttempt[]): string | null {
  const statuses = [...Map.groupBy(attempts, ({ part }) => part).values()].map(statusOfPart);
  if (statuses.length === 0 || statuses.includes(null)) return null;
  const pending = PENDING.find((status) => statuses.includes(status));
  return pending ?? FINAL.find((status) => statuses.includes(status)) ?? null;
}

/**
 * A part that was submitted again is delivered as soon as one of its attempts is. While the newer
 * one is on its way, the failure of an older one says nothing. Where nobody knows what became of
 * the newer one, the failure is not final: the part may still be delivered.
 */
function statusOfPart(attempts: readonly PartAttempt[]): string | null {
  const taken = attempts.filter(({ state, status }) => state === 'accepted' || status !== null);
  if (taken.some(({ status }) => status === 'DELIVERED')) return 'DELIVERED';
  const last = taken.reduce<PartAttempt | undefined>(
    (best, each) => (best && best.attempt > each.attempt ? best : each),
    undefined,
  );
  if (!last) return null;
  const status = last.status ?? 'SUBMITTED';
  if (!isFinal(status)) return status;
  const newer = attempts.filter(({ attempt }) => attempt > last.attempt).map(({ state }) => state);
  if (newer.includes('submitting')) return null;
  return newer.includes('unknown-outcome') ? 'UNKNOWN' : status;
}
