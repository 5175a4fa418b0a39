import { e164 } from '../../sms/numbers.ts';
import { partsOf } from '../../sms/parts.ts';
import type { AccountKey } from '../../store/caller.ts';
import { pages } from '../../store/cursor.ts';
import type { Database } from '../../store/database.ts';
import { moveBatches } from '../messages/batches.ts';
import { setScheduledRecipient } from '../messages/scheduled.ts';
import type { SendingAccount } from './accept.ts';
import * as sql from './dispatch.sql.ts';
import { FORWARD_MS } from './hold.ts';
import { afterQuietHours } from './quiet-hours.ts';

/**
 * An imported schedule is not sent, because the server that it came from still has it. Activation
 * hands it over to Columba: only then does a dispatcher send it.
 */
export interface Activation {
  readonly activated: number;
  /** Scheduled messages that stay as they are, each with the reason. */
  readonly refused: readonly {
    readonly id: bigint;
    readonly reason: ActivationRefusal;
  }[];
}
export type ActivationRefusal = 'impossible' | 'empty' | 'sent';

const PAGE = 500;
const REFUSED_MAX = 1_000;

/** Activates all scheduled messages of an account, or those of `ids`. */
export function activateSchedule(
  database: Database,
  account: bigint,
  { region, quietHours, timeZone }: SendingAccount,
  tryForMs: number,
  ids: ReadonlySet<bigint> | null,
): Promise<Activation> {
  return database.transaction(account, async (queries) => {
    const refused: { id: bigint; reason: ActivationRefusal }[] = [];
    let activated = 0;
    const page = (from: bigint) => queries.all(sql.inactive, { account, from, limit: PAGE });
    for await (const rows of pages(PAGE, page, ({ message_id }) => message_id)) {
      for (const row of rows) {
        const { message_id: id, text } = row;
        if (ids !== null && !ids.has(id)) continue;
        const recipient = e164(row.recipient ?? '', region);
        const reason = refusalOf(row, recipient);
        if (recipient === null || text === null || reason !== null) {
          if (refused.length < REFUSED_MAX) refused.push({ id, reason: reason ?? 'empty' });
          continue;
        }
        const dueAt = afterQuietHours(Number(row.scheduled_at), quietHours, timeZone);
        const times = { dueAt, expiresAt: dueAt + tryForMs, notAfter: null };
        const credits = { held: row.held_parts, parts: partsOf(text) };
        if (recipient !== row.recipient) await setScheduledRecipient(queries, account, id, recipient);
        // Its credits were held by another server, so no route has a say in their price.
        const kind = {
          state: 'waiting' as const,
          reason: null,
          isScheduled: 1,
          isAnswer: 0,
          sender: null,
          recipient,
          way: '',
          route: null,
          price: null,
          carrierFields: null,
          batch: null,
        };
        await queries.run(sql.add, { account, id, ...kind, ...credits, ...times });
        await queries.run(sql.raiseWork, { account, way: '', dueAt });
        activated += 1;
      }
    }
    return { activated, refused };
  });
}

type InactiveRow = NonNullable<(typeof sql.inactive)['row']>;

function refusalOf({ is_sent, text }: InactiveRow, recipient: string | null): ActivationRefusal | null {
  if (is_sent !== 0n) return 'sent';
  if (recipient === null) return 'impossible';
  return text === null ? 'empty' : null;
}

/** Why a message cannot be activated; null if it can be, or is active already. */
export async function activationRefusal(
  database: Database,
  account: bigint,
  region: string | null,
  id: bigint,
): Promise<ActivationRefusal | null> {
  const [row] = await database.all(sql.inactive, { account, from: id, limit: 1 });
  return row?.message_id === id ? refusalOf(row, e164(row.recipient ?? '', region)) : null;
}

/** The new time of scheduled messages. */
export interface NewTime {
  readonly at: number;
  readonly now: number;
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
 * Gives scheduled messages a new time, some seconds ahead and after quiet hours. Messages that are
 * being sent, or must not be sent so late, are left alone.
 */
export const reschedule = (
  database: Database,
  account: AccountKey,
  ids: readonly bigint[],
  wanted: NewTime,
): Promise<Rescheduled> =>
  database.transaction(account, async (queries) => {
    const soonest = wanted.now + FORWARD_MS;
    const dueAt = afterQuietHours(Math.max(wanted.at, soonest), wanted.quietHours, wanted.timeZone);
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
