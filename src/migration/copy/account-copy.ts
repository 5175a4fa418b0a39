import { conflict } from '../../base/problem.ts';
import { type Account, addAccount, findAccountNamed, setProfile } from '../../domain/accounts/accounts.ts';
import { snapshotOf } from '../../domain/accounts/ids.ts';
import { balancesOf, move, type NewMovement, type Side } from '../../domain/accounts/ledger.ts';
import { accountOfUserId, addCredentials, type Credential } from '../../domain/accounts/user-ids.ts';
import { allContacts, type Contact, deleteContacts, putContacts, withKey } from '../../domain/contacts/contacts.ts';
import { allGroups, deleteGroups, putGroups } from '../../domain/contacts/groups.ts';
import { allTemplates, replaceTemplates } from '../../domain/contacts/templates.ts';
import type { Database, Queries, TransactionQueries } from '../../store/database.ts';
import type { AccountArchive } from '../../transfer/archive.ts';
import {
  beginCopy,
  copyProgress,
  type HighestIds,
  noteCopiedIds,
  reserveFirstIds,
} from '../stages/migrated-accounts.ts';

/**
 * An account as an old server shows it. Copying makes the account here equal: rows are added,
 * changed and removed, but rows that were made here stay.
 */
export interface CopiedAccount extends Pick<AccountArchive, 'groups' | 'contacts' | 'templates'> {
  readonly account: Account;
  readonly credential: Credential;
}

export interface CopyTarget {
  readonly account: bigint;
  readonly isNew: boolean;
}

/** The number of the last write that Columba took for the old server too. */
export const lastWriteOf = (queries: Queries, account: bigint): Promise<bigint> =>
  snapshotOf(queries, account, 'write');

/**
 * Finds the account by its user_id, then by its username, and otherwise creates it. `lastWrite` is
 * the last write of its clients before the old server was asked: see lastWriteOf. Throws if there
 * is a later write, which the copy may lack.
 */
export async function copyAccount(
  database: Database,
  copied: CopiedAccount,
  at: number,
  lastWrite?: bigint,
): Promise<CopyTarget> {
  const { account: profile, credential } = copied;
  const found = await targetOf(database, profile.username, credential.hash);
  if (found === null) {
    const account = await database.transaction(null, async (queries) => {
      const id = await addAccount(queries, profile, [credential]);
      await beginCopy(queries, id, at);
      await copyRows(queries, id, copied, { message: 0n, contact: 0n, group: 0n });
      return id;
    });
    return { account, isNew: true };
  }
  await database.transaction(found, async (queries) => {
    if (lastWrite !== undefined && (await lastWriteOf(queries, found)) !== lastWrite) {
      throw conflict('Clients changed something meanwhile. Run the command again.');
    }
    const { highest } = (await copyProgress(queries, found)) ?? {};
    await addCredentials(queries, found, [credential]);
    await setProfile(queries, found, profile);
    await setCredits(queries, found, profile, at);
    await copyRows(queries, found, copied, highest ?? { message: 0n, contact: 0n, group: 0n });
  });
  return { account: found, isNew: false };
}

async function targetOf(database: Database, username: string, hash: string): Promise<bigint | null> {
  const known = await accountOfUserId(database, hash);
  const named = (await findAccountNamed(database, username))?.id ?? null;
  const found = known ?? named;
  if (found === null) return null;
  if (known !== null && named !== known) {
    throw conflict(`username: the user_id belongs to another account of Columba than ${username}`);
  }
  if (!(await copyProgress(database, found))) {
    throw conflict(
      `username: the account ${username} was created in Columba, and not by an import from the old server`,
    );
  }
  return found;
}

const REASON = 'import';

/** Sets both balances as the old server shows them, by movements. */
async function setCredits(
  queries: TransactionQueries,
  account: bigint,
  { credits, usedCredits }: Account,
  at: number,
): Promise<void> {
  const found = await balancesOf(queries, account);
  const movements = [...adjusting('free', credits - found.free), ...adjusting('used', usedCredits - found.used)];
  if (movements.length > 0) await move({ queries, account, at }, movements, found);
}

/** A movement between the operator and a side; none for 0. */
export function adjusting(side: Side, amount: bigint, messageId?: bigint): NewMovement[] {
  if (amount === 0n) return [];
  const words = messageId === undefined ? { reason: REASON } : { messageId, reason: REASON };
  return amount > 0n
    ? [{ kind: 'adjust', from: 'operator', to: side, amount, ...words }]
    : [{ kind: 'adjust', from: side, to: 'operator', amount: -amount, ...words }];
}

async function copyRows(
  queries: TransactionQueries,
  account: bigint,
  copied: CopiedAccount,
  highest: HighestIds,
): Promise<void> {
  const { groups, contacts } = copied;
  const groupsHere = new Map((await allGroups(queries, account)).map((each) => [each.id, each]));
  const contactsHere = new Map((await allContacts(queries, account)).map((each) => [each.id, each]));
  const newGroups = groups.filter(({ id, name }) => groupsHere.get(id)?.name !== name || !groupsHere.has(id));
  await putGroups(queries, account, newGroups);
  const changed = contacts.filter((each) => !isSameContact(each, contactsHere.get(each.id)));
  await putContacts(queries, account, changed.map(withKey));
  const goneContacts = gone(
    [...contactsHere.keys()],
    contacts.map(({ id }) => id),
    highest.contact,
  );
  if (goneContacts.length > 0) await deleteContacts(queries, account, goneContacts);
  const idOf = ({ id }: { readonly id: number }) => BigInt(id);
  const goneGroups = gone([...groupsHere.values()].map(idOf), groups.map(idOf), highest.group);
  // A group with contacts that were made here stays.
  const inUse = new Set((await allContacts(queries, account)).map(({ groupId }) => groupId));
  const emptied = goneGroups.filter((group) => !inUse.has(group));
  if (emptied.length > 0) await deleteGroups(queries, account, emptied);
  await copyTemplates(queries, account, copied.templates);
  await reserveFirstIds(queries, account);
  await noteCopiedIds(queries, account, { contacts: changed.map(({ id }) => id), groups: newGroups.map(idOf) });
}

const isSameContact = (one: Contact, other: Contact | undefined): boolean =>
  other !== undefined &&
  one.name === other.name &&
  one.surname === other.surname &&
  one.mobile === other.mobile &&
  one.groupId === other.groupId;

function gone(here: readonly bigint[], there: readonly bigint[], highest: bigint): bigint[] {
  const kept = new Set(there);
  return here.filter((id) => id <= highest && !kept.has(id));
}

/** Templates are in the order of saving, so another order is another list. */
async function copyTemplates(queries: TransactionQueries, account: bigint, texts: readonly string[]): Promise<void> {
  const here = await allTemplates(queries, account);
  if (here.length === texts.length && here.every((text, index) => text === texts[index])) return;
  await replaceTemplates(queries, account, texts);
}
