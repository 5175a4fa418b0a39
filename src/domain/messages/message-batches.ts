import { Problem } from '../../base/problem.ts';
import type { AccountKey, Database, Writing } from '../../store/database.ts';
import { joined } from '../../store/transactions.ts';
import * as sendingSql from '../sending/dispatch.sql.ts';
import { afterQuietHours } from '../sending/quiet-hours.ts';
import { createMessageRecords } from './message-records.ts';
import * as inboxSql from './received.sql.ts';
import * as movingSql from './rescheduling.sql.ts';
import * as outboxSql from './sent.sql.ts';

/** Many messages at once, for people who act on a list. What is gone already is left out. */
export const BATCH_MAX = 500;

export interface NewTime {
  readonly at: number;
  readonly quietHours: string | null;
  readonly timeZone: string | null;
  /** How long a message is tried that has no last time of its own. */
  readonly tryForMs: number;
}
export interface Rescheduled {
  readonly moved: number;
  /** Messages with a last time of their own, which is before the new one. */
  readonly tooLate: number;
}
export type ReceivedChange = 'read' | 'unread' | 'delete';
export type SentChange = 'mark' | 'delete';

export function createMessageBatches(database: Database, now: () => number) {
  return {
    /** How many of them were there. */
    changeReceived: (account: AccountKey, ids: readonly bigint[], change: ReceivedChange): Promise<number> =>
      database.transaction(account, async (queries) => {
        const text = `[${[...new Set(ids)].join()}]`;
        const generation = Number((await queries.first(inboxSql.currentGeneration, { account }))?.generation ?? 0n);
        const rows = await queries.all(inboxSql.receivedAmong, { account, ids: text });
        if (change === 'delete') {
          if (rows.length > 0) {
            const present = `[${rows.map(({ message_id }) => message_id).join()}]`;
            await queries.run(inboxSql.deleteReceivedAmong, { account, ids: present });
          }
          return rows.length;
        }
        for (const row of rows) await markOne(queries, account, row, generation, change === 'read');
        return rows.length;
      }),

    changeSent: (account: AccountKey, ids: readonly bigint[], change: SentChange): Promise<number> =>
      database.transaction(account, async (queries) => {
        let done = 0;
        const statement = change === 'mark' ? outboxSql.mark : outboxSql.deleteSent;
        for (const id of new Set(ids)) done += await queries.run(statement, { account, id });
        return done;
      }),

    /**
     * Quiet hours hold here too. Those that are being sent, or must not be sent so late, are left
     * alone. How many have the new time, and for how many it is too late.
     */
    reschedule: (account: AccountKey, ids: readonly bigint[], wanted: NewTime): Promise<Rescheduled> =>
      database.transaction(account, async (queries) => {
        const dueAt = afterQuietHours(wanted.at, wanted.quietHours, wanted.timeZone);
        let [moved, tooLate] = [0, 0];
        for (const id of new Set(ids)) {
          if ((await queries.run(movingSql.moveScheduled, { account, id, dueAt })) === 0) {
            if (await queries.first(movingSql.tooLate, { account, id, dueAt })) tooLate += 1;
            continue;
          }
          await queries.run(movingSql.moveDispatch, { account, id, dueAt, expiresAt: dueAt + wanted.tryForMs });
          moved += 1;
        }
        if (moved > 0) await queries.run(sendingSql.raiseWork, { account, dueAt });
        return { moved, tooLate };
      }),

    /** Those that are being sent already are left alone. */
    cancelScheduled: (
      account: AccountKey,
      ids: readonly bigint[],
    ): Promise<{ cancelled: number; creditsReturned: bigint }> =>
      database.transaction(account, async (queries) => {
        const records = createMessageRecords(joined(database, queries), now);
        let [cancelled, creditsReturned] = [0, 0n];
        for (const id of new Set(ids)) {
          const returned = await records.cancel(account, id).catch((thrown) => {
            if (thrown instanceof Problem && ['not-found', 'conflict'].includes(thrown.kind)) return null;
            throw thrown;
          });
          if (returned === null) continue;
          cancelled += 1;
          creditsReturned += returned;
        }
        return { cancelled, creditsReturned };
      }),
  };
}

async function markOne(
  queries: Writing,
  account: AccountKey,
  row: inboxSql.InboxRow,
  generation: number,
  isRead: boolean,
): Promise<void> {
  const id = row.message_id;
  const receivedAt = Number(row.received_at);
  if (isRead && row.is_unread !== null) await queries.run(inboxSql.markRead, { account, id });
  if (!isRead && row.is_unread === null) await queries.run(inboxSql.addUnread, { account, id, receivedAt, generation });
}
