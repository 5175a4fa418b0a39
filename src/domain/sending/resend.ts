import { conflict } from '../../base/problem.ts';
import type { AccountKey } from '../../store/caller.ts';
import type { Queries } from '../../store/database.ts';
import { elementsOf } from '../../store/json.ts';
import { addHistoryLine } from '../messages/sent.ts';
import { isFinal } from '../messages/statuses.ts';
import { of } from './dispatch.sql.ts';

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
  const open = status === 'UNKNOWN' ? await queries.all(of, { account, ids: elementsOf([id]) }) : [];
  if (isFinal(status) || (status === 'UNKNOWN' && open.length === 0)) return;
  throw conflict(
    `The message is still on its way, with the status ${status}. Send it again when the status is final, or cancel it first.`,
  );
}

/** Links the two messages. Call it in the transaction that accepts the new one. */
export async function linkResent(
  queries: Pick<Queries, 'run'>,
  account: AccountKey,
  original: { readonly id: bigint; readonly status: string },
  added: { readonly id: bigint; readonly isScheduled: boolean },
  at: number,
): Promise<void> {
  const line = (id: bigint, status: string, detail: string) =>
    addHistoryLine(queries, account, id, { status, at, detail });
  await line(original.id, original.status, `${AS}${added.id}`);
  // A scheduled message has no history before its time comes.
  if (!added.isScheduled) await line(added.id, 'QUEUED', `${FROM}${original.id}`);
}
