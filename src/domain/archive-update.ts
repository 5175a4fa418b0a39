import { Problem } from '../problem.ts';
import type { Queries, Writing } from '../store/database.ts';
import * as accountSql from '../store/statements/accounts.ts';
import * as contactSql from '../store/statements/contacts.ts';
import * as inboxSql from '../store/statements/inbox.ts';
import * as outboxSql from '../store/statements/outbox.ts';
import { addCredentials } from './accounts.ts';
import { type AccountArchive, type ArchiveRows, reserveArchiveIds, withAccount } from './archive-rows.ts';
import type { InboxMessage } from './inbox.ts';
import { heldParts } from './outbox.ts';
import { addMissingTemplates } from './templates.ts';

/**
 * Adds an archive to an account that exists: what it has by the same id is changed, nothing is removed.
 * Credits, password, state, networks and old user_ids stay as they are. Runs in a transaction of the account.
 */
export async function updateAccount(
  queries: Writing,
  account: bigint,
  archive: AccountArchive,
  rows: ArchiveRows,
): Promise<void> {
  const { contactName, contactSurname, company, email, tel, fax, mobile, address, region } = archive.account;
  const details = { contactName, contactSurname, company, email, tel, fax, mobile, address, region };
  await queries.run(accountSql.setDetails, { account, ...details });
  await addCredentials(queries, account, archive.credentials);
  await queries.runAll(contactSql.putGroup, withAccount(account, rows.groups));
  await checkGroups(
    archive,
    async (group) => (await queries.first(contactSql.group, { account, group })) !== undefined,
  );
  await queries.runAll(contactSql.putContact, withAccount(account, rows.contacts));
  await addMissingTemplates(queries, account, archive.templates);
  await queries.runAll(contactSql.block, withAccount(account, rows.blocked));
  await putReceived(queries, account, rows.received);
  await queries.runAll(outboxSql.putSent, withAccount(account, rows.sent));
  await putScheduled(queries, account, rows.scheduled);
  await reserveArchiveIds(queries, account, rows);
}

/** Throws where a contact is in a group that is neither in the archive nor in the account. */
export async function checkGroups(
  { groups, contacts }: AccountArchive,
  isInAccount: (group: bigint) => Promise<boolean> = async () => false,
): Promise<void> {
  const known = new Set(groups.map(({ id }) => BigInt(id)));
  for (const { id, groupId } of contacts) {
    if (groupId === null || known.has(groupId)) continue;
    if (!(await isInAccount(groupId))) {
      throw new Problem('bad-argument', `the contact ${id} is in group ${groupId}, which does not exist`);
    }
    known.add(groupId);
  }
}

// Ids of one statement.
const CHUNK = 1_000;

function* chunksOf<T>(rows: readonly T[]): Generator<readonly T[]> {
  for (let start = 0; start < rows.length; start += CHUNK) yield rows.slice(start, start + CHUNK);
}

const idsOf = (rows: readonly { id: bigint }[]): string => `[${rows.map(({ id }) => id).join()}]`;

/** A message that was read here stays read: no client gets it a second time. */
async function putReceived(queries: Writing, account: bigint, rows: ArchiveRows['received']): Promise<void> {
  const generation = Number((await queries.first(inboxSql.currentGeneration, { account }))?.generation ?? 0n);
  for (const chunk of chunksOf(rows)) {
    const ids = idsOf(chunk);
    const present = await queries.all(inboxSql.receivedAmong, { account, ids });
    const readHere = new Set(present.filter((row) => row.is_unread === null).map((row) => row.message_id));
    const unread = chunk.filter(({ id, read }) => !read && !readHere.has(id));
    await queries.run(inboxSql.deleteReceivedAmong, { account, ids });
    await addReceived(queries, account, generation, chunk, unread);
  }
}

/** Of these messages `unread` are unread. */
export async function addReceived(
  queries: Writing,
  account: bigint,
  generation: number,
  messages: readonly InboxMessage[],
  unread: readonly InboxMessage[],
): Promise<void> {
  const received = messages.map(({ read, ...message }) => ({ account, ...message, generation }));
  await queries.runAll(inboxSql.addReceived, received);
  const unreadRows = unread.map(({ id, receivedAt }) => ({ account, id, receivedAt, generation }));
  await queries.runAll(inboxSql.addUnread, unreadRows);
}

/** The account pays for the parts that are held in addition, and gets back those that are not held any more. */
async function putScheduled(queries: Writing, account: bigint, rows: ArchiveRows['scheduled']): Promise<void> {
  let parts = 0n;
  for (const chunk of chunksOf(rows)) {
    parts -= heldParts(await queries.all(outboxSql.deleteScheduledOf, { account, ids: idsOf(chunk) }));
    for (const row of chunk) parts += BigInt(row.heldParts);
    await queries.runAll(outboxSql.addScheduled, withAccount(account, chunk));
  }
  if (parts < 0n) await queries.run(accountSql.returnCredits, { account, parts: -parts });
  if (parts > 0n) await takeCredits(queries, account, parts);
}

async function takeCredits(queries: Queries, account: bigint, parts: bigint): Promise<void> {
  if ((await queries.run(accountSql.takeCredits, { account, parts })) > 0) return;
  throw new Problem('bad-argument', `the account has fewer than the ${parts} credits that its scheduled messages hold`);
}
