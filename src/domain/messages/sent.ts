import { cursorAfter, cursorBefore, FIRST, LAST } from '../../store/cursor.ts';
import type { AccountKey, Database, Queries } from '../../store/database.ts';
import { type HeldMessage, releaseHeld } from '../accounts/ledger.ts';
import * as sql from './sent.sql.ts';

/** QUEUED and SUBMITTED are ours. The others are the names of SMPP for receipts of carriers. */
export const DELIVERY_STATUSES = [
  'QUEUED',
  'SUBMITTED',
  'ENROUTE',
  'DELIVERED',
  'EXPIRED',
  'DELETED',
  'UNDELIVERABLE',
  'ACCEPTED',
  'UNKNOWN',
  'REJECTED',
] as const;

/** A later report does not change these. UNKNOWN is not final: a late receipt still counts. */
export const FINAL_STATUSES: readonly string[] = ['DELIVERED', 'EXPIRED', 'DELETED', 'UNDELIVERABLE', 'REJECTED'];

export interface SentMessage {
  readonly id: bigint;
  /** The reference that the sender gave. */
  readonly reference: string | null;
  readonly recipient: string | null;
  readonly text: string | null;
  readonly status: string;
  readonly sentAt: number;
  readonly updatedAt: number;
  /** Whether the latest status has been marked since it changed. */
  readonly marked: boolean;
}
export interface ScheduledMessage {
  readonly id: bigint;
  readonly reference: string | null;
  readonly recipient: string | null;
  readonly text: string | null;
  readonly scheduledAt: number;
  readonly createdAt: number;
}

export type Outbox = ReturnType<typeof createOutbox>;

export function createOutbox(database: Database, now: () => number) {
  /** Deletes scheduled messages and returns the credits held for them: both or neither. */
  const release = (account: AccountKey, take: (queries: Queries) => Promise<HeldMessage[]>): Promise<boolean> =>
    database.transaction(account, async (queries) => {
      const taken = await take(queries);
      if (taken.length > 0) await releaseHeld(queries, account, now(), taken, 'cancelled');
      return taken.length > 0;
    });

  return {
    /**
     * Oldest change first, so that a client that polls and marks sees every change. All lists start
     * after the message `after`.
     */
    async unmarked(account: AccountKey, limit: number, after?: SentMessage): Promise<SentMessage[]> {
      const cursor = after ? cursorAfter(after.updatedAt, after.id) : FIRST;
      return (await database.all(sql.unmarked, { account, ...cursor, limit })).map(toSent);
    },
    async countUnmarked(account: AccountKey): Promise<bigint> {
      return (await database.first(sql.countUnmarked, { account }))?.total ?? 0n;
    },
    async newestSent(account: AccountKey, limit: number, after?: SentMessage): Promise<SentMessage[]> {
      const cursor = after ? cursorBefore(after.sentAt, after.id) : LAST;
      return (await database.all(sql.newestSent, { account, ...cursor, limit })).map(toSent);
    },
    /** Returns false if there is no such message. */
    async mark(account: AccountKey, id: bigint): Promise<boolean> {
      return (await database.run(sql.mark, { account, id })) > 0;
    },
    async deleteSent(account: AccountKey, id: bigint): Promise<boolean> {
      return (await database.run(sql.deleteSent, { account, id })) > 0;
    },

    async soonest(account: AccountKey, limit: number, after?: ScheduledMessage): Promise<ScheduledMessage[]> {
      const cursor = after ? cursorAfter(after.scheduledAt, after.id) : FIRST;
      return (await database.all(sql.soonest, { account, ...cursor, limit })).map(toScheduled);
    },
    deleteScheduled: (account: AccountKey, id: bigint): Promise<boolean> =>
      release(account, (queries) => queries.all(sql.deleteScheduled, { account, id })),
    async deleteAllScheduled(account: AccountKey): Promise<void> {
      await release(account, (queries) => queries.all(sql.deleteAllScheduled, { account }));
    },
  };
}

export const toSent = (row: sql.SentRow): SentMessage => ({
  id: row.message_id,
  reference: row.reference,
  recipient: row.recipient,
  text: row.text,
  status: row.status,
  sentAt: Number(row.sent_at),
  updatedAt: Number(row.updated_at),
  marked: row.is_marked === 1n,
});

export const toScheduled = (row: sql.ScheduledRow): ScheduledMessage => ({
  id: row.message_id,
  reference: row.reference,
  recipient: row.recipient,
  text: row.text,
  scheduledAt: Number(row.scheduled_at),
  createdAt: Number(row.created_at),
});
