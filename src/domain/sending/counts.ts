import type { Database, Queries } from '../../store/database.ts';
import {
  type ConnectorTotals,
  connectorTotals,
  NO_TOTALS,
  type Unconnected,
  unconnectedFault,
} from './connector-totals.ts';
import { type ConnectorRecord, createConnectors } from './connectors.ts';
import { sending } from './counts.sql.ts';

/** How sending does, over all accounts: for metrics and for `columba status`. */
export interface SendingTotals {
  /** Due and not claimed; at most COUNTED_MAX. */
  readonly due: number;
  /** Claimed, and their answers are awaited; at most COUNTED_MAX. */
  readonly submitting: number;
  /** Nobody knows whether the carrier has them. */
  readonly undecided: number;
  readonly oldestDueMs: number;
  /** Messages from phones that no route takes. */
  readonly unrouted: number;
  readonly connectors: readonly (ConnectorRecord & ConnectorTotals)[];
  readonly unconnected: readonly Unconnected[];
}

const COUNTED_MAX = 100_000;
const FRESH_MS = 10_000;

/** Messages from phones that no route takes: receiving counts them, see receiving/unrouted.ts. */
export type CountUnrouted = (queries: Queries) => Promise<number>;

export async function readSendingTotals(
  database: Database,
  now: () => number,
  countUnrouted: CountUnrouted,
): Promise<SendingTotals> {
  const at = now();
  const row = await database.first(sending, { now: at, limit: COUNTED_MAX });
  const oldest = row?.oldest_due_at ?? null;
  const records = await createConnectors(database, now).list();
  const { byName, unconnected } = await connectorTotals(database, records, at);
  return {
    due: Number(row?.due ?? 0n),
    submitting: Number(row?.submitting ?? 0n),
    undecided: Number(row?.undecided ?? 0n),
    oldestDueMs: oldest === null || row?.due === 0n ? 0 : Math.max(0, at - Number(oldest)),
    unrouted: await countUnrouted(database),
    connectors: records.map((record) => ({ ...record, ...(byName.get(record.name) ?? NO_TOTALS) })),
    unconnected,
  };
}

/** Reads them at most every 10 s, however often a metrics server asks. */
export function createSendingTotals(
  database: Database,
  now: () => number,
  countUnrouted: CountUnrouted,
): () => Promise<SendingTotals> {
  let latest: { readonly readAt: number; readonly totals: Promise<SendingTotals> } | undefined;
  return () => {
    const at = now();
    if (!latest || Math.abs(at - latest.readAt) >= FRESH_MS) {
      latest = { readAt: at, totals: readSendingTotals(database, now, countUnrouted) };
    }
    return latest.totals;
  };
}

/** What is wrong with sending, a sentence each. */
export function sendingFaults({ due, oldestDueMs, undecided, connectors, unconnected }: SendingTotals): string[] {
  const faults = connectors.flatMap(({ name, pausedAt, downSince, downReason }) => {
    if (pausedAt !== null) return [`The connector ${name} is paused: its messages wait.`];
    return downSince === null ? [] : [`The connector ${name} is down: ${downReason}. Its messages wait.`];
  });
  faults.push(...unconnected.map(unconnectedFault));
  if (due > 0 && oldestDueMs > LATE_MS) {
    faults.push(`${messagesAre(due)} due, the oldest for ${Math.round(oldestDueMs / 60_000)} minutes.`);
  }
  if (undecided > 0) faults.push(`${messagesAre(undecided)} undecided: an operator decides about each.`);
  return faults;
}

const messagesAre = (count: number): string => (count === 1 ? '1 message is' : `${count} messages are`);

const LATE_MS = 5 * 60_000;
