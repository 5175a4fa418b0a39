import type { Database } from '../../store/database.ts';
import { type Decision, decideAll } from '../sending/decide.ts';
import { HELD, HELD_WITH_RECEIPT, isHeldReason } from '../sending/hold.ts';
import * as sql from './queue.sql.ts';

/** A message on its way out. Lists have those of all accounts, by account and id. */
export interface QueuedMessage {
  readonly account: bigint;
  readonly username: string;
  readonly id: bigint;
  readonly state: string;
  readonly dueAt: number;
  readonly attempts: number;
  readonly held: bigint;
  readonly connector: string | null;
  readonly reason: string | null;
}

/**
 * `open`: nobody knows whether the carrier has it. `restored`: of these, what is held because a
 * backup was restored. `held`: by the spend guard.
 */
export type QueueKind = 'open' | 'restored' | 'held';

function pageOf(database: Database, kind: QueueKind | null, page: sql.QueuePage) {
  if (kind === 'restored')
    return database.all(sql.queueRestoredAfter, { ...page, reason: HELD, withReceipt: HELD_WITH_RECEIPT });
  if (kind === null) return database.all(sql.queueAfter, page);
  return database.all(kind === 'open' ? sql.queueOpenAfter : sql.queueHeldAfter, page);
}

const PAGE = 500;
const FIRST: readonly [bigint, bigint] = [-(2n ** 63n), -(2n ** 63n)];

export async function queuedMessages(
  database: Database,
  { kind, after, limit }: { kind: QueueKind | null; after: readonly [bigint, bigint] | null; limit: number },
): Promise<QueuedMessage[]> {
  const [account, id] = after ?? FIRST;
  const rows = await pageOf(database, kind, { account, id, limit });
  return rows.map((row) => ({
    account: row.account_id,
    username: row.username,
    id: row.message_id,
    state: row.state,
    dueAt: Number(row.due_at),
    attempts: Number(row.attempts),
    held: row.held,
    connector: row.connector,
    reason: row.reason,
  }));
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
  await decideAll(database, chosen, decision, settings);
  return { decided: chosen.length, isMoreLeft: wanted.length > limit };
}
