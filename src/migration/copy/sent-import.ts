import { conflict } from '../../base/problem.ts';
import { snapshotOf, takeIds } from '../../domain/accounts/ids.ts';
import { addSent, type SentMessage, sentAmong } from '../../domain/messages/sent.ts';
import { numberKey } from '../../sms/numbers.ts';
import type { Database, Queries, TransactionQueries } from '../../store/database.ts';
import { elementsOf, recordsOf } from '../../store/json.ts';
import { copyProgress, deletedHere, MESSAGE_ID_GAP, noteCopiedIds } from '../stages/migrated-accounts.ts';
import * as sql from './messages.sql.ts';

/**
 * Sent messages from a file, joined with those that are here. No credits move, no event is emitted,
 * and each is stored as marked: clients do not get statuses of years ago as new ones.
 *
 * Ids: the id of a row is the old server's, and stays. A message that has it is not added again. A
 * row without an id gets one of Columba's own, which are above those of the old server. It is not
 * added where a message with its number, text and time is here. An id above the copied ones is
 * taken only while Columba has given none of its own, so neither server gives it once more.
 */
export interface SentRow extends Omit<SentMessage, 'id' | 'marked' | 'recipient' | 'text'> {
  readonly id: bigint | null;
  readonly recipient: string;
  readonly text: string;
  /** The file says no more of `sentAt` than which second or minute it was: milliseconds. */
  readonly unit: number;
}
/** deleted: a client deleted it in Columba, so it does not come back. */
export type SentOutcome = 'added' | 'known' | 'deleted' | { readonly refused: string };

export interface SentImport {
  readonly account: bigint;
  readonly username: string;
  readonly region: string | null;
  readonly at: number;
  readonly dryRun: boolean;
}

/** Outcomes in the order of the rows. Call it with some hundred rows: it is one transaction. */
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
      if (scheduled.has(id)) return refused(`the message with the id ${id} is scheduled here`);
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

/** Other contents show a wrong column or a wrong zone. The status here may be a later one. */
function difference(
  row: SentRow,
  found: Pick<SentMessage, 'recipient' | 'text' | 'sentAt'>,
  region: string | null,
): SentOutcome {
  const { id } = row;
  if (found.recipient === null || numberKey(found.recipient, region) !== numberKey(row.recipient, region))
    return refused(`the message with the id ${id} has another number here`);
  if (plain(found.text) !== plain(row.text)) return refused(`the message with the id ${id} has another text here`);
  if (Math.floor(found.sentAt / row.unit) !== Math.floor(row.sentAt / row.unit))
    return refused(
      `the message with the id ${id} was sent at ${instant(found.sentAt)} here, and at ${instant(row.sentAt)} in the file`,
    );
  return 'known';
}

/** Why an id cannot be kept; null where it can. */
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

/** A later copy would bring the message once more, with its id. */
async function timeRule(queries: Queries, { account, username }: SentImport): Promise<(row: SentRow) => string | null> {
  const progress = await copyProgress(queries, account);
  if (!progress) return () => null;
  const { completedAt, syncedAt } = progress;
  if (completedAt === null)
    throw conflict(`The import of ${username} from the old server has not ended. Run it first.`);
  const copiedAt = Math.max(completedAt, syncedAt ?? 0);
  return ({ sentAt }) =>
    sentAt > copiedAt
      ? `it has no id and was sent after the last copy from the old server at ${instant(copiedAt)}: run the import first`
      : null;
}

/** Exports write line ends and spaces at the ends in several ways. */
const plain = (text: string | null): string => (text ?? '').replace(/\r\n?/g, '\n').trim();

const contentKey = (
  { recipient, text, sentAt }: Pick<SentMessage, 'recipient' | 'text' | 'sentAt'>,
  unit: number,
  region: string | null,
): string => `${unit} ${Math.floor(sentAt / unit)} ${numberKey(recipient ?? '', region)} ${plain(text)}`;

/** The messages that are here from the seconds or minutes of rows without an id. */
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
