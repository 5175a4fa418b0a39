import type { Database } from '../../store/database.ts';
import * as sql from './dispatch.sql.ts';

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

const pageOf = (kind: 'open' | 'held' | null) => {
  if (kind === null) return sql.queueAfter;
  return kind === 'open' ? sql.queueOpenAfter : sql.queueHeldAfter;
};

const FIRST: readonly [bigint, bigint] = [-(2n ** 63n), -(2n ** 63n)];

export async function queuedMessages(
  database: Database,
  { kind, after, limit }: { kind: 'open' | 'held' | null; after: readonly [bigint, bigint] | null; limit: number },
): Promise<QueuedMessage[]> {
  const [account, id] = after ?? FIRST;
  const rows = await database.all(pageOf(kind), { account, id, limit });
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
