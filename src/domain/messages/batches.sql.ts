import type { AccountKey } from '../../store/caller.ts';
import { defineColumns, type RowOf, type ValuesOf } from '../../store/columns.ts';
import { statement } from '../../store/statement.ts';

/** Messages that were accepted together: see schema/batches.ts. */
const FIELDS = {
  batchId: 'long',
  name: 'text?',
  createdAt: 'number',
  dueAt: 'number',
  accepted: 'number',
  refused: 'number',
  parts: 'number',
  credits: 'long',
  used: 'long',
  /** Messages that wait for their time. */
  inSchedule: 'number',
  queued: 'number',
  submitted: 'number',
  delivered: 'number',
  failed: 'number',
  resent: 'number',
  cancelled: 'number',
  unknown: 'number',
  startedAt: 'number?',
  lastAt: 'number?',
} as const;
export type BatchValues = ValuesOf<typeof FIELDS>;
export type BatchRow = RowOf<typeof FIELDS>;
export const batchColumns = defineColumns(FIELDS);
const columns = batchColumns.names;

type One = { account: AccountKey };
type Batch = One & { batch: bigint };
type Page = One & { at: number; id: bigint; limit: number };

/** Adds a batch, or what joins it. */
export const put = statement<
  Batch & {
    name: string | null;
    at: number;
    dueAt: number;
    accepted: number;
    refused: number;
    parts: number;
    credits: bigint;
  }
>(
  'batches.put',
  `insert into batch (account_id, batch_id, name, created_at, due_at, accepted, refused, parts, credits)
   values (:account, :batch, :name, :at, :dueAt, :accepted, :refused, :parts, :credits)
   on conflict (account_id, batch_id) do update set accepted = batch.accepted + excluded.accepted,
     refused = batch.refused + excluded.refused, parts = batch.parts + excluded.parts,
     credits = batch.credits + excluded.credits`,
  { affects: 'none' },
);
export const one = statement<Batch, BatchRow>(
  'batches.one',
  `select ${columns} from batch where account_id = :account and batch_id = :batch`,
);
/** Newest first; what is due later stands before what was sent. */
export const newest = statement<Page, BatchRow>(
  'batches.newest',
  `select ${columns} from batch where account_id = :account and (due_at, batch_id) <= (:at, :id)
   order by due_at desc, batch_id desc {limit :limit}`,
);
/** Soonest first. */
export const soonest = statement<Page, BatchRow>(
  'batches.soonest',
  `select ${columns} from batch where account_id = :account and (due_at, batch_id) >= (:at, :id)
   order by due_at, batch_id {limit :limit}`,
);
export const among = statement<One & { ids: string }, BatchRow>(
  'batches.among',
  `select ${columns} from batch where account_id = :account and batch_id {among :ids}`,
);
/** Adds captured credits, for each batch. */
export const addUsed = statement<One & { rows: string }>(
  'batches.addUsed',
  `update batch set used = batch.used + changed.used
   from {records :rows account_id bigint, batch_id bigint, used bigint} as changed
   where {joined batch.account_id :account} and batch.account_id = changed.account_id and batch.batch_id = changed.batch_id`,
  { affects: 'none' },
);
/** A batch of which nothing has left gets the new time of its messages. */
export const move = statement<One & { ids: string; dueAt: number }>(
  'batches.move',
  `update batch set due_at = :dueAt where account_id = :account and started_at is null and queued = 0
     and batch_id in (select batch_id from scheduled where account_id = :account and message_id {among :ids})`,
  { affects: 'none' },
);
/** Deletes old batches whose messages are all gone. */
export const removeEmpty = statement<One & { before: number; limit: number }>(
  'batches.removeEmpty',
  `delete from batch where account_id = :account and batch_id in
     (select batch_id from batch where account_id = :account and due_at < :before
        and in_schedule + queued + submitted + delivered + failed + resent + cancelled + unknown = 0
      order by due_at, batch_id {limit :limit})`,
  { affects: 'none' },
);

export interface MemberRow {
  message_id: bigint;
  reference: string | null;
  recipient: string | null;
  text: string | null;
  status: string;
  sent_at: bigint;
  updated_at: bigint;
  is_marked: bigint;
  deleted_by_carrier: bigint;
  resent_as: bigint | null;
}
/** A page of the sent messages of a batch that have one status, from the message `from` on. */
export const members = statement<Batch & { status: string; from: bigint; limit: number }, MemberRow>(
  'batches.members',
  `select message_id, reference, recipient, text, status, sent_at, updated_at, is_marked, deleted_by_carrier, resent_as
   from sent
   where account_id = :account and batch_id = :batch and status = :status and message_id >= :from
   order by message_id {limit :limit}`,
);
export const scheduledMembers = statement<
  Batch & { from: bigint; limit: number },
  {
    message_id: bigint;
    reference: string | null;
    recipient: string | null;
    text: string | null;
    scheduled_at: bigint;
    created_at: bigint;
  }
>(
  'batches.scheduledMembers',
  `select message_id, reference, recipient, text, scheduled_at, created_at from scheduled
   where account_id = :account and batch_id = :batch and message_id >= :from order by message_id {limit :limit}`,
);
/** Sent messages that were not accepted together with others, newest first. */
export const newestSingle = statement<Page, MemberRow>(
  'batches.newestSingle',
  `select message_id, reference, recipient, text, status, sent_at, updated_at, is_marked, deleted_by_carrier, resent_as
   from sent
   where account_id = :account and batch_id is null and (sent_at, message_id) <= (:at, :id)
   order by sent_at desc, message_id desc {limit :limit}`,
);
/** Scheduled messages that were not accepted together with others, soonest first. */
export const soonestSingle = statement<
  Page,
  {
    message_id: bigint;
    reference: string | null;
    recipient: string | null;
    text: string | null;
    scheduled_at: bigint;
    created_at: bigint;
  }
>(
  'batches.soonestSingle',
  `select message_id, reference, recipient, text, scheduled_at, created_at from scheduled
   where account_id = :account and batch_id is null and (scheduled_at, message_id) >= (:at, :id)
   order by scheduled_at, message_id {limit :limit}`,
);
/** The batches of messages, where they have one. */
export const ofSent = statement<One & { id: bigint }, { batch_id: bigint | null; resent_as: bigint | null }>(
  'batches.ofSent',
  'select batch_id, resent_as from sent where account_id = :account and message_id = :id',
);
export const ofScheduled = statement<One & { id: bigint }, { batch_id: bigint | null }>(
  'batches.ofScheduled',
  'select batch_id from scheduled where account_id = :account and message_id = :id',
);
export const setResent = statement<One & { rows: string }>(
  'batches.setResent',
  `update sent set resent_as = changed.resent_as
   from {records :rows account_id bigint, message_id bigint, resent_as bigint} as changed
   where {joined sent.account_id :account} and sent.account_id = changed.account_id and sent.message_id = changed.message_id`,
  { affects: 'none' },
);
