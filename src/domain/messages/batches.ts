import { notFound } from '../../base/problem.ts';
import { type AccountKey, accountIdOf } from '../../store/caller.ts';
import { type Cursor, cursorAfter, cursorBefore, FIRST, FIRST_ID, LAST } from '../../store/cursor.ts';
import type { Queries, Transaction } from '../../store/database.ts';
import { accountRecordsOf, elementsOf } from '../../store/json.ts';
import * as sql from './batches.sql.ts';
import { type ScheduledMessage, scheduledOf, toScheduled } from './scheduled.ts';
import { type SentMessage, sentTexts, toSent } from './sent.ts';

/** What was sent together, with the counts of its messages. Its id is that of its first message. */
export type Batch = sql.BatchValues;

/** A sent message of a batch, and the message that repeats it. */
export interface BatchMessage extends SentMessage {
  readonly resentAs: bigint | null;
}

/** A message of a batch as lists and files show it, whether it was sent or is scheduled. */
export interface BatchMember {
  readonly id: bigint;
  readonly recipient: string | null;
  readonly text: string | null;
  /** Null for a scheduled message. */
  readonly status: string | null;
  readonly at: number;
  readonly updatedAt: number | null;
  readonly resentAs: bigint | null;
}

export interface NewInBatch {
  readonly batch: bigint;
  readonly name: string | null;
  readonly dueAt: number;
  readonly accepted: number;
  readonly refused: number;
  readonly parts: number;
  readonly credits: bigint;
}

/** Adds a batch or what joins it; call it before its messages are added. */
export async function putBatch({ queries, account, at }: Transaction, given: NewInBatch): Promise<void> {
  await queries.run(sql.put, { account, at, ...given });
}

export async function batchOf(queries: Queries, account: AccountKey, batch: bigint): Promise<Batch> {
  const row = await queries.first(sql.one, { account, batch });
  if (!row) throw notFound('batch with this id');
  return sql.batchColumns.read(row);
}

/** Messages that have not been submitted: scheduled, or due and waiting. */
export const waitingOf = ({ inSchedule, queued }: Batch): number => inSchedule + queued;

/** Messages that have left the schedule. */
export const leftOf = ({ queued, submitted, delivered, failed, resent, cancelled, unknown }: Batch): number =>
  queued + submitted + delivered + failed + resent + cancelled + unknown;

/** Cancelled messages: those that were due, and those that were still scheduled and are deleted. */
export const withdrawnOf = (batch: Batch): number =>
  batch.cancelled + Math.max(0, batch.accepted - batch.inSchedule - leftOf(batch));

/** The text of the first message of each batch, which may have been deleted. */
export async function firstTexts(
  queries: Queries,
  account: AccountKey,
  batches: readonly bigint[],
): Promise<ReadonlyMap<bigint, string>> {
  const texts = new Map<bigint, string>();
  for (const { id, text } of await sentTexts(queries, account, batches)) if (text !== null) texts.set(id, text);
  for (const id of batches) {
    const text = texts.has(id) ? null : (await scheduledOf(queries, account, id))?.text;
    if (text) texts.set(id, text);
  }
  return texts;
}

/** Newest first, from the position `after` on. */
export async function newestBatches(
  queries: Queries,
  account: AccountKey,
  limit: number,
  after: Cursor | null,
): Promise<Batch[]> {
  const cursor = after === null ? LAST : cursorBefore(after.at, after.id);
  return (await queries.all(sql.newest, { account, ...cursor, limit })).map(sql.batchColumns.read);
}

/** Soonest first, from the position `after` on. */
export async function soonestBatches(
  queries: Queries,
  account: AccountKey,
  limit: number,
  after: Cursor | null,
): Promise<Batch[]> {
  const cursor = after === null ? FIRST : cursorAfter(after.at, after.id);
  return (await queries.all(sql.soonest, { account, ...cursor, limit })).map(sql.batchColumns.read);
}

export async function batchesAmong(queries: Queries, account: AccountKey, ids: readonly bigint[]): Promise<Batch[]> {
  return (await queries.all(sql.among, { account, ids: elementsOf(ids) })).map(sql.batchColumns.read);
}

const toMember = (row: sql.MemberRow): BatchMessage => ({ ...toSent(row), resentAs: row.resent_as });

/** Sent messages of a batch with one of these statuses, by their ids, after the message `after`. */
export async function sentOfBatch(
  queries: Queries,
  account: AccountKey,
  batch: bigint,
  statuses: readonly string[],
  limit: number,
  after: bigint | null,
): Promise<BatchMessage[]> {
  const from = after === null ? FIRST_ID : after + 1n;
  const rows: sql.MemberRow[] = [];
  for (const status of statuses)
    rows.push(...(await queries.all(sql.members, { account, batch, status, from, limit })));
  rows.sort((one, other) => (one.message_id < other.message_id ? -1 : 1));
  return rows.slice(0, limit).map(toMember);
}

export async function scheduledOfBatch(
  queries: Queries,
  account: AccountKey,
  batch: bigint,
  limit: number,
  after: bigint | null,
): Promise<ScheduledMessage[]> {
  const from = after === null ? FIRST_ID : after + 1n;
  return (await queries.all(sql.scheduledMembers, { account, batch, from, limit })).map(toScheduled);
}

/** Sent messages without a batch, newest first. */
export async function newestSingles(
  queries: Queries,
  account: AccountKey,
  limit: number,
  after: Cursor | null,
): Promise<SentMessage[]> {
  const cursor = after === null ? LAST : cursorBefore(after.at, after.id);
  return (await queries.all(sql.newestSingle, { account, ...cursor, limit })).map(toSent);
}

/** Scheduled messages without a batch, soonest first. */
export async function soonestSingles(
  queries: Queries,
  account: AccountKey,
  limit: number,
  after: Cursor | null,
): Promise<ScheduledMessage[]> {
  const cursor = after === null ? FIRST : cursorAfter(after.at, after.id);
  return (await queries.all(sql.soonestSingle, { account, ...cursor, limit })).map(toScheduled);
}

/** The batch of a message, and the message that repeats it. */
export async function batchOfMessage(
  queries: Queries,
  account: AccountKey,
  id: bigint,
): Promise<{ readonly batch: bigint | null; readonly resentAs: bigint | null }> {
  const sent = await queries.first(sql.ofSent, { account, id });
  const row = sent ?? (await queries.first(sql.ofScheduled, { account, id }));
  return { batch: row?.batch_id ?? null, resentAs: sent?.resent_as ?? null };
}

/** Notes which messages were sent again, so that the counts of their batches leave them out. */
export async function setResent(
  queries: Queries,
  account: AccountKey,
  pairs: readonly { readonly id: bigint; readonly as: bigint }[],
): Promise<void> {
  const own = accountIdOf(account);
  if (own === undefined) throw new Error('the account of a transaction does not exist');
  const rows = accountRecordsOf(
    own,
    pairs.map(({ id, as }) => [id, as]),
  );
  await queries.run(sql.setResent, { account, rows });
}

/** Adds captured credits to the batches of the messages. */
export async function addUsed(
  queries: Queries,
  account: AccountKey,
  captured: readonly { readonly batch: bigint | null; readonly amount: bigint }[],
): Promise<void> {
  const own = accountIdOf(account);
  const used = new Map<bigint, bigint>();
  for (const { batch, amount } of captured) if (batch !== null) used.set(batch, (used.get(batch) ?? 0n) + amount);
  if (used.size === 0 || own === undefined) return;
  await queries.run(sql.addUsed, { account, rows: accountRecordsOf(own, [...used]) });
}

/** Batches of which nothing has left move with their messages. */
export const moveBatches = (
  queries: Queries,
  account: AccountKey,
  ids: readonly bigint[],
  dueAt: number,
): Promise<number> => queries.run(sql.move, { account, ids: elementsOf(ids), dueAt });

/** Deletes one batch of old rows whose messages are all gone. */
export const removeEmptyBatches = (
  queries: Queries,
  account: AccountKey,
  before: number,
  limit: number,
): Promise<number> => queries.run(sql.removeEmpty, { account, before, limit });
