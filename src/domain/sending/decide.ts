import { conflict, notFound } from '../../base/problem.ts';
import type { Database, Transaction } from '../../store/database.ts';
import { elementsOf } from '../../store/json.ts';
import { setStatusOf } from '../messages/sent.ts';
import * as attemptSql from './attempts.sql.ts';
import { knownParts } from './attempts.ts';
import * as sql from './dispatch.sql.ts';
import { creditsFor, end, endTaken, requeue } from './end.ts';
import { isHeldReason } from './hold.ts';
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
    const [row] = await queries.all(sql.of, { account, ids: elementsOf([id]) });
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

/** Which of the messages that need a decision are decided together. */
export interface DecidedMessages {
  readonly decision: Decision;
  /** Only those of this account. */
  readonly account: bigint | null;
  /** Only those that a restore holds. */
  readonly isHeld: boolean;
  readonly limit: number;
}

/** Decides about many messages within a transaction. Returns how many, and whether more wait. */
export async function decideMany(
  database: Database,
  { decision, account, isHeld, limit }: DecidedMessages,
  settings: { readonly at: number; readonly tryForMs: number },
): Promise<{ decided: number; isMoreLeft: boolean }> {
  const wanted: { account: bigint; id: bigint }[] = [];
  const first = -(2n ** 63n);
  for (let after = { account: account ?? first, id: first }; wanted.length <= limit; ) {
    const rows = await database.all(sql.queueOpenAfter, { ...after, limit: PAGE });
    const own = rows.filter(({ account_id }) => account === null || account_id === account);
    for (const { account_id, message_id, reason, state } of own) {
      if (state !== 'needs-decision' || (isHeld && !isHeldReason(reason))) continue;
      wanted.push({ account: account_id, id: message_id });
    }
    const last = rows.at(-1);
    if (!last || rows.length < PAGE || own.length < rows.length) break;
    after = { account: last.account_id, id: last.message_id };
  }
  const chosen = wanted.slice(0, limit);
  for (const [owner, own] of Map.groupBy(chosen, (each) => each.account)) {
    await database.first(sql.lockAccount, { account: owner });
    for (const { id } of own) await decide(database, owner, id, decision, settings);
  }
  return { decided: chosen.length, isMoreLeft: wanted.length > limit };
}

const PAGE = 500;

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
