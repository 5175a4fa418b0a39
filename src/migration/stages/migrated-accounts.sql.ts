import { type AccountKey, statement } from '../../store/statement.ts';

/** Copies of accounts of an old server: see schema/migrated-accounts.ts. */
type One = { account: AccountKey };
/** `ids` is a JSON array of numbers. */
type Some = { account: AccountKey; ids: string };

export const server = statement<{ url: string }, { reads_mark: string; tested_at: bigint }>(
  'migrated.server',
  'select reads_mark, tested_at from migrated_server where url = :url',
);
export const putServer = statement<{ url: string; readsMark: string; at: number }>(
  'migrated.putServer',
  `insert into migrated_server (url, reads_mark, tested_at) values (:url, :readsMark, :at)
   on conflict (url) do update set reads_mark = excluded.reads_mark, tested_at = excluded.tested_at`,
  { affects: 'none' },
);

export interface MigratedRow {
  started_at: bigint;
  completed_at: bigint | null;
  synced_at: bigint | null;
  inbox_until: bigint | null;
  highest_message: bigint;
  highest_contact: bigint;
  highest_group: bigint;
}
export const progress = statement<One, MigratedRow>(
  'migrated.progress',
  `select started_at, completed_at, synced_at, inbox_until, highest_message, highest_contact, highest_group
   from migrated_account where account_id = :account`,
);
export const begin = statement<One & { at: number }>(
  'migrated.begin',
  `insert into migrated_account (account_id, started_at) values (:account, :at) on conflict (account_id) do nothing`,
  { affects: 'none' },
);
export const setInboxUntil = statement<One & { until: number | null }>(
  'migrated.setInboxUntil',
  'update migrated_account set inbox_until = :until where account_id = :account',
  { affects: 'none' },
);
export const setCompleted = statement<One & { at: number }>(
  'migrated.setCompleted',
  'update migrated_account set completed_at = :at, synced_at = :at where account_id = :account',
  { affects: 'none' },
);
export const setSynced = statement<One & { at: number }>(
  'migrated.setSynced',
  'update migrated_account set synced_at = :at where account_id = :account',
  { affects: 'none' },
);
export const raiseHighest = statement<One & { message: bigint; contact: bigint; group: bigint }>(
  'migrated.raiseHighest',
  `update migrated_account set
     highest_message = case when highest_message < :message then :message else highest_message end,
     highest_contact = case when highest_contact < :contact then :contact else highest_contact end,
     highest_group = case when highest_group < :group then :group else highest_group end
   where account_id = :account`,
  { affects: 'none' },
);

/** Sent messages from one of the spans of time: records of the account, the start and the end. */
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
/** Scheduled messages, and whether one is armed here. */
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
    is_armed: bigint;
  }
>(
  'migrated.scheduledFrom',
  `select message_id, reference, recipient, text, scheduled_at, created_at, held_parts,
     (select count(*) from dispatch
      where dispatch.account_id = :account and dispatch.message_id = scheduled.message_id) as is_armed
   from scheduled where account_id = :account and message_id >= :from order by message_id {limit :limit}`,
);
/** What clients deleted here since, newest first: see store/callers.sql.ts. */
export const deletions = statement<
  { name: string; since: number; limit: number },
  { action: string; target: string; at: bigint }
>(
  'migrated.deletions',
  `select action, target, at from audit where account = :name and at >= :since and actor_kind = 'contract'
   order by at desc, audit_id desc {limit :limit}`,
);

export interface TakenRow {
  message_id: bigint;
  state: string;
  at: bigint;
}
/** A page: ids from `from` on. */
export const taken = statement<One & { from: bigint; limit: number }, TakenRow>(
  'migrated.taken',
  `select message_id, state, at from taken_message where account_id = :account and message_id >= :from
   order by message_id {limit :limit}`,
);
export const putTaken = statement<One & { id: bigint; state: string; at: number }>(
  'migrated.putTaken',
  `insert into taken_message (account_id, message_id, state, at) values (:account, :id, :state, :at)
   on conflict (account_id, message_id) do update set state = excluded.state, at = excluded.at`,
  { affects: 'none' },
);
