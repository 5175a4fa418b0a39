import type { ReceivedMessage } from '../domain/inbox.ts';
import { copyReceived, copySent, missingReceived } from '../domain/message-copy.ts';
import { deletedHere, takenMessages } from '../domain/migrated-accounts.ts';
import { type CopyDependencies, windowsOf } from './copy-account.ts';
import { countUnread, type OldAccount, readCounts, readSent } from './old-account.ts';
import { CLOCK_MARGIN_MS, readUnread } from './old-inbox.ts';

/**
 * Of an account that Columba answers alone, only what comes late to the old server is copied. That
 * is received messages, and sent ones with their statuses. Its balance, contacts, templates,
 * schedule and marks are those of Columba.
 */
export interface LateTarget {
  readonly account: bigint;
  readonly username: string;
  readonly askedAt: number;
  /** Received messages from this time on. */
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
  // Asked last: one that arrives in between is unread, and is not taken for a read one.
  const unread = await readUnread(from, (await readCounts(from)).unread);
  const isListWhole = (await countUnread(from)) <= unread.ids.size;
  const known = isListWhole ? late : late.filter(({ id }) => unread.ids.has(id));
  const received = (await copyReceived(database, context, known, unread.ids)).length;
  const there = (await readSent(from)).messages;
  const wanted = there.filter(({ id }) => !deleted.has('sent', id) && (taken.get(id) ?? 'gone') === 'gone');
  return { received, sent: await copySent(database, context, wanted, false) };
}
