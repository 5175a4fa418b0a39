import type { Database } from '../../store/database.ts';
import * as sql from './counts.sql.ts';

/** The numbers of messages of all accounts together, for metrics. */
export interface MessageCounts {
  readonly unread: number;
  readonly read: number;
  /** At most SCHEDULED_MAX. */
  readonly scheduled: number;
  /** Accounts whose emptied inboxes are still on disk. */
  readonly toPurge: number;
}

// Counting this many takes SQLite about 3 ms, during which the process serves no other call.
export const SCHEDULED_MAX = 100_000;
const FRESH_MS = 30_000;

/** Reads the counts at most every 30 s, because the sum reads a row of every account. */
export function createMessageCounts(database: Database, monotonic: () => number): () => Promise<MessageCounts> {
  let latest: { readonly readAt: number; readonly counts: Promise<MessageCounts> } | undefined;

  async function read(): Promise<MessageCounts> {
    const messages = await database.first(sql.messages, {});
    const scheduled = await database.first(sql.scheduled, { limit: SCHEDULED_MAX });
    const toPurge = await database.first(sql.toPurge, {});
    return {
      unread: Number(messages?.unread),
      read: Number(messages?.read),
      scheduled: Number(scheduled?.total),
      toPurge: Number(toPurge?.total),
    };
  }

  return () => {
    const at = monotonic();
    if (!latest || at - latest.readAt >= FRESH_MS) latest = { readAt: at, counts: read() };
    return latest.counts;
  };
}

export interface DatabaseStatus {
  readonly bytes: number;
  readonly schemaVersion: number;
  readonly accounts: number;
}

/** Reads the status for `columba check`. It counts every account. */
export async function readStatus(database: Database): Promise<DatabaseStatus> {
  const row = await database.first(sql.status, {});
  return { bytes: Number(row?.bytes), schemaVersion: Number(row?.version), accounts: Number(row?.accounts) };
}
