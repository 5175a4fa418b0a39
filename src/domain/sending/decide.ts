import { conflict, notFound } from '../../base/problem.ts';
import type { Database, Transaction } from '../../store/database.ts';
import { elementsOf } from '../../store/json.ts';
import { setStatusOf } from '../messages/sent.ts';
import * as attemptSql from './attempts.sql.ts';
import { knownParts } from './attempts.ts';
import * as sql from './dispatch.sql.ts';
import { creditsFor, end, endRefused, endTaken, requeue, rowInQueue } from './end.ts';
import { watchedTo } from './receipts.sql.ts';
import { applySilence } from './receipts.ts';

/**
 * What an operator decides about a message whose outcome is unknown. `submitted`: the carrier has
 * the unanswered parts; parts that it refused are submitted again. `not-submitted`: it does not
 * have them, and their credits are released. `submit-again`: they are submitted once more, and may
 * reach the recipient twice.
 */
export const DECISIONS = ['submitted', 'not-submitted', 'submit-again'] as const;
export type Decision = (typeof DECISIONS)[number];

const DETAIL = 'decided by an operator';

export function decide(
  database: Database,
  account: bigint,
  id: bigint,
  decision: Decision,
  { at, tryForMs }: { readonly at: number; readonly tryForMs: number },
): Promise<void> {
  return database.transaction(account, async (queries) => {
    const row = await rowInQueue(queries, account, id);
    if (!row) throw notFound('message with an unknown outcome and this id');
    // No dispatcher takes over a lease of a disabled account or of a paused connector.
    const isLeaseOver = row.state === 'submitting' && Number(row.due_at) <= at;
    if (row.state !== 'unknown-outcome' && row.state !== 'needs-decision' && !isLeaseOver) {
      throw conflict('The outcome of the message is not unknown: it is on its way.');
    }
    if (isLeaseOver) await queries.run(attemptSql.setUnknownOutcome, { account, ids: elementsOf([id]) });
    // Parts that the carrier refused are not among them, and are still to be submitted.
    const assumed = decision === 'submitted' ? await queries.all(attemptSql.setTaken, { account, id }) : [];
    if (decision === 'not-submitted') await queries.run(attemptSql.setNotTaken, { account, id });
    const known = (await knownParts(queries, account, [id]))(id);
    const accepted = BigInt(known.accepted.size);
    const captured = creditsFor(row, known.accepted.size);
    const transaction = { queries, account, at };
    if (accepted >= row.parts) {
      await endTaken(transaction, 'decide submitted', [row], DETAIL);
    } else if (decision === 'not-submitted') {
      await end(transaction, 'decide not submitted', 'REJECTED', [{ row, captured, detail: DETAIL }]);
    } else {
      await queries.run(sql.extend, { account, id, expiresAt: at + tryForMs });
      await requeue(transaction, 'decide submit again', [{ row, dueAt: at, reason: DETAIL }]);
      await setStatusOf(transaction, 'QUEUED', new Map([[id, DETAIL]]));
    }
    await silenceWatched(transaction, id, assumed);
  });
}

/** Decides about messages of several accounts within one transaction. */
export async function decideAll(
  database: Database,
  messages: readonly { readonly account: bigint; readonly id: bigint }[],
  decision: Decision,
  settings: { readonly at: number; readonly tryForMs: number },
): Promise<void> {
  for (const [account, own] of Map.groupBy(messages, (each) => each.account)) {
    await database.first(sql.lockAccount, { account });
    for (const { id } of own) await decide(database, account, id, decision, settings);
  }
}

type Assumed = readonly { readonly attempt: bigint; readonly part: bigint; readonly attempt_id: string }[];

/**
 * The maintenance has already passed these attempts, so nothing would notice that no receipt came.
 * Reading the watch locks it: if the maintenance is just passing these attempts, it looks at them
 * once more after this transaction.
 */
async function silenceWatched(transaction: Transaction<bigint>, id: bigint, assumed: Assumed): Promise<void> {
  if (assumed.length === 0) return;
  const watch = await transaction.queries.first(watchedTo, {});
  const silent = assumed.filter(({ attempt_id }) => attempt_id <= (watch?.looked_to ?? ''));
  const parts = silent.map(({ attempt, part }) => ({ messageId: id, attempt, part }));
  if (parts.length > 0) await applySilence(transaction, parts);
}

/** Reasons of messages that the spend guard held, and that an operator has released or refused. */
export const RELEASED = 'released by an operator';
export const REFUSED = 'refused by an operator, after the spend guard held it';

async function heldRow({ queries, account }: Transaction<bigint>, id: bigint): Promise<sql.DispatchRow> {
  const row = await rowInQueue(queries, account, id);
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
