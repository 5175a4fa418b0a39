import { createHash } from 'node:crypto';
import { conflict, notFound } from '../problem.ts';
import type { AccountKey, Database, Queries, Writing } from '../store/database.ts';
import * as inboxSql from '../store/statements/inbox.ts';
import * as sql from '../store/statements/message-records.ts';
import * as outboxSql from '../store/statements/outbox.ts';
import { emitEvent } from './events.ts';
import { takeIds } from './ids.ts';
import { type InboxMessage, toInboxMessage } from './inbox.ts';
import { releaseHeld } from './ledger.ts';
import { type ScheduledMessage, type SentMessage, toScheduled, toSent } from './outbox.ts';

/**
 * Single messages: received from a gateway, recorded as sent, their statuses, scheduled ones that
 * are cancelled.
 */
export interface NewReceived {
  /** The gateway's own id, where it has one: the same one is stored once. */
  readonly gatewayId: string | null;
  readonly sender: string | null;
  readonly text: string;
  readonly shortCode: string | null;
  readonly receivedAt: number;
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
/** `message` is null where it was deleted since. */
export interface Reception {
  readonly id: bigint;
  readonly isNew: boolean;
  readonly message: InboxMessage | null;
}
export interface SentRecord extends SentMessage {
  readonly history: readonly StatusChange[];
}
export interface ScheduledRecord extends ScheduledMessage {
  readonly heldParts: bigint;
}

/** No later report changes these. UNKNOWN is not one of them: a late receipt still counts. */
export const FINAL_STATUSES: readonly string[] = ['DELIVERED', 'EXPIRED', 'DELETED', 'UNDELIVERABLE', 'REJECTED'];

export type MessageRecords = ReturnType<typeof createMessageRecords>;

export function createMessageRecords(database: Database, now: () => number) {
  return {
    receive: (account: AccountKey, message: NewReceived): Promise<Reception> =>
      database.transaction(account, (queries) => receive(queries, account, message, now())),

    async received(account: AccountKey, id: bigint): Promise<InboxMessage> {
      const message = await receivedOf(database, account, id);
      if (!message) throw notFound('received message with this id');
      return message;
    },

    /** Marking a message as what it is already changes nothing. */
    setRead: (account: AccountKey, id: bigint, read: boolean): Promise<InboxMessage> =>
      database.transaction(account, async (queries) => {
        const { generation } = await lockInbox(queries, account);
        const message = await receivedOf(queries, account, id);
        if (!message) throw notFound('received message with this id');
        const { receivedAt } = message;
        if (read && !message.read) await queries.run(inboxSql.markRead, { account, id });
        if (!read && message.read) await queries.run(inboxSql.addUnread, { account, id, receivedAt, generation });
        return { ...message, read };
      }),

    async deleteReceived(account: AccountKey, id: bigint): Promise<void> {
      if ((await database.run(inboxSql.deleteReceived, { account, id })) === 0) {
        throw notFound('received message with this id');
      }
    },

    recordSent: (account: AccountKey, message: NewSent): Promise<SentRecord> =>
      database.transaction(account, async (queries) => {
        const id = await takeIds(queries, account, 'message');
        const updatedAt = now();
        await queries.run(outboxSql.addSent, { account, id, ...message, updatedAt, isMarked: 0 });
        const change = { status: message.status, at: updatedAt, detail: null };
        await queries.run(sql.addHistory, { account, id, position: 1n, ...change });
        return { id, ...message, updatedAt, marked: false, history: [change] };
      }),

    sent: (account: AccountKey, id: bigint): Promise<SentRecord> => sentOf(database, account, id),

    /** The status that it has already is nothing new. A final one stays. */
    recordStatus: (account: AccountKey, id: bigint, change: StatusChange): Promise<SentRecord> =>
      database.transaction(account, async (queries) => {
        const message = await sentOf(queries, account, id);
        if (message.status === change.status) return message;
        if (FINAL_STATUSES.includes(message.status)) {
          throw conflict(`The status ${message.status} is final: no later one changes it.`);
        }
        await addStatus(queries, account, message, change);
        const { status } = change;
        await emitEvent(queries, { type: 'message.status', account, at: now(), messageId: id, status });
        return sentOf(queries, account, id);
      }),

    async scheduled(account: AccountKey, id: bigint): Promise<ScheduledRecord> {
      const row = await database.first(sql.scheduled, { account, id });
      if (!row) throw notFound('scheduled message with this id');
      return { ...toScheduled(row), heldParts: row.held_parts };
    },

    /**
     * Gone, and its credits are free again. A message that was sent already cannot be cancelled.
     */
    cancel: (account: AccountKey, id: bigint): Promise<bigint> =>
      database.transaction(account, async (queries) => {
        const taken = await queries.all(outboxSql.deleteScheduled, { account, id });
        if (taken.length > 0) return releaseHeld(queries, account, now(), taken, 'cancelled');
        if (await queries.first(sql.sent, { account, id })) throw conflict('The message was sent already.');
        throw notFound('scheduled message with this id');
      }),
  };
}

/** The inbox that is current until the transaction ends, see schema/tally.ts. */
async function lockInbox(queries: Queries, account: AccountKey): Promise<{ generation: number }> {
  const row = await queries.first(sql.generation, { account });
  return { generation: Number(row?.generation ?? 0n) };
}

async function receive(queries: Writing, account: AccountKey, message: NewReceived, at: number): Promise<Reception> {
  const { gatewayId, sender, text, shortCode, receivedAt } = message;
  const hash = gatewayId === null ? null : createHash('sha256').update(gatewayId, 'utf8').digest('hex');
  const { generation } = await lockInbox(queries, account);
  const first = hash === null ? undefined : await queries.first(sql.gatewayMessage, { account, hash });
  if (first) {
    const id = first.message_id;
    return { id, isNew: false, message: await receivedOf(queries, account, id) };
  }
  const id = await takeIds(queries, account, 'message');
  await queries.run(inboxSql.addReceived, { account, id, sender, text, shortCode, receivedAt, generation });
  await queries.run(inboxSql.addUnread, { account, id, receivedAt, generation });
  if (hash !== null) await queries.run(sql.addGatewayMessage, { account, hash, id, receivedAt });
  await emitEvent(queries, { type: 'message.received', account, at, messageId: id });
  return { id, isNew: true, message: { id, sender, text, shortCode, receivedAt, read: false } };
}

async function receivedOf(queries: Queries, account: AccountKey, id: bigint): Promise<InboxMessage | null> {
  const row = await queries.first(sql.received, { account, id });
  return row ? toInboxMessage(row) : null;
}

async function sentOf(queries: Queries, account: AccountKey, id: bigint): Promise<SentRecord> {
  const row = await queries.first(sql.sent, { account, id });
  if (!row) throw notFound('sent message with this id');
  const message = toSent(row);
  const rows = await queries.all(sql.history, { account, id });
  const history = rows.map(({ status, at, detail }) => ({ status, at: Number(at), detail }));
  // An import sets a status without writing it down here.
  const imported = { status: message.status, at: message.updatedAt, detail: null };
  return { ...message, history: history.at(-1)?.status === message.status ? history : [...history, imported] };
}

/**
 * A report that is older than the last one still is the newest that we know of: `updatedAt` never
 * goes back.
 */
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
