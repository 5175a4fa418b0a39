import { createHash } from 'node:crypto';
import { conflict, notFound } from '../../base/problem.ts';
import type { AccountKey, Database, Queries, Writing } from '../../store/database.ts';
import { emitEvent } from '../accounts/events.ts';
import { takeIds } from '../accounts/ids.ts';
import { releaseHeld } from '../accounts/ledger.ts';
import { cancelWaiting } from '../sending/cancel.ts';
import * as sql from './message-records.sql.ts';
import * as inboxSql from './received.sql.ts';
import { type InboxMessage, toInboxMessage } from './received.ts';
import * as outboxSql from './sent.sql.ts';
import { FINAL_STATUSES, type ScheduledMessage, type SentMessage, toScheduled, toSent } from './sent.ts';

/**
 * Single messages for the operator: received, sent, their statuses, and scheduled ones to cancel.
 */
export interface NewReceived {
  /** The id that the gateway gave. A message with a known id is not stored again. */
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
/** `message` is null if it was deleted meanwhile. */
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
  /** It is not sent after this time; null where that was not said. */
  readonly notAfter: number | null;
}

export function createMessageRecords(database: Database, now: () => number) {
  return {
    receive: (account: AccountKey, message: NewReceived): Promise<Reception> =>
      database.transaction(account, (queries) => receive(queries, account, message, now())),

    async received(account: AccountKey, id: bigint): Promise<InboxMessage> {
      const message = await receivedOf(database, account, id);
      if (!message) throw notFound('received message with this id');
      return message;
    },

    /** Setting the present state again changes nothing. */
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

    /** The present status again changes nothing. A final status stays. */
    recordStatus: (account: AccountKey, id: bigint, change: StatusChange): Promise<SentRecord> =>
      database.transaction(account, (queries) => recordStatus(queries, account, id, change, now())),

    async scheduled(account: AccountKey, id: bigint): Promise<ScheduledRecord> {
      const row = await database.first(sql.scheduled, { account, id });
      if (!row) throw notFound('scheduled message with this id');
      const notAfter = row.not_after === null ? null : Number(row.not_after);
      return { ...toScheduled(row), heldParts: row.held_parts, notAfter };
    },

    /**
     * A scheduled message is gone, one that is due and waits ends as DELETED. Returns the credits
     * that are free again. What is claimed, or was sent, cannot be cancelled.
     */
    cancel: (account: AccountKey, id: bigint): Promise<bigint> =>
      database.transaction(account, async (queries) => {
        const taken = await queries.all(outboxSql.deleteScheduled, { account, id });
        if (taken.length > 0) return releaseHeld(queries, account, now(), taken, 'cancelled');
        return cancelWaiting(queries, account, id, now());
      }),
  };
}

/** Locks the current inbox until the transaction ends: see schema/tally.ts. */
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
  // An import sets a status without a row of history.
  const imported = { status: message.status, at: message.updatedAt, detail: null };
  return { ...message, history: history.at(-1)?.status === message.status ? history : [...history, imported] };
}

async function recordStatus(
  queries: Writing,
  account: AccountKey,
  id: bigint,
  change: StatusChange,
  at: number,
): Promise<SentRecord> {
  const message = await sentOf(queries, account, id);
  const { status } = change;
  if (message.status === status) return message;
  if (FINAL_STATUSES.includes(message.status)) {
    throw conflict(`The status ${message.status} is final: no later one changes it.`);
  }
  await addStatus(queries, account, message, change);
  await emitEvent(queries, { type: 'message.status', account, at, messageId: id, status });
  return sentOf(queries, account, id);
}

/** Adds a status. `updatedAt` never goes back: an older report gets the time of the last one. */
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
