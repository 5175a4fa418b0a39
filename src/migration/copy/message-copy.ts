import { move, type NewMovement } from '../../domain/accounts/ledger.ts';
import {
  addReceived,
  allReceived,
  receivedCounts as countReceived,
  currentGeneration,
  deleteReceivedAmong,
  markReceivedRead,
  markReceivedUnread,
  type ReceivedMessage,
  receivedAmong,
  unreadAfter,
} from '../../domain/messages/received.ts';
import { addScheduled, deleteScheduledAmong, type ScheduledMessage } from '../../domain/messages/scheduled.ts';
import {
  allSent,
  countUnmarked,
  deleteSentAmong,
  putSent,
  type SentMessage,
  sentAmong,
} from '../../domain/messages/sent.ts';
import { writtenKey } from '../../sms/numbers.ts';
import { partsOf } from '../../sms/parts.ts';
import { pages } from '../../store/cursor.ts';
import type { Database, Queries, TransactionQueries } from '../../store/database.ts';
import {
  copyProgress,
  deletedHere,
  noteCopiedIds,
  noteTaken,
  takenMessages,
  writesWaiting,
} from '../stages/migrated-accounts.ts';
import { adjusting, lastWriteOf } from './account-copy.ts';
import { IdList } from './id-list.ts';
import * as sql from './messages.sql.ts';

/** Copies messages of an old server into an account that copyAccount has created. */
export interface CopyContext {
  readonly account: bigint;
  readonly username: string;
  /** When the old server was asked. A message that a client deleted since does not come back. */
  readonly askedAt: number;
}

// The largest number of rows in one transaction.
const CHUNK = 1_000;

function* chunksOf<T>(rows: readonly T[]): Generator<readonly T[]> {
  for (let start = 0; start < rows.length; start += CHUNK) yield rows.slice(start, start + CHUNK);
}
const idsOf = (rows: readonly { readonly id: bigint }[]): bigint[] => rows.map(({ id }) => id);

/**
 * Adds received messages. `unread` has the ids that are unread at the old server; it is null only
 * in a first copy, where they are not known yet and copyUnread follows. Returns the ids of new
 * messages.
 */
export async function copyReceived(
  database: Database,
  { account, username, askedAt }: CopyContext,
  messages: readonly ReceivedMessage[],
  unread: ReadonlySet<bigint> | null,
): Promise<bigint[]> {
  const added: bigint[] = [];
  // Windows of time overlap, so a message may come twice.
  for (const chunk of chunksOf([...new Map(messages.map((each) => [each.id, each])).values()])) {
    const ids = await database.transaction(account, async (queries) => {
      const deleted = await deletedHere(queries, username, askedAt);
      if (deleted.hasAll('inbox')) return [];
      const here = await receivedHere(queries, account, chunk);
      const isNew = ({ id }: ReceivedMessage) => !here.has(id) && !deleted.has('inbox', id);
      const put = chunk
        .filter((each) => isNew(each) || isChanged(each, here.get(each.id)))
        .map((each) => ({ ...each, read: here.get(each.id)?.read ?? unread?.has(each.id) !== true }));
      if (put.length === 0) return [];
      // Rows of an emptied inbox would block the same ids until the purge.
      await deleteReceivedAmong(queries, account, idsOf(put));
      await addReceived(queries, account, await currentGeneration(queries, account), put);
      await noteCopiedIds(queries, account, { messages: put.map(({ id }) => id) });
      return put.filter(({ id }) => !here.has(id)).map(({ id }) => id);
    });
    added.push(...ids);
  }
  return added;
}

async function receivedHere(queries: Queries, account: bigint, messages: readonly ReceivedMessage[]) {
  const here = await receivedAmong(queries, account, idsOf(messages));
  return new Map(here.map((each) => [each.id, each]));
}

/** Returns those of the messages that are not here, or are here with other contents. */
export async function missingReceived(
  database: Database,
  account: bigint,
  messages: readonly ReceivedMessage[],
): Promise<ReceivedMessage[]> {
  const missing: ReceivedMessage[] = [];
  for (const chunk of chunksOf(messages)) {
    const here = await receivedHere(database, account, chunk);
    missing.push(...chunk.filter((each) => !here.has(each.id) || isChanged(each, here.get(each.id))));
  }
  return missing;
}

const isChanged = (one: ReceivedMessage, other: ReceivedMessage | undefined): boolean =>
  other !== undefined &&
  (one.sender !== other.sender ||
    one.text !== other.text ||
    one.shortCode !== other.shortCode ||
    one.receivedAt !== other.receivedAt);

/** What is known about the marks of an account before the old server is asked for its own. */
export interface MarksHere {
  /** The copied messages that are unread here before the old server is asked. */
  readonly unread: ReadonlySet<bigint>;
  /** The number of the last write of a client; null while a write waits for either server. */
  readonly lastWrite: bigint | null;
}

export async function marksHere(database: Database, account: bigint): Promise<MarksHere> {
  const lastWrite = await lastWriteOf(database, account);
  const isSettled = (await writesWaiting(database, account)) === 0;
  const highest = (await copyProgress(database, account))?.highest.message ?? 0n;
  const unread = new Set<bigint>();
  for (let last: ReceivedMessage | undefined; ; ) {
    const messages = await unreadAfter(database, account, CHUNK, last);
    for (const { id } of messages) if (id <= highest) unread.add(id);
    last = messages.at(-1);
    if (messages.length < CHUNK) break;
  }
  return { unread, lastWrite: isSettled ? lastWrite : null };
}

/** Marks messages that are read at the old server. */
export async function copyMarks(database: Database, account: bigint, ids: readonly bigint[]): Promise<void> {
  for (const chunk of chunksOf(ids)) {
    await database.transaction(account, async (queries) => {
      await markReceivedRead(queries, account, chunk);
    });
  }
}

/**
 * Makes messages unread that are unread at the old server and read here. Call it only while the old
 * server answers the account's clients, because then it knows every mark. While a write waits, or
 * if one came since the old server was asked, nothing is changed and the next copy does it.
 */
export async function copyUnread(
  database: Database,
  account: bigint,
  unread: ReadonlySet<bigint>,
  { lastWrite }: MarksHere,
): Promise<void> {
  if (lastWrite === null) return;
  for (const ids of chunksOf([...unread])) {
    // Nothing is written if nothing differs, because a write invalidates cached answers.
    if (!(await receivedAmong(database, account, ids)).some(({ read }) => read)) continue;
    await database.transaction(account, async (queries) => {
      if ((await lastWriteOf(queries, account)) !== lastWrite) return;
      await markReceivedUnread(queries, account, await receivedAmong(queries, account, ids));
    });
  }
}

export async function receivedCounts(database: Database, account: bigint): Promise<{ read: number; unread: number }> {
  const { read, unread } = await countReceived(database, account);
  return { read: Number(read), unread: Number(unread) };
}
export const unmarkedCount = async (database: Database, account: bigint): Promise<number> =>
  Number(await countUnmarked(database, account));

/** The ids of received messages that were copied. */
export async function copiedReceived(database: Database, account: bigint): Promise<Set<bigint>> {
  const highest = (await copyProgress(database, account))?.highest.message ?? 0n;
  const ids = new Set<bigint>();
  for await (const { id } of allReceived(database, account)) if (id <= highest) ids.add(id);
  return ids;
}

export async function removeReceived(database: Database, account: bigint, ids: readonly bigint[]): Promise<void> {
  for (const chunk of chunksOf(ids)) {
    await deleteReceivedAmong(database, account, chunk);
  }
}

/** What a copy of sent messages found at the old server. */
export interface SentCopy {
  readonly added: number;
  readonly listed: IdList;
  /** When the oldest message was sent; `askedAt` without any. */
  readonly oldest: number;
  /** The highest copied id before the old server was asked. */
  readonly highest: bigint;
}

/** Adds and changes sent messages as they arrive. After a whole list, removeGoneSent follows. */
export async function copySent(
  database: Database,
  context: CopyContext,
  batches: AsyncIterable<readonly SentMessage[]> | Iterable<readonly SentMessage[]>,
): Promise<SentCopy> {
  const { account, askedAt } = context;
  const highest = (await copyProgress(database, account))?.highest.message ?? 0n;
  const listed = new IdList();
  let [added, oldest] = [0, askedAt];
  for await (const messages of batches) {
    for (const chunk of chunksOf(messages)) added += await copySentChunk(database, context, chunk);
    for (const { id, sentAt } of messages) {
      listed.add(id);
      oldest = Math.min(oldest, sentAt);
    }
  }
  return { added, listed, oldest, highest };
}

/** Returns how many messages were new. */
const copySentChunk = (
  database: Database,
  { account, username, askedAt }: CopyContext,
  messages: readonly SentMessage[],
): Promise<number> =>
  database.transaction(account, async (queries) => {
    const deleted = await deletedHere(queries, username, askedAt);
    const here = new Map((await sentAmong(queries, account, idsOf(messages))).map((each) => [each.id, each]));
    const put = messages.filter((each) => !deleted.has('sent', each.id) && !isSameSent(each, here.get(each.id)));
    if (put.length === 0) return 0;
    await putSent(queries, account, put);
    await noteCopiedIds(queries, account, { messages: put.map(({ id }) => id) });
    return put.filter(({ id }) => !here.has(id)).length;
  });

/** A mark that was set here stays while the status is the same: see putSent. */
const isSameSent = (one: SentMessage, other: SentMessage | undefined): boolean =>
  other !== undefined &&
  one.reference === other.reference &&
  one.recipient === other.recipient &&
  one.text === other.text &&
  one.status === other.status &&
  one.sentAt === other.sentAt &&
  one.updatedAt === other.updatedAt &&
  (other.marked || !one.marked);

/**
 * Removes copied messages that a whole list lacks, as far back as the list goes. A message that
 * another copy brought since the old server was asked is newer than the list, and stays.
 */
export async function removeGoneSent(
  database: Database,
  account: bigint,
  { listed, oldest, highest }: SentCopy,
): Promise<void> {
  let gone: bigint[] = [];
  for await (const { id, sentAt } of allSent(database, account)) {
    if (id > highest || listed.has(id) || sentAt < oldest) continue;
    gone.push(id);
    if (gone.length < CHUNK) continue;
    await deleteSentAmong(database, account, gone);
    gone = [];
  }
  if (gone.length > 0) await deleteSentAmong(database, account, gone);
}

/**
 * Makes the schedule equal to that of the old server. If the list is complete, messages that it
 * lacks are removed. The copied messages are not active. Messages that are active here, or are
 * being taken over, stay as they are. The held credits come from the operator, because the old
 * server has already taken them from the balance. Returns how many messages were new.
 */
export function copyScheduled(
  database: Database,
  { account, username, askedAt }: CopyContext,
  messages: readonly ScheduledMessage[],
  isComplete: boolean,
): Promise<number> {
  return database.transaction(account, async (queries) => {
    const deleted = await deletedHere(queries, username, askedAt);
    if (deleted.hasAll('compose')) return 0;
    const highest = (await copyProgress(queries, account))?.highest.message ?? 0n;
    const taken = await takenMessages(queries, account);
    const here = await scheduledHere(queries, account);
    const there = new Set(messages.map(({ id }) => id));
    const isOurs = (id: bigint) => taken.has(id) || here.get(id)?.is_active === 1n || deleted.has('compose', id);
    const put = messages.filter((each) => !isOurs(each.id) && !isSameScheduled(each, here.get(each.id)));
    const isGone = (id: bigint) => isComplete && id <= highest && !there.has(id) && !isOurs(id);
    const gone = [...here.keys()].filter(isGone);
    await replaceScheduled(queries, account, askedAt, put, gone);
    return put.filter(({ id }) => !here.has(id)).length;
  });
}

/**
 * Removes scheduled messages that the old server has sent or deleted, and returns the credits that
 * they hold. Active messages stay. Call it for messages that are not being taken over.
 */
export function removeGoneScheduled(
  database: Database,
  account: bigint,
  ids: readonly bigint[],
  at: number,
): Promise<void> {
  return database.transaction(account, async (queries) => {
    const here = await scheduledHere(queries, account);
    const gone = ids.filter((id) => here.get(id)?.is_active === 0n);
    await replaceScheduled(queries, account, at, [], gone);
    for (const id of ids) await noteTaken(queries, account, id, 'gone', at);
  });
}

type ScheduledHere = NonNullable<(typeof sql.scheduledFrom)['row']>;

export async function scheduledHere(queries: Queries, account: bigint): Promise<Map<bigint, ScheduledHere>> {
  const here = new Map<bigint, ScheduledHere>();
  const page = (from: bigint) => queries.all(sql.scheduledFrom, { account, from, limit: CHUNK });
  for await (const rows of pages(CHUNK, page, ({ message_id }) => message_id)) {
    for (const row of rows) here.set(row.message_id, row);
  }
  return here;
}

const isSameScheduled = (one: ScheduledMessage, other: ScheduledHere | undefined): boolean =>
  other !== undefined &&
  one.reference === other.reference &&
  one.recipient === other.recipient &&
  one.text === other.text &&
  one.scheduledAt === Number(other.scheduled_at) &&
  one.createdAt === Number(other.created_at);

async function replaceScheduled(
  queries: TransactionQueries,
  account: bigint,
  at: number,
  put: readonly ScheduledMessage[],
  gone: readonly bigint[],
): Promise<void> {
  const movements: NewMovement[] = [];
  for (const chunk of chunksOf([...gone, ...put.map(({ id }) => id)])) {
    const removed = await deleteScheduledAmong(queries, account, chunk);
    for (const { message_id, held_parts } of removed) movements.push(...adjusting('held', -held_parts, message_id));
  }
  const rows = put.map((each) => {
    const key = each.recipient === null ? null : writtenKey(each.recipient);
    return { ...each, key, heldParts: partsOf(each.text ?? '') };
  });
  await addScheduled(queries, account, rows);
  for (const { id, heldParts } of rows) movements.push(...adjusting('held', BigInt(heldParts), id));
  if (movements.length > 0) await move({ queries, account, at }, movements);
  await noteCopiedIds(queries, account, { messages: put.map(({ id }) => id) });
}
