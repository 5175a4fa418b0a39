import type { AccountKey } from '../../store/caller.ts';
import { defineColumns, type RowOf } from '../../store/columns.ts';
import { statement } from '../../store/statement.ts';

/** Scheduled messages with the parts for which they hold credits. */
const fields = {
  messageId: 'long',
  reference: 'text?',
  recipient: 'text?',
  text: 'text?',
  scheduledAt: 'number',
  createdAt: 'number',
} as const;
export type ScheduledRow = RowOf<typeof fields>;
type One = { account: AccountKey };
type Message = { account: AccountKey; id: bigint };
/** `ids` is a JSON array of numbers. */
type Some = { account: AccountKey; ids: string };
type Page = { account: AccountKey; from: bigint; limit: number };
/** A page of the ids from `to` down. */
type DownPage = { account: AccountKey; to: bigint; limit: number };
type TimePage = { account: AccountKey; at: number; id: bigint; limit: number };
/** The credits that a deleted message held. */
interface HeldRow {
  message_id: bigint;
  held_parts: bigint;
}

const columns = defineColumns(fields).names;
const scheduled = `select ${columns} from scheduled where account_id = :account`;

/** A page starts at a time and at an id of that time. */
export const soonest = statement<TimePage, ScheduledRow>(
  'outbox.soonest',
  `${scheduled} and (scheduled_at, message_id) >= (:at, :id) order by scheduled_at, message_id {limit :limit}`,
);
/** Counts up to a limit. */
export const countScheduledUntil = statement<{ account: AccountKey; to: number; limit: number }, { total: bigint }>(
  'outbox.countScheduledUntil',
  `select count(*) as total from (select 1 from scheduled where account_id = :account and scheduled_at <= :to
   order by scheduled_at {limit :limit}) as counted`,
);
/** For the orders of dialects. */
export const latestScheduled = statement<TimePage, ScheduledRow>(
  'outbox.latestScheduled',
  `${scheduled} and (scheduled_at, message_id) <= (:at, :id)
   order by scheduled_at desc, message_id desc {limit :limit}`,
);
export const scheduledDown = statement<DownPage, ScheduledRow>(
  'outbox.scheduledDown',
  `${scheduled} and message_id <= :to order by message_id desc {limit :limit}`,
);
export const scheduledAmong = statement<Some, ScheduledRow>(
  'outbox.scheduledAmong',
  `${scheduled} and message_id {among :ids}`,
);
/** A page of the ids that start at `from`. */
export const scheduledFrom = statement<Page, ScheduledRow>(
  'outbox.scheduledFrom',
  `${scheduled} and message_id >= :from order by message_id {limit :limit}`,
);
export const one = statement<Message, ScheduledRow & { held_parts: bigint; not_after: bigint | null }>(
  'outbox.scheduledOne',
  `select ${columns}, held_parts,
     (select not_after from dispatch where dispatch.account_id = :account and dispatch.message_id = :id) as not_after
   from scheduled where account_id = :account and message_id = :id`,
);
/** A page of messages whose recipient has this ending. The domain compares the whole numbers. */
export const scheduledByEnd = statement<Page & { end: string }, { message_id: bigint; recipient: string | null }>(
  'outbox.scheduledByEnd',
  `select message_id, recipient from scheduled {using scheduled_by_number_end}
   where account_id = :account and {ending number_key} = :end and message_id >= :from order by message_id {limit :limit}`,
);
export const deleteScheduled = statement<Message, HeldRow>(
  'outbox.deleteScheduled',
  'delete from scheduled where account_id = :account and message_id = :id returning message_id, held_parts',
  { deletes: ({ id }) => String(id) },
);
export const deleteAllScheduled = statement<One, HeldRow>(
  'outbox.deleteAllScheduled',
  'delete from scheduled where account_id = :account returning message_id, held_parts',
  { deletes: () => 'all' },
);
export const deleteScheduledOf = statement<Some, HeldRow>(
  'outbox.deleteScheduledOf',
  'delete from scheduled where account_id = :account and message_id {among :ids} returning message_id, held_parts',
);
/** Removes scheduled messages that are claimed, because they become sent messages. */
export const takeScheduled = statement<Some, ScheduledRow & { batch_id: bigint | null }>(
  'outbox.takeScheduled',
  `delete from scheduled where account_id = :account and message_id {among :ids} returning ${columns}, batch_id`,
);
export const setRecipient = statement<Message & { recipient: string }>(
  'outbox.setRecipient',
  'update scheduled set recipient = :recipient where account_id = :account and message_id = :id',
);
export const addScheduled = statement<
  Message & {
    reference: string | null;
    recipient: string | null;
    text: string | null;
    key: string | null;
    heldParts: number;
    scheduledAt: number;
    createdAt: number;
    batch: bigint | null;
  }
>(
  'outbox.addScheduled',
  `insert into scheduled (account_id, message_id, reference, recipient, text, number_key, held_parts, scheduled_at, created_at, batch_id)
   values (:account, :id, :reference, :recipient, :text, :key, :heldParts, :scheduledAt, :createdAt, :batch)`,
);
