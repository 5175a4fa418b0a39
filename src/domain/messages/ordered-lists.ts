import { nextTurn } from '../../base/event-loop.ts';
import type { AccountKey } from '../../store/caller.ts';
import { above, below, cursorAfter, cursorBefore, FIRST, FIRST_ID, LAST, LAST_ID } from '../../store/cursor.ts';
import type { Database } from '../../store/database.ts';
import * as receivedSql from './received.sql.ts';
import { type InboxMessage, type ReceivedMessage, toInboxMessage, toReceived } from './received.ts';
import * as scheduledSql from './scheduled.sql.ts';
import { type ScheduledMessage, toScheduled } from './scheduled.ts';
import * as sentSql from './sent.sql.ts';
import { type SentMessage, toSent } from './sent.ts';

/**
 * Lists in the orders of old servers, for dialects. Every list starts after the entry `after`.
 */
export const createOrderedMessages = (database: Database) => ({
  ...createOrderedReceived(database),
  ...createOrderedSent(database),
  ...createOrderedScheduled(database),
});

interface Range {
  readonly from: number;
  readonly to: number;
}

function createOrderedReceived(database: Database) {
  const oldestFirst = async (account: AccountKey, { from, to }: Range, limit: number, after?: ReceivedMessage) => {
    const cursor = after ? cursorAfter(after.receivedAt, after.id) : { at: from, id: FIRST_ID };
    return (await database.all(receivedSql.stateBetween, { account, ...cursor, to, limit })).map(toInboxMessage);
  };
  const newestFirst = async (account: AccountKey, { from, to }: Range, limit: number, after?: ReceivedMessage) => {
    const cursor = after ? cursorBefore(after.receivedAt, after.id) : { at: to, id: LAST_ID };
    return (await database.all(receivedSql.stateBetweenNewest, { account, ...cursor, from, limit })).map(
      toInboxMessage,
    );
  };
  const always: Range = { from: FIRST.at, to: LAST.at };
  return {
    /** Lists the messages of a time range, newest first. */
    receivedNewest: newestFirst,
    /** List only those messages of a time range that are marked as read. */
    readOldest: onlyRead(oldestFirst),
    readNewest: onlyRead(newestFirst),
    inboxOldest: (account: AccountKey, limit: number, after?: InboxMessage): Promise<InboxMessage[]> =>
      oldestFirst(account, always, limit, after),
    async inboxById(account: AccountKey, limit: number, after?: InboxMessage): Promise<InboxMessage[]> {
      const from = above(after?.id);
      if (from === null) return [];
      return (await database.all(receivedSql.receivedFrom, { account, from, limit })).map(toInboxMessage);
    },
    async inboxByIdDown(account: AccountKey, limit: number, after?: InboxMessage): Promise<InboxMessage[]> {
      const to = below(after?.id);
      if (to === null) return [];
      return (await database.all(receivedSql.receivedDown, { account, to, limit })).map(toInboxMessage);
    },
    async unreadNewest(account: AccountKey, limit: number, after?: ReceivedMessage): Promise<ReceivedMessage[]> {
      const cursor = after ? cursorBefore(after.receivedAt, after.id) : LAST;
      return (await database.all(receivedSql.unreadNewest, { account, ...cursor, limit })).map(toReceived);
    },
  };
}

type ReadRange = (account: AccountKey, range: Range, limit: number, after?: ReceivedMessage) => Promise<InboxMessage[]>;

// Reading this many rows takes a millisecond. A million unread messages may follow one another.
const SCANNED_ROWS = 200;

/** Looks through the range page by page, so that no statement takes long. */
function onlyRead(list: ReadRange): ReadRange {
  return async (account, range, limit, after) => {
    const found: InboxMessage[] = [];
    for (let last = after; ; ) {
      const page = await list(account, range, SCANNED_ROWS, last);
      found.push(...page.filter(({ read }) => read));
      last = page.at(-1);
      if (page.length < SCANNED_ROWS || found.length >= limit) return found.slice(0, limit);
      await nextTurn();
    }
  };
}

function createOrderedSent(database: Database) {
  return {
    async unmarkedNewest(account: AccountKey, limit: number, after?: SentMessage): Promise<SentMessage[]> {
      const cursor = after ? cursorBefore(after.updatedAt, after.id) : LAST;
      return (await database.all(sentSql.unmarkedNewest, { account, ...cursor, limit })).map(toSent);
    },
    async sentOldest(account: AccountKey, limit: number, after?: SentMessage): Promise<SentMessage[]> {
      const cursor = after ? cursorAfter(after.sentAt, after.id) : FIRST;
      return (await database.all(sentSql.oldestSent, { account, ...cursor, limit })).map(toSent);
    },
    async sentById(account: AccountKey, limit: number, after?: SentMessage): Promise<SentMessage[]> {
      const from = above(after?.id);
      if (from === null) return [];
      return (await database.all(sentSql.sentFrom, { account, from, limit })).map(toSent);
    },
    async sentByIdDown(account: AccountKey, limit: number, after?: SentMessage): Promise<SentMessage[]> {
      const to = below(after?.id);
      if (to === null) return [];
      return (await database.all(sentSql.sentDown, { account, to, limit })).map(toSent);
    },
  };
}

function createOrderedScheduled(database: Database) {
  return {
    async scheduledLatest(account: AccountKey, limit: number, after?: ScheduledMessage): Promise<ScheduledMessage[]> {
      const cursor = after ? cursorBefore(after.scheduledAt, after.id) : LAST;
      return (await database.all(scheduledSql.latestScheduled, { account, ...cursor, limit })).map(toScheduled);
    },
    async scheduledById(account: AccountKey, limit: number, after?: ScheduledMessage): Promise<ScheduledMessage[]> {
      const from = above(after?.id);
      if (from === null) return [];
      return (await database.all(scheduledSql.scheduledFrom, { account, from, limit })).map(toScheduled);
    },
    async scheduledByIdDown(account: AccountKey, limit: number, after?: ScheduledMessage): Promise<ScheduledMessage[]> {
      const to = below(after?.id);
      if (to === null) return [];
      return (await database.all(scheduledSql.scheduledDown, { account, to, limit })).map(toScheduled);
    },
  };
}
