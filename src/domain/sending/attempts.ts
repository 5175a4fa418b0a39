import { createHash } from 'node:crypto';
import { randomBytes } from '../../base/random.ts';
import { PARTS_MAX } from '../../sms/parts.ts';
import type { AccountKey } from '../../store/caller.ts';
import type { Database, Queries } from '../../store/database.ts';
import { elementsOf } from '../../store/json.ts';
import { isFinal } from '../messages/statuses.ts';
import * as sql from './attempts.sql.ts';
import { attemptsOf as attemptStates } from './receipts.sql.ts';

/** Submissions of parts, their results, and the status of the message that follows from them. */

/** What the id of an attempt has of its message. */
export interface MessageKey {
  readonly account: bigint;
  readonly id: bigint;
}
const TAG_BYTES = 5;
export const tagOf = ({ account, id }: MessageKey): string =>
  createHash('sha256').update(`${account}/${id}`).digest().toString('hex', 0, TAG_BYTES);
/** The beginning of the ids of attempts of this time: 12 hexadecimal digits of milliseconds. */
export const timeOfAttempts = (at: number): string => Math.max(0, at).toString(16).padStart(12, '0');
const TAG_BEGIN = timeOfAttempts(0).length;
/**
 * 48 bits of time, so that new ids are neighbours in an index, 40 of the message, by which a
 * receipt still finds it after a restore, and 40 random bits.
 */
export const newAttemptId = (now: number, message?: MessageKey): string =>
  timeOfAttempts(now).slice(-TAG_BEGIN) + (message ? tagOf(message) : randomTag()) + randomTag();
const randomTag = (): string => randomBytes(TAG_BYTES).toString('hex');
/** The ids of attempts of another time for the same message are between these. */
export const sameMessageAt = (attemptId: string, at: number): { readonly low: string; readonly high: string } => {
  const low = timeOfAttempts(at) + attemptId.slice(TAG_BEGIN, TAG_BEGIN + 2 * TAG_BYTES);
  return { low, high: `${low}g` }; // after every hexadecimal digit
};

/** One submission of a part of a message. */
export type Attempt = sql.AttemptValues;

export async function attemptsOf(database: Database, account: bigint, id: bigint): Promise<Attempt[]> {
  return (await database.all(sql.ofMessage, { account, id })).map(sql.attemptColumns.read);
}

/** The known results of the parts of a message, over all of its attempts. */
export interface KnownParts {
  /** The parts that a carrier has, by its answer or by a receipt. */
  readonly accepted: ReadonlySet<number>;
  /** The parts for which neither an answer nor a receipt came. */
  readonly unknown: ReadonlySet<number>;
}
const NOTHING: KnownParts = { accepted: new Set(), unknown: new Set() };

/** Stands in the place of a part where a text of several parts was submitted in one piece. */
export const WHOLE = 0;
const EVERY_PART: ReadonlySet<number> = new Set(Array.from({ length: PARTS_MAX }, (_, index) => index + 1));

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
  return (id) => {
    const own = known.get(id) ?? NOTHING;
    return own.accepted.has(WHOLE) ? { ...own, accepted: EVERY_PART } : own;
  };
}

/** The statuses of messages that a carrier has, according to the receipts so far. */
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
 * Which status follows from receipts. Receipts come in any order and more than once, so the result
 * depends only on what they say, not on when they come.
 */
export interface PartAttempt {
  readonly attempt: bigint;
  readonly part: bigint;
  readonly state: string;
  readonly status: string | null;
  readonly statusAt: number | null;
}

/** Each list is ordered from the worst status to the best. */
const PENDING = ['UNKNOWN', 'SUBMITTED', 'ENROUTE', 'ACCEPTED'];
const FINAL = ['REJECTED', 'UNDELIVERABLE', 'EXPIRED', 'DELETED', 'DELIVERED'];

/**
 * Whether a receipt proves that the carrier has the part. A gateway that refuses a submission may
 * report the refusal by a receipt too, which proves nothing.
 */
export const provesSubmission = (status: string): boolean => ['ENROUTE', 'ACCEPTED', 'DELIVERED'].includes(status);

/** Whether a receipt tells more than is known about its attempt. A final status stays. */
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

const isTaken = ({ state, status }: PartAttempt): boolean => state === 'accepted' || status !== null;

/**
 * The status of a message, which is that of its worst part. It is final only when the statuses of
 * all parts are. Null if a carrier does not have all parts yet.
 */
export function statusOfParts(attempts: readonly PartAttempt[]): string | null {
  const isWhole = ({ part }: PartAttempt) => Number(part) === WHOLE;
  const isTakenWhole = attempts.some((each) => isWhole(each) && isTaken(each));
  const counting = attempts.filter((each) => isWhole(each) === isTakenWhole);
  const statuses = [...Map.groupBy(counting, ({ part }) => part).values()].map(statusOfPart);
  if (statuses.length === 0 || statuses.includes(null)) return null;
  const pending = PENDING.find((status) => statuses.includes(status));
  return pending ?? FINAL.find((status) => statuses.includes(status)) ?? null;
}

/**
 * A part that was submitted again is delivered as soon as one of its attempts is. While a newer
 * attempt is on its way, the failure of an older one says nothing. If the outcome of a newer
 * attempt is unknown, the failure is not final, because the part may still be delivered.
 */
function statusOfPart(attempts: readonly PartAttempt[]): string | null {
  const taken = attempts.filter(isTaken);
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
