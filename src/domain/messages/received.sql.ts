import type { AccountKey } from '../../store/caller.ts';
import { defineColumns, type RowOf } from '../../store/columns.ts';
import { statement } from '../../store/statement.ts';

/** Received messages. */
const fields = { messageId: 'long', sender: 'text?', text: 'text?', shortCode: 'text?', receivedAt: 'number' } as const;
export type ReceivedRow = RowOf<typeof fields>;
export interface InboxRow extends ReceivedRow {
  is_unread: bigint | number | null;
}
type One = { account: AccountKey };
type Message = { account: AccountKey; id: bigint };

/** The current generation of the inbox: see schema/tally.ts. */
const generation = '(select generation from tally where account_id = :account)';
const current = `account_id = :account and generation = ${generation}`;
const columns = defineColumns(fields).namesOf('received');
const message = `select ${columns} from received where ${current}`;
/**
 * Unread messages have a row in `unread_message`: see schema/unread.ts. Reading it takes a tenth of
 * the time of a list.
 */
const sameMessage = `unread_message.account_id = :account and unread_message.generation = received.generation
  and unread_message.received_at = received.received_at and unread_message.message_id = received.message_id`;
const withState = `select ${columns}, (select 1 from unread_message where ${sameMessage}) as is_unread from received`;
const messageWithState = `${withState} where ${current}`;

type Page = { account: AccountKey; at: number; id: bigint; limit: number };

/** A page starts at a time and at an id of that time. */
export const receivedBetween = statement<Page & { to: number }, ReceivedRow>(
  'inbox.receivedBetween',
  `${message} and (received_at, message_id) >= (:at, :id) and received_at <= :to
   order by received_at, message_id {limit :limit}`,
);
const unreadJoined = `from unread_message join received
     on received.account_id = unread_message.account_id and received.message_id = unread_message.message_id
   where unread_message.account_id = :account and unread_message.generation = ${generation}`;
const unreadUp = `${unreadJoined}
     and (unread_message.received_at, unread_message.message_id) >= (:at, :id)
   order by unread_message.received_at, unread_message.message_id {limit :limit}`;
export const unread = statement<Page, ReceivedRow>('inbox.unread', `select ${columns} ${unreadUp}`);
export const newest = statement<Page, InboxRow>(
  'inbox.newest',
  `${messageWithState} and (received_at, message_id) <= (:at, :id) order by received_at desc, message_id desc {limit :limit}`,
);
/** For the orders of dialects: messages with their state, both ends of the range included. */
export const stateBetween = statement<Page & { to: number }, InboxRow>(
  'inbox.stateBetween',
  `${messageWithState} and (received_at, message_id) >= (:at, :id) and received_at <= :to
   order by received_at, message_id {limit :limit}`,
);
export const stateBetweenNewest = statement<Page & { from: number }, InboxRow>(
  'inbox.stateBetweenNewest',
  `${messageWithState} and (received_at, message_id) <= (:at, :id) and received_at >= :from
   order by received_at desc, message_id desc {limit :limit}`,
);
const unreadDown = `${unreadJoined}
     and (unread_message.received_at, unread_message.message_id) <= (:at, :id)
   order by unread_message.received_at desc, unread_message.message_id desc {limit :limit}`;
export const unreadNewest = statement<Page, ReceivedRow>('inbox.unreadNewest', `select ${columns} ${unreadDown}`);
export const unreadSenders = statement<Page, Pick<ReceivedRow, 'message_id' | 'sender' | 'received_at'>>(
  'inbox.unreadSenders',
  `select received.message_id, received.sender, received.received_at ${unreadDown}`,
);
/** Nothing else of them: another column of a thousand rows takes as long as the one. */
export const unreadParties = statement<Page, Pick<ReceivedRow, 'sender'>>(
  'inbox.unreadParties',
  `select received.sender ${unreadDown}`,
);
export const unreadPartiesUp = statement<Page, Pick<ReceivedRow, 'sender'>>(
  'inbox.unreadPartiesUp',
  `select received.sender ${unreadUp}`,
);
/** A page of the ids from `to` down. */
export const receivedDown = statement<{ account: AccountKey; to: bigint; limit: number }, InboxRow>(
  'inbox.receivedDown',
  `${messageWithState} and message_id <= :to order by message_id desc {limit :limit}`,
);
/** A page of the ids that start at `from`. */
export const receivedFrom = statement<{ account: AccountKey; from: bigint; limit: number }, InboxRow>(
  'inbox.receivedFrom',
  `${messageWithState} and message_id >= :from order by message_id {limit :limit}`,
);
export const one = statement<Message, InboxRow>('inbox.one', `${messageWithState} and message_id = :id`);
/**
 * `ids` is a JSON array of numbers. `coalesce` hides the generation from the index, by which
 * PostgreSQL 15 would read the whole inbox.
 */
export const receivedAmong = statement<{ account: AccountKey; ids: string }, InboxRow>(
  'inbox.receivedAmong',
  `${withState} where account_id = :account and coalesce(generation, 0) = ${generation} and message_id {among :ids}`,
);
/** Includes messages of an emptied inbox that is not purged yet. */
export const deleteReceivedAmong = statement<{ account: AccountKey; ids: string }>(
  'inbox.deleteReceivedAmong',
  'delete from received where account_id = :account and message_id {among :ids}',
);
export const currentGeneration = statement<One, { generation: bigint }>(
  'inbox.currentGeneration',
  'select generation from tally where account_id = :account',
);
/** Reads the generation and locks the inbox: no call empties it before the transaction ends. */
export const lockGeneration = statement<One, { generation: bigint }>(
  'inbox.lockGeneration',
  'update tally set generation = generation where account_id = :account returning generation',
);
export const counts = statement<One, { unread: bigint; read: bigint }>(
  'inbox.counts',
  'select unread, read from tally where account_id = :account',
);
/** Changes no row if the message is read or does not exist. */
export const markRead = statement<Message>(
  'inbox.markRead',
  `delete from unread_message where ${current} and message_id = :id
     and received_at = (select received_at from received where account_id = :account and message_id = :id)`,
);
export const find = statement<Message, { message_id: bigint }>(
  'inbox.find',
  `select message_id from received where ${current} and message_id = :id`,
);
export const deleteReceived = statement<Message>(
  'inbox.deleteReceived',
  `delete from received where ${current} and message_id = :id`,
  { deletes: ({ id }) => String(id) },
);
/**
 * Empties the inbox at once, whatever its size. The purge deletes the rows later. An empty inbox is
 * left as it is.
 */
export const deleteAllReceived = statement<One>(
  'inbox.deleteAllReceived',
  `update tally set generation = generation + 1, unread = 0, read = 0
   where account_id = :account and (unread <> 0 or read <> 0)`,
  { deletes: () => 'all' },
);
export const addReceived = statement<
  Message & {
    sender: string | null;
    text: string | null;
    shortCode: string | null;
    receivedAt: number;
    generation: number;
  }
>(
  'inbox.addReceived',
  `insert into received (account_id, message_id, sender, text, short_code, received_at, generation)
   values (:account, :id, :sender, :text, :shortCode, :receivedAt, :generation)`,
);
/** Runs in the transaction that inserts the message, which counts as read without this row. */
export const addUnread = statement<Message & { receivedAt: number; generation: number }>(
  'inbox.addUnread',
  `insert into unread_message (account_id, generation, received_at, message_id)
   values (:account, :generation, :receivedAt, :id)`,
);

/** Ids that gateways gave to messages: a message with a known id is not stored again. */
type Gateway = { account: AccountKey; hash: string };

export const gatewayMessage = statement<Gateway, { message_id: bigint; received_at: bigint }>(
  'inbox.gatewayMessage',
  'select message_id, received_at from gateway_message where account_id = :account and gateway_id_hash = :hash',
);
export const addGatewayMessage = statement<Gateway & { id: bigint; receivedAt: number }>(
  'inbox.addGatewayMessage',
  `insert into gateway_message (account_id, gateway_id_hash, message_id, received_at)
   values (:account, :hash, :id, :receivedAt)`,
);
