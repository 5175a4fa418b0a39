import { Problem } from '../../base/problem.ts';
import {
  CopyProblem,
  type OldAccount,
  read,
  readCounts,
  readScheduled,
  refusedInWords,
  UnknownWords,
} from '../old-server/old-account.ts';
import { CLOCK_MARGIN_MS, FIRST_INSTANT, readUnread } from '../old-server/old-inbox.ts';
import { type OldProfile, readProfile, withPasswordHash } from '../old-server/old-profile.ts';
import { openSent } from '../old-server/old-sent.ts';
import { OldServerBusy, OldServerUnreachable } from '../old-server/old-server.ts';
import { cautiousEffects, isTested, testReadEffects } from '../old-server/read-effects.ts';
import {
  accountIdNamed,
  copyProgress,
  type ReadEffects,
  setCopyCompleted,
  storeReadEffects,
  writesWaiting,
} from '../stages/migrated-accounts.ts';
import { createMigrationStages } from '../stages/stages.ts';
import { type CopyTarget, copyAccount, lastWriteOf } from './account-copy.ts';
import { type CopyDependencies, copyAllSent, copyInbox, guessedCap, inboxStart, windowsOf } from './copy-account.ts';
import { copyLate } from './late-copy.ts';
import { copyScheduled, unmarkedCount } from './message-copy.ts';

/**
 * Copies accounts by the old server's own operations. It marks and deletes nothing there, except
 * the one message of the test whether reading marks messages. It can be repeated to bring accounts
 * up to date, and after a kill the next run continues.
 */
export interface ImportOptions {
  readonly dryRun?: boolean;
  /** For accounts that were copied before: read received messages from this time on. */
  readonly since?: number | null;
  readonly progress?: (progress: ImportProgress) => void;
}
export interface ImportProgress {
  readonly done: number;
  readonly total: number;
  readonly username: string | null;
  readonly received: number;
  /** Calls to the old server so far. */
  readonly calls: number;
}

/** The calls for a small account: profile, contacts, groups, templates, lists and counts. */
export const CALLS_OF_AN_ACCOUNT = 11;

/**
 * `copied`: the whole account is here, and the counts fit. `checked`: the same in a dry run.
 * `failed`: see `problem`. `late`: Columba answers alone, and what came late to the old server is
 * here. `left`: Columba leads, and writes wait for the old server.
 */
export interface AccountReport {
  /** The line of the file. The user_id itself is never shown. */
  readonly line: number;
  readonly username: string | null;
  readonly outcome: 'copied' | 'checked' | 'failed' | 'late' | 'left';
  readonly isNew: boolean;
  readonly groups: number;
  readonly contacts: number;
  readonly templates: number;
  readonly read: number;
  readonly unread: number;
  readonly sent: number;
  readonly scheduled: number;
  readonly hasPassword: boolean;
  readonly remarks: readonly string[];
  readonly problem: string | null;
}
export interface ImportReport {
  readonly accounts: readonly AccountReport[];
  /** Why the import ended before the last account; null if it did not. */
  readonly stopped: string | null;
  /** Whether the old server asked for a pause or did not answer: run it again later. */
  readonly isRetryable: boolean;
  readonly calls: number;
  /** Status words that the dialect does not have, with their counts. */
  readonly unknownWords: Readonly<Record<string, number>>;
  readonly readEffects: ReadEffects;
}

export interface ImportedUser {
  readonly line: number;
  readonly userId: string;
}

export async function importAccounts(
  dependencies: CopyDependencies,
  users: readonly ImportedUser[],
  { dryRun = false, since = null, progress = () => {} }: ImportOptions = {},
): Promise<ImportReport> {
  const { old } = dependencies;
  const accounts: AccountReport[] = [];
  let effects = dependencies.effects;
  const ended = (stopped: string | null, isRetryable = false, words: ReadonlyMap<string, number> = new Map()) => ({
    accounts,
    stopped,
    isRetryable,
    calls: old.requests,
    unknownWords: Object.fromEntries(words),
    readEffects: effects,
  });
  for (const [done, { line, userId }] of users.entries()) {
    let known: string | null = null;
    const told = (username: string | null, received = 0) => {
      known = username;
      progress({ done, total: users.length, username, received, calls: old.requests });
    };
    told(null);
    try {
      effects = await testedEffects({ ...dependencies, effects }, userId, !dryRun);
      const { dialect } = dependencies;
      const context = { ...dependencies, effects: await cautiousEffects({ old, userId, dialect, effects }) };
      accounts.push(await importAccount(context, { line, userId }, { dryRun, since, told }));
    } catch (thrown) {
      if (!(thrown instanceof Error)) throw thrown;
      if (thrown instanceof OldServerBusy || thrown instanceof OldServerUnreachable) {
        return ended(thrown.message, thrown instanceof OldServerBusy || thrown.isTemporary);
      }
      if (!(thrown instanceof CopyProblem) && !isRefusal(thrown)) throw thrown;
      accounts.push({ ...NOTHING, line, problem: refusedInWords(thrown, known) });
      if (thrown instanceof UnknownWords) return ended(thrown.message, false, thrown.words);
    }
  }
  return ended(null);
}

const isRefusal = (thrown: Error): boolean =>
  thrown instanceof Problem && (thrown.kind === 'bad-argument' || thrown.kind === 'conflict');

const NOTHING = {
  username: null,
  outcome: 'failed',
  isNew: false,
  groups: 0,
  contacts: 0,
  templates: 0,
  read: 0,
  unread: 0,
  sent: 0,
  scheduled: 0,
  hasPassword: false,
  remarks: [],
  problem: null,
} as const;

/** Stores the result at once, so that a test that marks a message is not made twice. */
export async function testedEffects(
  { database, old, dialect, now, effects }: CopyDependencies,
  userId: string,
  isStored = true,
): Promise<ReadEffects> {
  if (isTested(effects)) return effects;
  const tested = await testReadEffects({ old, userId, dialect, effects });
  if (isStored) await storeReadEffects(database, old.url, tested, now());
  return tested;
}

interface AccountPlan {
  readonly dryRun: boolean;
  readonly since: number | null;
  readonly told: (username: string | null, received?: number) => void;
}

async function importAccount(
  dependencies: CopyDependencies,
  { line, userId }: ImportedUser,
  { dryRun, since, told }: AccountPlan,
): Promise<AccountReport> {
  const { database, old, dialect, effects, now } = dependencies;
  const from: OldAccount = { old, userId, dialect, effects };
  const profile = await readProfile(from, now());
  const { username } = profile.copied.account;
  told(username);
  const base = { ...NOTHING, line, username, ...sizesOf(profile), hasPassword: profile.password !== null };
  const ofColumba = dryRun ? undefined : await importLeading(dependencies, from, username, since);
  if (ofColumba?.report) return { ...NOTHING, line, username, hasPassword: true, ...ofColumba.report };
  const askedAt = now();
  const list = await openSent(from); // before anything is written, because unknown words stop the import
  const scheduled = await readScheduled(from);
  const cap = dialect.caps?.['sent.FetchSentDS'];
  if (dryRun) {
    const sent = await list.read(readThrough);
    const { counts, problem } = await checkInbox(from, now());
    const outbox = { sent: sent.count, scheduled: scheduled.messages.length };
    const outcome = problem === null ? 'checked' : 'failed';
    return {
      ...base,
      ...outbox,
      ...counts,
      remarks: [...profile.remarks, ...completeness(cap, sent)],
      outcome,
      problem,
    };
  }
  // If Columba leads, the old server is asked again, so that its answer includes the last write.
  const newest = ofColumba ? await readProfile(from, now()) : profile;
  const target = await copyTarget(dependencies, newest, ofColumba?.lastWrite);
  const context = { account: target.account, username, askedAt };
  const before = await copyProgress(database, target.account);
  const sent = await copyAllSent(database, context, list);
  const inbox = await copyInbox(dependencies, from, context, {
    start: inboxStart(before, since),
    isComplete: before?.completedAt != null,
    isLed: ofColumba !== undefined,
    progress: (received) => told(username, received),
  });
  await copyScheduled(database, context, scheduled.messages, !scheduled.isCapped);
  const statuses = await statusRemarks(dependencies, from, target.account);
  const remarks = [...profile.remarks, ...completeness(cap, sent), ...statuses];
  const outbox = { sent: sent.count, scheduled: scheduled.messages.length };
  const report = { ...base, ...outbox, ...inbox.counts, isNew: target.isNew, remarks };
  if (!inbox.fits) {
    const problem = `The inbox does not have the ${inbox.counts.read} read and ${inbox.counts.unread} unread messages that the old server counts.`;
    return { ...report, outcome: 'failed', problem };
  }
  await setCopyCompleted(database, target.account, askedAt);
  return { ...report, outcome: 'copied' };
}

/**
 * Handles an account that Columba answers; undefined if the old server answers it. Without a
 * report, Columba leads and no write waits: then the account is copied, unless a later write comes.
 */
async function importLeading(
  dependencies: CopyDependencies,
  from: OldAccount,
  username: string,
  since: number | null,
): Promise<{ readonly report?: Partial<AccountReport>; readonly lastWrite?: bigint } | undefined> {
  const { database, now } = dependencies;
  const account = await accountIdNamed(database, username);
  const progress = account === null ? null : await copyProgress(database, account);
  if (account === null || progress?.completedAt == null) return undefined; // the first copy continues
  const { stage, changedAt } = await createMigrationStages(database, now).of(username);
  if (stage === 'lead') {
    const lastWrite = await lastWriteOf(database, account);
    const waiting = await writesWaiting(database, account);
    if (waiting === 0) return { lastWrite };
    const remarks = [`${waiting} writes wait for the old server. Run the import again when it has them.`];
    return { report: { outcome: 'left', remarks } };
  }
  if (stage !== 'alone') return undefined;
  const start = inboxStart(progress, since);
  const target = { account, username, askedAt: now(), start, aloneSince: changedAt };
  const { received, sent } = await copyLate(dependencies, from, target);
  const remarks = [`Columba answers alone. Late at the old server: ${received} received and ${sent} sent messages.`];
  return { report: { outcome: 'late', remarks, read: received, sent } };
}

const sizesOf = ({ copied: { groups, contacts, templates } }: OldProfile) => ({
  groups: groups.length,
  contacts: contacts.length,
  templates: templates.length,
});

async function copyTarget(
  { database, now }: CopyDependencies,
  profile: OldProfile,
  lastWrite: bigint | undefined,
): Promise<CopyTarget> {
  return copyAccount(database, await withPasswordHash(profile), now(), lastWrite);
}

/** In a dry run, every row is read and parsed, and none is kept. */
async function readThrough(batches: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of batches);
}

/** Whether a list of sent messages is complete is guessed, because no operation counts them. */
const completeness = (
  cap: number | undefined,
  { count, isCapped }: { readonly count: number; readonly isCapped: boolean },
) => (isCapped ? [`FetchSentDS returns at most ${cap ?? count}: older sent messages stay at the old server.`] : []);

async function statusRemarks({ database }: CopyDependencies, from: OldAccount, account: bigint): Promise<string[]> {
  const there = Number((await read(from, 'sent.CountUnMarkedDeliveryStatus')).value);
  const here = await unmarkedCount(database, account);
  return there === here ? [] : [`${there} delivery statuses are not marked at the old server, and ${here} in Columba.`];
}

/** Reads the whole inbox and compares it with both counts. */
async function checkInbox(from: OldAccount, now: number) {
  let cap = from.dialect.caps?.['inbox.Read'] ?? Number.POSITIVE_INFINITY;
  const ids = new Set<bigint>();
  for (let pass = 1; ; pass++) {
    let largest = 0;
    const end = now + CLOCK_MARGIN_MS;
    for await (const { messages } of windowsOf(from, FIRST_INSTANT, end, cap, (count) => {
      largest = Math.max(largest, count);
    })) {
      for (const { id } of messages) ids.add(id);
    }
    const counts = await readCounts(from);
    for (const id of (await readUnread(from, counts.unread)).ids) ids.add(id);
    const total = counts.read + counts.unread;
    if (ids.size === total) return { counts, problem: null };
    if (pass === 2) {
      return { counts, problem: `The counts say ${total} received messages, and ${ids.size} can be read.` };
    }
    cap = guessedCap(cap, largest);
  }
}
