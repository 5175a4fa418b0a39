import type { Database, Transaction } from '../../store/database.ts';
import { elementsOf } from '../../store/json.ts';
import { type KnownParts, knownParts } from './attempts.ts';
import * as sql from './dispatch.sql.ts';
import { type DueMessage, divided, endRefused, endTaken, leaveSchedule } from './end.ts';
import { holdUnclaimed } from './hold.ts';

/**
 * A claim ends messages that have expired. But messages are not claimed while the connector is
 * paused or down, the account is disabled, or its quiet hours last. This finds and ends those.
 */

const PAGE = 500;
/** Pages per run, about 20 ms of work; the next run continues. */
const PAGES_MAX = 10;
/** An account that another transaction locks for longer is left for the next round. */
const LOCK_WAIT_MS = 200;

const START = { account: -(2n ** 63n), message: -(2n ** 63n) };

/**
 * Goes through all open messages again and again, some pages in each run. `skipping` runs the work
 * of one account and reports its failures. Returns how many expired messages it found.
 */
export function createExpiry(
  database: Database,
  now: () => number,
  skipping: (work: () => Promise<void>) => Promise<void>,
): (isStopping: () => boolean) => Promise<number> {
  let after = START;

  async function endOf(account: bigint, ids: readonly bigint[]): Promise<void> {
    await database.transaction(
      account,
      async (queries) => {
        const at = now();
        const rows = await queries.all(sql.expired, { account, now: at, ids: elementsOf(ids) });
        const transaction = { queries, account, at };
        await endExpired(transaction, await holdUnclaimed(transaction, rows));
      },
      LOCK_WAIT_MS,
    );
  }

  return async (isStopping) => {
    let ended = 0;
    for (let page = 0; page < PAGES_MAX && !isStopping(); page++) {
      const rows = await database.all(sql.openAfter, { ...after, limit: PAGE });
      const at = BigInt(now());
      const expired = rows.filter(
        ({ state, expires_at }) => (state === 'waiting' || state === 'held') && expires_at <= at,
      );
      for (const [account, own] of Map.groupBy(expired, ({ account_id }) => account_id)) {
        const ids = own.map(({ message_id }) => message_id);
        await skipping(() => endOf(account, ids));
      }
      ended += expired.length;
      const last = rows.length === PAGE ? rows.at(-1) : undefined;
      after = last ? { account: last.account_id, message: last.message_id } : START;
      if (!last) break;
    }
    return ended;
  };
}

/** Ends the messages that have expired, inside a transaction of the account. */
async function endExpired(transaction: Transaction<bigint>, rows: readonly sql.DispatchRow[]): Promise<void> {
  if (rows.length === 0) return;
  const tried = rows.filter(({ attempts }) => attempts > 0n).map(({ message_id }) => message_id);
  const known = await knownParts(transaction.queries, transaction.account, tried);
  await endWithoutTrying(transaction, await leaveSchedule(transaction, rows, known), known);
}

/** Ends messages that the carrier has, and messages that have expired. Returns the others. */
export async function endWithoutTrying(
  transaction: Transaction<bigint>,
  messages: readonly DueMessage[],
  known: (id: bigint) => KnownParts,
): Promise<DueMessage[]> {
  // The carrier may have all parts of a refused message, by receipts that came in the meantime.
  const [taken, open] = divided(messages, (each) => BigInt(known(each.message_id).accepted.size) >= each.parts);
  await endTaken(transaction, 'prove', taken);
  const [expired, going] = divided(open, ({ expires_at }) => Number(expires_at) <= transaction.at);
  await endRefused(
    transaction,
    'expire',
    expired.map((row) => ({ row, reason: row.reason })),
  );
  return going;
}
