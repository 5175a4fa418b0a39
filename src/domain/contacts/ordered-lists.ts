import { nextTurn } from '../../base/event-loop.ts';
import { cursorAfter, cursorBefore, FIRST, FIRST_ID, LAST, LAST_ID } from '../../store/cursor.ts';
import type { AccountKey, Database } from '../../store/database.ts';
import * as inboxSql from '../messages/received.sql.ts';
import { type InboxMessage, type ReceivedMessage, toInboxMessage, toReceived } from '../messages/received.ts';
import * as outboxSql from '../messages/sent.sql.ts';
import { type ScheduledMessage, type SentMessage, toScheduled, toSent } from '../messages/sent.ts';
import * as contactSql from './contacts.sql.ts';
import { type Contact, type ContactGroup, toContact, toGroup } from './contacts.ts';
import type { Template } from './templates.ts';

/**
 * The lists in orders that are not Columba's own, because an old server had them. All start after
 * the entry `after`.
 */
export type OrderedLists = ReturnType<typeof createOrderedLists>;

export const createOrderedLists = (database: Database) => ({
  ...createOrderedInbox(database),
  ...createOrderedOutbox(database),
  ...createOrderedContacts(database),
});

/** The ids below an entry, with the highest first; null where there is none below. */
const below = (id: bigint | undefined): bigint | null => {
  if (id === undefined) return LAST_ID;
  return id === FIRST_ID ? null : id - 1n;
};
/** The ids above an entry, with the lowest first. */
const above = (id: bigint | undefined): bigint | null => {
  if (id === undefined) return FIRST_ID;
  return id === LAST_ID ? null : id + 1n;
};

interface Range {
  readonly from: number;
  readonly to: number;
}

function createOrderedInbox(database: Database) {
  const oldestFirst = async (account: AccountKey, { from, to }: Range, limit: number, after?: ReceivedMessage) => {
    const cursor = after ? cursorAfter(after.receivedAt, after.id) : { at: from, id: FIRST_ID };
    return (await database.all(inboxSql.stateBetween, { account, ...cursor, to, limit })).map(toInboxMessage);
  };
  const newestFirst = async (account: AccountKey, { from, to }: Range, limit: number, after?: ReceivedMessage) => {
    const cursor = after ? cursorBefore(after.receivedAt, after.id) : { at: to, id: LAST_ID };
    return (await database.all(inboxSql.stateBetweenNewest, { account, ...cursor, from, limit })).map(toInboxMessage);
  };
  const always: Range = { from: FIRST.at, to: LAST.at };
  return {
    /** Of a time range, newest first. */
    receivedNewest: newestFirst,
    /** Of a time range, only those that are marked as read. */
    readOldest: onlyRead(oldestFirst),
    readNewest: onlyRead(newestFirst),
    inboxOldest: (account: AccountKey, limit: number, after?: InboxMessage): Promise<InboxMessage[]> =>
      oldestFirst(account, always, limit, after),
    async inboxById(account: AccountKey, limit: number, after?: InboxMessage): Promise<InboxMessage[]> {
      const from = above(after?.id);
      if (from === null) return [];
      return (await database.all(inboxSql.receivedFrom, { account, from, limit })).map(toInboxMessage);
    },
    async inboxByIdDown(account: AccountKey, limit: number, after?: InboxMessage): Promise<InboxMessage[]> {
      const to = below(after?.id);
      if (to === null) return [];
      return (await database.all(inboxSql.receivedDown, { account, to, limit })).map(toInboxMessage);
    },
    async unreadNewest(account: AccountKey, limit: number, after?: ReceivedMessage): Promise<ReceivedMessage[]> {
      const cursor = after ? cursorBefore(after.receivedAt, after.id) : LAST;
      return (await database.all(inboxSql.unreadNewest, { account, ...cursor, limit })).map(toReceived);
    },
  };
}

type ReadRange = (account: AccountKey, range: Range, limit: number, after?: ReceivedMessage) => Promise<InboxMessage[]>;

// Reading so many rows takes a millisecond. An inbox may have a million unread messages in a row.
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

function createOrderedOutbox(database: Database) {
  return {
    async unmarkedNewest(account: AccountKey, limit: number, after?: SentMessage): Promise<SentMessage[]> {
      const cursor = after ? cursorBefore(after.updatedAt, after.id) : LAST;
      return (await database.all(outboxSql.unmarkedNewest, { account, ...cursor, limit })).map(toSent);
    },
    async sentOldest(account: AccountKey, limit: number, after?: SentMessage): Promise<SentMessage[]> {
      const cursor = after ? cursorAfter(after.sentAt, after.id) : FIRST;
      return (await database.all(outboxSql.oldestSent, { account, ...cursor, limit })).map(toSent);
    },
    async sentById(account: AccountKey, limit: number, after?: SentMessage): Promise<SentMessage[]> {
      const from = above(after?.id);
      if (from === null) return [];
      return (await database.all(outboxSql.sentFrom, { account, from, limit })).map(toSent);
    },
    async sentByIdDown(account: AccountKey, limit: number, after?: SentMessage): Promise<SentMessage[]> {
      const to = below(after?.id);
      if (to === null) return [];
      return (await database.all(outboxSql.sentDown, { account, to, limit })).map(toSent);
    },
    async scheduledLatest(account: AccountKey, limit: number, after?: ScheduledMessage): Promise<ScheduledMessage[]> {
      const cursor = after ? cursorBefore(after.scheduledAt, after.id) : LAST;
      return (await database.all(outboxSql.latestScheduled, { account, ...cursor, limit })).map(toScheduled);
    },
    async scheduledById(account: AccountKey, limit: number, after?: ScheduledMessage): Promise<ScheduledMessage[]> {
      const from = above(after?.id);
      if (from === null) return [];
      return (await database.all(outboxSql.scheduledFrom, { account, from, limit })).map(toScheduled);
    },
    async scheduledByIdDown(account: AccountKey, limit: number, after?: ScheduledMessage): Promise<ScheduledMessage[]> {
      const to = below(after?.id);
      if (to === null) return [];
      return (await database.all(outboxSql.scheduledDown, { account, to, limit })).map(toScheduled);
    },
  };
}

function createOrderedContacts(database: Database) {
  return {
    async contactsDown(account: AccountKey, limit: number, after?: Contact): Promise<Contact[]> {
      const to = below(after?.id);
      if (to === null) return [];
      return (await database.all(contactSql.contactsDown, { account, to, limit })).map(toContact);
    },
    async contactsOfGroupDown(account: AccountKey, group: bigint, limit: number, after?: Contact): Promise<Contact[]> {
      const to = below(after?.id);
      if (to === null) return [];
      return (await database.all(contactSql.contactsOfGroupDown, { account, group, to, limit })).map(toContact);
    },
    async groupsDown(account: AccountKey, limit: number, after?: ContactGroup): Promise<ContactGroup[]> {
      const to = below(after && BigInt(after.id));
      if (to === null) return [];
      return (await database.all(contactSql.groupsDown, { account, to, limit })).map(toGroup);
    },
    async templatesDown(account: AccountKey, limit: number, after?: Template): Promise<Template[]> {
      const to = below(after?.position);
      if (to === null) return [];
      return database.all(contactSql.templatesDown, { account, to, limit });
    },
  };
}
