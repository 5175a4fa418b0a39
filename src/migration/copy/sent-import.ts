import { conflict } from '../../base/problem.ts';
import { snapshotOf, takeIds } from '../../domain/accounts/ids.ts';
import { addSent, type SentMessage, sentAmong } from '../../domain/messages/sent.ts';
import { numberKey } from '../../sms/numbers.ts';
import type { Database, Queries, TransactionQueries } from '../../store/database.ts';
import { elementsOf, recordsOf } from '../../store/json.ts';
import { copyProgress, deletedHere, MESSAGE_ID_GAP, noteCopiedIds } from '../stages/migrated-accounts.ts';
import * as sql from './messages.sql.ts';

/**
 * Merges sent messages from a file with those that are here. No credits move, no event is emitted,
 * and each message is stored as marked, so that clients do not get statuses of years ago as new.
 *
 * A row keeps the id that the old server gave it, and a message with that id is not added again. A
 * row without an id gets one of Columba's own ids, which are above those of the old server, unless
 * a message with its number, text and time is here. An id above the copied ones is taken only while
 * Columba has given none of its own, so that neither server gives it once more.
 */
export interface SentRow extends Omit<SentMessage, 'id' | 'marked' | 'recipient' | 'text'> {
  readonly id: bigint | null;
  readonly recipient: string;
  readonly text: string;
  /** The precision of `sentAt` in milliseconds: a file may tell only the second or the minute. */
  readonly unit: number;
}
/** `deleted`: a client deleted the message in Columba, so it does not come back. */
export type SentOutcome = 'added' | 'known' | 'deleted' | { readonly refused: string };

export interface SentImport {
  readonly account: bigint;
  readonly username: string;
  readonly region: string | null;
  readonly at: number;
  readonly dryRun: boolean;
}

/** Returns outcomes in the order of the rows. It is one transaction, so give some hundred rows. */
export function importSent(
  database: Database,
  target: SentImport,
  rows: readonly SentRow[],
): Promise<readonly SentOutcome[]> {
  if (target.dryRun) return database.snapshot(async (queries) => (await plan(queries, target, rows)).outcomes);
  return database.transaction(target.account, async (queries) => {
    const { outcomes, add } = await plan(queries, target, rows);
    await addAll(queries, target.account, add);
    return outcomes;
  });
}

interface Plan {
  readonly outcomes: readonly SentOutcome[];
  readonly add: readonly SentRow[];
}

async function plan(queries: Queries, target: SentImport, rows: readonly SentRow[]): Promise<Plan> {
  const { account, username, at } = target;
  const ids = rows.flatMap(({ id }) => (id === null ? [] : [id]));
  const here = new Map<bigint, Pick<SentMessage, 'recipient' | 'text' | 'sentAt'>>(
    (await sentAmong(queries, account, ids)).map((each) => [each.id, each]),
  );
  const scheduled = new Set(
    (await queries.all(sql.scheduledAmong, { account, ids: elementsOf(ids) })).map(({ message_id }) => message_id),
  );
  const deleted = await deletedHere(queries, username, at, 0);
  const idRefusal = await idRule(queries, account);
  const timeRefusal = await timeRule(queries, target);
  const contents = await contentsHere(queries, target, rows);
  const add: SentRow[] = [];
  const outcomeOf = (row: SentRow): SentOutcome => {
    if (row.sentAt > at) return refused(`the time ${instant(row.sentAt)} is in the future`);
    const { id } = row;
    if (id === null) {
      const key = contentKey(row, row.unit, target.region);
      if (contents.has(key)) return 'known';
      const reason = timeRefusal(row);
      if (reason !== null) return refused(reason);
      contents.add(key);
    } else {
      const found = here.get(id);
      if (found) return difference(row, found, target.region);
      if (deleted.has('sent', id)) return 'deleted';
      if (scheduled.has(id)) return refused(`the message with the id ${id} is scheduled in Columba`);
      const reason = idRefusal(id);
      if (reason !== null) return refused(reason);
      here.set(id, row);
    }
    add.push(row);
    return 'added';
  };
  return { outcomes: rows.map(outcomeOf), add };
}

const refused = (reason: string): SentOutcome => ({ refused: reason });
const instant = (at: number): string => new Date(at).toISOString();

/** Different contents reveal a wrong column or a wrong zone. The status here may be a later one. */
function difference(
  row: SentRow,
  found: Pick<SentMessage, 'recipient' | 'text' | 'sentAt'>,
  region: string | null,
): SentOutcome {
  const { id } = row;
  if (found.recipient === null || numberKey(found.recipient, region) !== numberKey(row.recipient, region))
    return refused(`the message with the id ${id} has another number in Columba`);
  if (plain(found.text) !== plain(row.text))
    return refused(`the message with the id ${id} has another text in Columba`);
  if (Math.floor(found.sentAt / row.unit) !== Math.floor(row.sentAt / row.unit))
    return refused(
      `the message with the id ${id} was sent at ${instant(found.sentAt)} in Columba, and at ${instant(row.sentAt)} in the file`,
    );
  return 'known';
}

/** Tells why an id cannot be kept; null if it can be. */
async function idRule(queries: Queries, account: bigint): Promise<(id: bigint) => string | null> {
  const progress = await copyProgress(queries, account);
  if (!progress) return () => null;
  const { message: highest } = progress.highest;
  const hasOwn = (await snapshotOf(queries, account, 'message')) > highest + MESSAGE_ID_GAP;
  return (id) =>
    id > highest && hasOwn
      ? `the id ${id} is above the highest copied one, ${highest}, and Columba has given ids of its own since`
      : null;
}

/** Refuses messages that a later copy would bring once more, with their ids. */
async function timeRule(queries: Queries, { account, username }: SentImport): Promise<(row: SentRow) => string | null> {
  const progress = await copyProgress(queries, account);
  if (!progress) return () => null;
  const { completedAt, syncedAt } = progress;
  if (completedAt === null)
    throw conflict(`The import of ${username} from the old server is not complete. Run it first.`);
  const copiedAt = Math.max(completedAt, syncedAt ?? 0);
  return ({ sentAt }) =>
    sentAt > copiedAt
      ? `it has no id and was sent after the last copy from the old server at ${instant(copiedAt)}: run the import first`
      : null;
}

/** Exports differ in line ends and in spaces at the ends, so these do not count. */
const plain = (text: string | null): string => (text ?? '').replace(/\r\n?/g, '\n').trim();

const contentKey = (
  { recipient, text, sentAt }: Pick<SentMessage, 'recipient' | 'text' | 'sentAt'>,
  unit: number,
  region: string | null,
): string => `${unit} ${Math.floor(sentAt / unit)} ${numberKey(recipient ?? '', region)} ${plain(text)}`;

/** Reads the messages here that were sent in the seconds or minutes of rows without an id. */
async function contentsHere(
  queries: Queries,
  { account, region }: SentImport,
  rows: readonly SentRow[],
): Promise<Set<string>> {
  const spans = new Map<string, [bigint, number, number]>();
  for (const { id, sentAt, unit } of rows) {
    const start = Math.floor(sentAt / unit) * unit;
    if (id === null) spans.set(`${start} ${unit}`, [account, start, start + unit]);
  }
  const units = new Set(rows.map(({ unit }) => unit));
  const found = await queries.all(sql.sentWithin, { account, spans: recordsOf([...spans.values()]) });
  return new Set(
    found.flatMap(({ recipient, text, sent_at }) =>
      [...units].map((unit) => contentKey({ recipient, text, sentAt: Number(sent_at) }, unit, region)),
    ),
  );
}

async function addAll(queries: TransactionQueries, account: bigint, rows: readonly SentRow[]): Promise<void> {
  const own = rows.filter(({ id }) => id === null).length;
  const kept = rows.flatMap(({ id }) => (id === null ? [] : [id]));
  await noteCopiedIds(queries, account, { messages: kept });
  let next = own === 0 ? 0n : await takeIds(queries, account, 'message', own);
  const messages = rows.map(({ unit: _, id, ...row }) => ({ ...row, id: id ?? next++, marked: true }));
  await addSent(queries, account, messages);
}
