import { nextTurn } from '../../base/event-loop.ts';
import { isLockedOut, isUnavailable } from '../../base/problem.ts';
import { type CarrierFields, mergedFields } from '../../sms/carrier-fields.ts';
import { splitText } from '../../sms/parts.ts';
import type { Database, Transaction, TransactionQueries } from '../../store/database.ts';
import { elementsOf } from '../../store/json.ts';
import { effectiveRegion } from '../accounts/accounts.ts';
import * as attemptSql from './attempts.sql.ts';
import { knownParts, type MessageKey, WHOLE } from './attempts.ts';
import { forClaim } from './connectors.sql.ts';
import * as sql from './dispatch.sql.ts';
import { type DueMessage, divided, escalate, leaveSchedule, NEVER, reconsider, requeue } from './end.ts';
import { endWithoutTrying } from './expire.ts';
import { holdDue } from './hold.ts';
import { endOptedOut, optedOutAmong } from './opt-out.ts';
import { afterQuietHours } from './quiet-hours.ts';
import type { SubmittedMessage } from './settle.ts';

/**
 * Claiming: a dispatcher leases messages of several accounts that are due. A claimed message is
 * submitted at once, so its attempts are written with the claim.
 */
export interface ClaimedMessage extends SubmittedMessage {
  readonly sender: string | null;
  readonly recipient: string;
  readonly text: string;
  readonly priority: number;
  readonly notAfter: number | null;
  readonly expiresAt: number;
  /** Whether this is the answer to a STOP or HELP word, which is sent despite the blacklist. */
  readonly isAnswer: boolean;
  /** The outbound route that has chosen the connector. */
  readonly route?: string | null;
  /** Fields that the carrier demands. */
  readonly fields?: CarrierFields;
  readonly partsTotal: number;
  /** The parts to submit now, which no carrier has yet. */
  readonly parts: readonly { readonly number: number; readonly attemptId: string }[];
}

/** How many parts are submitted now, for the rate: also of a text in one piece. */
export const partsSubmitted = ({ parts, partsTotal }: ClaimedMessage): number =>
  parts.some(({ number }) => number === WHOLE) ? partsTotal : parts.length;

export interface ClaimingSettings {
  readonly now: () => number;
  /** The name of this process. */
  readonly owner: string;
  readonly newAttemptId: (now: number, message: MessageKey) => string;
  readonly leaseMs: number;
  /** How long a message with an unknown outcome waits for a receipt before the policy decides. */
  readonly unknownOutcomeMs: number;
  /** The country of local numbers on a blacklist, for accounts that name none. */
  readonly defaultRegion?: string | null;
  /** Called if an account could not be claimed. */
  readonly failed?: (thrown: unknown) => void;
}

export interface ConnectorShare {
  readonly connector: string;
  readonly isDefault: boolean;
  /** The carrier takes texts of several parts in one piece: then they are one attempt. */
  readonly wholeTexts?: boolean;
}

// The most accounts of one claim. Others take part in the next one.
const ACCOUNTS_MAX = 16;
// The number of busy accounts that share a claim. Each account costs 20 statements for any number
// of messages, and accounts outside of the claim are free for settlements meanwhile. With ten
// accounts, PostgreSQL sent 1,802 messages a second with ten shares and 2,243 with four.
const SHARES = 4;
const OVERDUE_MAX = 100;
// How long a claim waits for an account's lock. A call holds it for some milliseconds.
const LOCK_WAIT_MS = 200;
// How long an account that could not be claimed is left alone.
const LEFT_MS = 60_000;

export type Claiming = ReturnType<typeof createClaiming>;

export function createClaiming(database: Database, settings: ClaimingSettings) {
  const { now } = settings;

  /**
   * Claims in one transaction. It waits for the lock of the first account, because an account whose
   * client calls without a pause is rarely free. If another transaction holds that lock for long,
   * the other accounts are claimed.
   */
  const claimFrom = async (ids: readonly bigint[], share: ConnectorShare, at: number, limit: number) => {
    const work = (queries: TransactionQueries) => claimWithin(queries, settings, ids, share, at, limit);
    try {
      return await database.transaction(ids[0] as bigint, work, LOCK_WAIT_MS);
    } catch (thrown) {
      if (!isLockedOut(thrown)) throw thrown;
      return database.transactionWithoutLock(work);
    }
  };

  /** Claims each account alone, so that one that cannot be claimed does not block the others. */
  async function claimAlone(ids: readonly bigint[], share: ConnectorShare, at: number, limit: number) {
    const claimed: ClaimedMessage[] = [];
    for (const account of ids) {
      if (claimed.length >= limit) break;
      try {
        claimed.push(...(await claimFrom([account], share, at, Math.ceil((limit - claimed.length) / ids.length))));
      } catch (thrown) {
        settings.failed?.(thrown);
        if (isUnavailable(thrown)) break; // the messages claimed so far have to be submitted
        await database.run(sql.postpone, { account, until: at + LEFT_MS }).catch(settings.failed);
      }
    }
    return claimed;
  }

  return {
    /** Claims at most `limit` messages; none if nothing is due. */
    async claim(share: ConnectorShare, limit: number): Promise<ClaimedMessage[]> {
      const at = now();
      const ids = await dueAccounts(database, share, at);
      if (ids.length === 0) return [];
      try {
        return await claimFrom(ids, share, at, limit);
      } catch (thrown) {
        if (isUnavailable(thrown)) throw thrown;
        return claimAlone(ids, share, at, limit);
      }
    },

    /** Whether a claim would find an account with due messages. */
    isAnythingDue: async (share: ConnectorShare): Promise<boolean> =>
      (await dueAccounts(database, share, now())).length > 0,

    /** Those messages of one account whose recipients have opted out since the claim. */
    optedOutAmong: (messages: readonly ClaimedMessage[]): Promise<ClaimedMessage[]> =>
      optedOutAmong(database, messages, settings.defaultRegion ?? null),

    /** When the next message is due; null without any. */
    async nextDueAt(share: ConnectorShare): Promise<number | null> {
      const times: number[] = [];
      for (const level of await levelsOf(database, share)) {
        for (const row of await database.all(sql.nextDue, level)) times.push(Number(row.next_due_at));
      }
      return times.length > 0 ? Math.min(...times) : null;
    },
  };
}

/** Claims within a transaction. lockAccounts skips accounts that another transaction uses. */
async function claimWithin(
  queries: TransactionQueries,
  settings: ClaimingSettings,
  accountIds: readonly bigint[],
  { connector, isDefault, wholeTexts = false }: ConnectorShare,
  at: number,
  limit: number,
): Promise<ClaimedMessage[]> {
  // A dispatcher may notice a pause or another default up to a second later, so both are read here.
  const row = await queries.first(forClaim, { name: connector });
  if (row && row.paused_at !== null) return [];
  const isStillDefault = isDefault && row?.is_default !== 0n;
  const parameters = { connector, isDefault: isStillDefault ? 1 : 0, now: at };
  const quota = Math.ceil(limit / Math.min(SHARES, accountIds.length));
  const claimed: ClaimedMessage[] = [];
  for (let from = 0; from < accountIds.length && claimed.length < limit; from += SHARES) {
    const ids = accountIds.slice(from, from + SHARES);
    const rows = await queries.all(sql.lockAccounts, { ...parameters, ids: elementsOf(ids) });
    rows.sort((a, b) => ids.indexOf(a.account_id) - ids.indexOf(b.account_id));
    for (const account of rows) {
      const room = Math.min(quota, limit - claimed.length);
      if (room <= 0) break;
      claimed.push(...(await claimOf(queries, settings, account, { connector, wholeTexts }, at, room)));
      await nextTurn(); // calls are answered before the next account
    }
  }
  await queries.runAll(attemptSql.add, attemptsOf(claimed, connector, at));
  return claimed;
}

const attemptsOf = (claimed: readonly ClaimedMessage[], connector: string, submittedAt: number) =>
  claimed.flatMap(({ account, id, attempt, parts, sender }) =>
    parts.map(({ number: part, attemptId }) => {
      const submitted = { attemptId, connector, submittedAt, sender };
      return { account, id, attempt, part, ...submitted };
    }),
  );

interface Level {
  readonly key: string;
  readonly priority: bigint;
}

/** The priorities of a connector's accounts, highest first. The default connector has two keys. */
async function levelsOf(database: Database, { connector, isDefault }: ConnectorShare): Promise<Level[]> {
  const levels: Level[] = [];
  for (const key of isDefault ? [connector, ''] : [connector]) {
    // Each node of a cluster answers with its own while one is missing.
    const priorities = new Set((await database.all(sql.levels, { key, never: NEVER })).map(({ priority }) => priority));
    for (const priority of priorities) levels.push({ key, priority });
  }
  return levels.sort((a, b) => Number(b.priority - a.priority));
}

/**
 * Accounts with work, in the order in which they are served. Within one priority, accounts without
 * a backlog and accounts with one take turns. So a single message overtakes the backlogs of any
 * number of other accounts, and no backlog starves.
 */
async function dueAccounts(database: Database, share: ConnectorShare, now: number): Promise<bigint[]> {
  const ids: bigint[] = [];
  const byPriority = Map.groupBy(await levelsOf(database, share), ({ priority }) => priority);
  for (const levels of byPriority.values()) {
    const lists: bigint[][] = [];
    for (const level of levels) {
      const rows = await database.all(sql.dueAccounts, { ...level, now, limit: ACCOUNTS_MAX });
      rows.sort((a, b) => Number(a.kind - b.kind || a.position - b.position)); // see levelsOf
      for (const own of Map.groupBy(rows, ({ kind }) => kind).values()) lists.push(own.map((row) => row.account_id));
    }
    for (let place = 0; lists.some((list) => place < list.length); place++) {
      for (const list of lists) if (place < list.length) ids.push(list[place] as bigint);
    }
    if (ids.length >= ACCOUNTS_MAX) break;
  }
  // An account may be there twice, with messages that name the connector by a route and others.
  return [...new Set(ids)].slice(0, ACCOUNTS_MAX);
}

async function claimOf(
  queries: TransactionQueries,
  settings: ClaimingSettings,
  row: sql.DueAccountRow,
  { connector, wholeTexts }: { readonly connector: string; readonly wholeTexts: boolean },
  at: number,
  limit: number,
): Promise<ClaimedMessage[]> {
  const { account_id: account, way } = row;
  const transaction = { queries, account, at };
  await decideOverdue(transaction, settings, row);
  const quietUntil = afterQuietHours(at, row.quiet_hours, row.time_zone);
  if (quietUntil > at) {
    await queries.run(sql.postpone, { account, until: quietUntil });
    return [];
  }
  const lease = { owner: settings.owner, leaseUntil: at + settings.leaseMs };
  const rows = await queries.all(sql.claim, { account, way, now: at, limit, connector, ...lease });
  // A carrier can have parts only of a message that was tried before.
  const tried = rows.filter(({ attempts }) => attempts > 1n).map(({ message_id }) => message_id);
  const known = await knownParts(queries, account, tried);
  const messages = rows.length > 0 ? await leaveSchedule(transaction, rows, known) : [];
  await queries.run(sql.setNextDue, { account, way, servedAt: at, never: NEVER });
  // First, because what may have been sent neither expires nor is refused.
  const going = await holdDue(transaction, messages, known);
  const open = await endWithoutTrying(transaction, going, known);
  const region = effectiveRegion(row, settings.defaultRegion ?? null);
  const claimed = await endOptedOut(transaction, region, open);
  const newParts = (id: bigint, total: number) =>
    numbersOf(total, known(id).accepted, wholeTexts).map((number) => ({
      number,
      attemptId: settings.newAttemptId(at, { account, id }),
    }));
  return claimed.map((each) => claimedOf(each, row, (total) => newParts(each.message_id, total)));
}

function claimedOf(
  row: DueMessage,
  { account_id: account, priority, carrier_fields: ofAccount }: sql.DueAccountRow,
  newParts: (total: number) => ClaimedMessage['parts'],
): ClaimedMessage {
  const partsTotal = splitText(row.text).parts.length;
  const { message_id: id, fence, sender, recipient, text } = row;
  return {
    account,
    id,
    fence,
    attempt: Number(row.attempts),
    sender,
    recipient,
    text,
    priority: Number(priority),
    notAfter: row.not_after === null ? null : Number(row.not_after),
    expiresAt: Number(row.expires_at),
    isAnswer: row.is_answer === 1n,
    route: row.route_name,
    fields: mergedFields(ofAccount, row.carrier_fields),
    partsTotal,
    parts: newParts(partsTotal),
  };
}

/** A text of which a carrier has some parts goes on in parts. */
function numbersOf(total: number, accepted: ReadonlySet<number>, wholeTexts: boolean): number[] {
  if (wholeTexts && total > 1 && accepted.size === 0) return [WHOLE];
  return Array.from({ length: total }, (_, index) => index + 1).filter((number) => !accepted.has(number));
}

export const LEASE_OVER = 'the process that submitted it ended without an answer';

/**
 * Decides about leases that ran out, where nobody knows whether the carrier has the message. After
 * a while without a receipt, the policy of the account decides; without a policy, an operator does.
 */
async function decideOverdue(
  transaction: Transaction<bigint>,
  { unknownOutcomeMs }: ClaimingSettings,
  { way, unknown_outcome_policy: policy }: sql.DueAccountRow,
): Promise<void> {
  const { queries, account, at } = transaction;
  const rows = await queries.all(sql.overdue, { account, way, now: at, limit: OVERDUE_MAX });
  if (rows.length === 0) return;
  const lost = rows.filter(({ state }) => state === 'submitting');
  if (lost.length > 0) {
    await queries.run(attemptSql.setUnknownOutcome, {
      account,
      ids: elementsOf(lost.map(({ message_id }) => message_id)),
    });
    const dueAt = at + unknownOutcomeMs;
    await requeue(
      transaction,
      'lose',
      lost.map((row) => ({ row, dueAt, reason: LEASE_OVER })),
    );
    // Receipts that came before the lease ran out prove what the carrier has.
    await reconsider(
      transaction,
      lost.map((row) => ({ ...row, state: 'unknown-outcome' })),
    );
  }
  const late = rows.filter(({ state }) => state === 'unknown-outcome');
  const open = (await reconsider(transaction, late)).map((row) => ({ row, reason: row.reason ?? LEASE_OVER }));
  const isTriedAgain = ({ row }: { row: sql.DispatchRow }) => policy === 'submit-again' && Number(row.expires_at) > at;
  const [again, left] = divided(open, isTriedAgain);
  await requeue(
    transaction,
    'submit again',
    again.map((each) => ({ ...each, dueAt: at })),
  );
  await escalate(transaction, left);
}
