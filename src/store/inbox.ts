import { type AccountKey, statement } from './statement.ts';

/** Received messages. */
export interface ReceivedRow {
  message_id: bigint;
  sender: string | null;
  text: string | null;
  short_code: string | null;
  received_at: bigint;
  is_read: bigint;
}
type One = { account: AccountKey };
type Message = { account: AccountKey; id: bigint };

/** The inbox as it is since it was last emptied, see tally.ts. */
const current = 'account_id = :account and generation = (select generation from tally where account_id = :account)';
const message = `select message_id, sender, text, short_code, received_at, is_read from received where ${current}`;

type Page = { account: AccountKey; at: number; id: bigint; limit: number };

/** In pages: each begins at a time, and at an id of that time. */
export const receivedBetween = statement<Page & { to: number }, ReceivedRow>(
  'inbox.receivedBetween',
  `${message} and (received_at, message_id) >= (:at, :id) and received_at <= :to
   order by received_at, message_id limit :limit`,
);
export const unread = statement<Page, ReceivedRow>(
  'inbox.unread',
  `${message} and is_read = 0 and (received_at, message_id) >= (:at, :id) order by received_at, message_id limit :limit`,
);
export const newest = statement<Page, ReceivedRow>(
  'inbox.newest',
  `${message} and (received_at, message_id) <= (:at, :id) order by received_at desc, message_id desc limit :limit`,
);
/** In pages: the ids from `from` up. */
export const receivedFrom = statement<{ account: AccountKey; from: bigint; limit: number }, ReceivedRow>(
  'inbox.receivedFrom',
  `${message} and message_id >= :from order by message_id limit :limit`,
);
export const counts = statement<One, { unread: bigint; read: bigint }>(
  'inbox.counts',
  'select unread, read from tally where account_id = :account',
);
export const markRead = statement<Message>(
  'inbox.markRead',
  `update received set is_read = 1 where ${current} and message_id = :id`,
);
export const deleteReceived = statement<Message>(
  'inbox.deleteReceived',
  `delete from received where ${current} and message_id = :id`,
);
/** Empties it at once, however much is in it; the rows are purged later. */
export const deleteAllReceived = statement<One>(
  'inbox.deleteAllReceived',
  'update tally set generation = generation + 1, unread = 0, read = 0 where account_id = :account',
);
export const addReceived = statement<
  Message & {
    sender: string | null;
    text: string | null;
    shortCode: string | null;
    receivedAt: number;
    isRead: number;
    generation: number;
  }
>(
  'inbox.addReceived',
  `insert into received (account_id, message_id, sender, text, short_code, received_at, is_read, generation)
   values (:account, :id, :sender, :text, :shortCode, :receivedAt, :isRead, :generation)`,
);
