import type { AccountKey } from '../../store/caller.ts';
import { statement } from '../../store/statement.ts';

/**
 * Rows that are older than their retention. They are counted and deleted by account, in bounded
 * batches.
 */
export interface RetentionRow {
  kind: string;
  days: bigint;
  applied_at: bigint | null;
}
type Before = { account: AccountKey; before: number };
type Batch = Before & { limit: number };
type Total = { total: bigint };
type Nothing = Record<string, never>;

export const settings = statement<Nothing, RetentionRow>(
  'retention.settings',
  'select kind, days, applied_at from retention order by kind',
);
export const set = statement<{ kind: string; days: number }>(
  'retention.set',
  `insert into retention (kind, days) values (:kind, :days)
   on conflict (kind) do update set days = excluded.days, applied_at = null`,
  { affects: 'none' },
);
export const unset = statement<{ kind: string }>('retention.unset', 'delete from retention where kind = :kind', {
  affects: 'none',
});
/** Sets when a retention was applied; during a run, a time at which it is soon due again. */
export const hold = statement<{ kind: string; at: number }>(
  'retention.hold',
  'update retention set applied_at = :at where kind = :kind',
  { affects: 'none' },
);
/** Claims a retention that is due, which only one process can do. */
export const take = statement<{ kind: string; at: number; due: number }>(
  'retention.take',
  `update retention set applied_at = :at where kind = :kind and (applied_at is null or applied_at < :due)`,
  { affects: 'none' },
);

const inbox = `account_id = :account and generation = (select generation from tally where account_id = :account)
  and received_at < :before`;

export const countInbox = statement<Before, Total>(
  'retention.countInbox',
  `select count(*) as total from received where ${inbox}`,
);
export const deleteInbox = statement<Batch>(
  'retention.deleteInbox',
  `delete from received where account_id = :account and message_id in
     (select message_id from received where ${inbox} order by received_at, message_id {limit :limit})`,
);
export const deleteGatewayMessages = statement<Batch>(
  'retention.deleteGatewayMessages',
  `delete from gateway_message where account_id = :account and gateway_id_hash in
     (select gateway_id_hash from gateway_message where account_id = :account and received_at < :before
      order by received_at {limit :limit})`,
);
/** A message on its way stays, because it is neither sent nor refused yet. */
const sent = `account_id = :account and sent_at < :before
      and not exists (select 1 from dispatch where dispatch.account_id = :account and dispatch.message_id = sent.message_id)`;
export const countSent = statement<Before, Total>(
  'retention.countSent',
  `select count(*) as total from sent where ${sent}`,
);
const oldSent = `(select message_id from sent where ${sent} order by sent_at, message_id {limit :limit})`;
/** Deletes the attempts of the messages that deleteSent deletes next. */
export const deleteAttempts = statement<Batch>(
  'retention.deleteAttempts',
  `delete from attempt where account_id = :account and message_id in ${oldSent}`,
  { affects: 'none' },
);
export const deleteSent = statement<Batch>(
  'retention.deleteSent',
  `delete from sent where account_id = :account and message_id in ${oldSent}`,
);
export const countAudit = statement<{ before: number }, Total>(
  'retention.countAudit',
  'select count(*) as total from audit where at < :before',
);
export const deleteAudit = statement<{ before: number; limit: number }>(
  'retention.deleteAudit',
  `delete from audit where audit_id in
     (select audit_id from audit where at < :before order by at, audit_id {limit :limit})`,
  { affects: 'none' },
);
