import { conflict, notFound } from '../../base/problem.ts';
import type { Database, Transaction } from '../../store/database.ts';
import { elementsOf } from '../../store/json.ts';
import * as sql from './dispatch.sql.ts';
import { endRefused, requeue } from './end.ts';

/** Messages that the spend guard holds: an operator releases or refuses each of them. */

export const RELEASED = 'released by an operator';
export const REFUSED = 'refused by an operator, after the spend guard held it';

async function heldRow({ queries, account }: Transaction<bigint>, id: bigint): Promise<sql.DispatchRow> {
  const [row] = await queries.all(sql.of, { account, ids: elementsOf([id]) });
  if (!row) throw notFound('held message with this id');
  if (row.state !== 'held') throw conflict('The spend guard does not hold the message: it is on its way.');
  return row;
}

/** The message goes out when it is due, and may be tried for as long as a new one. */
export const releaseHeldMessage = (
  database: Database,
  account: bigint,
  id: bigint,
  { at, tryForMs }: { readonly at: number; readonly tryForMs: number },
): Promise<void> =>
  database.transaction(account, async (queries) => {
    const row = await heldRow({ queries, account, at }, id);
    const dueAt = Math.max(at, Number(row.due_at));
    await queries.run(sql.extend, { account, id, expiresAt: dueAt + tryForMs });
    await requeue({ queries, account, at }, 'release', [{ row, dueAt, reason: RELEASED }]);
  });

/** The message ends as REJECTED, and its credits are free again. */
export const refuseHeldMessage = (database: Database, account: bigint, id: bigint, at: number): Promise<void> =>
  database.transaction(account, async (queries) => {
    const row = await heldRow({ queries, account, at }, id);
    await endRefused({ queries, account, at }, 'refuse', [{ row, reason: REFUSED }]);
  });
