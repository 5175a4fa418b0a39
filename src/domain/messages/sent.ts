import { conflict, notFound } from '../../base/problem.ts';
import type { AccountKey } from '../../store/caller.ts';
import { type Cursor, cursorAfter, cursorBefore, FIRST, LAST, pages } from '../../store/cursor.ts';
import type { Database, Queries, Transaction, TransactionQueries } from '../../store/database.ts';
import { accountRecordsOf, elementsOf, recordsOf } from '../../store/json.ts';
import { emitEvent, emitStatuses } from '../accounts/events.ts';
import { takeIds } from '../accounts/ids.ts';
import { countMessages } from './hour-counts.ts';
import * as sql from './sent.sql.ts';
import { isFinal } from './statuses.ts';

/** Sent messages with their delivery status and its history. */
export interface SentMessage {
  readonly id: bigint;
  /** The reference that the sender gave. */
  readonly reference: string | null;
  readonly recipient: string | null;
  readonly text: string | null;
  readonly status: string;
  /** Whether DELETED comes from a receipt, and not from a cancellation. */
  readonly isDeletedByCarrier?: true;
  readonly sentAt: number;
  readonly updatedAt: number;
  /** Whether the latest status has been marked since it changed. */
  readonly marked: boolean;
}
export interface NewSent {
  readonly reference: string | null;
  readonly recipient: string;
  readonly text: string;
  readonly status: string;
  readonly sentAt: number;
}
export interface StatusChange {
  readonly status: string;
  readonly at: number;
  readonly detail: string | null;
}
export interface SentRecord extends SentMessage {
  readonly history: readonly StatusChange[];
}
export type SentChange = 'mark' | 'delete';

export type Sent = ReturnType<typeof createSent>;

export function createSent(database: Database, now: () => number) {
  return {
    /**
     * Lists the oldest change first, so that a client that polls and marks sees every change. Every
     * list starts after the message `after`.
     */
    async unmarked(account: AccountKey, limit: number, after?: SentMessage): Promise<SentMessage[]> {
      const cursor = after ? cursorAfter(after.updatedAt, after.id) : FIRST;
      return (await database.all(sql.unmarked, { account, ...cursor, limit })).map(toSent);
    },
    countUnmarked: (account: AccountKey): Promise<bigint> => countUnmarked(database, account),
    async newest(account: AccountKey, limit: number, after?: SentMessage): Promise<SentMessage[]> {
      const cursor = after ? cursorBefore(after.sentAt, after.id) : LAST;
      return (await database.all(sql.newestSent, { account, ...cursor, limit })).map(toSent);
    },
    /** Messages that may have reached nobody, newest first. */
    async undelivered(account: AccountKey, limit: number, after?: Cursor): Promise<SentMessage[]> {
      const cursor = after ? cursorBefore(after.at, after.id) : LAST;
      return (await database.all(sql.undeliveredSent, { account, ...cursor, limit })).map(toSent);
    },
    /** How many of them were sent since an instant, at most `limit`. */
    async countUndelivered(account: AccountKey, from: number, limit: number): Promise<number> {
      return Number((await database.first(sql.countUndelivered, { account, from, limit }))?.total ?? 0n);
    },
    /** Reads from a position on, which is included. */
    async from(account: AccountKey, order: 'newest' | 'oldest', from: Cursor, limit: number): Promise<SentMessage[]> {
      const statement = order === 'newest' ? sql.newestSent : sql.oldestSent;
      return (await database.all(statement, { account, ...from, limit })).map(toSent);
    },
    /** Returns false if there is no such message. */
    async mark(account: AccountKey, id: bigint): Promise<boolean> {
      return (await database.run(sql.mark, { account, id })) > 0;
    },
    /** Returns false if there is no such message. */
    async delete(account: AccountKey, id: bigint): Promise<boolean> {
      return (await database.run(sql.deleteSent, { account, id })) > 0;
    },
    /** Changes many messages at once. Returns how many of them exist. */
    change: (account: AccountKey, ids: readonly bigint[], change: SentChange): Promise<number> =>
      database.transaction(account, async (queries) => {
        let done = 0;
        const statement = change === 'mark' ? sql.mark : sql.deleteSent;
        for (const id of new Set(ids)) done += await queries.run(statement, { account, id });
        return done;
      }),

    show: (account: AccountKey, id: bigint): Promise<SentRecord> => requireSent(database, account, id),

    /** Records a message that another program has sent. */
    record: (account: AccountKey, message: NewSent): Promise<SentRecord> =>
      database.transaction(account, async (queries) => {
        const id = await takeIds(queries, account, 'message');
        const updatedAt = now();
        await queries.run(sql.addSent, { account, id, ...message, updatedAt, isMarked: 0, batch: null });
        const change = { status: message.status, at: updatedAt, detail: null };
        await queries.run(sql.addHistory, { account, id, position: 1n, ...change });
        await countMessages({ queries, account, at: updatedAt }, { accepted: 1, statuses: [message.status] });
        return { id, ...message, updatedAt, marked: false, history: [change] };
      }),

    /** Recording the present status again changes nothing. A final status cannot change. */
    recordStatus: (account: AccountKey, id: bigint, change: StatusChange): Promise<SentRecord> =>
      database.transaction(account, (queries) => recordStatus({ queries, account, at: now() }, id, change)),
  };
}

export async function countUnmarked(queries: Queries, account: AccountKey): Promise<bigint> {
  return (await queries.first(sql.countUnmarked, { account }))?.total ?? 0n;
}

/** Reads a message without its history. */
export async function sentOf(queries: Queries, account: AccountKey, id: bigint): Promise<SentMessage | null> {
  const row = await queries.first(sql.one, { account, id });
  return row ? toSent(row) : null;
}

async function requireSent(queries: Queries, account: AccountKey, id: bigint): Promise<SentRecord> {
  const message = await sentOf(queries, account, id);
  if (!message) throw notFound('sent message with this id');
  const rows = await queries.all(sql.history, { account, id });
  const history = rows.map(({ status, at, detail }) => ({ status, at: Number(at), detail }));
  // An import sets a status without a row of history.
  const imported = { status: message.status, at: message.updatedAt, detail: null };
  return { ...message, history: history.at(-1)?.status === message.status ? history : [...history, imported] };
}

async function recordStatus(transaction: Transaction, id: bigint, change: StatusChange): Promise<SentRecord> {
  const { queries, account, at } = transaction;
  const message = await requireSent(queries, account, id);
  const { status } = change;
  if (message.status === status) return message;
  if (isFinal(message.status)) {
    throw conflict(`The status ${message.status} is final, so no later status can change it.`);
  }
  await addStatus(queries, account, message, change);
  await countMessages(transaction, { statuses: [status] });
  await emitEvent(queries, { type: 'message.status', account, at, messageId: id, status });
  return requireSent(queries, account, id);
}

/** Adds a status. `updatedAt` never decreases: an older report gets the time of the last one. */
async function addStatus(
  queries: Queries,
  account: AccountKey,
  message: SentRecord,
  change: StatusChange,
): Promise<void> {
  const { id, history } = message;
  const stored = (await queries.all(sql.history, { account, id })).length;
  const added = [...history.slice(stored), change];
  const rows = added.map((each, index) => ({ account, id, position: BigInt(stored + index + 1), ...each }));
  for (const row of rows) await queries.run(sql.addHistory, row);
  const updatedAt = Math.max(change.at, message.updatedAt);
  await queries.run(sql.setStatus, { account, id, status: change.status, updatedAt });
}

/** Adds messages that are due now. Their history begins with QUEUED. */
export async function addQueued(
  transaction: Transaction,
  messages: readonly (Pick<SentMessage, 'id' | 'reference' | 'recipient' | 'text'> & { batch: bigint | null })[],
): Promise<void> {
  const { queries, account, at } = transaction;
  const state = { status: 'QUEUED', sentAt: at, updatedAt: at, isMarked: 0 };
  await queries.runAll(
    sql.addSent,
    messages.map(({ id, reference, recipient, text, batch }) => ({
      account,
      id,
      reference,
      recipient,
      text,
      batch,
      ...state,
    })),
  );
  const entry = { position: 1n, status: 'QUEUED', at, detail: null };
  await queries.runAll(
    sql.addHistory,
    messages.map(({ id }) => ({ account, id, ...entry })),
  );
  await countMessages(transaction, { accepted: messages.length });
}

/** Sent messages of an import, each with its id. */
export async function addSent(
  queries: TransactionQueries,
  account: bigint,
  messages: readonly SentMessage[],
): Promise<void> {
  await queries.runAll(sql.addSent, messages.map(rowOf(account)));
}

/** Adds messages, or changes those with these ids. A mark stays while the status is the same. */
export async function putSent(
  queries: TransactionQueries,
  account: bigint,
  messages: readonly SentMessage[],
): Promise<void> {
  await queries.runAll(sql.putSent, messages.map(rowOf(account)));
}

const rowOf =
  (account: bigint) =>
  ({ marked, isDeletedByCarrier: _, ...message }: SentMessage) => ({
    account,
    ...message,
    isMarked: marked ? 1 : 0,
    batch: null,
  });

// Rows of one page of all messages.
const PAGE = 1_000;

/** All sent messages of an account, in the order of their ids. */
export async function* allSent(queries: Queries, account: AccountKey): AsyncGenerator<SentMessage> {
  const page = (from: bigint) => queries.all(sql.sentFrom, { account, from, limit: PAGE });
  for await (const rows of pages(PAGE, page, ({ message_id }) => message_id)) yield* rows.map(toSent);
}

export async function sentAmong(queries: Queries, account: AccountKey, ids: readonly bigint[]): Promise<SentMessage[]> {
  return (await queries.all(sql.sentAmong, { account, ids: elementsOf(ids) })).map(toSent);
}

export async function deleteSentAmong(queries: Queries, account: AccountKey, ids: readonly bigint[]): Promise<void> {
  await queries.run(sql.deleteSentAmong, { account, ids: elementsOf(ids) });
}

export interface SentText {
  readonly id: bigint;
  readonly recipient: string | null;
  readonly text: string | null;
}
export async function sentTexts(queries: Queries, account: AccountKey, ids: readonly bigint[]): Promise<SentText[]> {
  const rows = await queries.all(sql.texts, { account, ids: elementsOf(ids) });
  return rows.map(({ message_id: id, recipient, text }) => ({ id, recipient, text }));
}

export type LastStatus = Pick<SentMessage, 'status' | 'updatedAt'>;

/** The statuses of those messages that the client has not deleted. */
export async function lastStatuses(
  queries: Queries,
  account: AccountKey,
  ids: readonly bigint[],
): Promise<Map<bigint, LastStatus>> {
  const rows = await queries.all(sql.statusesOf, { account, ids: elementsOf(ids) });
  return new Map(
    rows.map(({ message_id, status, updated_at }) => [message_id, { status, updatedAt: Number(updated_at) }]),
  );
}

/**
 * Sets one status for messages whose submission has ended, with a line of the history and an event.
 * A message that the client has deleted stays deleted, and a status that a receipt has reported is
 * replaced only by a final status.
 */
export async function setStatusOf(
  transaction: Transaction,
  status: string,
  details: ReadonlyMap<bigint, string | null>,
): Promise<void> {
  const { queries, account, at } = transaction;
  const ids = elementsOf([...details.keys()]);
  const changed = await queries.all(sql.setStatusOf, { account, ids, status, at });
  if (changed.length === 0) return;
  const lines = changed.map(({ message_id: id }) => [id, 1, status, at, details.get(id) ?? null] as const);
  await queries.run(sql.appendHistory, { account, rows: recordsOf(lines) });
  const statuses = changed.map(({ message_id: messageId }) => ({ messageId, status }));
  await countMessages(transaction, { statuses: statuses.map(() => status) });
  await emitStatuses(transaction, 'message.status', statuses);
}

/** What receipts have changed about a message. */
export interface ReceivedStatus {
  readonly id: bigint;
  /** Null if the status is the same and only the history has grown. */
  readonly changed: { readonly status: string; readonly updatedAt: number } | null;
  readonly history: readonly StatusChange[];
}

/** Sets the statuses of many messages with few statements. */
export async function setStatuses(
  transaction: Transaction<bigint>,
  messages: readonly ReceivedStatus[],
): Promise<void> {
  const { queries, account } = transaction;
  const statuses = messages.flatMap(({ id, changed }) => (changed ? [{ id, ...changed }] : []));
  const rows = statuses.map(({ id, status, updatedAt }) => [id, status, updatedAt]);
  if (rows.length > 0) await queries.run(sql.setStatuses, { account, rows: accountRecordsOf(account, rows) });
  const lines = messages.flatMap(({ id, history }) =>
    history.map((line, index) => [id, index + 1, line.status, line.at, line.detail]),
  );
  if (lines.length > 0) await queries.run(sql.appendHistory, { account, rows: recordsOf(lines) });
  const changed = statuses.map(({ id: messageId, status }) => ({ messageId, status }));
  const ended = statuses.map(({ status }) => (status === 'DELETED' ? 'UNDELIVERABLE' : status)); // by the carrier
  await countMessages(transaction, { statuses: ended });
  await emitStatuses(transaction, 'message.status', changed);
}

/** Adds lines to the histories of messages without changing their statuses. */
export async function addHistoryLines(
  queries: Pick<Queries, 'run'>,
  account: AccountKey,
  lines: readonly (StatusChange & { readonly id: bigint })[],
): Promise<void> {
  const rows = recordsOf(lines.map(({ id, status, at, detail }) => [id, 1, status, at, detail]));
  await queries.run(sql.appendHistory, { account, rows });
}

export const toSent = (row: sql.SentRow): SentMessage => ({
  id: row.message_id,
  reference: row.reference,
  recipient: row.recipient,
  text: row.text,
  status: row.status,
  ...(row.status === 'DELETED' && row.deleted_by_carrier === 1n ? { isDeletedByCarrier: true } : {}),
  sentAt: Number(row.sent_at),
  updatedAt: Number(row.updated_at),
  marked: row.is_marked === 1n,
});
