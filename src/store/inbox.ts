import { statement } from './statement.ts';

/** Received messages. */
export interface ReceivedRow {
  message_id: bigint;
  sender: string | null;
  text: string | null;
  short_code: string | null;
  received_at: bigint;
  is_read: bigint;
}
type One = { account: bigint };
type Message = { account: bigint; id: bigint };

const message =
  'select message_id, sender, text, short_code, received_at, is_read from received where account_id = :account';

export const receivedBetween = statement<{ account: bigint; from: number; to: number; limit: number }, ReceivedRow>(
  'inbox.receivedBetween',
  `${message} and received_at between :from and :to order by received_at, message_id limit :limit`,
);
export const unread = statement<{ account: bigint; limit: number }, ReceivedRow>(
  'inbox.unread',
  `${message} and is_read = 0 order by received_at, message_id limit :limit`,
);
export const newest = statement<{ account: bigint; limit: number }, ReceivedRow>(
  'inbox.newest',
  `${message} order by received_at desc, message_id desc limit :limit`,
);
/** In pages: the ids from `from` up. */
export const receivedFrom = statement<{ account: bigint; from: bigint; limit: number }, ReceivedRow>(
  'inbox.receivedFrom',
  `${message} and message_id >= :from order by message_id limit :limit`,
);
export const count = statement<{ account: bigint; isRead: number }, { total: bigint }>(
  'inbox.count',
  'select count(*) as total from received where account_id = :account and is_read = :isRead',
);
export const markRead = statement<Message>(
  'inbox.markRead',
  'update received set is_read = 1 where account_id = :account and message_id = :id',
);
export const deleteReceived = statement<Message>(
  'inbox.deleteReceived',
  'delete from received where account_id = :account and message_id = :id',
);
export const deleteAllReceived = statement<One>(
  'inbox.deleteAllReceived',
  'delete from received where account_id = :account',
);
export const addReceived = statement<
  Message & { sender: string | null; text: string | null; shortCode: string | null; receivedAt: number; isRead: number }
>(
  'inbox.addReceived',
  `insert into received (account_id, message_id, sender, text, short_code, received_at, is_read)
   values (:account, :id, :sender, :text, :shortCode, :receivedAt, :isRead)`,
);
