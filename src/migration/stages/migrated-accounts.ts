import { findAccountNamed } from '../../domain/accounts/accounts.ts';
import { reserveIds } from '../../domain/accounts/ids.ts';
import { pages } from '../../store/cursor.ts';
import type { Database, Queries, TransactionQueries } from '../../store/database.ts';
import * as sql from './migrated-accounts.sql.ts';
import { countWritesOf } from './traffic.sql.ts';

/** The progress of copies of accounts, and what was taken over from the schedule. */
export interface CopyProgress {
  readonly startedAt: number;
  /** When the whole account was here for the first time; null during the first copy. */
  readonly completedAt: number | null;
  readonly syncedAt: number | null;
  readonly inboxUntil: number | null;
  /** The highest copied ids. Rows above them were made here. */
  readonly highest: HighestIds;
}
export interface HighestIds {
  readonly message: bigint;
  readonly contact: bigint;
  readonly group: bigint;
}

export async function copyProgress(queries: Queries, account: bigint): Promise<CopyProgress | null> {
  const row = await queries.first(sql.progress, { account });
  if (!row) return null;
  const {
    highestMessage: message,
    highestContact: contact,
    highestGroup: group,
    ...times
  } = sql.migratedColumns.read(row);
  return { ...times, highest: { message, contact, group } };
}

/** Call it in the transaction that creates the account. */
export const beginCopy = (queries: TransactionQueries, account: bigint, at: number): Promise<number> =>
  queries.run(sql.begin, { account, at });

export const accountIdNamed = async (queries: Queries, username: string): Promise<bigint | null> =>
  (await findAccountNamed(queries, username))?.id ?? null;

/** The number of writes of clients that one of the servers does not have yet. */
export const writesWaiting = async (queries: Queries, account: bigint): Promise<number> =>
  Number((await queries.first(countWritesOf, { account }))?.total ?? 0n);

export const setInboxUntil = async (database: Database, account: bigint, until: number | null): Promise<void> =>
  void (await database.run(sql.setInboxUntil, { account, until }));
export const setCopyCompleted = async (database: Database, account: bigint, at: number): Promise<void> =>
  void (await database.run(sql.setCompleted, { account, at }));
export const setCopySynced = async (database: Database, account: bigint, at: number): Promise<void> =>
  void (await database.run(sql.setSynced, { account, at }));

/** New ids of this installation start this far above the copied ones. Contact ids have 32 bits. */
export const MESSAGE_ID_GAP = 1_000_000n;
const CONTACT_ID_GAP = 10_000n;

/**
 * Reserves ids even if the old server has no rows yet, because its later rows get the first ids.
 */
export async function reserveFirstIds(queries: TransactionQueries, account: bigint): Promise<void> {
  await reserveIds(queries, account, 'message', [MESSAGE_ID_GAP]);
  await reserveIds(queries, account, 'contact', [CONTACT_ID_GAP]);
  await reserveIds(queries, account, 'group', [CONTACT_ID_GAP]);
}

/** Call it in the transaction that adds the rows. */
export async function noteCopiedIds(queries: TransactionQueries, account: bigint, ids: CopiedIds): Promise<void> {
  const { messages = [], contacts = [], groups = [] } = ids;
  if (messages.length + contacts.length + groups.length === 0) return;
  const highest = (list: readonly bigint[]): bigint => list.reduce((most, id) => (id > most ? id : most), 0n);
  const [message, contact, group] = [highest(messages), highest(contacts), highest(groups)];
  await queries.run(sql.raiseHighest, { account, message, contact, group });
  const withGap = (list: readonly bigint[], gap: bigint) => list.flatMap((id) => [id, id + gap]);
  await reserveIds(queries, account, 'message', withGap(messages, MESSAGE_ID_GAP));
  await reserveIds(queries, account, 'contact', withGap(contacts, CONTACT_ID_GAP));
  await reserveIds(queries, account, 'group', withGap(groups, CONTACT_ID_GAP));
}
export interface CopiedIds {
  readonly messages?: readonly bigint[];
  readonly contacts?: readonly bigint[];
  readonly groups?: readonly bigint[];
}

/** What an operation does to the messages that it returns. */
export type ReadEffect = 'marks' | 'leaves' | 'untested';
/** The effects by operation, such as `inbox.Unread`. */
export type ReadEffects = Readonly<Record<string, ReadEffect>>;

export async function readEffects(database: Database, url: string): Promise<ReadEffects> {
  const row = await database.first(sql.server, { url });
  return row ? (JSON.parse(row.reads_mark) as ReadEffects) : {};
}
export const storeReadEffects = async (
  database: Database,
  url: string,
  effects: ReadEffects,
  at: number,
): Promise<void> => void (await database.run(sql.putServer, { url, readsMark: JSON.stringify(effects), at }));

/**
 * `asked`: the old server was told to delete the message, and no answer is recorded. `deleted`: it
 * answered true. `activated`: the message is sent from here. `gone`: it was not there any more.
 * `refused`: it cannot be sent.
 */
const TAKE_OVER_STATES = ['asked', 'deleted', 'activated', 'gone', 'refused'] as const;
export type TakeOverState = (typeof TAKE_OVER_STATES)[number];

const PAGE = 1_000;

export async function takenMessages(queries: Queries, account: bigint): Promise<Map<bigint, TakeOverState>> {
  const found = new Map<bigint, TakeOverState>();
  const page = (from: bigint) => queries.all(sql.taken, { account, from, limit: PAGE });
  for await (const rows of pages(PAGE, page, ({ message_id }) => message_id)) {
    for (const { message_id, state } of rows) found.set(message_id, state as TakeOverState);
  }
  return found;
}
export const noteTaken = async (
  database: Queries,
  account: bigint,
  id: bigint,
  state: TakeOverState,
  at: number,
): Promise<void> => void (await database.run(sql.putTaken, { account, id, state, at }));

/** What clients deleted here, which must not come back with a list of the old server. */
export interface DeletedHere {
  has(kind: 'inbox' | 'sent' | 'compose', id: bigint): boolean;
  /** Whether a whole list was emptied since the old server was asked. */
  hasAll(kind: 'inbox' | 'compose'): boolean;
  /** When the inbox was emptied for the last time; 0 if it was not. */
  readonly inboxEmptiedAt: number;
}

// The most deletes that are read. If there are more in an hour, the next copy removes the rest.
const DELETIONS_MAX = 10_000;
// The old server is told of a delete within this time.
const DELETED_FOR_MS = 3_600_000;

export async function deletedHere(
  queries: Queries,
  username: string,
  askedAt: number,
  since = askedAt - DELETED_FOR_MS,
): Promise<DeletedHere> {
  const rows = await queries.all(sql.deletions, { name: username, since, limit: DELETIONS_MAX });
  const groupOf = (action: string): string => action.split('.', 1)[0] as string;
  const found = new Set(rows.map(({ action, target }) => `${groupOf(action)} ${target}`));
  const emptied = rows.filter(({ target }) => target === 'all');
  return {
    has: (kind, id) => found.has(`${kind} ${id}`),
    hasAll: (kind) => emptied.some(({ action, at }) => Number(at) >= askedAt && groupOf(action) === kind),
    inboxEmptiedAt: Number(emptied.find(({ action }) => groupOf(action) === 'inbox')?.at ?? 0n),
  };
}
