import { type SameNumber, sameNumber } from '../../sms/numbers.ts';
import type { AccountKey } from '../../store/caller.ts';
import type { Database, Queries, Transaction } from '../../store/database.ts';
import { elementsOf } from '../../store/json.ts';
import { effectiveRegion, findAccount } from '../accounts/accounts.ts';
import { type HeldMessage, releaseHeld } from '../accounts/ledger.ts';
import { addEntry, type BlacklistOrigin, blacklistedOf, checkNumber, type NewEntry } from '../contacts/blacklist.ts';
import { deleteScheduledAmong, scheduledFor } from '../messages/scheduled.ts';
import { sentTexts } from '../messages/sent.ts';
import { endWaiting, endWaitingFor, OPTED_OUT } from './cancel.ts';
import { type DispatchRow, of } from './dispatch.sql.ts';
import type { OnWaiting } from './settle.ts';

/** An opt-out adds an entry to the blacklist, and ends all messages that wait for the number. */
export interface OptOut {
  /** False if the number was on the blacklist. */
  readonly isNew: boolean;
  /** How many messages the opt-out has ended. */
  readonly cancelled: number;
}

export type OptOuts = ReturnType<typeof createOptOuts>;

export function createOptOuts(
  database: Database,
  now: () => number,
  regionOfAccount: (account: AccountKey) => Promise<string | null>,
) {
  return {
    /**
     * Adds the number, ends all messages that wait for it, scheduled or due, and releases their
     * credits. A claimed message is withheld if its connector has not sent it yet.
     */
    async add(account: AccountKey, number: string, sample: string | null, origin: BlacklistOrigin = 'user') {
      checkNumber(number);
      const region = await regionOfAccount(account);
      return database.transaction(account, (queries) =>
        optOut({ queries, account, at: now() }, { number, sample, origin }, region),
      );
    },

    /**
     * Adds several entries, at most some hundred, in one transaction. Results are in their order.
     */
    async addAll(account: AccountKey, entries: readonly NewEntry[]): Promise<OptOut[]> {
      for (const { number } of entries) checkNumber(number);
      const region = await regionOfAccount(account);
      return database.transaction(account, async (queries) => {
        const added: OptOut[] = [];
        for (const entry of entries) added.push(await optOut({ queries, account, at: now() }, entry, region));
        return added;
      });
    },
  };
}

async function optOut(transaction: Transaction, entry: NewEntry, region: string | null): Promise<OptOut> {
  const isNew = await addEntry(transaction, entry, region);
  return { isNew, cancelled: await endAllFor(transaction, sameNumber(entry.number, region)) };
}

/** Ends all messages that wait for the number, scheduled or due. Returns how many it ended. */
export async function endAllFor(transaction: Transaction, same: SameNumber): Promise<number> {
  const { queries, account } = transaction;
  const cancelled = await cancelScheduledFor(queries, account, same);
  if (cancelled.length > 0) await releaseHeld(transaction, cancelled, OPTED_OUT.reason);
  return cancelled.length + (await endWaitingFor(transaction, same));
}

/**
 * Deletes messages that are scheduled for the number, except answers to its own words, which wait
 * for the end of quiet hours. Returns the credits held for each deleted message.
 */
async function cancelScheduledFor(queries: Queries, account: AccountKey, same: SameNumber): Promise<HeldMessage[]> {
  const cancelled: HeldMessage[] = [];
  for await (const found of scheduledFor(queries, account, same)) {
    const dispatches = await queries.all(of, { account, ids: elementsOf(found) });
    const answers = new Set(dispatches.filter((row) => row.is_answer === 1n).map(({ message_id }) => message_id));
    const ids = found.filter((id) => !answers.has(id));
    cancelled.push(...(await deleteScheduledAmong(queries, account, ids)));
  }
  return cancelled;
}

/**
 * Ends those messages whose recipient is on the blacklist, and returns the others, when messages
 * are about to be submitted or to wait again. It runs inside a transaction of the account, so an
 * opt-out has either been acknowledged before, and is seen here, or finds the messages claimed.
 */
export async function endOptedOut<T extends DispatchRow & { readonly recipient: string }>(
  transaction: Transaction,
  region: string | null,
  messages: readonly T[],
): Promise<T[]> {
  const numbers = messages.filter(({ is_answer }) => is_answer === 0n).map(({ recipient }) => recipient);
  const blacklisted = await blacklistedOf(transaction.queries, transaction.account, numbers, region);
  if (blacklisted.size === 0) return [...messages];
  const isEnded = ({ recipient, is_answer }: T) => is_answer === 0n && blacklisted.has(recipient);
  await endWaiting(transaction, messages.filter(isEnded), OPTED_OUT);
  return messages.filter((message) => !isEnded(message));
}

/** Those claimed messages of one account whose recipients have opted out since the claim. */
export async function optedOutAmong<
  T extends { readonly account: bigint; readonly recipient: string; readonly isAnswer: boolean },
>(queries: Queries, messages: readonly T[], defaultRegion: string | null): Promise<T[]> {
  const asked = messages.filter(({ isAnswer }) => !isAnswer);
  const account = asked[0]?.account;
  if (account === undefined) return [];
  const customer = await findAccount(queries, account);
  if (!customer) return asked;
  const numbers = asked.map(({ recipient }) => recipient);
  const blacklisted = await blacklistedOf(queries, account, numbers, effectiveRegion(customer, defaultRegion));
  return asked.filter(({ recipient }) => blacklisted.has(recipient));
}

/** For a settlement: an opt-out that came while a message was claimed ends the message. */
export const optOutsOf =
  (defaultRegion: string | null): OnWaiting =>
  async (transaction, ids) => {
    const { queries, account } = transaction;
    const recipients = new Map((await sentTexts(queries, account, ids)).map(({ id, recipient }) => [id, recipient]));
    const rows = (await queries.all(of, { account, ids: elementsOf(ids) })).flatMap((row) => {
      const recipient = recipients.get(row.message_id);
      return typeof recipient === 'string' ? [{ ...row, recipient }] : [];
    });
    const customer = await findAccount(queries, account);
    if (customer) await endOptedOut(transaction, effectiveRegion(customer, defaultRegion), rows);
  };
