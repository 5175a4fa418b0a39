import { counted } from '../../base/counted.ts';
import type { ReceivedMessage } from '../../domain/messages/received.ts';
import type { RawDataSet } from './answer-dataset.ts';
import type { ValueRecord } from './answer-values.ts';
import { CopyProblem, type OldAccount, read, readGrowing, readRows, showsColumn, toReceived } from './old-account.ts';

/**
 * Reads the received messages of an account of the old server. Read returns those of a time window,
 * up to a cap. A window whose answer is full is halved.
 */
export interface InboxWindow {
  readonly messages: readonly ReceivedMessage[];
  /** All windows up to this time have been read. */
  readonly until: number;
}

// Earlier than the first message of any such service.
export const FIRST_INSTANT = Date.parse('1990-01-01T00:00:00Z');
// The clock of the old server may be ahead, and its zone may differ.
export const CLOCK_MARGIN_MS = 2 * 86_400_000;
const ASKED_MAX = 1_000;
// Halves overlap, because it is not known whether the ends belong to a window. Below 2 s they share
// one end.
const OVERLAP_MS = 1_000;
const HALF_MIN_MS = 2_000;
const WINDOW_MIN_MS = 4;
const CALLS_MIN = 300;
const CALLS_A_MESSAGE = 20;

/** Yields windows in the order of time. `largest` is called with the largest number of rows. */
export async function* readWindows(
  from: OldAccount,
  start: number,
  end: number,
  cap: number,
  largest: (count: number) => void = () => {},
): AsyncGenerator<InboxWindow> {
  const name = 'inbox.Read';
  const pending: [number, number][] = [[start, end]];
  let found = 0;
  let calls = 0;
  for (let next = pending.pop(); next; next = pending.pop()) {
    if (++calls > CALLS_MIN + CALLS_A_MESSAGE * found) throw tooManyCalls(calls - 1, found);
    const [first, last] = next;
    const asked = Math.min(ASKED_MAX, cap);
    const rows = await readRows(from, name, { from: first, to: last, max_count: asked });
    largest(rows.length);
    if (rows.length >= asked && last - first > WINDOW_MIN_MS) {
      pending.push(...halvesOf(rows, first, last));
      continue;
    }
    found += rows.length;
    yield { messages: rows.map((row) => toReceived(row, name)), until: last };
  }
}

const tooManyCalls = (calls: number, found: number): CopyProblem =>
  new CopyProblem(
    `Read was called ${counted(calls, 'time')} for ${counted(found, 'message')}, because its answers seem to end at a cap. ` +
      'Name the cap of inbox.Read in the caps of the dialect.',
  );

/** Returns the later half first. The median divides them, so that not both are full again. */
function halvesOf(rows: readonly ValueRecord[], first: number, last: number): [number, number][] {
  const times = rows.map((row) => Number(row.timestamp)).sort((one, other) => one - other);
  const median = times[Math.floor(times.length / 2)] ?? Number.NaN;
  if (last - first > 2 * HALF_MIN_MS) {
    const middle = Math.min(Math.max(median, first + HALF_MIN_MS), last - HALF_MIN_MS);
    return [
      [middle - OVERLAP_MS, last],
      [first, middle + OVERLAP_MS],
    ];
  }
  const isInside = median - first > WINDOW_MIN_MS / 2 && last - median > WINDOW_MIN_MS / 2;
  const middle = isInside ? median : Math.floor((first + last) / 2);
  return [
    [middle, last],
    [first, middle],
  ];
}

/** The unread messages: their ids, and the messages themselves if Unread returned them. */
export interface UnreadList {
  readonly ids: ReadonlySet<bigint>;
  readonly messages: readonly ReceivedMessage[];
}

/**
 * Asks Unread, unless it marks the messages that it returns, or returns too few. Then InboxDS is
 * asked, if it has a column for it.
 */
export async function readUnread(from: OldAccount, expected: number): Promise<UnreadList> {
  if (expected === 0) return { ids: new Set(), messages: [] };
  const name = 'inbox.Unread';
  if (from.effects[name] !== 'marks') {
    const { rows } = await readGrowing(from, name, 'max_count', expected);
    const messages = rows.map((row) => toReceived(row, name));
    if (messages.length >= expected) return { ids: new Set(messages.map(({ id }) => id)), messages };
  }
  return unreadOfDataSet(from, expected);
}

async function unreadOfDataSet(from: OldAccount, expected: number): Promise<UnreadList> {
  const name = 'inbox.InboxDS';
  if (from.effects[name] === 'marks' || !showsColumn(from.dialect, name, 'read')) throw cannotTell(expected);
  const all = await readInboxDataSet(from);
  const unread = all.filter(({ isRead }) => !isRead).map(({ message }) => message);
  if (unread.length < expected) throw cannotTell(expected);
  return { ids: new Set(unread.map(({ id }) => id)), messages: unread };
}

const cannotTell = (expected: number): CopyProblem =>
  new CopyProblem(
    `${counted(expected, 'message is', 'messages are')} unread, and it cannot be seen which without marking them: Unread marks or returns fewer, ` +
      'and InboxDS has no column that is mapped to "read".',
  );

export async function readInboxDataSet(from: OldAccount): Promise<{ message: ReceivedMessage; isRead: boolean }[]> {
  const name = 'inbox.InboxDS';
  const probe = (await read(from, name, { max_count: 1 })).raw as RawDataSet;
  if (!showsColumn(from.dialect, name, 'read', probe))
    throw new CopyProblem('InboxDS does not show which messages are read.');
  const { rows } = await readGrowing(from, name, 'max_count');
  return rows.map((row) => ({ message: toReceived(row, name), isRead: row.read === true }));
}
