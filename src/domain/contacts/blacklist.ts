import { Problem } from '../../base/problem.ts';
import {
  endsOfAll,
  exponentFault,
  hasDigit,
  numberKey,
  type SameNumber,
  sameNumber,
  writtenKey,
} from '../../sms/numbers.ts';
import type { AccountKey, Database, Queries, Writing } from '../../store/database.ts';
import { elementsOf, recordsOf } from '../../store/json.ts';
import { effectiveRegion } from '../accounts/accounts.ts';
import { type HeldMessage, releaseHeld } from '../accounts/ledger.ts';
import { deleteScheduledAmong, scheduledFor } from '../messages/scheduled.ts';
import { sentTexts } from '../messages/sent.ts';
import { receiver } from '../receiving/incoming.sql.ts';
import { endWaiting, endWaitingFor, OPTED_OUT } from '../sending/cancel.ts';
import { type DispatchRow, of } from '../sending/dispatch.sql.ts';
import type { OnWaiting } from '../sending/settle.ts';
import { adopt, block, byEnds } from './blacklist.sql.ts';
import * as sql from './contacts.sql.ts';
import { BEFORE_ERASED, findErasedEntry, findErasedNumbers } from './erased-number.ts';

/** The origin of an entry: `user` is a call of the account or an action of the operator. */
export const BLACKLIST_ORIGINS = ['user', 'STOP', 'import'] as const;
export type BlacklistOrigin = (typeof BLACKLIST_ORIGINS)[number];

/** Numbers to which nothing is sent. */
export type Blacklist = ReturnType<typeof createBlacklist>;

export function createBlacklist(
  database: Database,
  now: () => number,
  regionOfAccount: (account: AccountKey) => Promise<string | null>,
) {
  return {
    /**
     * Adds the number, and ends all messages that wait for it, scheduled or due: their credits are
     * free again. A claimed message is withheld if its connector has not sent it yet. `isNew` is
     * false if the number was on the blacklist. An entry that a STOP made becomes the account's own
     * when the account adds the number itself, so that a START of the person does not remove it.
     */
    async add(account: AccountKey, number: string, sample: string | null, origin: BlacklistOrigin = 'user') {
      checkNumber(number);
      const region = await regionOfAccount(account);
      return database.transaction(account, (queries) =>
        addEntry(queries, account, { number, sample, origin }, region, now()),
      );
    },

    /** Adds several in one transaction, so at most some hundred. The results are in their order. */
    async addAll(account: AccountKey, entries: readonly NewEntry[]): Promise<AddedEntry[]> {
      for (const { number } of entries) checkNumber(number);
      const region = await regionOfAccount(account);
      return database.transaction(account, async (queries) => {
        const added: AddedEntry[] = [];
        for (const entry of entries) added.push(await addEntry(queries, account, entry, region, now()));
        return added;
      });
    },
  };
}

export interface NewEntry {
  readonly number: string;
  readonly sample: string | null;
  readonly origin: BlacklistOrigin;
}
interface AddedEntry {
  readonly isNew: boolean;
  readonly cancelled: number;
}

async function addEntry(
  queries: Writing,
  account: AccountKey,
  { number, sample, origin }: NewEntry,
  region: string | null,
  at: number,
): Promise<AddedEntry> {
  const same = sameNumber(number, region);
  const erased = await findErasedEntry(queries, account, number, region);
  const entries = [...(await entriesOf(queries, account, same)), ...(erased ? [erased.number] : [])];
  const isNew = entries.length === 0;
  if (isNew) await queries.run(block, { account, number, key: writtenKey(number), sample, blockedAt: at, origin });
  else if (origin === 'user') {
    await queries.run(adopt, { account, numbers: recordsOf(entries.map((each) => [each])), sample });
  }
  return { isNew, cancelled: await endAllFor(queries, account, at, same) };
}

const PAGE = 1_000;

/** Ends what waits for the number, scheduled or due. Returns how many messages those were. */
export async function endAllFor(queries: Writing, account: AccountKey, at: number, same: SameNumber): Promise<number> {
  const cancelled = await cancelScheduled(queries, account, same);
  if (cancelled.length > 0) await releaseHeld(queries, account, at, cancelled, OPTED_OUT.reason);
  return cancelled.length + (await endWaitingFor(queries, account, at, same));
}

/**
 * Of messages that are about to be submitted, or to wait again: ends those whose recipient is on
 * the blacklist and returns the others. Inside a transaction of the account, so an opt-out has
 * either been acknowledged before, and is seen here, or finds the messages claimed.
 */
export async function endOptedOut<T extends DispatchRow & { readonly recipient: string }>(
  queries: Writing,
  account: bigint,
  at: number,
  region: string | null,
  messages: readonly T[],
): Promise<T[]> {
  const numbers = messages.filter(({ is_answer }) => is_answer === 0n).map(({ recipient }) => recipient);
  const blacklisted = await blacklistedOf(queries, account, numbers, region);
  if (blacklisted.size === 0) return [...messages];
  const isEnded = ({ recipient, is_answer }: T) => is_answer === 0n && blacklisted.has(recipient);
  await endWaiting(queries, account, at, messages.filter(isEnded), OPTED_OUT);
  return messages.filter((message) => !isEnded(message));
}

/** Whether the recipient of a claimed message has opted out since the claim. */
export async function isOptedOut(
  queries: Queries,
  {
    account,
    recipient,
    isAnswer,
  }: { readonly account: bigint; readonly recipient: string; readonly isAnswer: boolean },
  defaultRegion: string | null,
): Promise<boolean> {
  if (isAnswer) return false;
  const owner = await queries.first(receiver, { account });
  if (!owner) return true;
  return (await blacklistedOf(queries, account, [recipient], effectiveRegion(owner, defaultRegion))).has(recipient);
}

/** For a settlement: an opt-out that came while a message was claimed holds when it waits again. */
export const optOutsOf =
  (now: () => number, defaultRegion: string | null): OnWaiting =>
  async (queries, account, ids) => {
    const recipients = new Map((await sentTexts(queries, account, ids)).map(({ id, recipient }) => [id, recipient]));
    const rows = (await queries.all(of, { account, ids: elementsOf(ids) })).flatMap((row) => {
      const recipient = recipients.get(row.message_id);
      return typeof recipient === 'string' ? [{ ...row, recipient }] : [];
    });
    const owner = await queries.first(receiver, { account });
    if (owner) await endOptedOut(queries, account, now(), effectiveRegion(owner, defaultRegion), rows);
  };

/** The entries of this number in any notation. */
export async function entriesOf(
  queries: Queries,
  account: AccountKey,
  { ends, matches }: SameNumber,
): Promise<string[]> {
  const entries: string[] = [];
  for (const end of ends) {
    for (let after: string | undefined = ''; after !== undefined; ) {
      const rows: { number: string }[] = await queries.all(sql.blockedByEnd, { account, end, after, limit: PAGE });
      entries.push(...rows.map(({ number }) => number).filter(matches));
      after = rows.length < PAGE ? undefined : rows.at(-1)?.number;
    }
  }
  return entries;
}

/** Those of the numbers, in E.164, that are on the blacklist. */
export async function blacklistedOf(
  queries: Queries,
  account: AccountKey,
  numbers: readonly string[],
  region: string | null,
): Promise<Set<string>> {
  if (numbers.length === 0) return new Set();
  const ends = recordsOf([...endsOfAll(numbers, region)].map((end) => [end]));
  const rows = await queries.all(byEnds, { account, ends, after: BEFORE_ERASED });
  if (rows.length === 0) return new Set();
  const entries = rows.map(({ number }) => number);
  const keys = new Set(entries.map((entry) => numberKey(entry, region)));
  const erased = await findErasedNumbers(queries, account, numbers, region, entries);
  return new Set(numbers.filter((number) => keys.has(number) || erased.has(number)));
}

/**
 * Deletes messages scheduled for the number, except answers to its own words, which wait for the
 * end of quiet hours. Returns them with the credits held for each.
 */
export async function cancelScheduled(queries: Queries, account: AccountKey, same: SameNumber): Promise<HeldMessage[]> {
  const cancelled: HeldMessage[] = [];
  for await (const found of scheduledFor(queries, account, same)) {
    const dispatches = await queries.all(of, { account, ids: elementsOf(found) });
    const answers = new Set(dispatches.filter((row) => row.is_answer === 1n).map(({ message_id }) => message_id));
    const ids = found.filter((id) => !answers.has(id));
    cancelled.push(...(await deleteScheduledAmong(queries, account, ids)));
  }
  return cancelled;
}

// The number is stored as given and is part of a key.
const NUMBER_LENGTH_MAX = 200;

/** For what the contract does not know: it takes any number with a digit. */
export function checkOperatorsNumber(number: string): void {
  checkNumber(number);
  const fault = exponentFault(number);
  if (fault) throw new Problem('bad-argument', fault.detail);
}

export function checkNumber(number: string): void {
  if (number.length > NUMBER_LENGTH_MAX) {
    throw new Problem('bad-argument', `a phone number has at most ${NUMBER_LENGTH_MAX} characters`);
  }
  if (!hasDigit(number)) throw new Problem('bad-argument', 'a phone number has at least one digit');
}
