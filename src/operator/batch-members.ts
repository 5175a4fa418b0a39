import { type BatchMember, type BatchMessage, scheduledOfBatch, sentOfBatch } from '../domain/messages/batches.ts';
import type { ScheduledMessage } from '../domain/messages/scheduled.ts';
import { FAILED_STATUSES } from '../domain/sending/resend.ts';
import type { AccountServices } from './action.ts';

/** The messages of a batch, as actions and files show them. */

/** The statuses of each count of a batch. */
const STATES = {
  queued: ['QUEUED'],
  submitted: ['SUBMITTED', 'ENROUTE', 'ACCEPTED'],
  delivered: ['DELIVERED'],
  failed: FAILED_STATUSES,
  cancelled: ['DELETED'],
  unknown: ['UNKNOWN'],
} as const;
const ALL = Object.values(STATES).flat();
export const BATCH_STATES = [
  'scheduled',
  'queued',
  'submitted',
  'delivered',
  'failed',
  'cancelled',
  'unknown',
] as const;
export type BatchState = (typeof BATCH_STATES)[number];

const memberOfSent = ({ id, recipient, text, status, sentAt, updatedAt, resentAs }: BatchMessage): BatchMember => ({
  id,
  recipient,
  text,
  status,
  at: sentAt,
  updatedAt,
  resentAs,
});
const memberOfScheduled = ({ id, recipient, text, scheduledAt }: ScheduledMessage): BatchMember => ({
  id,
  recipient,
  text,
  status: null,
  at: scheduledAt,
  updatedAt: null,
  resentAs: null,
});

export type MemberPosition = ['sent' | 'scheduled', bigint];

/** Messages of a batch by their ids: those that were sent, then those that are scheduled. */
export async function membersOf(
  { database, account }: Pick<AccountServices, 'database' | 'account'>,
  id: bigint,
  state: BatchState | undefined,
  limit: number,
  after: MemberPosition | null,
): Promise<BatchMember[]> {
  const members: BatchMember[] = [];
  if (state !== 'scheduled' && after?.[0] !== 'scheduled') {
    const statuses = state === undefined ? ALL : STATES[state];
    members.push(
      ...(await sentOfBatch(database, account.id, id, statuses, limit, after?.[1] ?? null)).map(memberOfSent),
    );
  }
  const isWithScheduled = state === undefined || state === 'scheduled';
  if (!isWithScheduled || members.length >= limit) return members;
  const last = after?.[0] === 'scheduled' ? after[1] : null;
  const waiting = await scheduledOfBatch(database, account.id, id, limit - members.length, last);
  return [...members, ...waiting.map(memberOfScheduled)];
}

const EXPORTED_AT_ONCE = 500;

/** The messages of a batch, page by page. */
export async function* batchPages(
  services: Pick<AccountServices, 'database' | 'account'>,
  id: bigint,
  state: BatchState | undefined,
): AsyncGenerator<BatchMember[]> {
  for (let after: MemberPosition | null = null; ; ) {
    const rows: BatchMember[] = await membersOf(services, id, state, EXPORTED_AT_ONCE, after);
    yield rows;
    const last = rows.at(-1);
    if (rows.length < EXPORTED_AT_ONCE || !last) return;
    after = [last.status === null ? 'scheduled' : 'sent', last.id];
  }
}
