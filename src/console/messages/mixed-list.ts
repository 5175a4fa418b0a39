import {
  type Batch,
  leftOf,
  newestBatches,
  newestSingles,
  soonestBatches,
  soonestSingles,
} from '../../domain/messages/batches.ts';
import type { ScheduledMessage } from '../../domain/messages/scheduled.ts';
import type { SentMessage } from '../../domain/messages/sent.ts';
import type { Cursor } from '../../store/cursor.ts';
import type { PageRequest } from '../page-request.ts';
import { PAGE_ROWS, type Scanned } from '../scan.ts';

/**
 * A list in which batches stand as one row between single messages. Both come from an index of
 * their own and are merged, so a page costs the same whatever the size of a batch is.
 */
export type Entry<M> =
  | { readonly kind: 'batch'; readonly at: number; readonly id: bigint; readonly batch: Batch }
  | { readonly kind: 'single'; readonly at: number; readonly id: bigint; readonly message: M };

type ReadBatches = (limit: number, after: Cursor | null) => Promise<Batch[]>;

/** Reads on until there is a page of batches that belong to the list. */
async function wanted(read: ReadBatches, isWanted: (batch: Batch) => boolean, after: Cursor | null): Promise<Batch[]> {
  const found: Batch[] = [];
  for (let cursor = after; found.length <= PAGE_ROWS; ) {
    const batches = await read(PAGE_ROWS * 2, cursor);
    found.push(...batches.filter(isWanted));
    const last = batches.at(-1);
    if (batches.length < PAGE_ROWS * 2 || !last) break;
    cursor = { at: last.dueAt, id: last.batchId };
  }
  return found;
}

function merged<M extends { readonly id: bigint }>(
  batches: readonly Batch[],
  singles: readonly M[],
  atOf: (message: M) => number,
  isBefore: (one: Cursor, other: Cursor) => boolean,
): Scanned<Entry<M>> {
  const entries: Entry<M>[] = [
    ...batches.map((batch): Entry<M> => ({ kind: 'batch', at: batch.dueAt, id: batch.batchId, batch })),
    ...singles.map((message): Entry<M> => ({ kind: 'single', at: atOf(message), id: message.id, message })),
  ];
  entries.sort((one, other) => (isBefore(one, other) ? -1 : 1));
  const rows = entries.slice(0, PAGE_ROWS);
  const last = rows.at(-1);
  const next = entries.length > PAGE_ROWS && last ? { at: last.at, id: last.id } : null;
  return { rows, next, read: rows.length, isCut: false };
}

const isEarlier = (one: Cursor, other: Cursor): boolean =>
  one.at < other.at || (one.at === other.at && one.id < other.id);

/** Sent messages and batches of which something has left, newest first. */
export async function sentEntries(
  { services: { database }, account }: PageRequest,
  after: Cursor | undefined,
): Promise<Scanned<Entry<SentMessage>>> {
  const from = after ?? null;
  const read: ReadBatches = (limit, cursor) => newestBatches(database, account.id, limit, cursor);
  const batches = await wanted(read, (batch) => leftOf(batch) > 0, from);
  const singles = await newestSingles(database, account.id, PAGE_ROWS + 1, from);
  return merged(
    batches,
    singles,
    ({ sentAt }) => sentAt,
    (one, other) => isEarlier(other, one),
  );
}

/** Scheduled messages and batches of which something is scheduled, soonest first. */
export async function scheduledEntries(
  { services: { database }, account, now }: PageRequest,
  after: Cursor | undefined,
): Promise<Scanned<Entry<ScheduledMessage>>> {
  const from = after ?? null;
  // What was due before has left the schedule within seconds, or after the longest quiet hours.
  const first = from ?? { at: now - OVERDUE_MS, id: 0n };
  const read: ReadBatches = (limit, cursor) => soonestBatches(database, account.id, limit, cursor);
  const batches = await wanted(read, ({ inSchedule }) => inSchedule > 0, first);
  const singles = await soonestSingles(database, account.id, PAGE_ROWS + 1, from);
  return merged(batches, singles, ({ scheduledAt }) => scheduledAt, isEarlier);
}

const OVERDUE_MS = 7 * 86_400_000;
