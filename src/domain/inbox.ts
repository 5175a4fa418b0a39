import type { Database } from '../store/database.ts';
import * as sql from '../store/inbox.ts';

export interface ReceivedMessage {
  readonly id: bigint;
  readonly sender: string | null;
  readonly text: string | null;
  readonly shortCode: string | null;
  readonly receivedAt: number;
  readonly read: boolean;
}

export type Inbox = ReturnType<typeof createInbox>;

/** Looking at messages never marks them. */
export function createInbox(database: Database) {
  const count = async (account: bigint, isRead: number) =>
    (await database.first(sql.count, { account, isRead }))?.total ?? 0n;

  return {
    /** Oldest first, both ends included. */
    async between(account: bigint, from: number, to: number, limit: number): Promise<ReceivedMessage[]> {
      return (await database.all(sql.receivedBetween, { account, from, to, limit })).map(toReceived);
    },
    /** Oldest first, so that a client that polls always gets on. */
    async unread(account: bigint, limit: number): Promise<ReceivedMessage[]> {
      return (await database.all(sql.unread, { account, limit })).map(toReceived);
    },
    /** Newest first: with nothing but a cap, the newest are the ones that matter. */
    async newest(account: bigint, limit: number): Promise<ReceivedMessage[]> {
      return (await database.all(sql.newest, { account, limit })).map(toReceived);
    },
    countRead: (account: bigint): Promise<bigint> => count(account, 1),
    countUnread: (account: bigint): Promise<bigint> => count(account, 0),

    /** False where there is no such message. */
    async markRead(account: bigint, id: bigint): Promise<boolean> {
      return (await database.run(sql.markRead, { account, id })) > 0;
    },
    async delete(account: bigint, id: bigint): Promise<boolean> {
      return (await database.run(sql.deleteReceived, { account, id })) > 0;
    },
    async deleteAll(account: bigint): Promise<void> {
      await database.run(sql.deleteAllReceived, { account });
    },
  };
}

export const toReceived = (row: sql.ReceivedRow): ReceivedMessage => ({
  id: row.message_id,
  sender: row.sender,
  text: row.text,
  shortCode: row.short_code,
  receivedAt: Number(row.received_at),
  read: row.is_read === 1n,
});
