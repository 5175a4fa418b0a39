import { badField, notFound } from '../../base/problem.ts';
import type { AccountKey } from '../../store/caller.ts';
import { type Cursor, cursorBefore, LAST, pages } from '../../store/cursor.ts';
import type { Database, Queries, Transaction, TransactionQueries } from '../../store/database.ts';
import { elementsOf } from '../../store/json.ts';
import { accountNamed, allAccounts } from './accounts.ts';
import { emitEvent } from './events.ts';
import * as sql from './ledger.sql.ts';

/**
 * Credits by double entry. Every change of a balance is a movement between two sides, written in
 * the same transaction.
 */
export const SIDES = ['operator', 'free', 'held', 'used'] as const;
export type Side = (typeof SIDES)[number];
export const MOVEMENT_KINDS = ['grant', 'hold', 'release', 'capture', 'adjust'] as const;
export type MovementKind = (typeof MOVEMENT_KINDS)[number];

/** The balances of an account. The operator's side has no limit, so it has no balance. */
export interface Balances {
  readonly free: bigint;
  readonly held: bigint;
  readonly used: bigint;
  /** Free credits below this number are low; null for no limit. */
  readonly low?: bigint | null;
}
export interface NewMovement {
  readonly kind: MovementKind;
  readonly from: Side;
  readonly to: Side;
  readonly amount: bigint;
  readonly messageId?: bigint;
  readonly reason?: string;
  readonly reference?: string;
}
export interface Movement {
  readonly id: bigint;
  readonly kind: MovementKind;
  readonly from: Side;
  readonly to: Side;
  readonly amount: bigint;
  readonly at: number;
  readonly messageId: bigint | null;
  readonly reason: string | null;
  readonly reference: string | null;
}
export interface HeldMessage {
  readonly message_id: bigint;
  readonly held_parts: bigint;
}

const CREDITS_MAX = 2n ** 63n - 1n;
const CREDITS_MIN = -(2n ** 63n);

export async function balancesOf(queries: Queries, account: AccountKey): Promise<Balances> {
  const row = await queries.first(sql.balances, { account });
  if (!row) throw notFound('such account any more');
  return row;
}

/**
 * Writes movements and updates the balances. The transaction belongs to the account, so no other
 * call moves its credits.
 */
export async function move(
  { queries, account, at }: Transaction,
  movements: readonly NewMovement[],
  known?: Balances,
): Promise<{ balances: Balances; ids: bigint[] }> {
  const found = known ?? (await balancesOf(queries, account));
  const balances = { free: found.free, held: found.held, used: found.used };
  for (const { from, to, amount } of movements) {
    if (from !== 'operator') balances[from] -= amount;
    if (to !== 'operator') balances[to] += amount;
  }
  checkBalances(found, balances);
  const count = movements.length;
  const taken = await queries.first(sql.takeNumbers, { account, held: balances.held, count });
  const first = (taken?.last_movement ?? 0n) - BigInt(count) + 1n;
  const { free, used } = balances;
  if (free !== found.free || used !== found.used) await queries.run(sql.setBalances, { account, free, used });
  const rows = movements.map(
    ({ kind, from, to, amount, messageId = null, reason = null, reference = null }, index) => ({
      account,
      id: first + BigInt(index),
      kind,
      from,
      to,
      amount,
      at,
      messageId,
      reason,
      reference,
    }),
  );
  await queries.runAll(sql.addMovement, rows);
  const threshold = found.low ?? null;
  if (threshold !== null && found.free >= threshold && free < threshold) {
    await emitEvent(queries, { type: 'credits.low', account, at, free, threshold });
  }
  return { balances, ids: rows.map(({ id }) => id) };
}

/** An imported balance may be negative. Then a movement may only bring it nearer to 0. */
function checkBalances(old: Balances, changed: Balances): void {
  for (const side of ['free', 'held', 'used'] as const) {
    if (changed[side] > CREDITS_MAX || changed[side] < CREDITS_MIN) {
      throw badField('amount', `the ${side} credits would be more than a 64-bit number holds`);
    }
    if (changed[side] < 0n && changed[side] < old[side]) {
      throw badField('amount', `the ${side} credits are ${old[side]}, and would be below 0`);
    }
  }
}

/**
 * Releases the credits of deleted scheduled messages, with one movement each. If the free balance
 * would exceed the largest number, the rest goes back to the operator.
 */
export async function releaseHeld(
  transaction: Transaction,
  messages: readonly HeldMessage[],
  reason: string,
): Promise<bigint> {
  const found = await balancesOf(transaction.queries, transaction.account);
  let room = CREDITS_MAX - found.free;
  const movements: NewMovement[] = [];
  let released = 0n;
  for (const { message_id: messageId, held_parts: parts } of messages) {
    const amount = parts < room ? parts : room;
    room -= amount;
    released += amount;
    if (amount > 0n) movements.push({ kind: 'release', from: 'held', to: 'free', amount, messageId, reason });
    const rest = parts - amount;
    if (rest > 0n) movements.push({ kind: 'adjust', from: 'held', to: 'operator', amount: rest, messageId, reason });
  }
  if (movements.length > 0) await move(transaction, movements, found);
  return released;
}

/** Holds the credits of an imported account's scheduled messages. Triggers open other balances. */
export async function openHeld(queries: Queries, account: bigint, at: number, held: bigint): Promise<void> {
  if (held === 0n) return;
  await queries.run(sql.openHeld, { account, held });
  const sides = { kind: 'grant', from: 'operator', to: 'held' };
  const words = { messageId: null, reason: OPENING, reference: null };
  await queries.run(sql.addMovement, { account, id: OPENING_HELD, ...sides, amount: held, at, ...words });
}

// schema/ledger.ts reserves the movements 1 to 3 for openings.
const OPENING_HELD = 3n;
const OPENING = 'opening';
const CARRIED = 'carried forward';

export interface Discrepancy {
  readonly username: string;
  readonly side: 'free' | 'held' | 'used' | 'messages';
  /** The stored balance; for `messages` the held credits. */
  readonly stored: bigint;
  /** The sum of movements; for `messages` the parts of the messages that hold credits. */
  readonly counted: bigint;
}

export interface Adjustment {
  readonly amount: bigint;
  readonly reason: string;
  readonly reference: string | null;
}

export type Ledger = ReturnType<typeof createLedger>;

export function createLedger(database: Database, now: () => number) {
  return {
    async balances(account: AccountKey): Promise<Balances> {
      const { free, held, used } = await balancesOf(database, account);
      return { free, held, used };
    },

    /** Newest first, after the movement `after`. */
    async movements(account: AccountKey, limit: number, after?: { at: number; id: bigint }): Promise<Movement[]> {
      const cursor = after ? cursorBefore(after.at, after.id) : LAST;
      return (await database.all(sql.newestMovements, { account, ...cursor, limit })).map(toMovement);
    },

    /** Newest first, from a position on, which is included. */
    async movementsFrom(account: AccountKey, from: Cursor, limit: number): Promise<Movement[]> {
      return (await database.all(sql.newestMovements, { account, ...from, limit })).map(toMovement);
    },

    /** A positive amount grants credits; a negative one takes free credits back, never below 0. */
    adjust: (account: AccountKey, change: Adjustment): Promise<{ movement: Movement; balances: Balances }> =>
      database.transaction(account, (queries) => adjustBalance({ queries, account, at: now() }, change)),

    /** Recomputes the balances of all accounts, or of one, and returns the differences. */
    check: (username: string | null = null): Promise<{ accounts: number; discrepancies: Discrepancy[] }> =>
      database.snapshot(async (queries) => {
        const discrepancies: Discrepancy[] = [];
        let accounts = 0;
        const rows = username === null ? allAccounts(queries) : [await accountNamed(queries, username)];
        for await (const { id, username } of rows) {
          discrepancies.push(...(await discrepanciesOf(queries, id, username)));
          accounts += 1;
        }
        return { accounts, discrepancies };
      }),
  };
}

async function adjustBalance(
  transaction: Transaction,
  { amount, reason, reference }: Adjustment,
): Promise<{ movement: Movement; balances: Balances }> {
  if (amount === 0n) throw badField('amount', '0 moves nothing');
  const isGrant = amount > 0n;
  const sides = isGrant
    ? ({ kind: 'grant', from: 'operator', to: 'free' } as const)
    : ({ kind: 'adjust', from: 'free', to: 'operator' } as const);
  const size = isGrant ? amount : -amount;
  const words = reference === null ? { reason } : { reason, reference };
  const { balances, ids } = await move(transaction, [{ ...sides, amount: size, ...words }]);
  const told = { amount: size, at: transaction.at, messageId: null, reason, reference };
  const movement = { id: ids[0] as bigint, ...sides, ...told };
  return { movement, balances };
}

const PAGE = 1_000;

async function discrepanciesOf(queries: Queries, account: bigint, username: string): Promise<Discrepancy[]> {
  const stored = await queries.first(sql.balances, { account });
  if (!stored) return [{ username, side: 'held', stored: 0n, counted: 0n }];
  const counted = { free: 0n, held: 0n, used: 0n };
  const page = (from: bigint) => queries.all(sql.movementsFrom, { account, from, limit: PAGE });
  for await (const rows of pages(PAGE, page, ({ movement_id }) => movement_id)) {
    for (const { from, to, amount } of rows.map(toMovement)) {
      if (from !== 'operator') counted[from] -= amount;
      if (to !== 'operator') counted[to] += amount;
    }
  }
  const messages = (await queries.first(sql.heldByMessages, { account }))?.parts ?? 0n;
  return [
    ...(['free', 'held', 'used'] as const).map((side) => ({ side, stored: stored[side], counted: counted[side] })),
    { side: 'messages' as const, stored: stored.held, counted: messages },
  ]
    .filter((each) => each.stored !== each.counted)
    .map((each) => ({ username, ...each }));
}

/**
 * The movements of a message at these times. Movements are indexed by time, and those of a message
 * have the times of its history.
 */
export const movementsOfMessage = async (
  queries: Queries,
  account: AccountKey,
  id: bigint,
  times: readonly number[],
): Promise<Movement[]> => {
  const rows = await queries.all(sql.movementsOfMessage, { account, id, times: elementsOf(times.map(BigInt)) });
  return rows.map(toMovement).sort((one, other) => (one.id < other.id ? -1 : 1));
};

/** Does not count openings and sums that were carried forward. */
export const countMovementsBefore = async (queries: Queries, account: AccountKey, before: number): Promise<number> =>
  Number((await queries.first(sql.countMovementsBefore, { account, before }))?.total ?? 0n);

/**
 * Replaces one batch of the oldest movements by their sum, so that the balances still add up.
 * Returns the number of replaced movements. A carried sum has at most one row for each side. The
 * next sum includes it.
 */
export async function carryForward(
  queries: TransactionQueries,
  account: bigint,
  olderThan: number,
  limit: number,
): Promise<number> {
  const rows = (await queries.all(sql.oldestMovements, { account, before: olderThan, limit })).map(toMovement);
  const last = rows.at(-1);
  const single = rows.filter(({ reason }) => reason !== CARRIED && reason !== OPENING).length;
  if (!last || single === 0) return 0;
  const sums = { free: 0n, held: 0n, used: 0n };
  for (const { from, to, amount } of rows) {
    if (from !== 'operator') sums[from] -= amount;
    if (to !== 'operator') sums[to] += amount;
  }
  await queries.run(sql.deleteMovements, { account, ids: `[${rows.map(({ id }) => id).join()}]` });
  const held = (await balancesOf(queries, account)).held;
  const carried = (['free', 'held', 'used'] as const).filter((side) => sums[side] !== 0n);
  const taken = await queries.first(sql.takeNumbers, { account, held, count: carried.length });
  const first = (taken?.last_movement ?? 0n) - BigInt(carried.length) + 1n;
  const words = { messageId: null, reason: CARRIED, reference: null };
  await queries.runAll(
    sql.addMovement,
    carried.map((to, index) => {
      const sides = { kind: 'adjust', from: 'operator', to, amount: sums[to] };
      return { account, id: first + BigInt(index), ...sides, at: last.at, ...words };
    }),
  );
  return single;
}

/** The movements with a reason or a reference for which `isWanted` holds. */
export async function movementsWhere(
  queries: Queries,
  account: bigint,
  isWanted: (text: string | null) => boolean,
): Promise<bigint[]> {
  const found: bigint[] = [];
  const page = (from: bigint) => queries.all(sql.movementsFrom, { account, from, limit: PAGE });
  for await (const rows of pages(PAGE, page, ({ movement_id }) => movement_id)) {
    for (const { movement_id, reason, reference } of rows) {
      if (isWanted(reason) || isWanted(reference)) found.push(movement_id);
    }
  }
  return found;
}

/** Erases reasons and references. The movements stay. */
export const eraseWords = (queries: Queries, account: bigint, ids: readonly bigint[]): Promise<number> =>
  queries.run(sql.eraseWords, { account, ids: elementsOf(ids) });

const toMovement = (row: sql.MovementRow): Movement => sql.movementColumns.read(row) as Movement;
