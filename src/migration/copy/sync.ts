import { conflict, Problem } from '../../base/problem.ts';
import { type OldAccount, read, readScheduled } from '../old-server/old-account.ts';
import { readProfile } from '../old-server/old-profile.ts';
import { newestSent, openSent } from '../old-server/old-sent.ts';
import { cautiousEffects } from '../old-server/read-effects.ts';
import { copyProgress, setCopySynced } from '../stages/migrated-accounts.ts';
import { createMigrationStages } from '../stages/stages.ts';
import { copyAccount, lastWriteOf } from './account-copy.ts';
import { type CopyDependencies, copyAllSent, copyInbox } from './copy-account.ts';
import { testedEffects } from './import.ts';
import { copyScheduled, copySent, unmarkedCount } from './message-copy.ts';

/**
 * Copies what arrived at the old server since the last sync. It never marks or deletes there. Do
 * not call it while writes of the account wait for the old server, because its lists would be older
 * than the account here.
 */
export interface SyncedAccount {
  readonly account: bigint;
  readonly username: string;
  readonly userId: string;
}
export interface SyncOptions {
  /** Whether to copy profile, contacts, groups, templates and all sent messages too. */
  readonly everything?: boolean;
}
export interface SyncReport {
  /** New received, sent and scheduled messages. */
  readonly received: number;
  readonly sent: number;
  readonly scheduled: number;
  /** Calls to the old server. */
  readonly calls: number;
  /** Whether both counts of the inbox and the unmarked statuses are the same on both sides. */
  readonly fits: boolean;
}

// Clocks differ, and a message may appear later than its own time says.
const OVERLAP_MS = 10 * 60_000;
const NEWEST_SENT = 200;
const SCHEDULED_MAX = 10_000;

/** Throws OldServerBusy or OldServerUnreachable; the next round tries again. */
export async function syncAccount(
  dependencies: CopyDependencies,
  { account, username, userId }: SyncedAccount,
  { everything = false }: SyncOptions = {},
): Promise<SyncReport> {
  const { database, old, dialect, now } = dependencies;
  const callsBefore = old.requests;
  const progress = await copyProgress(database, account);
  if (progress?.completedAt == null)
    throw conflict(`The account ${username} is not copied yet. Run: columba migrate import`);
  const known = { old, userId, dialect, effects: await testedEffects(dependencies, userId) };
  const from: OldAccount = { ...known, effects: await cautiousEffects(known) };
  const { stage } = await createMigrationStages(database, now).of(username);
  const askedAt = now();
  const context = { account, username, askedAt };
  if (everything) await copyCurrent(dependencies, from, account);
  const inbox = await copyInbox(dependencies, from, context, {
    start: (progress.syncedAt ?? progress.completedAt) - OVERLAP_MS,
    passesMax: 2, // the second pass reads the whole inbox, if the counts do not fit
    isComplete: true,
    isLed: stage === 'lead' || stage === 'alone',
  });
  const schedule = await readScheduled(from, SCHEDULED_MAX);
  const scheduled = await copyScheduled(database, context, schedule.messages, !schedule.isCapped);
  const { added: sent, fits } = await syncSent(dependencies, from, context, everything);
  if (inbox.fits) await setCopySynced(database, account, askedAt);
  return {
    received: inbox.added,
    sent,
    scheduled,
    calls: old.requests - callsBefore,
    fits: inbox.fits && fits,
  };
}

/** Copies the newest sent messages; all of them if the numbers of unmarked statuses differ. */
async function syncSent(
  { database }: CopyDependencies,
  from: OldAccount,
  context: { account: bigint; username: string; askedAt: number },
  everything: boolean,
): Promise<{ added: number; fits: boolean }> {
  const isEqual = async () =>
    Number((await read(from, 'sent.CountUnMarkedDeliveryStatus')).value) ===
    (await unmarkedCount(database, context.account));
  let added = 0;
  if (!everything) {
    added = (await copySent(database, context, [await newestSent(from, NEWEST_SENT)])).added;
    if (await isEqual()) return { added, fits: true };
  }
  const all = await copyAllSent(database, context, await openSent(from));
  return { added: added + all.added, fits: all.isCapped || (await isEqual()) };
}

// Clients may write at any time, and a copy that lacks one of their writes is not taken.
const TRIES = 3;

/** Copies profile, contacts, groups and templates as they are after the last write of a client. */
async function copyCurrent({ database, now }: CopyDependencies, from: OldAccount, account: bigint): Promise<void> {
  for (let tried = 1; ; tried++) {
    const lastWrite = await lastWriteOf(database, account);
    const { copied } = await readProfile(from, now());
    try {
      return void (await copyAccount(database, copied, now(), lastWrite));
    } catch (thrown) {
      if (!(thrown instanceof Problem) || thrown.kind !== 'conflict' || tried === TRIES) throw thrown;
    }
  }
}
