import type { Database } from '../../store/transactions.ts';
import * as sql from './attempts.sql.ts';

/** Every submission of a part of a message, oldest first. */
export interface Attempt {
  readonly attempt: number;
  readonly part: number;
  readonly connector: string;
  /** The carrier's own id. */
  readonly gatewayId: string | null;
  readonly state: string;
  readonly submittedAt: number;
}

export async function attemptsOf(database: Database, account: bigint, id: bigint): Promise<Attempt[]> {
  const rows = await database.all(sql.ofMessage, { account, id });
  return rows.map((row) => ({
    attempt: Number(row.attempt),
    part: Number(row.part),
    connector: row.connector,
    gatewayId: row.gateway_id,
    state: row.state,
    submittedAt: Number(row.submitted_at),
  }));
}
