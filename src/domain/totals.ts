import type { Database } from '../store/database.ts';
import * as sql from '../store/statements/totals.ts';

/** How much there is in all accounts together. */
export interface Figures {
  readonly unread: number;
  readonly read: number;
  /** At most SCHEDULED_MAX. */
  readonly scheduled: number;
  /** Accounts whose emptied inboxes are still on disk. */
  readonly toPurge: number;
}

// Counting so many takes SQLite about 3 ms, during which nobody else is served.
export const SCHEDULED_MAX = 100_000;
const FRESH_MS = 30_000;

/** The same ones for 30 s, however often they are asked for: the sum looks at every account. */
export function createFigures(database: Database, now: () => number = () => performance.now()): () => Promise<Figures> {
  let known: { readonly askedAt: number; readonly figures: Promise<Figures> } | undefined;

  async function ask(): Promise<Figures> {
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
    if (!known || now() - known.askedAt >= FRESH_MS) known = { askedAt: now(), figures: ask() };
    return known.figures;
  };
}

export interface DatabaseStatus {
  readonly bytes: number;
  readonly schemaVersion: number;
  readonly accounts: number;
}

/** For `columba check`: it counts every account. */
export async function readStatus(database: Database): Promise<DatabaseStatus> {
  const row = await database.first(sql.status, {});
  return { bytes: Number(row?.bytes), schemaVersion: Number(row?.version), accounts: Number(row?.accounts) };
}
