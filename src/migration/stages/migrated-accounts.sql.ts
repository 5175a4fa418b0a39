import type { AccountKey } from '../../store/caller.ts';
import { defineColumns, type RowOf } from '../../store/columns.ts';
import { statement } from '../../store/statement.ts';

/** Copies of accounts of an old server: see schema/migration-tables.ts. */
type One = { account: AccountKey };

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

const fields = {
  startedAt: 'instant',
  completedAt: 'instant?',
  syncedAt: 'instant?',
  inboxUntil: 'instant?',
  highestMessage: 'long',
  highestContact: 'long',
  highestGroup: 'long',
} as const;
export const migratedColumns = defineColumns(fields);
export const progress = statement<One, RowOf<typeof fields>>(
  'migrated.progress',
  `select ${migratedColumns.names} from migrated_account where account_id = :account`,
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

/** What clients have deleted here since a time, newest first: see store/callers.sql.ts. */
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
/** A page of the ids that start at `from`. */
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
