import type { AccountKey } from '../../store/caller.ts';
import { defineColumns, type RowOf } from '../../store/columns.ts';
import { statement } from '../../store/statement.ts';

/** Sent messages with their delivery status and its history. */
const fields = {
  messageId: 'long',
  reference: 'text?',
  recipient: 'text?',
  text: 'text?',
  status: 'text',
  sentAt: 'number',
  updatedAt: 'number',
  isMarked: 'long',
  deletedByCarrier: 'long',
} as const;
export type SentRow = RowOf<typeof fields>;
type One = { account: AccountKey };
type Message = { account: AccountKey; id: bigint };
/** `ids` is a JSON array of numbers. */
type Some = { account: AccountKey; ids: string };
type Page = { account: AccountKey; from: bigint; limit: number };
/** A page of the ids from `to` down. */
type DownPage = { account: AccountKey; to: bigint; limit: number };
type TimePage = { account: AccountKey; at: number; id: bigint; limit: number };

const sent = `select ${defineColumns(fields).names} from sent where account_id = :account`;

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
/** Messages that may have reached nobody: UNDELIVERED_STATUSES, and what a carrier deleted. */
const undelivered =
  "(status in ('EXPIRED', 'UNDELIVERABLE', 'REJECTED', 'UNKNOWN') or (status = 'DELETED' and deleted_by_carrier = 1))";
export const undeliveredSent = statement<TimePage, SentRow>(
  'outbox.undeliveredSent',
  `${sent} and ${undelivered}
   and (sent_at, message_id) <= (:at, :id) order by sent_at desc, message_id desc {limit :limit}`,
);
/** Counts up to a limit. */
export const countUndelivered = statement<{ account: AccountKey; from: number; limit: number }, { total: bigint }>(
  'outbox.countUndelivered',
  `select count(*) as total from (select 1 from sent where account_id = :account and ${undelivered} and sent_at >= :from
   order by sent_at {limit :limit}) as counted`,
);
/** A page of the ids that start at `from`. */
export const sentFrom = statement<Page, SentRow>(
  'outbox.sentFrom',
  `${sent} and message_id >= :from order by message_id {limit :limit}`,
);
/** For the orders of dialects. */
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
export const sentAmong = statement<Some, SentRow>('outbox.sentAmong', `${sent} and message_id {among :ids}`);
export const deleteSentAmong = statement<Some>(
  'outbox.deleteSentAmong',
  'delete from sent where account_id = :account and message_id {among :ids}',
);
interface NewSent extends Message {
  reference: string | null;
  recipient: string | null;
  text: string | null;
  status: string;
  sentAt: number;
  updatedAt: number;
  isMarked: number;
  batch: bigint | null;
}
const insertSent = `insert into sent (account_id, message_id, reference, recipient, text, status, sent_at, updated_at, is_marked, batch_id)
   values (:account, :id, :reference, :recipient, :text, :status, :sentAt, :updatedAt, :isMarked, :batch)`;

export const addSent = statement<NewSent>('outbox.addSent', insertSent);
/** Adds a message, or changes the one with this id. A mark stays while the status is the same. */
export const putSent = statement<NewSent>(
  'outbox.putSent',
  `${insertSent} on conflict (account_id, message_id) do update set reference = excluded.reference,
     recipient = excluded.recipient, text = excluded.text, status = excluded.status, sent_at = excluded.sent_at,
     updated_at = excluded.updated_at, is_marked = case when sent.is_marked = 1 and sent.status = excluded.status
       and sent.updated_at = excluded.updated_at then 1 else excluded.is_marked end`,
);

export const one = statement<Message, SentRow>('outbox.sentOne', `${sent} and message_id = :id`);
export const texts = statement<Some, { message_id: bigint; recipient: string | null; text: string | null }>(
  'outbox.texts',
  'select message_id, recipient, text from sent where account_id = :account and message_id {among :ids}',
);
export const statusesOf = statement<Some, { message_id: bigint; status: string; updated_at: bigint }>(
  'outbox.statusesOf',
  'select message_id, status, updated_at from sent where account_id = :account and message_id {among :ids}',
);
/** A new status is unmarked, because the client has not seen it. */
export const setStatus = statement<Message & { status: string; updatedAt: number }>(
  'outbox.setStatus',
  `update sent set status = :status, updated_at = :updatedAt, is_marked = 0
   where account_id = :account and message_id = :id`,
);
/** Sets the statuses of many messages by receipts, with one statement. */
export const setStatuses = statement<One & { rows: string }>(
  'outbox.setStatuses',
  `update sent set status = changed.status, updated_at = changed.updated_at, is_marked = 0,
     deleted_by_carrier = case when changed.status = 'DELETED' then 1 else 0 end
   from {records :rows account_id bigint, message_id bigint, status text, updated_at bigint} as changed
   where {joined sent.account_id :account} and sent.account_id = changed.account_id and sent.message_id = changed.message_id`,
);
const FINAL = "('DELIVERED', 'EXPIRED', 'DELETED', 'UNDELIVERABLE', 'REJECTED')";
/**
 * Sets one status and unmarks the messages. A deleted message stays deleted. A status that a
 * receipt reported before the answer to the submission came is replaced only by a final status.
 */
export const setStatusOf = statement<Some & { status: string; at: number }, { message_id: bigint }>(
  'outbox.setStatusOf',
  `update sent set status = :status, is_marked = 0, updated_at = case when updated_at > :at then updated_at else :at end
   where account_id = :account and message_id {among :ids}
     and (status in ('QUEUED', 'UNKNOWN') or (:status in ${FINAL} and status not in ${FINAL}))
     and not (status = 'UNKNOWN' and :status = 'UNKNOWN')
   returning message_id`,
);

export interface HistoryRow {
  position: bigint;
  status: string;
  at: bigint;
  detail: string | null;
}
export const history = statement<Message, HistoryRow>(
  'outbox.history',
  'select position, status, at, detail from history where account_id = :account and message_id = :id order by position',
);
export const addHistory = statement<Message & { position: bigint; status: string; at: number; detail: string | null }>(
  'outbox.addHistory',
  `insert into history (account_id, message_id, position, status, at, detail)
   values (:account, :id, :position, :status, :at, :detail)`,
);
/** `ahead` counts the new lines of a message from 1. */
export const appendHistory = statement<One & { rows: string }>(
  'outbox.appendHistory',
  `insert into history (account_id, message_id, position, status, at, detail)
   select :account, added.message_id, added.ahead +
     (select coalesce(max(position), 0) from history where account_id = :account and message_id = added.message_id),
     added.status, added.at, added.detail
   from {records :rows message_id bigint, ahead bigint, status text, at bigint, detail text} as added`,
);
