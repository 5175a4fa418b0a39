import { Problem } from '../base/problem.ts';
import { setDetails } from '../domain/accounts/accounts.ts';
import { balancesOf, move, type NewMovement } from '../domain/accounts/ledger.ts';
import { addCredentials } from '../domain/accounts/user-ids.ts';
import { putBlocked } from '../domain/contacts/blacklist.ts';
import { putContacts } from '../domain/contacts/contacts.ts';
import { isGroup, putGroups } from '../domain/contacts/groups.ts';
import { addTemplates } from '../domain/contacts/templates.ts';
import { addReceived, currentGeneration, deleteReceivedAmong, receivedAmong } from '../domain/messages/received.ts';
import { addScheduled, deleteScheduledAmong } from '../domain/messages/scheduled.ts';
import { putSent } from '../domain/messages/sent.ts';
import { endAllFor } from '../domain/sending/opt-out.ts';
import { sameNumber } from '../sms/numbers.ts';
import type { TransactionQueries } from '../store/database.ts';
import { type AccountArchive, type ArchiveRows, reserveArchiveIds } from './archive-rows.ts';

/**
 * Adds an archive to an existing account. Rows with the same id are changed. No row is removed.
 * Credits, password, state, networks and old user_ids stay as they are. A new entry of the
 * blacklist ends what waits for its number. Runs in a transaction of the account.
 */
export async function updateAccount(
  queries: TransactionQueries,
  account: bigint,
  archive: AccountArchive,
  rows: ArchiveRows,
  { at, region }: { readonly at: number; readonly region: string | null },
): Promise<void> {
  await setDetails(queries, account, archive.account);
  await addCredentials(queries, account, archive.credentials);
  await putGroups(queries, account, rows.groups);
  await checkGroups(archive, (group) => isGroup(queries, account, group));
  await putContacts(queries, account, rows.contacts);
  await addTemplates(queries, account, archive.templates);
  for (const entry of rows.blocked) {
    const isNew = await putBlocked(queries, account, entry);
    if (isNew) await endAllFor({ queries, account, at }, sameNumber(entry.number, region));
  }
  await putReceived(queries, account, rows.received);
  await putSent(queries, account, rows.sent);
  await putScheduled(queries, account, rows.scheduled);
  await reserveArchiveIds(queries, account, rows);
}

/** Throws if a contact is in a group that is neither in the archive nor in the account. */
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
  await move(queries, account, at, movements);
}

function holding(messageId: bigint, parts: bigint): NewMovement[] {
  if (parts === 0n) return [];
  const words = { messageId, reason: 'import' };
  return parts > 0n
    ? [{ kind: 'hold', from: 'free', to: 'held', amount: parts, ...words }]
    : [{ kind: 'release', from: 'held', to: 'free', amount: -parts, ...words }];
}

const tooFew = (parts: bigint): Problem =>
  new Problem('bad-argument', `the account has fewer than the ${parts} credits that its scheduled messages hold`);
