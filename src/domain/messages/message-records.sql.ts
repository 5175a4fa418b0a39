import { type AccountKey, statement } from '../../store/statement.ts';
import type { InboxRow } from './received.sql.ts';
import type { ScheduledRow, SentRow } from './sent.sql.ts';

/**
 * Single messages for the operator: received ones with the gateway's id, sent ones with history,
 * scheduled ones.
 */
export interface HistoryRow {
  position: bigint;
  status: string;
  at: bigint;
  detail: string | null;
}
type One = { account: AccountKey };
type Message = { account: AccountKey; id: bigint };
type Gateway = { account: AccountKey; hash: string };

/** Locks the inbox too: no call empties it before the transaction ends. */
export const generation = statement<One, { generation: bigint }>(
  'messageRecords.generation',
  'update tally set generation = generation where account_id = :account returning generation',
);
export const received = statement<Message, InboxRow>(
  'messageRecords.received',
  `select received.message_id, sender, text, short_code, received.received_at,
     (select 1 from unread_message where unread_message.account_id = received.account_id
        and unread_message.generation = received.generation and unread_message.received_at = received.received_at
        and unread_message.message_id = received.message_id) as is_unread
   from received where account_id = :account and message_id = :id
     and generation = (select generation from tally where account_id = :account)`,
);
export const gatewayMessage = statement<Gateway, { message_id: bigint; received_at: bigint }>(
  'messageRecords.gatewayMessage',
  'select message_id, received_at from gateway_message where account_id = :account and gateway_id_hash = :hash',
);
export const addGatewayMessage = statement<Gateway & { id: bigint; receivedAt: number }>(
  'messageRecords.addGatewayMessage',
  `insert into gateway_message (account_id, gateway_id_hash, message_id, received_at)
   values (:account, :hash, :id, :receivedAt)`,
);

export const sent = statement<Message, SentRow>(
  'messageRecords.sent',
  `select message_id, reference, recipient, text, status, sent_at, updated_at, is_marked
   from sent where account_id = :account and message_id = :id`,
);
/** A new status is unmarked. */
export const setStatus = statement<Message & { status: string; updatedAt: number }>(
  'messageRecords.setStatus',
  `update sent set status = :status, updated_at = :updatedAt, is_marked = 0
   where account_id = :account and message_id = :id`,
);
export const history = statement<Message, HistoryRow>(
  'messageRecords.history',
  'select position, status, at, detail from history where account_id = :account and message_id = :id order by position',
);
export const addHistory = statement<Message & { position: bigint; status: string; at: number; detail: string | null }>(
  'messageRecords.addHistory',
  `insert into history (account_id, message_id, position, status, at, detail)
   values (:account, :id, :position, :status, :at, :detail)`,
);

export const scheduled = statement<Message, ScheduledRow & { held_parts: bigint; not_after: bigint | null }>(
  'messageRecords.scheduled',
  `select message_id, reference, recipient, text, scheduled_at, created_at, held_parts,
     (select not_after from dispatch where dispatch.account_id = :account and dispatch.message_id = :id) as not_after
   from scheduled where account_id = :account and message_id = :id`,
);
