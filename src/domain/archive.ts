import { writtenKey } from '../sms/numbers.ts';
import { partsOf } from '../sms/parts.ts';
import type { Database, Queries } from '../store/database.ts';
import * as accountSql from '../store/statements/accounts.ts';
import * as contactSql from '../store/statements/contacts.ts';
import * as inboxSql from '../store/statements/inbox.ts';
import * as outboxSql from '../store/statements/outbox.ts';
import {
  type Account,
  accountNamed,
  addAccount,
  allAccounts,
  type Credential,
  toAccount,
  toCredential,
} from './accounts.ts';
import type { Contact, ContactGroup } from './contacts.ts';
import { FIRST_ID, pages } from './cursor.ts';
import { reserveIds } from './ids.ts';
import { type InboxMessage, toInboxMessage } from './inbox.ts';
import { openHeld } from './ledger.ts';
import { type ScheduledMessage, type SentMessage, toScheduled, toSent } from './outbox.ts';
import { addTemplates } from './templates.ts';

/** Whole accounts, in and out: for moving them between installations. */
export interface AccountArchive {
  readonly account: Account;
  readonly credentials: Credential[];
  readonly groups: Omit<ContactGroup, 'total'>[];
  readonly contacts: Contact[];
  readonly templates: string[];
  readonly blocked: BlockedNumber[];
  readonly received: InboxMessage[];
  readonly sent: SentMessage[];
  readonly scheduled: ScheduledMessage[];
}
export interface BlockedNumber {
  readonly number: string;
  readonly sample: string | null;
  readonly blockedAt: number;
}

/** What is read out of an account: the messages in pages, since an inbox can be larger than memory. */
export interface AccountReading extends Omit<AccountArchive, 'received' | 'sent' | 'scheduled'> {
  readonly received: AsyncIterable<InboxMessage>;
  readonly sent: AsyncIterable<SentMessage>;
  readonly scheduled: AsyncIterable<ScheduledMessage>;
}

export type Archive = ReturnType<typeof createArchive>;

export function createArchive(database: Database) {
  return {
    /** The whole account or nothing of it. */
    load: (archive: AccountArchive): Promise<void> => loadAll(database, archive),

    /** All accounts as they are at one moment, by username, or the one that is named. */
    read: (username: string | null, take: (reading: AccountReading) => Promise<void>): Promise<number> =>
      database.snapshot(async (queries) => {
        let count = 0;
        const rows = username === null ? allAccounts(queries) : [await accountNamed(queries, username)];
        for await (const row of rows) {
          await take(await reading(queries, row));
          count += 1;
        }
        return count;
      }),
  };
}

/** Numbers and parts are reckoned before the transaction, which others may have to wait for. */
function loadAll(database: Database, archive: AccountArchive): Promise<void> {
  const keyOf = (number: string | null) => (number === null ? null : writtenKey(number));
  const contacts = archive.contacts.map((contact) => ({
    ...contact,
    key: keyOf(contact.mobile),
    group: contact.groupId,
  }));
  const blocked = archive.blocked.map((each) => ({ ...each, key: writtenKey(each.number) }));
  const received = archive.received.map(({ read, ...message }) => ({ ...message, generation: 0 }));
  const unread = archive.received.flatMap(({ read, id, receivedAt }) =>
    read ? [] : { id, receivedAt, generation: 0 },
  );
  const sent = archive.sent.map(({ marked, ...message }) => ({ ...message, isMarked: marked ? 1 : 0 }));
  const scheduled = archive.scheduled.map((message) => ({
    ...message,
    ...{ key: keyOf(message.recipient), heldParts: partsOf(message.text ?? '') },
  }));
  return database.transaction(null, async (queries) => {
    const account = await addAccount(queries, archive.account, archive.credentials);
    const of = <T>(rows: readonly T[]) => rows.map((row) => ({ account, ...row }));
    await queries.runAll(contactSql.addGroup, of(archive.groups.map(({ id, name }) => ({ group: BigInt(id), name }))));
    await queries.runAll(contactSql.addContact, of(contacts));
    await addTemplates(queries, account, archive.templates);
    await queries.runAll(contactSql.addBlocked, of(blocked));
    await queries.runAll(inboxSql.addReceived, of(received));
    await queries.runAll(inboxSql.addUnread, of(unread));
    await queries.runAll(outboxSql.addSent, of(sent));
    await queries.runAll(outboxSql.addScheduled, of(scheduled));
    const held = scheduled.reduce((sum, { heldParts }) => sum + heldParts, 0);
    await openHeld(queries, account, archive.account.createdAt, BigInt(held));
    await reserveArchiveIds(queries, account, archive);
  });
}

/** New ids begin above those of the archive. */
async function reserveArchiveIds(queries: Queries, account: bigint, archive: AccountArchive): Promise<void> {
  const { groups, contacts, received, sent, scheduled } = archive;
  const idOf = ({ id }: { id: bigint }) => id;
  const messageIds = [received, sent, scheduled].flatMap((list: readonly { id: bigint }[]) => list.map(idOf));
  await reserveIds(
    queries,
    account,
    'group',
    groups.map(({ id }) => BigInt(id)),
  );
  await reserveIds(queries, account, 'contact', contacts.map(idOf));
  await reserveIds(queries, account, 'message', messageIds);
}

async function reading(queries: Queries, row: accountSql.AccountRow): Promise<AccountReading> {
  const account = row.account_id;
  return {
    account: toAccount(row),
    credentials: (await queries.all(accountSql.credentials, { account })).map(toCredential),
    groups: (await queries.all(contactSql.groups, { account, ...EVERYTHING })).map((g) => ({
      id: Number(g.group_id),
      name: g.name,
    })),
    contacts: (await queries.all(contactSql.contacts, { account, ...EVERYTHING })).map((contact) => ({
      ...contact,
      id: contact.contact_id,
      groupId: contact.group_id,
    })),
    templates: (await queries.all(contactSql.templates, { account, ...EVERYTHING })).map(({ text }) => text),
    blocked: (await queries.all(contactSql.blocked, { account })).map(({ number, sample, blocked_at }) => ({
      ...{ number, sample, blockedAt: Number(blocked_at) },
    })),
    received: messages((from) => queries.all(inboxSql.receivedFrom, { account, from, limit: PAGE }), toInboxMessage),
    sent: messages((from) => queries.all(outboxSql.sentFrom, { account, from, limit: PAGE }), toSent),
    scheduled: messages((from) => queries.all(outboxSql.scheduledFrom, { account, from, limit: PAGE }), toScheduled),
  };
}

const PAGE = 1_000;
const EVERYTHING = { from: FIRST_ID, limit: 2 ** 31 - 1 };

async function* messages<R extends { message_id: bigint }, M>(
  page: (from: bigint) => Promise<R[]>,
  convert: (row: R) => M,
): AsyncGenerator<M> {
  for await (const rows of pages(PAGE, page, ({ message_id }) => message_id)) yield* rows.map(convert);
}
