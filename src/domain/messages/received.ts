import { cursorAfter, cursorBefore, FIRST, FIRST_ID, LAST } from '../../store/cursor.ts';
import type { AccountKey, Database } from '../../store/database.ts';
import type { Purge } from './purge.ts';
import * as sql from './received.sql.ts';

export interface ReceivedMessage {
  readonly id: bigint;
  readonly sender: string | null;
  readonly text: string | null;
  readonly shortCode: string | null;
  readonly receivedAt: number;
}
export interface InboxMessage extends ReceivedMessage {
  readonly read: boolean;
}

export type Inbox = ReturnType<typeof createInbox>;

/** The received messages of an account. Reading them never marks them. */
export function createInbox(database: Database, purge: Pick<Purge, 'wake'>) {
  return {
    /** Oldest first, both ends included. All lists start after the message `after`. */
    async between(
      account: AccountKey,
      { from, to }: { readonly from: number; readonly to: number },
      limit: number,
      after?: ReceivedMessage,
    ): Promise<ReceivedMessage[]> {
      const cursor = after ? cursorAfter(after.receivedAt, after.id) : { at: from, id: FIRST_ID };
      return (await database.all(sql.receivedBetween, { account, ...cursor, to, limit })).map(toReceived);
    },
    /** Oldest first, so that a client that polls and marks sees every message. */
    async unread(account: AccountKey, limit: number, after?: ReceivedMessage) {
      const cursor = after ? cursorAfter(after.receivedAt, after.id) : FIRST;
      return (await database.all(sql.unread, { account, ...cursor, limit })).map(toReceived);
    },
    /** Newest first, because the caller gives a limit and no range. */
    async newest(account: AccountKey, limit: number, after?: ReceivedMessage) {
      const cursor = after ? cursorBefore(after.receivedAt, after.id) : LAST;
      return (await database.all(sql.newest, { account, ...cursor, limit })).map(toInboxMessage);
    },
    async countRead(account: AccountKey): Promise<bigint> {
      return (await database.first(sql.counts, { account }))?.read ?? 0n;
    },
    async countUnread(account: AccountKey): Promise<bigint> {
      return (await database.first(sql.counts, { account }))?.unread ?? 0n;
    },

    /** Returns false if there is no such message. A read message can be marked again. */
    markRead: (account: AccountKey, id: bigint): Promise<boolean> =>
      database
        .run(sql.markRead, { account, id })
        .then((marked) => marked > 0 || database.first(sql.find, { account, id }).then((found) => found !== undefined)),
    delete: (account: AccountKey, id: bigint): Promise<boolean> =>
      database.run(sql.deleteReceived, { account, id }).then(isAny),
    /** Empties the inbox at once, whatever its size. The purge removes the rows later. */
    async deleteAll(account: AccountKey): Promise<void> {
      await database.run(sql.deleteAllReceived, { account });
      purge.wake();
    },
  };
}

const isAny = (rows: number): boolean => rows > 0;

export const toReceived = (row: sql.ReceivedRow): ReceivedMessage => ({
  id: row.message_id,
  sender: row.sender,
  text: row.text,
  shortCode: row.short_code,
  receivedAt: Number(row.received_at),
});

export const toInboxMessage = (row: sql.InboxRow): InboxMessage => ({
  ...toReceived(row),
  read: row.is_unread === null,
});
