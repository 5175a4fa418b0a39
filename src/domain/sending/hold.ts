import type { AccountKey } from '../../store/caller.ts';
import type { Database, Queries, Transaction, TransactionQueries } from '../../store/database.ts';
import { elementsOf, recordsOf } from '../../store/json.ts';
import { readInstallation } from '../accounts/installation.ts';
import * as attemptSql from './attempts.sql.ts';
import { type KnownParts, knownParts, newAttemptId, provesSubmission, sameMessageAt, WHOLE } from './attempts.ts';
import * as sql from './dispatch.sql.ts';
import { divided, endTaken, escalate, leaveSchedule, rowInQueue } from './end.ts';
import * as receiptSql from './receipts.sql.ts';

/**
 * After a backup was restored: messages that may have been submitted since the backup was taken.
 * The database does not know it, so they wait for a decision instead of being sent, maybe for the
 * second time. Messages that are due later than now stay scheduled.
 *
 * One of these may have been brought forward since the backup, and submitted, and the database has
 * its old time. A new time is at least FORWARD_MS ahead, so a backup that lacks less has it before
 * the message leaves. Where more was lost, a receipt of that submission holds the message, and an
 * operator may have them all held when they are due.
 */
export const FORWARD_MS = 5_000;

/** The reason that the queue shows for a message that is held. */
export const HELD = 'may have been sent after the backup that was restored';
/** The reason once a receipt has come that is probably of such a submission. */
export const HELD_WITH_RECEIPT = `${HELD}; a receipt that fits has come`;
/** The reason of a scheduled message that is held when it is due. */
export const HELD_WHEN_DUE = `is held when it is due: ${HELD}`;
export const isHeldReason = (reason: string | null): boolean => reason === HELD || reason === HELD_WITH_RECEIPT;

const PAGE = 500;
/** Of messages that stay scheduled, of which little is read and written. */
const LATER_PAGE = 5_000;
const START = { account: -(2n ** 63n), message: -(2n ** 63n) };
const LAST_ACCOUNT = 2n ** 63n - 1n;

/** Holds messages of all accounts within one transaction, and returns how many. */
export async function holdAll(queries: TransactionQueries, at: number): Promise<number> {
  let held = 0;
  for await (const rows of pagesOf(PAGE, (after) => queries.all(sql.mayHaveLeft, { ...after, now: at, limit: PAGE }))) {
    for (const [account, own] of Map.groupBy(rows, ({ account_id }) => account_id)) {
      held += await holdOf({ queries, account, at }, own, at);
    }
  }
  return held;
}

/** Pages of messages of all accounts, in the order of their keys. */
async function* pagesOf<T extends { account_id: bigint; message_id: bigint }>(
  size: number,
  page: (after: typeof START) => Promise<T[]>,
): AsyncGenerator<T[]> {
  for (let after = START; ; ) {
    const rows = await page(after);
    const last = rows.at(-1);
    if (last) yield rows;
    if (!last || rows.length < size) return;
    after = { account: last.account_id, message: last.message_id };
  }
}

/**
 * An attempt with an unknown outcome stands for what may have happened since the backup. It keeps
 * late receipts of earlier attempts from sending the message again, and a decision applies to it as
 * to any other attempt.
 */
async function holdOf(
  transaction: Transaction<bigint>,
  rows: readonly sql.DispatchRow[],
  restoredAt: number,
): Promise<number> {
  const { queries, account } = transaction;
  const ids = rows.map(({ message_id }) => message_id);
  await queries.run(sql.voidClaims, { account, ids: elementsOf(ids) });
  const voided = rows.map((row) => ({ ...row, attempts: row.attempts + 1n }));
  const known = await knownParts(queries, account, ids);
  const [scheduled, others] = divided(voided, ({ is_scheduled }) => is_scheduled === 1n);
  const moved = scheduled.length > 0 ? await leaveSchedule(transaction, scheduled, known) : [];
  // Receipts came before the answer to the submission, which the backup does not have.
  const hasAll = (row: sql.DispatchRow) => BigInt(known(row.message_id).accepted.size) >= row.parts;
  const [taken, held] = divided<sql.DispatchRow>([...moved, ...others], hasAll);
  await endTaken(transaction, 'prove', taken);
  await holdMessages(transaction, held, known, restoredAt);
  await queries.run(attemptSql.setUnknownOutcome, { account, ids: elementsOf(ids) });
  return held.length;
}

/**
 * The number of the attempt that stands for the lost time is that of the claim. Its id has the time
 * of the restore, by which receipts find it, whenever the message is held.
 */
async function holdMessages(
  transaction: Transaction<bigint>,
  held: readonly sql.DispatchRow[],
  known: (id: bigint) => KnownParts,
  restoredAt: number,
): Promise<void> {
  const { queries, account, at } = transaction;
  await queries.run(attemptSql.removeLost, { account, ids: elementsOf(held.map(({ message_id }) => message_id)) });
  const attempts = held.flatMap((row) =>
    openParts(row, known(row.message_id)).map((part) => ({
      account,
      id: row.message_id,
      attempt: Number(row.attempts),
      part,
      attemptId: newAttemptId(restoredAt, { account, id: row.message_id }),
      connector: row.connector ?? '',
      submittedAt: at,
      sender: row.sender,
    })),
  );
  await queries.runAll(attemptSql.add, attempts);
  await escalate(
    transaction,
    held.map((row) => ({ row, reason: HELD })),
    'hold',
  );
}

/**
 * Messages of all accounts that stay scheduled after a restore: an attempt stands for a submission
 * in the lost time, which a receipt may prove. Returns how many messages there are.
 */
export async function keepScheduled(queries: TransactionQueries, at: number, isHeldWhenDue: boolean): Promise<number> {
  let scheduled = 0;
  const page = (after: typeof START) => queries.all(sql.dueLater, { ...after, now: at, limit: LATER_PAGE });
  for await (const rows of pagesOf(LATER_PAGE, page)) {
    const lost = rows.map(({ account_id: account, message_id: id, parts, sender }) => {
      const key = { account, id };
      return { ...key, part: wholeOf(parts), attemptId: newAttemptId(at, key), submittedAt: at, sender };
    });
    await queries.runAll(attemptSql.addLost, lost);
    scheduled += rows.length;
    if (!isHeldWhenDue) continue;
    for (const [account, own] of Map.groupBy(rows, ({ account_id }) => account_id)) {
      const ids = elementsOf(own.map(({ message_id }) => message_id));
      await queries.run(sql.holdWhenDue, { account, ids, reason: HELD_WHEN_DUE });
    }
  }
  return scheduled;
}

/**
 * At most `limit` of them are sent when they are due, of one account or of all. Returns how many
 * would have been held, and whether more would be.
 */
export async function sendWhenDue(
  queries: Queries,
  { account, limit }: { readonly account: bigint | null; readonly limit: number },
): Promise<{ decided: number; isMoreLeft: boolean }> {
  const accounts = { from: account ?? START.account, to: account ?? LAST_ACCOUNT };
  const rows = await queries.all(sql.firstHeldThen, { ...accounts, reason: HELD_WHEN_DUE, limit: limit + 1 });
  let decided = 0;
  for (const [of, own] of Map.groupBy(rows.slice(0, limit), ({ account_id }) => account_id)) {
    const ids = elementsOf(own.map(({ message_id }) => message_id));
    decided += await queries.run(sql.sendWhenDue, { account: of, ids, reason: HELD_WHEN_DUE });
  }
  return { decided, isMoreLeft: rows.length > limit };
}

const isHeldWhenDue = ({ reason }: sql.DispatchRow): boolean => reason === HELD_WHEN_DUE;

/** Holds those of the claimed messages that are held when they are due. Returns the others. */
export async function holdDue<T extends sql.DispatchRow>(
  transaction: Transaction<bigint>,
  messages: readonly T[],
  known: (id: bigint) => KnownParts,
): Promise<T[]> {
  const [held, going] = divided(messages, isHeldWhenDue);
  if (held.length === 0) return going;
  const { queries, account } = transaction;
  await holdMessages(transaction, held, known, await lostUntil(transaction));
  const ids = elementsOf(held.map(({ message_id }) => message_id));
  await queries.run(attemptSql.setUnknownOutcome, { account, ids });
  return going;
}

/** Holds those that nobody has claimed, and that would expire. Returns the others. */
export async function holdUnclaimed(
  transaction: Transaction<bigint>,
  rows: readonly sql.DispatchRow[],
): Promise<sql.DispatchRow[]> {
  const [held, others] = divided(rows, isHeldWhenDue);
  if (held.length > 0) await holdOf(transaction, held, await lostUntil(transaction));
  return others;
}

const lostUntil = async ({ queries, at }: Transaction): Promise<number> =>
  (await readInstallation(queries))?.restoredAt ?? at;

/** The parts that no carrier is known to have; the whole text if it has none of them. */
function openParts({ parts }: sql.DispatchRow, { accepted }: KnownParts): number[] {
  if (accepted.size === 0) return [wholeOf(parts)];
  const all = Array.from({ length: Number(parts) }, (_, index) => index + 1);
  return all.filter((part) => !accepted.has(part));
}

const wholeOf = (parts: bigint): number => (parts === 1n ? 1 : WHOLE);

export async function noteHeldReceipt(queries: Queries, account: AccountKey, id: bigint): Promise<void> {
  await queries.run(sql.changeReason, { account, id, from: HELD, to: HELD_WITH_RECEIPT });
}

/** When the database was restored from a backup, which does not change while it is served. */
export type RestoredAt = () => Promise<number | null>;
export function restoredAtOf(queries: Queries): RestoredAt {
  let known: number | null | undefined;
  return async () => {
    if (known === undefined) known = (await readInstallation(queries))?.restoredAt ?? null;
    return known;
  };
}

/** A receipt whose submission the database does not know. */
interface UnknownReceipt {
  readonly connector: string;
  readonly attemptId: string | null;
  readonly status: string;
}

/**
 * Receipts of submissions that were made after the backup. The id of such a submission tells its
 * message. If it has one part, the attempt that stands for the lost time gets this id, so that the
 * receipt is applied to it; of a longer one it is not known whether all parts were submitted, and
 * its reason tells of the receipt. A message that was to be sent later is held first. Returns
 * whether an attempt got an id.
 */
export async function nameLostAttempts(
  database: Database,
  now: () => number,
  restoredAt: RestoredAt,
  receipts: readonly UnknownReceipt[],
): Promise<boolean> {
  const given = receipts.filter(({ attemptId, status }) => attemptId !== null && provesSubmission(status));
  const at = given.length === 0 ? null : await restoredAt();
  if (at === null) return false;
  const rows = given.map(({ attemptId }, place) => {
    const { low, high } = sameMessageAt(attemptId as string, at);
    return [place, low, high];
  });
  const found = await database.all(receiptSql.heldByRestore, { rows: recordsOf(rows) });
  let isNamed = false;
  for (const { place, account_id: account, message_id: id, attempt, part, parts } of found) {
    const { connector, attemptId } = given[Number(place)] as UnknownReceipt;
    await database.transaction(account, async (queries) => {
      const number = attempt === 0n ? await holdLost({ queries, account, at: now() }, id, at) : attempt;
      if (parts > 1n) return noteHeldReceipt(queries, account, id);
      isNamed = true;
      return queries.run(receiptSql.replaceAttemptId, {
        account,
        id,
        attempt: number,
        part,
        connector,
        attemptId: attemptId as string,
      });
    });
  }
  return isNamed;
}

/**
 * Holds a message that stayed scheduled, if nobody submits it at this moment. Returns the number of
 * the attempt that stands for the lost time.
 */
async function holdLost(transaction: Transaction<bigint>, id: bigint, restoredAt: number): Promise<bigint> {
  const row = await rowInQueue(transaction.queries, transaction.account, id);
  if (row?.state !== 'waiting') return 0n;
  await holdOf(transaction, [row], restoredAt);
  return row.attempts + 1n;
}
