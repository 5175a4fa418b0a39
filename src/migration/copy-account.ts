import type { Dialect } from '../contract/dialect.ts';
import {
  type CopyContext,
  copiedReceived,
  copyReadStates,
  copyReceived,
  receivedCounts,
  removeReceived,
} from '../domain/message-copy.ts';
import { type CopyProgress, type ReadEffects, setInboxUntil } from '../domain/migrated-accounts.ts';
import type { MigrationDatabase } from './database.ts';
import { CopyProblem, type InboxCounts, type OldAccount, readCounts } from './old-account.ts';
import { CLOCK_MARGIN_MS, FIRST_INSTANT, readInboxDataSet, readUnread, readWindows } from './old-inbox.ts';
import type { OldServer } from './old-server.ts';

/** What every copy from the old server works with. */
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
  /** Whether both counts are the same here and there. */
  readonly fits: boolean;
}

// A message may arrive during each pass. A third pass finds that nothing fits.
const PASSES_MAX = 3;
// Windows of an interrupted copy are read again from this much before its end.
const RESUME_MARGIN_MS = 3_600_000;

export interface InboxPlan {
  /** Received messages from this time on; earlier ones only where the counts do not fit. */
  readonly start: number;
  readonly passesMax?: number;
  /** Whether unread messages there become unread here, whatever was here before. */
  readonly mayUnmark: boolean;
  readonly progress?: (added: number) => void;
}

/** Copies received messages until both counts fit. */
export async function copyInbox(
  { database, now }: CopyDependencies,
  from: OldAccount,
  target: { readonly account: bigint; readonly username: string },
  { start, passesMax = PASSES_MAX, mayUnmark, progress = () => {} }: InboxPlan,
): Promise<InboxCopy> {
  const { account } = target;
  const added = new Set<bigint>();
  let cap = from.dialect.caps?.['inbox.Read'] ?? Number.POSITIVE_INFINITY;
  let first = start;
  for (let pass = 1; ; pass++) {
    const context: CopyContext = { ...target, askedAt: now() };
    const before = first <= FIRST_INSTANT ? await copiedReceived(database, account) : null;
    const seen = new Set<bigint>();
    let largest = 0;
    for await (const { messages, until } of windowsOf(from, first, now() + CLOCK_MARGIN_MS, cap, (count) => {
      largest = Math.max(largest, count);
    })) {
      for (const { id } of messages) seen.add(id);
      for (const id of await copyReceived(database, context, messages, null)) added.add(id);
      progress(added.size);
      await setInboxUntil(database, account, Math.min(until, context.askedAt) - RESUME_MARGIN_MS);
    }
    const expected = await readCounts(from);
    const unread = await readUnread(from, expected.unread);
    for (const id of await copyReceived(database, context, unread.messages, unread.ids)) added.add(id);
    await copyReadStates(database, account, unread.ids, (id) => mayUnmark || added.has(id));
    if (before) {
      const gone = [...before].filter((id) => !seen.has(id) && !unread.ids.has(id));
      await removeReceived(database, account, gone);
    }
    const counts = await readCounts(from);
    const here = await receivedCounts(database, account);
    const fits = here.read === counts.read && here.unread === counts.unread;
    if (fits || pass >= passesMax) return { added: added.size, counts, fits };
    // Where the server has a cap that nobody named, the fullest window shows it.
    if (first <= FIRST_INSTANT && largest > 0) cap = Math.min(cap, largest);
    first = FIRST_INSTANT;
  }
}

/** By Read; where it marks, the whole inbox by InboxDS. */
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
