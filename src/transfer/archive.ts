import {
  accountNamed,
  addAccount,
  allAccounts,
  effectiveRegion,
  findAccountNamed,
  type StoredAccount,
} from '../domain/accounts/accounts.ts';
import { openHeld } from '../domain/accounts/ledger.ts';
import { credentialsOf } from '../domain/accounts/user-ids.ts';
import { addBlocked, allBlocked } from '../domain/contacts/blacklist.ts';
import { addContacts, allContacts } from '../domain/contacts/contacts.ts';
import { addGroups, allGroups } from '../domain/contacts/groups.ts';
import { addTemplates, allTemplates } from '../domain/contacts/templates.ts';
import { addReceived, allReceived, type InboxMessage } from '../domain/messages/received.ts';
import { addScheduled, allScheduled, type ScheduledMessage } from '../domain/messages/scheduled.ts';
import { addSent, allSent, type SentMessage } from '../domain/messages/sent.ts';
import type { Database, Queries } from '../store/database.ts';
import { type AccountArchive, archiveRows, reserveArchiveIds } from './archive-rows.ts';
import { checkGroups, updateAccount } from './archive-update.ts';

/**
 * An account as it is exported. Its messages come in pages, because an inbox can be larger than
 * memory.
 */
export interface AccountReading extends Omit<AccountArchive, 'received' | 'sent' | 'scheduled'> {
  readonly received: AsyncIterable<InboxMessage>;
  readonly sent: AsyncIterable<SentMessage>;
  readonly scheduled: AsyncIterable<ScheduledMessage>;
}

export type { AccountArchive };
export type Archive = ReturnType<typeof createArchive>;

export function createArchive(database: Database, now: () => number, defaultRegion: string | null) {
  return {
    /** Loads the whole account or nothing. */
    load: (archive: AccountArchive): Promise<void> => load(database, archive),

    /**
     * Adds to the account of this username: rows are added or changed by id, never removed. Loads
     * the account if it does not exist.
     */
    update: (archive: AccountArchive): Promise<'added' | 'updated'> =>
      update(database, archive, { at: now(), region: effectiveRegion(archive.account, defaultRegion) }),

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

async function update(
  database: Database,
  archive: AccountArchive,
  seen: { readonly at: number; readonly region: string | null },
): Promise<'added' | 'updated'> {
  const found = await findAccountNamed(database, archive.account.username);
  if (!found) {
    await checkGroups(archive);
    await load(database, archive);
    return 'added';
  }
  const account = found.id;
  const rows = archiveRows(archive);
  await database.transaction(account, (queries) => updateAccount(queries, account, archive, rows, seen));
  return 'updated';
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
