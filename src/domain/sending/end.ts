import type { AccountKey } from '../../store/caller.ts';
import type { Queries, Transaction } from '../../store/database.ts';
import { accountRecordsOf, elementsOf } from '../../store/json.ts';
import { emitStatuses } from '../accounts/events.ts';
import { move, releaseHeld } from '../accounts/ledger.ts';
import { addUsed } from '../messages/batches.ts';
import { takeScheduled } from '../messages/scheduled.ts';
import { addQueued, sentTexts, setStatusOf } from '../messages/sent.ts';
import * as attemptSql from './attempts.sql.ts';
import { type KnownParts, knownParts, statusesByReceipts } from './attempts.ts';
import * as sql from './dispatch.sql.ts';
import { type End, type Requeue, requireTransition, storedAfter } from './states.ts';

/** How messages leave the queue or return to it, within a transaction of the account. */

/** Later than any time. */
export const NEVER = Number.MAX_SAFE_INTEGER;

export interface Requeued {
  readonly row: sql.DispatchRow;
  /** When a dispatcher looks at the message again. */
  readonly dueAt: number;
  readonly reason: string;
}

/** Returns messages to the queue, each with its time and reason. */
export async function requeue(
  { queries, account }: Transaction<bigint>,
  transition: Requeue,
  messages: readonly Requeued[],
): Promise<void> {
  if (messages.length === 0) return;
  const state = storedAfter(
    transition,
    messages.map(({ row }) => row),
  );
  const rows = messages.map(({ row, dueAt, reason }) => [row.message_id, dueAt, reason]);
  await queries.run(sql.requeue, { account, state, rows: accountRecordsOf(account, rows) });
  if (state === 'needs-decision') return;
  for (const [way, own] of Map.groupBy(messages, ({ row }) => row.way)) {
    await queries.run(sql.raiseWork, { account, way, dueAt: Math.min(...own.map(({ dueAt }) => dueAt)) });
  }
}

export type RowInQueue = sql.DispatchRow;

/** The row of a message that is on its way out; undefined if it has left the queue. */
export const rowInQueue = async (
  queries: Pick<Queries, 'all'>,
  account: AccountKey,
  id: bigint,
): Promise<RowInQueue | undefined> => (await queries.all(sql.of, { account, ids: elementsOf([id]) }))[0];

export interface EndedMessage {
  readonly row: sql.DispatchRow;
  /** The credits for parts that a carrier has. The other credits are released. */
  readonly captured: bigint;
  readonly detail: string | null;
}

/** Removes messages from the queue, sets their status, and captures or releases their credits. */
export async function end(
  transaction: Transaction,
  transition: End,
  status: string | null,
  messages: readonly EndedMessage[],
  releaseReason = status === 'SUBMITTED' ? 'not submitted' : (status ?? 'deleted').toLowerCase(),
): Promise<void> {
  if (messages.length === 0) return;
  requireTransition(
    transition,
    messages.map(({ row }) => row),
  );
  const { queries, account } = transaction;
  await queries.run(sql.remove, { account, ids: elementsOf(messages.map(({ row }) => row.message_id)) });
  if (status !== null) {
    await setStatusOf(transaction, status, new Map(messages.map(({ row, detail }) => [row.message_id, detail])));
  }
  await settleCredits(transaction, messages, releaseReason);
}

/**
 * The credits for so many parts that a carrier has. A route has a price for its way; else a part
 * costs one.
 */
export const creditsFor = ({ price, parts }: sql.DispatchRow, accepted: number): bigint => {
  if (price === null) return BigInt(accepted);
  const count = BigInt(accepted) < parts ? BigInt(accepted) : parts;
  return count * price;
};
/**
 * The credits for the whole message. Without a price that is what is held: another server may have
 * held it.
 */
export const creditsForAll = ({ price, parts, held }: sql.DispatchRow): bigint =>
  price === null ? held : parts * price;

async function settleCredits(
  transaction: Transaction,
  messages: readonly EndedMessage[],
  reason: string,
): Promise<void> {
  const decided = messages.map(({ row: { message_id: id, held, batch_id: batch }, captured }) => ({
    id,
    held,
    batch,
    captured: captured < held ? captured : held,
  }));
  const sides = { kind: 'capture', from: 'held', to: 'used' } as const;
  const captures = decided
    .filter(({ captured }) => captured > 0n)
    .map(({ id, captured }) => ({ ...sides, amount: captured, messageId: id }));
  if (captures.length > 0) {
    await move(transaction, captures);
    const used = decided.map(({ batch, captured: amount }) => ({ batch, amount }));
    await addUsed(transaction.queries, transaction.account, used);
  }
  const rest = decided
    .filter(({ held, captured }) => held > captured)
    .map(({ id, held, captured }) => ({ message_id: id, held_parts: held - captured }));
  if (rest.length > 0) await releaseHeld(transaction, rest, reason);
}

export interface DueMessage extends sql.DispatchRow {
  readonly recipient: string;
  readonly text: string;
}

/**
 * Moves messages from the schedule to the sent messages, and reads the recipient and text of all. A
 * missing message was deleted by the client, so it is not submitted. A scheduled message with the
 * id of a sent one was imported: another server has sent it.
 */
export async function leaveSchedule(
  transaction: Transaction<bigint>,
  rows: readonly sql.DispatchRow[],
  known: (id: bigint) => KnownParts,
): Promise<DueMessage[]> {
  const { queries, account } = transaction;
  const ids = rows.map(({ message_id }) => message_id);
  const taken = await takeScheduled(queries, account, ids);
  const present = await sentTexts(queries, account, ids);
  const isPresent = new Set(present.map(({ id }) => id));
  const moved = taken.filter(({ id }) => !isPresent.has(id));
  await addQueued(transaction, moved);
  const sentElsewhere = new Set(taken.map(({ id }) => id).filter((id) => isPresent.has(id)));
  const texts = new Map([...present, ...moved].map((each) => [each.id, each]));
  const going: DueMessage[] = [];
  const gone: EndedMessage[] = [];
  for (const row of rows) {
    const id = row.message_id;
    const { recipient = null, text = null } = texts.get(id) ?? {};
    if (recipient !== null && text !== null && !sentElsewhere.has(id)) going.push({ ...row, recipient, text });
    else gone.push({ row, captured: creditsFor(row, known(id).accepted.size), detail: null });
  }
  await end(transaction, 'forget', null, gone);
  return going;
}

export interface RefusedMessage {
  readonly row: sql.DispatchRow;
  readonly reason: string | null;
}
const STATUSES = { reject: 'REJECTED', refuse: 'REJECTED', expire: 'EXPIRED', cancel: 'DELETED' } as const;

/**
 * Ends messages that are not tried any more. The credits for parts that a carrier took in any
 * attempt are captured. If an earlier attempt was not answered, the carrier may have the message:
 * then a receipt or an operator decides, and the credits are held until then.
 */
export async function endRefused(
  transaction: Transaction<bigint>,
  transition: keyof typeof STATUSES,
  refused: readonly RefusedMessage[],
  releaseReason?: string,
): Promise<void> {
  if (refused.length === 0) return;
  const { queries, account } = transaction;
  const status = STATUSES[transition];
  const known = await knownParts(
    queries,
    account,
    refused.map(({ row }) => row.message_id),
  );
  const isTaken = ({ row }: RefusedMessage) => BigInt(known(row.message_id).accepted.size) >= row.parts;
  const isUnanswered = ({ row }: RefusedMessage) => known(row.message_id).unknown.size > 0;
  const [taken, others] = divided(refused, isTaken);
  const [unanswered, ended] = divided(others, isUnanswered);
  await endTaken(
    transaction,
    'prove',
    taken.map(({ row }) => row),
  );
  await escalate(
    transaction,
    unanswered.map(({ row, reason }) => ({ row, reason: `${reason ?? status}; ${ANSWER_LOST}` })),
  );
  const messages = ended.map(({ row, reason }) => ({
    row,
    captured: creditsFor(row, known(row.message_id).accepted.size),
    detail: reason,
  }));
  await end(transaction, transition, status, messages, releaseReason);
}

const ANSWER_LOST = 'an earlier submission was not answered';
export const divided = <T>(all: readonly T[], isFirst: (each: T) => boolean): [T[], T[]] => [
  all.filter(isFirst),
  all.filter((each) => !isFirst(each)),
];

/** Ends messages whose parts the carrier has. Their status is what receipts say, else SUBMITTED. */
export async function endTaken(
  transaction: Transaction,
  transition: 'prove' | 'decide submitted',
  rows: readonly sql.DispatchRow[],
  detail: string | null = null,
): Promise<void> {
  if (rows.length === 0) return;
  const statuses = await statusesByReceipts(
    transaction.queries,
    transaction.account,
    rows.map(({ message_id }) => message_id),
  );
  const byStatus = Map.groupBy(rows, ({ message_id }) => statuses.get(message_id) ?? 'SUBMITTED');
  for (const [status, own] of byStatus) {
    const messages = own.map((row) => ({ row, captured: creditsForAll(row), detail }));
    await end(transaction, transition, status, messages);
  }
}

/** Leaves messages whose outcome is unknown to an operator, unless a receipt decides first. */
export async function escalate(
  transaction: Transaction<bigint>,
  messages: readonly { readonly row: sql.DispatchRow; readonly reason: string }[],
  transition: 'escalate' | 'hold' = 'escalate',
): Promise<void> {
  if (messages.length === 0) return;
  await requeue(
    transaction,
    transition,
    messages.map((each) => ({ ...each, dueAt: NEVER })),
  );
  await setStatusOf(transaction, 'UNKNOWN', new Map(messages.map(({ row, reason }) => [row.message_id, reason])));
  const statuses = messages.map(({ row }) => ({ messageId: row.message_id, status: 'UNKNOWN' }));
  await emitStatuses(transaction, 'message.needs_decision', statuses);
}

/** A message whose answer could not be written waits for an operator, whatever happens later. */
export const NOT_SETTLED = 'the answer of the carrier could not be settled';
export const LACKS_A_PART = 'the carrier lacks a part of it';

/**
 * Decides about messages after a late answer or receipt. A message ends if a carrier has all of its
 * parts. A message that lacks a part, and has no unanswered attempt, is tried again, unless the
 * late answer is a permanent refusal, which ends it. Returns the messages whose outcome is still
 * unknown.
 */
export async function reconsider(
  transaction: Transaction<bigint>,
  rows: readonly sql.DispatchRow[],
  refusals: ReadonlyMap<bigint, string> = new Map(),
): Promise<sql.DispatchRow[]> {
  const { queries, account, at } = transaction;
  const settled = rows.filter((row) => row.state !== 'submitting' || Number(row.due_at) <= at);
  if (settled.length === 0) return [];
  const known = await knownParts(
    queries,
    account,
    settled.map(({ message_id }) => message_id),
  );
  const [taken, others] = divided(settled, (row) => BigInt(known(row.message_id).accepted.size) >= row.parts);
  await endTaken(transaction, 'prove', taken);
  const [unknown, open] = divided(others, ({ message_id }) => known(message_id).unknown.size > 0);
  const stopped = open.filter(({ state, reason }) => state !== 'waiting' && reason !== NOT_SETTLED);
  const [refused, back] = divided(stopped, ({ message_id }) => refusals.has(message_id));
  const ended = refused.map((row) => ({ row, reason: refusals.get(row.message_id) ?? null }));
  await endRefused(transaction, 'reject', ended);
  await requeue(
    transaction,
    'resume',
    back.map((row) => ({ row, dueAt: at, reason: row.reason ?? LACKS_A_PART })),
  );
  return unknown;
}

/**
 * A receipt for a part proves that the carrier has the part, even if the submission was not
 * answered. If the carrier has all parts, the credits are captured. The status that the receipt
 * reports has been written before.
 */
export async function provePart(
  transaction: Transaction<bigint>,
  { messageId: id, attempt, part }: { readonly messageId: bigint; readonly attempt: bigint; readonly part: bigint },
): Promise<void> {
  const { queries, account } = transaction;
  await queries.run(attemptSql.prove, { account, id, attempt, part });
  const rows = await queries.all(sql.of, { account, ids: elementsOf([id]) });
  // If an answer is still to come, its settlement finds this proof.
  await reconsider(transaction, rows);
}
