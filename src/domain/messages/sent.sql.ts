import { type AccountKey, statement } from '../../store/statement.ts';

/** Sent messages with their delivery status, and scheduled ones with their held parts. */
export interface SentRow {
  message_id: bigint;
  reference: string | null;
  recipient: string | null;
  text: string | null;
  status: string;
  sent_at: bigint;
  updated_at: bigint;
  is_marked: bigint;
}
export interface ScheduledRow {
  message_id: bigint;
  reference: string | null;
  recipient: string | null;
  text: string | null;
  scheduled_at: bigint;
  created_at: bigint;
}
type One = { account: AccountKey };
type Message = { account: AccountKey; id: bigint };
type Page = { account: AccountKey; from: bigint; limit: number };
/** A page: ids from `to` down. */
type DownPage = { account: AccountKey; to: bigint; limit: number };
type TimePage = { account: AccountKey; at: number; id: bigint; limit: number };

const sent =
  'select message_id, reference, recipient, text, status, sent_at, updated_at, is_marked from sent where account_id = :account';
const scheduled =
  'select message_id, reference, recipient, text, scheduled_at, created_at from scheduled where account_id = :account';

/** A page starts at a time and at an id of that time. */
export const unmarked = statement<TimePage, SentRow>(
  'outbox.unmarked',
  `${sent} and is_marked = 0 and (updated_at, message_id) >= (:at, :id) order by updated_at, message_id {limit :limit}`,
);
export const countUnmarked = statement<One, { total: bigint }>(
  'outbox.countUnmarked',
  'select unmarked as total from tally where account_id = :account',
);
export const newestSent = statement<TimePage, SentRow>(
  'outbox.newestSent',
  `${sent} and (sent_at, message_id) <= (:at, :id) order by sent_at desc, message_id desc {limit :limit}`,
);
/** A page: ids from `from` on. */
export const sentFrom = statement<Page, SentRow>(
  'outbox.sentFrom',
  `${sent} and message_id >= :from order by message_id {limit :limit}`,
);
/** Orders of dialects. */
export const unmarkedNewest = statement<TimePage, SentRow>(
  'outbox.unmarkedNewest',
  `${sent} and is_marked = 0 and (updated_at, message_id) <= (:at, :id)
   order by updated_at desc, message_id desc {limit :limit}`,
);
export const oldestSent = statement<TimePage, SentRow>(
  'outbox.oldestSent',
  `${sent} and (sent_at, message_id) >= (:at, :id) order by sent_at, message_id {limit :limit}`,
);
export const sentDown = statement<DownPage, SentRow>(
  'outbox.sentDown',
  `${sent} and message_id <= :to order by message_id desc {limit :limit}`,
);
export const mark = statement<Message>(
  'outbox.mark',
  'update sent set is_marked = 1 where account_id = :account and message_id = :id',
);
export const deleteSent = statement<Message>(
  'outbox.deleteSent',
  'delete from sent where account_id = :account and message_id = :id',
  { deletes: ({ id }) => String(id) },
);
interface NewSent extends Message {
  reference: string | null;
  recipient: string | null;
  text: string | null;
  status: string;
  sentAt: number;
  updatedAt: number;
  isMarked: number;
}
const insertSent = `insert into sent (account_id, message_id, reference, recipient, text, status, sent_at, updated_at, is_marked)
   values (:account, :id, :reference, :recipient, :text, :status, :sentAt, :updatedAt, :isMarked)`;

export const addSent = statement<NewSent>('outbox.addSent', insertSent);
/** Adds a message, or changes the one with this id. A mark stays while the status is the same. */
export const putSent = statement<NewSent>(
  'outbox.putSent',
  `${insertSent} on conflict (account_id, message_id) do update set reference = excluded.reference,
     recipient = excluded.recipient, text = excluded.text, status = excluded.status, sent_at = excluded.sent_at,
     updated_at = excluded.updated_at, is_marked = case when sent.is_marked = 1 and sent.status = excluded.status
       and sent.updated_at = excluded.updated_at then 1 else excluded.is_marked end`,
);

export const soonest = statement<TimePage, ScheduledRow>(
  'outbox.soonest',
  `${scheduled} and (scheduled_at, message_id) >= (:at, :id) order by scheduled_at, message_id {limit :limit}`,
);
/** Orders of dialects. */
export const latestScheduled = statement<TimePage, ScheduledRow>(
  'outbox.latestScheduled',
  `${scheduled} and (scheduled_at, message_id) <= (:at, :id)
   order by scheduled_at desc, message_id desc {limit :limit}`,
);
export const scheduledDown = statement<DownPage, ScheduledRow>(
  'outbox.scheduledDown',
  `${scheduled} and message_id <= :to order by message_id desc {limit :limit}`,
);
/** A page: ids from `from` on. */
export const scheduledFrom = statement<Page, ScheduledRow>(
  'outbox.scheduledFrom',
  `${scheduled} and message_id >= :from order by message_id {limit :limit}`,
);
export const deleteScheduled = statement<Message, { message_id: bigint; held_parts: bigint }>(
  'outbox.deleteScheduled',
  'delete from scheduled where account_id = :account and message_id = :id returning message_id, held_parts',
  { deletes: ({ id }) => String(id) },
);
export const deleteAllScheduled = statement<One, { message_id: bigint; held_parts: bigint }>(
  'outbox.deleteAllScheduled',
  'delete from scheduled where account_id = :account returning message_id, held_parts',
  { deletes: () => 'all' },
);
/** A page of messages whose recipient has this ending. The domain compares the whole numbers. */
export const scheduledByEnd = statement<Page & { end: string }, { message_id: bigint; recipient: string | null }>(
  'outbox.scheduledByEnd',
  `select message_id, recipient from scheduled {using scheduled_by_number_end}
   where account_id = :account and {ending number_key} = :end and message_id >= :from order by message_id {limit :limit}`,
);
/** `ids` is a JSON array of numbers. */
export const deleteScheduledOf = statement<
  { account: AccountKey; ids: string },
  { message_id: bigint; held_parts: bigint }
>(
  'outbox.deleteScheduledOf',
  'delete from scheduled where account_id = :account and message_id {among :ids} returning message_id, held_parts',
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
  }
>(
  'outbox.addScheduled',
  `insert into scheduled (account_id, message_id, reference, recipient, text, number_key, held_parts, scheduled_at, created_at)
   values (:account, :id, :reference, :recipient, :text, :key, :heldParts, :scheduledAt, :createdAt)`,
);
