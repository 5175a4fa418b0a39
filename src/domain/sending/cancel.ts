import { conflict, notFound, Problem } from '../../base/problem.ts';
import type { SameNumber } from '../../sms/numbers.ts';
import { type AccountKey, accountIdOf } from '../../store/caller.ts';
import { pages } from '../../store/cursor.ts';
import type { Database, Queries, Transaction, TransactionQueries } from '../../store/database.ts';
import { elementsOf } from '../../store/json.ts';
import { balancesOf, releaseHeld } from '../accounts/ledger.ts';
import { batchOf, scheduledOfBatch, sentOfBatch, waitingOf as waitingOfBatch } from '../messages/batches.ts';
import { deleteScheduledAmong, takeOneScheduled } from '../messages/scheduled.ts';
import { sentOf } from '../messages/sent.ts';
import * as sql from './dispatch.sql.ts';
import { endRefused, rowInQueue } from './end.ts';

/**
 * Ends messages that are due and wait, because a client or an operator cancels them or their
 * recipient opts out. Such a message gets the status DELETED, its history says why, and its credits
 * are released, except those for parts that a carrier has. If a carrier did not answer an earlier
 * submission, it may have the message: then the message is not submitted again, and a receipt or an
 * operator decides about its credits.
 */
export interface EarlyEnd {
  /** The text in the history of the message. */
  readonly detail: string;
  /** The reason of the movement of credits. */
  readonly reason: 'cancelled' | 'blacklisted' | 'person erased';
}

export const OPTED_OUT: EarlyEnd = { detail: 'the recipient is on the blacklist', reason: 'blacklisted' };
const CANCELLED: EarlyEnd = { detail: 'cancelled before it was submitted', reason: 'cancelled' };

const PAGE = 1_000;

/** The transaction has run a statement about the account, so the id of the account is known. */
export async function endWaiting(
  { queries, account, at }: Transaction,
  rows: readonly sql.DispatchRow[],
  { detail, reason }: EarlyEnd,
): Promise<void> {
  const id = accountIdOf(account);
  if (id === undefined) throw new Error('the account of a transaction does not exist');
  const refused = rows.map((row) => ({ row, reason: detail }));
  await endRefused({ queries, account: id, at }, 'cancel', refused, reason);
}

const ERASED: EarlyEnd = { detail: 'the person was erased', reason: 'person erased' };

async function waitingOf(queries: Queries, account: AccountKey, ids: readonly bigint[]): Promise<sql.DispatchRow[]> {
  const rows = await queries.all(sql.of, { account, ids: elementsOf(ids) });
  return rows.filter(({ state, is_scheduled }) => (state === 'waiting' || state === 'held') && is_scheduled === 0n);
}

/**
 * Messages in the queue for a number. The queue keeps a message of unknown outcome that the account
 * has deleted from its list.
 */
export async function queuedFor(
  queries: Queries,
  account: AccountKey,
  isSame: (number: string | null) => boolean,
): Promise<bigint[]> {
  const ids: bigint[] = [];
  const page = (from: bigint) => queries.all(sql.queuedNumbers, { account, from, limit: PAGE });
  for await (const rows of pages(PAGE, page, ({ message_id }) => message_id)) {
    ids.push(...rows.filter(({ recipient }) => isSame(recipient)).map(({ message_id }) => message_id));
  }
  return ids;
}

/** The credits held by those of the messages that are due and wait. */
export async function heldByWaitingOf(queries: Queries, account: AccountKey, ids: readonly bigint[]): Promise<bigint> {
  return (await waitingOf(queries, account, ids)).reduce((sum, { held }) => sum + held, 0n);
}

/** Ends the messages to a person that wait, and erases the number in those that continue. */
export async function eraseWaiting({ queries, account, at }: Transaction, ids: readonly bigint[]): Promise<void> {
  await endWaiting({ queries, account, at }, await waitingOf(queries, account, ids), ERASED);
  await queries.run(sql.clearRecipients, { account, ids: elementsOf(ids) });
}

/**
 * Ends the messages that wait for a number, except answers to its own words. Returns how many
 * messages it ended.
 */
export async function endWaitingFor(transaction: Transaction, { ends, matches }: SameNumber): Promise<number> {
  const { queries, account } = transaction;
  let ended = 0;
  for (const end of ends) {
    const page = (from: bigint) => queries.all(sql.waitingByEnd, { account, end, from, limit: PAGE });
    for await (const rows of pages(PAGE, page, ({ message_id }) => message_id)) {
      const wanted = rows.filter(({ recipient, is_answer }) => is_answer === 0n && matches(recipient));
      await endWaiting(transaction, wanted, OPTED_OUT);
      ended += wanted.length;
    }
  }
  return ended;
}

export type Cancellation = ReturnType<typeof createCancellation>;

export function createCancellation(database: Database, now: () => number) {
  /**
   * Deletes a scheduled message, and ends a message that is due and waits as DELETED. Returns the
   * released credits. A message that is claimed or was sent cannot be cancelled.
   */
  async function cancel(queries: TransactionQueries, account: AccountKey, id: bigint): Promise<bigint> {
    const taken = await takeOneScheduled(queries, account, id);
    if (taken.length > 0) return releaseHeld({ queries, account, at: now() }, taken, CANCELLED.reason);
    return cancelWaiting(queries, account, id, now());
  }

  return {
    cancel: (account: AccountKey, id: bigint): Promise<bigint> =>
      database.transaction(account, (queries) => cancel(queries, account, id)),

    /** Skips messages that are being sent already or are gone. */
    cancelMany: (
      account: AccountKey,
      ids: readonly bigint[],
    ): Promise<{ cancelled: number; creditsReturned: bigint }> =>
      database.transaction(account, async (queries) => {
        let [cancelled, creditsReturned] = [0, 0n];
        for (const id of new Set(ids)) {
          const returned = await cancel(queries, account, id).catch((thrown) => {
            if (thrown instanceof Problem && ['not-found', 'conflict'].includes(thrown.kind)) return null;
            throw thrown;
          });
          if (returned === null) continue;
          cancelled += 1;
          creditsReturned += returned;
        }
        return { cancelled, creditsReturned };
      }),

    /**
     * Cancels at most `limit` messages of a batch that have not left. `left` counts those that
     * still wait afterwards, such as messages that are being submitted at this moment.
     */
    cancelBatch: (account: AccountKey, batch: bigint, limit: number): Promise<CancelledBatch> =>
      database.transaction(account, (queries) => cancelOfBatch({ queries, account, at: now() }, batch, limit)),
  };
}

export interface CancelledBatch {
  readonly cancelled: number;
  readonly creditsReturned: bigint;
  readonly left: number;
}

async function cancelOfBatch(transaction: Transaction, batch: bigint, limit: number): Promise<CancelledBatch> {
  const { queries, account } = transaction;
  await batchOf(queries, account, batch);
  const ids = (await scheduledOfBatch(queries, account, batch, limit, null)).map(({ id }) => id);
  const taken = ids.length === 0 ? [] : await deleteScheduledAmong(queries, account, ids);
  let creditsReturned = taken.length === 0 ? 0n : await releaseHeld(transaction, taken, CANCELLED.reason);
  let cancelled = taken.length;
  for (let after: bigint | null = null; cancelled < limit; ) {
    const queued = await sentOfBatch(queries, account, batch, ['QUEUED'], limit - cancelled, after);
    const rows = await waitingOf(
      queries,
      account,
      queued.map(({ id }) => id),
    );
    const before = await balancesOf(queries, account);
    await endWaiting(transaction, rows, CANCELLED);
    creditsReturned += (await balancesOf(queries, account)).free - before.free;
    cancelled += rows.length;
    after = queued.at(-1)?.id ?? null;
    if (after === null) break;
  }
  return { cancelled, creditsReturned, left: waitingOfBatch(await batchOf(queries, account, batch)) };
}

/** Cancels a message that has left the schedule. Returns the released credits. */
async function cancelWaiting(
  queries: TransactionQueries,
  account: AccountKey,
  id: bigint,
  at: number,
): Promise<bigint> {
  const row = await rowInQueue(queries, account, id);
  if (row?.state !== 'waiting' && row?.state !== 'held') throw await refusalOf(queries, account, id, at, row);
  const before = await balancesOf(queries, account);
  await endWaiting({ queries, account, at }, [row], CANCELLED);
  return (await balancesOf(queries, account)).free - before.free;
}

/** Why a message that does not wait cannot be cancelled. */
async function refusalOf(
  queries: TransactionQueries,
  account: AccountKey,
  id: bigint,
  at: number,
  row: sql.DispatchRow | undefined,
): Promise<Problem> {
  if (row?.state === 'submitting' && Number(row.due_at) > at) {
    return conflict('The message is being submitted at this moment, so it cannot be cancelled.');
  }
  if (row) {
    return conflict(
      'Nobody knows whether the carrier has the message, so it cannot be cancelled. A receipt or an operator will decide.',
    );
  }
  const message = await sentOf(queries, account, id);
  if (!message) return notFound('waiting message with this id');
  if (NEVER_SENT.includes(message.status)) {
    return conflict(`The message has already ended with the status ${message.status}, so there is nothing to cancel.`);
  }
  return conflict('The message was sent already.');
}

const NEVER_SENT = ['DELETED', 'EXPIRED', 'REJECTED'];
