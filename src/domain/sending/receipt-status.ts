import { isFinal } from '../messages/statuses.ts';

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
  return newer.includes('unsure') ? 'UNKNOWN' : status;
}
