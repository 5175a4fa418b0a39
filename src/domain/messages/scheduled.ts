import { notFound } from '../../base/problem.ts';
import type { SameNumber } from '../../sms/numbers.ts';
import type { AccountKey } from '../../store/caller.ts';
import { type Cursor, cursorAfter, FIRST, pages } from '../../store/cursor.ts';
import type { Database, Queries, TransactionQueries } from '../../store/database.ts';
import { elementsOf } from '../../store/json.ts';
import { type HeldMessage, releaseHeld } from '../accounts/ledger.ts';
import * as sql from './scheduled.sql.ts';

/** Messages that are sent later, and hold their credits until then. */
export interface ScheduledMessage {
  readonly id: bigint;
  readonly reference: string | null;
  readonly recipient: string | null;
  readonly text: string | null;
  readonly scheduledAt: number;
  readonly createdAt: number;
}
export interface ScheduledRecord extends ScheduledMessage {
  readonly heldParts: bigint;
  /** The message is not sent after this time; null for no such time. */
  readonly notAfter: number | null;
}
export interface NewScheduled extends ScheduledMessage {
  /** The form of the recipient by which the blacklist finds it; null without a recipient. */
  readonly key: string | null;
  readonly heldParts: number;
  /** The batch that it was accepted with. */
  readonly batch?: bigint | null;
}

export type Scheduled = ReturnType<typeof createScheduled>;

export function createScheduled(database: Database, now: () => number) {
  /** Deletes scheduled messages and returns the credits held for them: both or neither. */
  const release = (account: AccountKey, take: (queries: Queries) => Promise<HeldMessage[]>): Promise<boolean> =>
    database.transaction(account, async (queries) => {
      const taken = await take(queries);
      if (taken.length > 0) await releaseHeld({ queries, account, at: now() }, taken, 'cancelled');
      return taken.length > 0;
    });

  return {
    /** How many are due until an instant, at most `limit`. */
    async countUntil(account: AccountKey, to: number, limit: number): Promise<number> {
      return Number((await database.first(sql.countScheduledUntil, { account, to, limit }))?.total ?? 0n);
    },
    async soonest(account: AccountKey, limit: number, after?: ScheduledMessage): Promise<ScheduledMessage[]> {
      const cursor = after ? cursorAfter(after.scheduledAt, after.id) : FIRST;
      return (await database.all(sql.soonest, { account, ...cursor, limit })).map(toScheduled);
    },
    /** Reads from a position on, which is included. */
    async from(
      account: AccountKey,
      order: 'newest' | 'oldest',
      from: Cursor,
      limit: number,
    ): Promise<ScheduledMessage[]> {
      const statement = order === 'newest' ? sql.latestScheduled : sql.soonest;
      return (await database.all(statement, { account, ...from, limit })).map(toScheduled);
    },
    /** Returns false if there is no such message. */
    delete: (account: AccountKey, id: bigint): Promise<boolean> =>
      release(account, (queries) => takeOneScheduled(queries, account, id)),
    async deleteAll(account: AccountKey): Promise<void> {
      await release(account, (queries) => queries.all(sql.deleteAllScheduled, { account }));
    },
    async show(account: AccountKey, id: bigint): Promise<ScheduledRecord> {
      const record = await scheduledOf(database, account, id);
      if (!record) throw notFound('scheduled message with this id');
      return record;
    },
  };
}

export async function scheduledOf(queries: Queries, account: AccountKey, id: bigint): Promise<ScheduledRecord | null> {
  const row = await queries.first(sql.one, { account, id });
  if (!row) return null;
  const notAfter = row.not_after === null ? null : Number(row.not_after);
  return { ...toScheduled(row), heldParts: row.held_parts, notAfter };
}

export async function scheduledAmong(
  queries: Queries,
  account: AccountKey,
  ids: readonly bigint[],
): Promise<ScheduledMessage[]> {
  return (await queries.all(sql.scheduledAmong, { account, ids: elementsOf(ids) })).map(toScheduled);
}

/** Removes a scheduled message. Returns the credits that it held; the caller releases them. */
export const takeOneScheduled = (queries: Queries, account: AccountKey, id: bigint): Promise<HeldMessage[]> =>
  queries.all(sql.deleteScheduled, { account, id });

/** Removes scheduled messages. Returns the credits that they held; the caller releases them. */
export const deleteScheduledAmong = (
  queries: Queries,
  account: AccountKey,
  ids: readonly bigint[],
): Promise<HeldMessage[]> => queries.all(sql.deleteScheduledOf, { account, ids: elementsOf(ids) });

/** Removes scheduled messages that a dispatcher has claimed, to become sent messages. */
export async function takeScheduled(
  queries: Queries,
  account: AccountKey,
  ids: readonly bigint[],
): Promise<(ScheduledMessage & { readonly batch: bigint | null })[]> {
  const rows = await queries.all(sql.takeScheduled, { account, ids: elementsOf(ids) });
  return rows.map((row) => ({ ...toScheduled(row), batch: row.batch_id }));
}

export async function addScheduled(
  queries: TransactionQueries,
  account: AccountKey,
  messages: readonly NewScheduled[],
): Promise<void> {
  await queries.runAll(
    sql.addScheduled,
    messages.map((each) => ({ account, batch: null, ...each })),
  );
}

export async function setScheduledRecipient(queries: Queries, account: AccountKey, id: bigint, recipient: string) {
  await queries.run(sql.setRecipient, { account, id, recipient });
}

// Rows of one page of all messages.
const PAGE = 1_000;

/** All scheduled messages of an account, in the order of their ids. */
export async function* allScheduled(queries: Queries, account: AccountKey): AsyncGenerator<ScheduledMessage> {
  const page = (from: bigint) => queries.all(sql.scheduledFrom, { account, from, limit: PAGE });
  for await (const rows of pages(PAGE, page, ({ message_id }) => message_id)) yield* rows.map(toScheduled);
}

/** The ids of the messages that are scheduled for this number, in any notation, page by page. */
export async function* scheduledFor(
  queries: Queries,
  account: AccountKey,
  { ends, matches }: SameNumber,
): AsyncGenerator<bigint[]> {
  for (const end of ends) {
    const page = (from: bigint) => queries.all(sql.scheduledByEnd, { account, end, from, limit: PAGE });
    for await (const rows of pages(PAGE, page, ({ message_id }) => message_id)) {
      const found = rows.filter(({ recipient }) => matches(recipient)).map(({ message_id }) => message_id);
      if (found.length > 0) yield found;
    }
  }
}

export const toScheduled = (row: sql.ScheduledRow): ScheduledMessage => ({
  id: row.message_id,
  reference: row.reference,
  recipient: row.recipient,
  text: row.text,
  scheduledAt: Number(row.scheduled_at),
  createdAt: Number(row.created_at),
});
