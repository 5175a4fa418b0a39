import type { ReceivedMessage } from '../../domain/messages/received.ts';
import type { SentMessage } from '../../domain/messages/sent.ts';
import { countUnread, type OldAccount, readCounts, readScheduled } from '../old-server/old-account.ts';
import { CLOCK_MARGIN_MS, readUnread } from '../old-server/old-inbox.ts';
import { openSent } from '../old-server/old-sent.ts';
import { copyProgress, deletedHere, takenMessages } from '../stages/migrated-accounts.ts';
import { type CopyDependencies, windowsOf } from './copy-account.ts';
import type { MigrationDatabase } from './database.ts';
import { copyReceived, copySent, missingReceived, removeGoneScheduled, scheduledHere } from './message-copy.ts';

/**
 * For an account that Columba answers alone, only what comes late to the old server is copied:
 * received messages, and sent messages with their statuses. Scheduled messages that were not taken
 * over are removed here when the old server has sent them. Balance, contacts, templates and marks
 * are those of Columba.
 */
export interface LateTarget {
  readonly account: bigint;
  readonly username: string;
  readonly askedAt: number;
  /** Received messages are read from this time on. */
  readonly start: number;
  /** Since when the old server is not told of deletes. */
  readonly aloneSince: number;
}

export async function copyLate(
  { database, now }: CopyDependencies,
  from: OldAccount,
  { start, aloneSince, ...context }: LateTarget,
): Promise<{ readonly received: number; readonly sent: number }> {
  const deleted = await deletedHere(database, context.username, context.askedAt, aloneSince);
  const taken = await takenMessages(database, context.account);
  const cap = from.dialect.caps?.['inbox.Read'] ?? Number.POSITIVE_INFINITY;
  const late: ReceivedMessage[] = [];
  for await (const { messages } of windowsOf(from, start, now() + CLOCK_MARGIN_MS, cap, () => {})) {
    const missing = await missingReceived(database, context.account, messages);
    const wanted = missing.filter(({ id, receivedAt }) => {
      return receivedAt >= start && !deleted.has('inbox', id) && receivedAt > deleted.inboxEmptiedAt;
    });
    late.push(...wanted);
  }
  // The unread list is asked for last, so that a message that arrives meanwhile counts as unread.
  const unread = await readUnread(from, (await readCounts(from)).unread);
  const isListWhole = (await countUnread(from)) <= unread.ids.size;
  const known = isListWhole ? late : late.filter(({ id }) => unread.ids.has(id));
  const received = (await copyReceived(database, context, known, unread.ids)).length;
  await removeSentSchedule(database, from, context);
  const isWanted = ({ id }: SentMessage) => !deleted.has('sent', id) && (taken.get(id) ?? 'gone') === 'gone';
  const list = await openSent(from);
  const { taken: copied } = await list.read((batches) => copySent(database, context, filtered(batches, isWanted)));
  return { received, sent: copied.added };
}

async function* filtered<T>(batches: AsyncIterable<readonly T[]>, isWanted: (item: T) => boolean) {
  for await (const batch of batches) yield batch.filter(isWanted);
}

/** Removes scheduled messages that were not taken over, and that the old server has sent by now. */
async function removeSentSchedule(
  database: MigrationDatabase,
  from: OldAccount,
  { account, askedAt }: Pick<LateTarget, 'account' | 'askedAt'>,
): Promise<void> {
  const highest = (await copyProgress(database, account))?.highest.message ?? 0n;
  const taken = await takenMessages(database, account);
  const isOpen = (id: bigint) => id <= highest && (taken.get(id) ?? 'gone') === 'gone';
  const held = [...(await scheduledHere(database, account))].flatMap(([id, { is_active }]) =>
    is_active === 0n && isOpen(id) ? [id] : [],
  );
  if (held.length === 0) return;
  const { messages, isCapped } = await readScheduled(from);
  const there = new Set(messages.map(({ id }) => id));
  const gone = isCapped ? [] : held.filter((id) => !there.has(id));
  if (gone.length > 0) await removeGoneScheduled(database, account, gone, askedAt);
}
