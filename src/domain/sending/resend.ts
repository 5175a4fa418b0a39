import { conflict } from '../../base/problem.ts';
import type { AccountKey } from '../../store/caller.ts';
import type { Queries } from '../../store/database.ts';
import { setResent } from '../messages/batches.ts';
import { addHistoryLines } from '../messages/sent.ts';
import { isFinal } from '../messages/statuses.ts';
import { rowInQueue } from './end.ts';

/** A message with one of these statuses has ended and was not delivered. */
export const FAILED_STATUSES = ['UNDELIVERABLE', 'EXPIRED', 'REJECTED'] as const;

/** Sending a message again makes a new message. The history of each names the other. */
const FROM = 'sent again, from ';
const AS = 'sent again, as ';
const LINE = new RegExp(`^(?:${FROM}|${AS})(-?\\d{1,19})$`);

/** The message that a line of a history names; null if it names none. */
export const linkedMessage = (detail: string | null): string | null => LINE.exec(detail ?? '')?.[1] ?? null;

/**
 * Refuses a message that is still on its way, because it would reach its recipient twice. UNKNOWN
 * is not final, but if the message has left the queue, nothing else may ever come.
 */
export async function requireEnded(
  queries: Pick<Queries, 'all'>,
  account: AccountKey,
  { id, status }: { readonly id: bigint; readonly status: string },
): Promise<void> {
  if (isFinal(status)) return;
  if (status === 'UNKNOWN' && (await rowInQueue(queries, account, id)) === undefined) return;
  throw conflict(
    `The message is still on its way, with the status ${status}. Send it again when the status is final, or cancel it first.`,
  );
}

/** A message that was sent again, and the new one. */
export interface ResentPair {
  readonly original: { readonly id: bigint; readonly status: string };
  readonly added: { readonly id: bigint; readonly isScheduled: boolean };
}

/** Links messages with those that repeat them, in the transaction that accepts the new ones. */
export async function linkResent(
  queries: Queries,
  account: AccountKey,
  pairs: readonly ResentPair[],
  at: number,
): Promise<void> {
  if (pairs.length === 0) return;
  await setResent(
    queries,
    account,
    pairs.map(({ original, added }) => ({ id: original.id, as: added.id })),
  );
  const lines = pairs.flatMap(({ original, added }) => [
    { id: original.id, status: original.status, at, detail: `${AS}${added.id}` },
    // A scheduled message has no history before its time comes.
    ...(added.isScheduled ? [] : [{ id: added.id, status: 'QUEUED', at, detail: `${FROM}${original.id}` }]),
  ]);
  await addHistoryLines(queries, account, lines);
}
