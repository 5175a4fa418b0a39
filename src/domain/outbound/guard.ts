import { createHash } from 'node:crypto';
import { counted } from '../../base/counted.ts';
import { isOfCountry } from '../../sms/numbers.ts';
import { type AccountKey, accountIdOf } from '../../store/caller.ts';
import type { Database, Queries } from '../../store/database.ts';
import { accountRecordsOf } from '../../store/json.ts';
import { accountId, createAccount, type NewAccount } from '../accounts/accounts.ts';
import { emitEvent } from '../accounts/events.ts';
import * as sql from './guard.sql.ts';

/**
 * The spend guard of an account: countries that it may send to, and ceilings. A stolen token or a
 * form that anybody may fill in costs what the guard allows, and no more.
 */
export interface Guard {
  /** `region`: the country of the account alone. Null: every country. */
  readonly countries: 'region' | readonly string[] | null;
  /** Messages to one recipient in a day. */
  readonly recipientDay: number | null;
  /** Messages in an hour to one block: the numbers that differ only in their last three digits. */
  readonly blockHour: number | null;
  readonly creditsHour: bigint | null;
  readonly creditsDay: bigint | null;
}
export const NO_GUARD: Guard = {
  countries: null,
  recipientDay: null,
  blockHour: null,
  creditsHour: null,
  creditsDay: null,
};
/** Of an account that is added: other countries are refused until an operator allows them. */
const NEW_ACCOUNT_GUARD: Guard = { ...NO_GUARD, countries: 'region' };

export const GUARD_RULES = ['country', 'recipient-day', 'block-hour', 'credits-hour', 'credits-day'] as const;
export type GuardRule = (typeof GUARD_RULES)[number];

export interface Stop {
  readonly rule: GuardRule;
  /** Says what is over which limit. */
  readonly detail: string;
}
/** A message that is about to be accepted. */
export interface Spending {
  /** E.164. */
  readonly recipient: string;
  readonly credits: bigint;
}

/** Divides messages by whether the guard of their account allows the country of their recipient. */
export function divideByCountry<T extends { readonly recipient: string }>(
  guard: Guard | null,
  region: string | null,
  messages: readonly T[],
): { allowed: readonly T[]; stopped: readonly { readonly message: T; readonly stop: Stop }[] } {
  if (guard === null) return { allowed: messages, stopped: [] };
  const judged = messages.map((message) => ({ message, stop: countryStop(guard, region, message.recipient) }));
  return {
    allowed: judged.flatMap(({ message, stop }) => (stop === null ? [message] : [])),
    stopped: judged.flatMap(({ message, stop }) => (stop === null ? [] : [{ message, stop }])),
  };
}

function countryStop({ countries }: Guard, region: string | null, recipient: string): Stop | null {
  const allowed = countries === 'region' ? (region === null ? null : [region]) : countries;
  if (allowed === null || isOfCountry(recipient, allowed)) return null;
  return { rule: 'country', detail: `the guard of the account allows only numbers of ${allowed.join(', ')}` };
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const BLOCK_DIGITS = 3;
// More than one request of 1,000 recipients adds.
const FORGOTTEN_MAX = 5_000;

interface Ceiling {
  readonly rule: GuardRule;
  readonly limit: bigint;
  readonly windowMs: number;
  readonly keyOf: (recipient: string) => string;
  readonly amountOf: (credits: bigint) => bigint;
  readonly detail: (limit: bigint) => string;
}

const hashed = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 32);
const one = () => 1n;
const same = (credits: bigint) => credits;

function ceilingsOf({ recipientDay, blockHour, creditsHour, creditsDay }: Guard): Ceiling[] {
  const ceilings: (Omit<Ceiling, 'limit'> & { limit: bigint | number | null })[] = [
    {
      rule: 'recipient-day',
      limit: recipientDay,
      windowMs: DAY_MS,
      keyOf: hashed,
      amountOf: one,
      detail: (limit) => `more than ${counted(limit, 'message')} to one recipient in a day`,
    },
    {
      rule: 'block-hour',
      limit: blockHour,
      windowMs: HOUR_MS,
      keyOf: (recipient) => hashed(recipient.slice(0, -BLOCK_DIGITS)),
      amountOf: one,
      detail: (limit) => `more than ${counted(limit, 'message')} to one block of 1,000 numbers in an hour`,
    },
    {
      rule: 'credits-hour',
      limit: creditsHour,
      windowMs: HOUR_MS,
      keyOf: () => '',
      amountOf: same,
      detail: (limit) => `more than ${counted(limit, 'credit')} in an hour`,
    },
    {
      rule: 'credits-day',
      limit: creditsDay,
      windowMs: DAY_MS,
      keyOf: () => '',
      amountOf: same,
      detail: (limit) => `more than ${counted(limit, 'credit')} in a day`,
    },
  ];
  return ceilings.flatMap((each) => (each.limit === null ? [] : [{ ...each, limit: BigInt(each.limit) }]));
}

interface Counted {
  readonly rule: string;
  readonly key: string;
  readonly endsAt: number;
  amount: bigint;
  isChanged: boolean;
}

/** A transaction of the account; in a dry run, the database. */
type Within = { readonly queries: Queries; readonly account: AccountKey; readonly at: number };

/**
 * Counts of the windows in which the request falls. A window begins with a whole hour or day of
 * UTC.
 */
async function readCounts(
  queries: Queries,
  account: AccountKey,
  at: number,
  keys: readonly Omit<Counted, 'amount' | 'isChanged'>[],
): Promise<Map<string, Counted>> {
  const counts = new Map<string, Counted>();
  for (const each of keys) counts.set(`${each.rule} ${each.key}`, { ...each, amount: 0n, isChanged: false });
  const wanted = accountRecordsOf(
    knownId(account),
    [...counts.values()].map(({ rule, key }) => [rule, key]),
  );
  for (const { rule, key, amount } of await queries.all(sql.counted, { account, keys: wanted, now: at })) {
    const found = counts.get(`${rule} ${key}`);
    if (found) found.amount = amount;
  }
  return counts;
}

const endOf = (at: number, windowMs: number): number => (Math.floor(at / windowMs) + 1) * windowMs;

/**
 * Decides about each message in its order: null if it may go, else the ceiling that it exceeds.
 * What goes is counted; what is stopped is not, so one large message does not stop the small ones
 * behind it. In a dry run nothing is written.
 */
export async function ceilingStops(
  { queries, account, at }: Within,
  guard: Guard,
  messages: readonly Spending[],
  isDryRun: boolean,
): Promise<(Stop | null)[]> {
  const ceilings = ceilingsOf(guard);
  if (ceilings.length === 0 || messages.length === 0) return messages.map(() => null);
  const keys = ceilings.flatMap(({ rule, keyOf, windowMs }) =>
    messages.map(({ recipient }) => ({ rule, key: keyOf(recipient), endsAt: endOf(at, windowMs) })),
  );
  const counts = await readCounts(queries, account, at, keys);
  const countOf = ({ rule, keyOf }: Ceiling, recipient: string) => counts.get(`${rule} ${keyOf(recipient)}`) as Counted;
  const stops = messages.map(({ recipient, credits }) => {
    const over = ceilings.find((each) => countOf(each, recipient).amount + each.amountOf(credits) > each.limit);
    if (over) return { rule: over.rule, detail: over.detail(over.limit) };
    for (const each of ceilings) {
      const counted = countOf(each, recipient);
      counted.amount += each.amountOf(credits);
      counted.isChanged = true;
    }
    return null;
  });
  if (!isDryRun) await writeCounts(queries, account, at, [...counts.values()]);
  return stops;
}

async function writeCounts(
  queries: Queries,
  account: AccountKey,
  at: number,
  counts: readonly Counted[],
): Promise<void> {
  await queries.run(sql.forget, { account, now: at, limit: FORGOTTEN_MAX });
  const changed = counts.filter(({ isChanged }) => isChanged);
  if (changed.length > 0) await queries.run(sql.count, { account, rows: rowsOf(account, changed) });
}

const rowsOf = (account: AccountKey, counts: readonly Pick<Counted, 'rule' | 'key' | 'endsAt' | 'amount'>[]): string =>
  accountRecordsOf(
    knownId(account),
    counts.map(({ rule, key, endsAt, amount }) => [rule, key, endsAt, amount]),
  );

/** A statement about the account has run before, so its id is known. */
function knownId(account: AccountKey): bigint {
  const id = accountIdOf(account);
  if (id === undefined) throw new Error('the account of a transaction does not exist');
  return id;
}

/**
 * Tells of stops at once, but of each rule only once in an hour: an attack would bring thousands.
 */
export async function tellStops(
  { queries, account, at }: Within,
  outcome: 'held' | 'refused',
  stops: readonly Stop[],
): Promise<void> {
  const byRule = Map.groupBy(stops, ({ rule }) => rule);
  if (byRule.size === 0) return;
  const endsAt = endOf(at, HOUR_MS);
  const keys = [...byRule.keys()].map((rule) => ({ rule: `told:${rule}`, key: outcome, endsAt }));
  const told = await readCounts(queries, account, at, keys);
  for (const [rule, own] of byRule) {
    const known = told.get(`told:${rule} ${outcome}`) as Counted;
    if (known.amount > 0n) continue;
    const detail = own[0]?.detail ?? '';
    await emitEvent(queries, { type: 'guard.stopped', account, at, rule, outcome, messages: own.length, detail });
    const counted = { rule: `told:${rule}`, key: outcome, endsAt, amount: 1n };
    await queries.run(sql.count, { account, rows: rowsOf(account, [counted]) });
  }
}

export async function guardOf(queries: Queries, account: AccountKey): Promise<Guard | null> {
  const row = await queries.first(sql.guardOf, { account });
  return row ? readGuard(row.limits) : null;
}

export const putGuard = (queries: Queries, account: AccountKey, guard: Guard, at: number): Promise<number> =>
  queries.run(sql.put, { account, limits: guardText(guard), updatedAt: at });

/** Adds an account that may send to its own country alone. */
export async function createGuardedAccount(
  database: Database,
  given: NewAccount,
  at: number,
): ReturnType<typeof createAccount> {
  const created = await createAccount(database, given, at);
  await putGuard(database, await accountId(database, given.username), NEW_ACCOUNT_GUARD, at);
  return created;
}

export const removeGuard = async (database: Database, account: AccountKey): Promise<boolean> =>
  (await database.run(sql.remove, { account })) > 0;

const guardText = ({ creditsHour, creditsDay, ...rest }: Guard): string =>
  JSON.stringify({ ...rest, creditsHour: creditsHour?.toString() ?? null, creditsDay: creditsDay?.toString() ?? null });

export function readGuard(limits: string): Guard {
  const { creditsHour, creditsDay, ...rest } = JSON.parse(limits);
  const amount = (text: string | null) => (text === null ? null : BigInt(text));
  return { ...rest, creditsHour: amount(creditsHour), creditsDay: amount(creditsDay) };
}
