import type { Dialect } from '../../asmx/dialect/dialect.ts';
import type { ReceivedMessage } from '../../domain/messages/received.ts';
import type { ScheduledMessage } from '../../domain/messages/scheduled.ts';
import type { ReadEffects } from '../stages/migrated-accounts.ts';
import { operationOf } from './answer.ts';
import type { RawDataSet } from './answer-dataset.ts';
import type { Failure } from './answer-rows.ts';
import type { ValueRecord } from './answer-values.ts';
import type { OldServer } from './old-server.ts';

/** One account of the old server, read by its own operations. Nothing here writes. */
export interface OldAccount {
  readonly old: OldServer;
  readonly userId: string;
  readonly dialect: Dialect;
  /** Which reads mark the messages that they return; those are never called. */
  readonly effects: ReadEffects;
}

/** The account cannot be copied, or only in part. The message is for the operator. */
export class CopyProblem extends Error {}

/** The old server answered a read with a fault. */
export class OldFault extends CopyProblem {}

/** After a fault before anything of an account was read, most often the user_id is wrong. */
export const refusedInWords = (thrown: Error, username: string | null): string =>
  thrown instanceof OldFault && username === null
    ? `The old server refused the user_id, so nothing was read. ${thrown.message}`
    : thrown.message;

/** Status words without a meaning in the dialect, each with its count. */
export class UnknownWords extends CopyProblem {
  readonly words: ReadonlyMap<string, number>;

  constructor(words: ReadonlyMap<string, number>) {
    const told = [...words].map(([word, count]) => `${JSON.stringify(word)} (${count})`).join(', ');
    super(`Status words that the dialect does not have: ${told}. Add them to statusWords.`);
    this.words = words;
  }
}

/** Calls a reading operation. A fault or an answer that cannot be read ends the copy. */
export async function read(
  { old, userId, dialect, effects }: OldAccount,
  name: string,
  args: Readonly<Record<string, unknown>> = {},
): Promise<{ value: unknown; raw: unknown }> {
  const [group = '', operation = ''] = name.split('.');
  if (dialect.missing?.includes(name)) return lackingResult(name);
  if (effects[name] === 'marks') throw marks(name);
  const { result } = await old.call(group, operation, { user_id: userId, ...args });
  if (result.kind !== 'value') throw failed(name, result);
  return result;
}

const marks = (name: string): CopyProblem => new CopyProblem(`${name} marks what it returns, so it is not called.`);
const failed = (name: string, result: Failure): CopyProblem =>
  result.kind === 'fault'
    ? new OldFault(`${name} ended with a fault: ${result.code}. ${result.text}`)
    : new CopyProblem(`The answer of ${name} cannot be read: ${result.reason}`);

/** Reads the rows of a list as they arrive. `take` may be called again: see OldServer. */
export async function takeRows<T>(
  { old, userId, dialect, effects }: OldAccount,
  name: string,
  args: Readonly<Record<string, unknown>>,
  take: (batches: AsyncIterable<readonly ValueRecord[]>) => Promise<T>,
): Promise<T> {
  const [group = '', operation = ''] = name.split('.');
  if (dialect.missing?.includes(name)) return take((async function* () {})());
  if (effects[name] === 'marks') throw marks(name);
  const result = await old.rows(group, operation, { user_id: userId, ...args }, take);
  if (result.kind !== 'value') throw failed(name, result);
  return result.value;
}

/** If the old server lacks an operation, its list counts as empty. */
function lackingResult(name: string): { value: unknown; raw: unknown } {
  const [group = '', operation = ''] = name.split('.');
  const kind = operationOf(group, operation)?.result.kind;
  if (kind === 'list' || kind === 'dataSet') return { value: [], raw: [] };
  throw new CopyProblem(`The old server lacks ${name}, as the dialect says, and this command needs it.`);
}

export const readRows = async (
  from: OldAccount,
  name: string,
  args: Readonly<Record<string, unknown>> = {},
): Promise<readonly ValueRecord[]> => (await read(from, name, args)).value as readonly ValueRecord[];

export interface InboxCounts {
  readonly read: number;
  readonly unread: number;
}
export async function readCounts(from: OldAccount): Promise<InboxCounts> {
  const unread = await countUnread(from);
  return { read: Number((await read(from, 'inbox.CountRead')).value), unread };
}

export const countUnread = async (from: OldAccount): Promise<number> =>
  Number((await read(from, 'inbox.CountUnread')).value);

/** Throws CopyProblem if a field that the copy needs is missing. */
export function needed<T>(row: ValueRecord, name: string, operation: string): T {
  const value = row[name];
  if (value === null || value === undefined) {
    throw new CopyProblem(`${operation} shows no ${name}. Map its column in the dialect, or it cannot be copied.`);
  }
  return value as T;
}
export const text = (row: ValueRecord, name: string): string | null => (row[name] as string | null | undefined) ?? null;

export const toReceived = (row: ValueRecord, operation: string): ReceivedMessage => ({
  id: needed<bigint>(row, 'id', operation),
  sender: text(row, 'sender'),
  text: text(row, 'message'),
  shortCode: text(row, 'short_code'),
  receivedAt: needed<number>(row, 'timestamp', operation),
});

/** A list that was requested with larger and larger limits, because no operation counts it. */
export interface GrownList {
  readonly rows: readonly ValueRecord[];
  /** Whether the server returned as many rows as it ever does, so that more may exist. */
  readonly isCapped: boolean;
}

export const FIRST_MAX = 1_000;
export const LAST_MAX = 1_000_000;

/** `expected` is the number of rows that a count has shown. */
export async function readGrowing(
  from: OldAccount,
  name: string,
  argument: 'max' | 'max_count',
  expected = Number.POSITIVE_INFINITY,
): Promise<GrownList> {
  const cap = from.dialect.caps?.[name];
  for (let max = FIRST_MAX; ; max = LAST_MAX) {
    const rows = await readRows(from, name, { [argument]: max });
    if (rows.length >= expected) return { rows, isCapped: false };
    if (cap !== undefined && rows.length >= cap) return { rows, isCapped: true };
    // A server that returns fewer rows than requested returns no more for a larger limit.
    if (rows.length < max) return { rows, isCapped: false };
    if (max === LAST_MAX) return { rows, isCapped: true };
  }
}

async function readOnce(
  from: OldAccount,
  name: string,
  argument: 'max' | 'max_count',
  max: number,
): Promise<GrownList> {
  const rows = await readRows(from, name, { [argument]: max });
  return { rows, isCapped: rows.length >= Math.min(max, from.dialect.caps?.[name] ?? max) };
}

export interface ScheduledList {
  readonly messages: readonly ScheduledMessage[];
  readonly isCapped: boolean;
}

/** With `max`, it reads at most that many messages in one call. */
export async function readScheduled(from: OldAccount, max?: number): Promise<ScheduledList> {
  const name = 'compose.FetchScheduledDS';
  const { rows, isCapped } =
    max === undefined ? await readGrowing(from, name, 'max') : await readOnce(from, name, 'max', max);
  const messages = rows.map((row) => {
    const scheduledAt = needed<number>(row, 'timestamp_scheduled', name);
    return {
      id: needed<bigint>(row, 'id', name),
      reference: text(row, 'user_message_id'),
      recipient: text(row, 'recipient'),
      text: text(row, 'message'),
      scheduledAt,
      createdAt: (row.timestamp_created as number | null) ?? scheduledAt,
    };
  });
  return { messages, isCapped };
}

/** Whether the DataSet of an operation has a column that shows our field. */
export function showsColumn(dialect: Dialect, operation: string, field: string, raw?: RawDataSet): boolean {
  const columns = dialect.columns?.[operation];
  if (columns) return columns.some(({ from }) => from === field);
  return raw === undefined || raw.columns.some(({ name }) => name === field);
}
