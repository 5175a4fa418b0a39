import type { Dialect } from '../../asmx/dialect/dialect.ts';
import type { ReceivedMessage } from '../../domain/messages/received.ts';
import { CopyProblem, countUnread, type InboxCounts, type OldAccount, readCounts } from '../old-server/old-account.ts';
import { CLOCK_MARGIN_MS, FIRST_INSTANT, readInboxDataSet, readUnread, readWindows } from '../old-server/old-inbox.ts';
import type { SentList } from '../old-server/old-sent.ts';
import type { OldServer } from '../old-server/old-server.ts';
import { type CopyProgress, type ReadEffects, setInboxUntil } from '../stages/migrated-accounts.ts';
import type { MigrationDatabase } from './database.ts';
import {
  type CopyContext,
  copiedReceived,
  copyMarks,
  copyReceived,
  copySent,
  copyUnread,
  marksHere,
  missingReceived,
  receivedCounts,
  removeGoneSent,
  removeReceived,
} from './message-copy.ts';

/** The dependencies of every copy from the old server. */
export interface CopyDependencies {
  readonly database: MigrationDatabase;
  readonly old: OldServer;
  readonly dialect: Dialect;
  readonly effects: ReadEffects;
  readonly now: () => number;
}

export interface InboxCopy {
  readonly added: number;
  readonly counts: InboxCounts;
  /** Whether both counts are the same on both servers. */
  readonly fits: boolean;
}

// A message may arrive during each pass. If the third pass does not fit, no other would.
const PASSES_MAX = 3;
// Windows of an interrupted copy are read again from this much before its end.
const RESUME_MARGIN_MS = 3_600_000;
// No server returns fewer rows at once. A smaller cap would take a call for every message.
const GUESSED_CAP_MIN = 5;

export interface InboxPlan {
  /** Messages are read from this time on; earlier ones only if the counts do not fit. */
  readonly start: number;
  readonly passesMax?: number;
  /**
   * Whether the account was copied before. Then clients may read it here, so a message is written
   * only when it is known whether it is unread.
   */
  readonly isComplete: boolean;
  /**
   * Whether Columba answers clients. Then a mark that only Columba has came from them and stays.
   */
  readonly isLed: boolean;
  readonly progress?: (added: number) => void;
}

/** Copies received messages until both counts fit. */
export async function copyInbox(
  dependencies: CopyDependencies,
  from: OldAccount,
  target: CopyTarget,
  { start, passesMax = PASSES_MAX, isComplete, isLed, progress = () => {} }: InboxPlan,
): Promise<InboxCopy> {
  let added = 0;
  let cap = from.dialect.caps?.['inbox.Read'] ?? Number.POSITIVE_INFINITY;
  let first = start;
  let earlier = '';
  for (let pass = 1; ; pass++) {
    const tell = (more: number) => progress(added + more);
    const found = await copyPass(dependencies, from, target, { first, cap, isComplete, isLed, tell });
    added += found.added;
    const { counts, here } = found;
    const fits = here.read === counts.read && here.unread === counts.unread;
    const isFromFirst = first <= FIRST_INSTANT;
    // If another pass over the whole inbox found the same, a third one would not fit either.
    const result = JSON.stringify([counts, here]);
    if (fits || pass >= passesMax || (isFromFirst && result === earlier)) return { added, counts, fits };
    if (isFromFirst) earlier = result;
    if (isFromFirst && !found.isWhole) cap = guessedCap(cap, found.largest);
    first = FIRST_INSTANT;
  }
}
export type CopyTarget = Pick<CopyContext, 'account' | 'username'>;

/** If the server has a cap that is not in the dialect, the fullest window reveals it. */
export const guessedCap = (cap: number, largest: number): number =>
  largest < GUESSED_CAP_MIN ? cap : Math.min(cap, largest);

interface PassPlan {
  readonly first: number;
  readonly cap: number;
  readonly isComplete: boolean;
  readonly isLed: boolean;
  readonly tell: (added: number) => void;
}

/** Reads the windows of time, then which messages are unread, and writes both. */
async function copyPass(
  { database, now }: CopyDependencies,
  from: OldAccount,
  target: CopyTarget,
  { first, cap, isComplete, isLed, tell }: PassPlan,
) {
  const { account } = target;
  const context: CopyContext = { ...target, askedAt: now() };
  const marks = await marksHere(database, account);
  const before = first <= FIRST_INSTANT ? await copiedReceived(database, account) : new Set<bigint>();
  const seen = new Set<bigint>();
  const missing: ReceivedMessage[] = [];
  let added = 0;
  let largest = 0;
  for await (const { messages, until } of windowsOf(from, first, now() + CLOCK_MARGIN_MS, cap, (count) => {
    largest = Math.max(largest, count);
    tell(added + missing.length);
  })) {
    for (const { id } of messages) seen.add(id);
    if (isComplete) missing.push(...(await missingReceived(database, account, messages)));
    else {
      added += (await copyReceived(database, context, messages, null)).length;
      await setInboxUntil(database, account, Math.min(until, context.askedAt) - RESUME_MARGIN_MS);
    }
  }
  const counts = await readCounts(from);
  const unread = await readUnread(from, counts.unread);
  for (const id of unread.ids) seen.add(id);
  const readThere = missing.filter(({ id }) => !unread.ids.has(id));
  const stale = [...marks.unread].filter((id) => !unread.ids.has(id));
  // If more messages arrived than the server returns at once, the list lacks some unread ones.
  const isListWhole = readThere.length + stale.length === 0 || (await countUnread(from)) <= unread.ids.size;
  const arrived = isListWhole ? [...readThere, ...unread.messages] : unread.messages;
  added += (await copyReceived(database, context, arrived, unread.ids)).length;
  if (!isLed) await copyUnread(database, account, unread.ids, marks);
  if (isListWhole) await copyMarks(database, account, stale);
  const isWhole = seen.size >= counts.read + counts.unread;
  // If not everything could be read, a message that was not seen may still be there.
  const gone = isWhole ? [...before].filter((id) => !seen.has(id)) : [];
  await removeReceived(database, account, gone);
  const here = await receivedCounts(database, account);
  const isSame = here.read === counts.read && here.unread === counts.unread;
  return { added, largest, isWhole, here, counts: isSame ? counts : await readCounts(from) };
}

/** Copies all sent messages. Messages that a whole list lacks are removed here. */
export async function copyAllSent(
  database: MigrationDatabase,
  context: CopyContext,
  list: SentList,
): Promise<{ readonly added: number; readonly count: number; readonly isCapped: boolean }> {
  const { taken, count, isCapped } = await list.read((batches) => copySent(database, context, batches));
  if (!isCapped) await removeGoneSent(database, context.account, taken);
  return { added: taken.added, count, isCapped };
}

/** Reads windows of time by Read, or the whole inbox by InboxDS if Read marks messages. */
export async function* windowsOf(
  from: OldAccount,
  start: number,
  end: number,
  cap: number,
  largest: (count: number) => void,
): ReturnType<typeof readWindows> {
  if (from.effects['inbox.Read'] !== 'marks') {
    yield* readWindows(from, start, end, cap, largest);
    return;
  }
  if (from.effects['inbox.InboxDS'] === 'marks') {
    throw new CopyProblem('Read and InboxDS mark what they return, so no message can be copied without marking it.');
  }
  yield { messages: (await readInboxDataSet(from)).map(({ message }) => message), until: end };
}

/** Where the next copy of the inbox starts. */
export function inboxStart(progress: CopyProgress | null, since: number | null): number {
  if (progress === null || (progress.completedAt === null && progress.inboxUntil === null)) return FIRST_INSTANT;
  const known = progress.completedAt === null ? progress.inboxUntil : progress.syncedAt;
  return Math.max(FIRST_INSTANT, since ?? (known ?? FIRST_INSTANT) - CLOCK_MARGIN_MS);
}
