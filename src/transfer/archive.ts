import { Problem } from '../base/problem.ts';
import {
  type Account,
  accountNamed,
  addAccount,
  allAccounts,
  effectiveRegion,
  findAccountNamed,
  type StoredAccount,
  setDetails,
} from '../domain/accounts/accounts.ts';
import { reserveIds } from '../domain/accounts/ids.ts';
import { balancesOf, move, type NewMovement, openHeld } from '../domain/accounts/ledger.ts';
import { addCredentials, type Credential, credentialsOf } from '../domain/accounts/user-ids.ts';
import { addBlocked, allBlocked, type BlockedNumber, putBlocked, withNumberKey } from '../domain/contacts/blacklist.ts';
import { addContacts, allContacts, type Contact, putContacts, withKey } from '../domain/contacts/contacts.ts';
import { addGroups, allGroups, type ContactGroup, isGroup, putGroups } from '../domain/contacts/groups.ts';
import { addTemplates, allTemplates } from '../domain/contacts/templates.ts';
import {
  addReceived,
  allReceived,
  currentGeneration,
  deleteReceivedAmong,
  type InboxMessage,
  receivedAmong,
} from '../domain/messages/received.ts';
import {
  addScheduled,
  allScheduled,
  deleteScheduledAmong,
  type ScheduledMessage,
} from '../domain/messages/scheduled.ts';
import { addSent, allSent, putSent, type SentMessage } from '../domain/messages/sent.ts';
import { endAllFor } from '../domain/sending/opt-out.ts';
import { sameNumber, writtenKey } from '../sms/numbers.ts';
import { partsOf } from '../sms/parts.ts';
import type { Database, Queries, Transaction, TransactionQueries } from '../store/database.ts';

/** A whole account, for moving it to another installation. */
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

/**
 * An account as it is exported. Its messages come in pages, because an inbox can be larger than
 * memory.
 */
export interface AccountReading extends Omit<AccountArchive, 'received' | 'sent' | 'scheduled'> {
  readonly received: AsyncIterable<InboxMessage>;
  readonly sent: AsyncIterable<SentMessage>;
  readonly scheduled: AsyncIterable<ScheduledMessage>;
}

export type Archive = ReturnType<typeof createArchive>;

export function createArchive(database: Database, now: () => number, defaultRegion: string | null) {
  return {
    /** Loads the whole account or nothing. */
    load: (archive: AccountArchive): Promise<void> => load(database, archive),

    /**
     * Adds to the account of this username: rows are added or changed by id, never removed. Loads
     * the account if it does not exist.
     */
    async update(archive: AccountArchive): Promise<'added' | 'updated'> {
      const found = await findAccountNamed(database, archive.account.username);
      if (!found) {
        await checkGroups(archive);
        await load(database, archive);
        return 'added';
      }
      const account = found.id;
      const rows = archiveRows(archive);
      const at = now();
      const region = effectiveRegion(archive.account, defaultRegion);
      await database.transaction(account, (queries) => updateAccount({ queries, account, at }, archive, rows, region));
      return 'updated';
    },

    /** Reads all accounts, or the named one, in one snapshot, ordered by username. */
    read: (username: string | null, take: (reading: AccountReading) => Promise<void>): Promise<number> =>
      database.snapshot(async (queries) => {
        let count = 0;
        const accounts = username === null ? allAccounts(queries) : [await accountNamed(queries, username)];
        for await (const account of accounts) {
          await take(await reading(queries, account));
          count += 1;
        }
        return count;
      }),
  };
}

async function load(database: Database, archive: AccountArchive): Promise<void> {
  const rows = archiveRows(archive);
  await database.transaction(null, async (queries) => {
    const account = await addAccount(queries, archive.account, archive.credentials);
    await addGroups(queries, account, rows.groups);
    await addContacts(queries, account, rows.contacts);
    await addTemplates(queries, account, archive.templates);
    await addBlocked(queries, account, rows.blocked);
    await addReceived(queries, account, 0, rows.received);
    await addSent(queries, account, rows.sent);
    await addScheduled(queries, account, rows.scheduled);
    const held = rows.scheduled.reduce((sum, { heldParts }) => sum + heldParts, 0);
    await openHeld(queries, account, archive.account.createdAt, BigInt(held));
    await reserveArchiveIds(queries, account, rows);
  });
}

async function reading(queries: Queries, stored: StoredAccount): Promise<AccountReading> {
  const account = stored.id;
  return {
    account: stored,
    credentials: await credentialsOf(queries, account),
    groups: await allGroups(queries, account),
    contacts: await allContacts(queries, account),
    templates: await allTemplates(queries, account),
    blocked: await allBlocked(queries, account),
    received: allReceived(queries, account),
    sent: allSent(queries, account),
    scheduled: allScheduled(queries, account),
  };
}

type ArchiveRows = ReturnType<typeof archiveRows>;

/**
 * Converts an archive to rows, before the transaction: other calls may wait for the transaction.
 */
function archiveRows({ groups, contacts, blocked, received, sent, scheduled }: AccountArchive) {
  const keyOf = (number: string | null) => (number === null ? null : writtenKey(number));
  return {
    groups,
    contacts: contacts.map(withKey),
    blocked: blocked.map(withNumberKey),
    received,
    sent,
    scheduled: scheduled.map((message) => ({
      ...message,
      key: keyOf(message.recipient),
      heldParts: partsOf(message.text ?? ''),
    })),
  };
}

/** Moves the id counters above the ids of the archive. */
async function reserveArchiveIds(queries: Queries, account: bigint, rows: ArchiveRows): Promise<void> {
  const idOf = ({ id }: { id: bigint }) => id;
  const groupIds = rows.groups.map(({ id }) => BigInt(id));
  const messageIds = [...rows.received.map(idOf), ...rows.sent.map(idOf), ...rows.scheduled.map(idOf)];
  await reserveIds(queries, account, 'group', groupIds);
  await reserveIds(queries, account, 'contact', rows.contacts.map(idOf));
  await reserveIds(queries, account, 'message', messageIds);
}

/**
 * Adds an archive to an existing account. Rows with the same id are changed. No row is removed.
 * Credits, password, state, networks and old user_ids stay as they are. A new entry of the
 * blacklist ends what waits for its number. Runs in a transaction of the account.
 */
async function updateAccount(
  transaction: Transaction<bigint>,
  archive: AccountArchive,
  rows: ArchiveRows,
  region: string | null,
): Promise<void> {
  const { queries, account } = transaction;
  await setDetails(queries, account, archive.account);
  await addCredentials(queries, account, archive.credentials);
  await putGroups(queries, account, rows.groups);
  await checkGroups(archive, (group) => isGroup(queries, account, group));
  await putContacts(queries, account, rows.contacts);
  await addTemplates(queries, account, archive.templates);
  for (const entry of rows.blocked) {
    const isNew = await putBlocked(queries, account, entry);
    if (isNew) await endAllFor(transaction, sameNumber(entry.number, region));
  }
  await putReceived(queries, account, rows.received);
  await putSent(queries, account, rows.sent);
  await putScheduled(queries, account, rows.scheduled);
  await reserveArchiveIds(queries, account, rows);
}

/** Throws if a contact is in a group that is neither in the archive nor in the account. */
async function checkGroups(
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

// The largest number of ids in one statement.
const CHUNK = 1_000;

function* chunksOf<T>(rows: readonly T[]): Generator<readonly T[]> {
  for (let start = 0; start < rows.length; start += CHUNK) yield rows.slice(start, start + CHUNK);
}

const idsOf = (rows: readonly { id: bigint }[]): bigint[] => rows.map(({ id }) => id);

/** A message that is read in the account stays read, so that no client gets it twice. */
async function putReceived(queries: TransactionQueries, account: bigint, rows: ArchiveRows['received']): Promise<void> {
  const generation = await currentGeneration(queries, account);
  for (const chunk of chunksOf(rows)) {
    const ids = idsOf(chunk);
    const present = await receivedAmong(queries, account, ids);
    const readHere = new Set(present.filter(({ read }) => read).map(({ id }) => id));
    await deleteReceivedAmong(queries, account, ids);
    const messages = chunk.map((each) => ({ ...each, read: each.read || readHere.has(each.id) }));
    await addReceived(queries, account, generation, messages);
  }
}

/**
 * Holds credits for added parts and releases those of removed parts. The movements have the date of
 * the newest of these messages.
 */
async function putScheduled(
  queries: TransactionQueries,
  account: bigint,
  rows: ArchiveRows['scheduled'],
): Promise<void> {
  const at = rows.reduce((newest, { createdAt }) => Math.max(newest, createdAt), 0);
  const movements: NewMovement[] = [];
  for (const chunk of chunksOf(rows)) {
    const replaced = await deleteScheduledAmong(queries, account, idsOf(chunk));
    const before = new Map(replaced.map(({ message_id, held_parts }) => [message_id, held_parts]));
    for (const { id, heldParts } of chunk) movements.push(...holding(id, BigInt(heldParts) - (before.get(id) ?? 0n)));
    await addScheduled(queries, account, chunk);
  }
  if (movements.length === 0) return;
  const { free } = await balancesOf(queries, account);
  const parts = movements.reduce((sum, { kind, amount }) => sum + (kind === 'hold' ? amount : -amount), 0n);
  if (parts > 0n && parts > free) throw tooFew(parts);
  await move({ queries, account, at }, movements);
}

function holding(messageId: bigint, parts: bigint): NewMovement[] {
  if (parts === 0n) return [];
  const words = { messageId, reason: 'import' };
  return parts > 0n
    ? [{ kind: 'hold', from: 'free', to: 'held', amount: parts, ...words }]
    : [{ kind: 'release', from: 'held', to: 'free', amount: -parts, ...words }];
}

const tooFew = (parts: bigint): Problem =>
  new Problem('bad-argument', `the account has fewer than the ${parts} credits that its scheduled messages need`);
