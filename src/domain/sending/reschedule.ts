import type { AccountKey } from '../../store/caller.ts';
import type { Database } from '../../store/database.ts';
import { moveBatches } from '../messages/batches.ts';
import * as sql from './dispatch.sql.ts';
import { afterQuietHours } from './quiet-hours.ts';

/** The new time of scheduled messages. */
export interface NewTime {
  readonly at: number;
  readonly quietHours: string | null;
  readonly timeZone: string | null;
  /** How long a message without `notAfter` is tried. */
  readonly tryForMs: number;
}
export interface Rescheduled {
  readonly moved: number;
  /** The number of messages whose `notAfter` is before the new time. */
  readonly tooLate: number;
}

/**
 * Gives scheduled messages a new time, after quiet hours. Messages that are being sent, or must not
 * be sent so late, are left alone.
 */
export const reschedule = (
  database: Database,
  account: AccountKey,
  ids: readonly bigint[],
  wanted: NewTime,
): Promise<Rescheduled> =>
  database.transaction(account, async (queries) => {
    const dueAt = afterQuietHours(wanted.at, wanted.quietHours, wanted.timeZone);
    let [moved, tooLate] = [0, 0];
    const ways = new Set<string>();
    for (const id of new Set(ids)) {
      if ((await queries.run(sql.moveScheduled, { account, id, dueAt })) === 0) {
        if (await queries.first(sql.tooLate, { account, id, dueAt })) tooLate += 1;
        continue;
      }
      const row = await queries.first(sql.moveDispatch, { account, id, dueAt, expiresAt: dueAt + wanted.tryForMs });
      if (row) ways.add(row.way);
      moved += 1;
    }
    if (moved > 0) await moveBatches(queries, account, [...new Set(ids)], dueAt);
    for (const way of ways) await queries.run(sql.raiseWork, { account, way, dueAt });
    return { moved, tooLate };
  });
