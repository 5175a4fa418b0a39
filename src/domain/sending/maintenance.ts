import { isOutage } from '../../base/problem.ts';
import type { Database, TransactionQueries } from '../../store/database.ts';
import { elementsOf } from '../../store/json.ts';
import { eachAccount } from '../../store/transactions.ts';
import { forgetDrafts } from '../messages/drafts.ts';
import { createSenderSweep } from '../outbound/senders.ts';
import { compareAddresses, type Fitting, type Named } from './addressed.ts';
import { removeUseless } from './attempts.sql.ts';
import { timeOfAttempts } from './attempts.ts';
import { type ConnectorRecord, createConnectors } from './connectors.ts';
import { createExpiry } from './expire.ts';
import { noteHeldReceipt } from './hold.ts';
import * as sql from './receipts.sql.ts';
import { applyHeldReceipts, applySilence } from './receipts.ts';

/**
 * Looks after what stays open: messages without a receipt, receipts without a message, parts that
 * never came, and messages that expire unsubmitted. One process at a time does this work.
 */
export interface MaintenanceSettings {
  readonly now: () => number;
  /** After this time without a receipt, SUBMITTED becomes UNKNOWN. */
  readonly receiptWaitMs: number;
  /** The default is RECEIPTS_HELD_MAX. */
  readonly receiptsHeldMax?: number;
  /** Called if something of one account could not be written. */
  readonly failed?: (thrown: unknown) => void;
}
/** The maintenance of received messages: see receiving/incoming.ts. */
export interface IncomingMaintenance {
  /** Stores messages whose other parts never came. Returns how many. */
  storeIncomplete(limit: number): Promise<number>;
  /** Deletes old keys that recognize repeated messages. Returns how many were deleted. */
  forgetOld(limit: number): Promise<number>;
}
export interface MaintenanceCounts {
  readonly held: number;
  readonly silent: number;
  readonly incomplete: number;
  readonly expired: number;
}

/** How often the maintenance runs. */
export const MAINTENANCE_EVERY_MS = 10_000;
/** How long a receipt without a message is kept. */
export const RECEIPT_HELD_MS = 72 * 3_600_000;
/** The most receipts without a message; the oldest are dropped first. */
const RECEIPTS_HELD_MAX = 100_000;
const BATCH = 500;
// The clocks of two hosts are assumed to differ by less than this.
const CLOCKS_APART_MS = 60_000;

export type Maintenance = ReturnType<typeof createMaintenance>;

export function createMaintenance(database: Database, incoming: IncomingMaintenance, settings: MaintenanceSettings) {
  const { now, receiptsHeldMax = RECEIPTS_HELD_MAX } = settings;
  const sweepPassed = createSweep(database);
  const sweepSenders = createSenderSweep(database, now);
  const expire = createExpiry(database, now, skipping);
  const watch = createWatch(database, settings, silenceAll);

  /**
   * Applies held receipts whose submissions are known by now: a receipt and an answer that are
   * written at the same moment do not always see each other.
   */
  async function matchHeld(): Promise<number> {
    const rows = await database.all(sql.heldMatches, { limit: BATCH });
    for (const { account_id: account, message_id } of rows) {
      const apply = (queries: TransactionQueries) => applyHeldReceipts({ queries, account, at: now() }, [message_id]);
      await skipping(() => database.transaction(account, apply));
    }
    return rows.length;
  }

  /** A receipt without a known id that can only be about one submission gives it its id. */
  const nameSubmission = ({
    account_id: account,
    message_id: id,
    attempt,
    part,
    gatewayId,
    connector,
  }: Named): Promise<void> =>
    skipping(() =>
      database.transaction(account, async (queries) => {
        await queries.run(sql.nameAttempt, { account, id, attempt, part, gatewayId, connector });
        await applyHeldReceipts({ queries, account, at: now() }, [id]);
      }),
    );

  /** Addresses alone prove nothing, but they help whoever decides about what a restore holds. */
  const noteReceipt = ({ account_id: account, message_id: id }: Fitting): Promise<void> =>
    skipping(() => database.transaction(account, (queries) => noteHeldReceipt(queries, account, id)));

  /** Reports a failure of one account, so that the others continue. */
  async function skipping(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (thrown) {
      if (isOutage(thrown)) throw thrown;
      settings.failed?.(thrown);
    }
  }

  /** Handles all accounts in one transaction; if that fails, each account alone. */
  async function silenceAll(rows: readonly sql.SilentRow[]): Promise<void> {
    try {
      await silence(database, rows, now());
    } catch (thrown) {
      if (isOutage(thrown)) throw thrown;
      for (const own of Map.groupBy(rows, ({ account_id }) => account_id).values()) {
        await skipping(() => silence(database, own, now()));
      }
    }
  }

  return {
    /** Returns undefined if another process has just done the work. */
    async run(isStopping: () => boolean = () => false): Promise<MaintenanceCounts | undefined> {
      const taken = await database.first(sql.takeWatch, timesOf(now()));
      if (!taken || isStopping()) return undefined;
      const held = await matchHeld();
      await compareAddresses(database, now(), { settle: nameSubmission, note: noteReceipt });
      await database.run(sql.dropHeld, { before: now() - RECEIPT_HELD_MS });
      await database.run(sql.dropBeyond, { newer: receiptsHeldMax - 1 });
      const lookedTo = await watch.beginOf(taken.looked_to);
      const silent = await watch.expireSilent(lookedTo);
      const incomplete = await storeIncomplete(incoming, isStopping);
      await incoming.forgetOld(BATCH);
      await forgetDrafts(database, now());
      await sweepPassed(lookedTo);
      await sweepSenders();
      return { held, silent, incomplete, expired: await expire(isStopping) };
    },
  };
}

/** Goes through submissions in the order of their times, and ends the wait for their receipts. */
function createWatch(
  database: Database,
  { now, receiptWaitMs }: MaintenanceSettings,
  silenceAll: (rows: readonly sql.SilentRow[]) => Promise<void>,
) {
  /** Looks at each attempt once, when its wait for a receipt is over. */
  async function expireSilent(lookedTo: string): Promise<number> {
    const before = timeOfAttempts(now() - receiptWaitMs);
    let isSilent: ((row: sql.SilentRow) => boolean) | undefined;
    let silent = 0;
    for (let after = lookedTo; ; ) {
      const batch = { after, before, limit: BATCH };
      const rows = await database.all(sql.attemptsAfter, batch);
      const last = rows.at(-1);
      if (!last) return silent;
      isSilent ??= silentAmong(await createConnectors(database, now).list());
      const without = rows.filter(isSilent);
      await silenceAll(without);
      await forgetDeleted(database, rows);
      silent += without.length;
      after = last.attempt_id;
      await database.run(sql.moveWatch, { to: after });
      // An operator may have decided while the watch was before these attempts: see decide.ts.
      const open = new Set(rows.filter(isOpen).map(({ attempt_id }) => attempt_id));
      const again = open.size > 0 ? await database.all(sql.attemptsAfter, batch) : [];
      const decided = again.filter((row) => open.has(row.attempt_id) && isSilent?.(row));
      await silenceAll(decided);
      silent += decided.length;
    }
  }

  /**
   * If the watch is ahead of all attempts whose wait is over, either the clock was put back, so
   * that ids which the watch has passed are given again, or the watch was set by a host with a
   * shorter wait or another clock. The watch then goes back to the limit of this host and a minute
   * more, which is six runs of the maintenance; the attempts before that have been looked at.
   * Beginning with the first attempt would read all of them whenever two such hosts take turns.
   */
  async function beginOf(lookedTo: string): Promise<string> {
    const limit = now() - receiptWaitMs;
    if (lookedTo <= timeOfAttempts(limit + CLOCKS_APART_MS)) return lookedTo;
    const back = timeOfAttempts(limit - CLOCKS_APART_MS);
    await database.run(sql.moveWatch, { to: back });
    return back;
  }

  return { beginOf, expireSilent };
}

/** Whether an operator or a receipt still decides about the message of an attempt. */
const isOpen = ({ is_open: open }: Pick<sql.SilentRow, 'is_open'>): boolean => Number(open) > 0;
/**
 * Whether an attempt got no receipt: a carrier has the part, or its outcome is unknown and another
 * attempt has ended the message. Of a carrier that sends no receipts nothing more is expected.
 */
function silentAmong(connectors: readonly ConnectorRecord[]): (row: sql.SilentRow) => boolean {
  const reporting = new Map(connectors.map(({ name, sendsReceipts }) => [name, sendsReceipts]));
  return ({ connector, state, status, ...row }) =>
    status === null &&
    !isOpen(row) &&
    (state === 'unknown-outcome' || (state === 'accepted' && reporting.get(connector) !== false));
}

const timesOf = (now: number) => ({ now, due: now - MAINTENANCE_EVERY_MS + 1, farAhead: now + CLOCKS_APART_MS });

/** Goes through all older attempts again and again, a batch in each run: 4 million in a day. */
function createSweep(database: Database): (lookedTo: string) => Promise<void> {
  let after = '';
  return async (lookedTo) => {
    const last = (await database.first(sql.passedTo, { after, to: lookedTo, limit: BATCH }))?.last ?? null;
    if (last !== null) await database.run(sql.removePassed, { after, to: last });
    after = last ?? '';
  };
}

async function storeIncomplete(incoming: IncomingMaintenance, isStopping: () => boolean): Promise<number> {
  let stored = 0;
  for (let count = BATCH; count === BATCH && !isStopping(); stored += count) {
    count = await incoming.storeIncomplete(BATCH);
  }
  return stored;
}

async function silence(database: Database, rows: readonly sql.SilentRow[], now: number): Promise<void> {
  const byAccount = Map.groupBy(rows, ({ account_id }) => account_id);
  await eachAccount(database, byAccount.keys(), (queries, account) => {
    const own = byAccount.get(account) ?? [];
    const parts = own.map(({ message_id: messageId, attempt, part }) => ({ messageId, attempt, part }));
    return applySilence({ queries, account, at: now }, parts);
  });
}

/** Deletes attempts of messages that the client has deleted: their wait for receipts is over. */
async function forgetDeleted(database: Database, rows: readonly sql.SilentRow[]): Promise<void> {
  for (const [account, own] of Map.groupBy(rows, ({ account_id }) => account_id)) {
    const ids = elementsOf([...new Set(own.map(({ message_id }) => message_id))]);
    await database.run(removeUseless, { account, ids });
  }
}
