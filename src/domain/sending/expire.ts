import type { Database } from '../../store/database.ts';
import { elementsOf } from '../../store/json.ts';
import { endExpired } from './claim.ts';
import * as sql from './dispatch.sql.ts';

/**
 * A claim ends messages whose time is over. Nobody claims them while the connector is paused or
 * down, the account is disabled, or its quiet hours last. This looks for them.
 */

const PAGE = 500;
/** Of one run, so that it takes 20 ms and not the time of a backlog. The next one goes on. */
const PAGES_MAX = 10;
/** Whoever has an account locked for longer is left for the next round. */
const LOCK_WAIT_MS = 200;

const START = { account: -(2n ** 63n), message: -(2n ** 63n) };

/**
 * Goes over all open messages again and again, some pages in each run. `skipping` runs the work of
 * one account, and tells what fails. Returns how many messages it found.
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
        await endExpired(queries, account, at, rows);
      },
      LOCK_WAIT_MS,
    );
  }

  return async (isStopping) => {
    let ended = 0;
    for (let page = 0; page < PAGES_MAX && !isStopping(); page++) {
      const rows = await database.all(sql.openAfter, { ...after, limit: PAGE });
      const at = BigInt(now());
      const expired = rows.filter(({ state, expires_at }) => state === 'waiting' && expires_at <= at);
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
