import type { AccountKey } from '../../store/caller.ts';
import { statement } from '../../store/statement.ts';

/** Messages as a copy compares them with those of the old server. */
type One = { account: AccountKey };
/** `ids` is a JSON array of numbers. */
type Some = { account: AccountKey; ids: string };

/** Sent messages of some spans of time, given as records of the account, the start and the end. */
export const sentWithin = statement<
  One & { spans: string },
  { recipient: string | null; text: string | null; sent_at: bigint }
>(
  'migrated.sentWithin',
  `select sent.recipient, sent.text, sent.sent_at
   from {records :spans account_id bigint, start_at bigint, end_at bigint} as span, sent
   where {joined sent.account_id :account} and sent.account_id = span.account_id
     and sent.sent_at >= span.start_at and sent.sent_at < span.end_at`,
);
export const scheduledAmong = statement<Some, { message_id: bigint }>(
  'migrated.scheduledAmong',
  'select message_id from scheduled where account_id = :account and message_id {among :ids}',
);
/** Scheduled messages, and whether each is active here. */
export const scheduledFrom = statement<
  One & { from: bigint; limit: number },
  {
    message_id: bigint;
    reference: string | null;
    recipient: string | null;
    text: string | null;
    scheduled_at: bigint;
    created_at: bigint;
    held_parts: bigint;
    is_active: bigint;
  }
>(
  'migrated.scheduledFrom',
  `select message_id, reference, recipient, text, scheduled_at, created_at, held_parts,
     (select count(*) from dispatch
      where dispatch.account_id = :account and dispatch.message_id = scheduled.message_id) as is_active
   from scheduled where account_id = :account and message_id >= :from order by message_id {limit :limit}`,
);
