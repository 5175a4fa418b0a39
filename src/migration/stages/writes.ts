import { reserveIds, takeIds } from '../../domain/accounts/ids.ts';
import type { Database } from '../../store/database.ts';
import * as sql from './traffic.sql.ts';

const STATES = ['begun', 'asked', 'due', 'behind'] as const;
export type WriteState = (typeof STATES)[number];

/**
 * Writes that one server has done and the other is still to get. They are in the database, so that
 * nothing that was acknowledged is lost. What they hold is encrypted by whoever adds them.
 */
export interface WaitingWrite {
  readonly account: bigint;
  readonly id: bigint;
  readonly operation: string;
  /**
   * begun: Columba is asked first, and its answer is not known. asked: only the old server is
   * asked, because the account is compared, and its answer is not known. due: Columba has done it,
   * and the old server is to do it. behind: the old server has done it, and Columba is to do it.
   */
  readonly state: WriteState;
  readonly sealed: string;
  readonly createdAt: number;
  readonly attempts: number;
}

/**
 * A process that works on a write says so more often. After this time another one takes over what a
 * killed one has left.
 */
export const CLAIM_MS = 15_000;
const BEHIND_ROWS_MAX = 10_000;

export type MigrationWrites = ReturnType<typeof createMigrationWrites>;

/** `keyName` tells which key encrypts: a process takes only what it can read, by both names. */
export function createMigrationWrites(database: Database, now: () => number, keyName: string, former = keyName) {
  return {
    /**
     * Before a server is asked. Writes of one account keep their order. An id is never used again:
     * two proxies may remove the same write, one of them late.
     */
    begin: (account: bigint, operation: string, sealed: string, state: 'begun' | 'asked' = 'begun'): Promise<bigint> =>
      database.transaction(account, async (queries) => {
        // Earlier versions numbered writes without the counter.
        const last = (await queries.first(sql.lastWrite, { account }))?.write_id ?? 0n;
        await reserveIds(queries, account, 'write', [last]);
        const write = await takeIds(queries, account, 'write');
        const at = now();
        const row = { account, write, operation, state, keyName, sealed, at, dueAt: at + CLAIM_MS };
        await queries.run(sql.addWrite, row);
        return write;
      }),
    /** Columba has done it, so the old server is to do it. */
    setDue: (account: bigint, write: bigint): Promise<number> =>
      database.run(sql.setWriteDue, { account, write, dueAt: now() }),
    /** The old server has done it, so Columba is to do it: by this process where it holds it. */
    setBehind: (account: bigint, write: bigint, isHeld = false): Promise<number> =>
      database.run(sql.setWriteBehind, { account, write, dueAt: now() + (isHeld ? CLAIM_MS : 0) }),
    /** False where another process works on it, or it is not due. */
    claim: async (account: bigint, write: bigint): Promise<boolean> =>
      (await database.run(sql.claimWrite, { account, write, now: now(), until: now() + CLAIM_MS })) === 1,
    /** Whoever began or claimed it still works on it. */
    extend: (account: bigint, write: bigint): Promise<number> =>
      database.run(sql.extendClaim, { account, write, until: now() + CLAIM_MS }),
    async behindAccounts(): Promise<bigint[]> {
      const rows = await database.all(sql.behindAccounts, { keyName, former, limit: BEHIND_ROWS_MAX });
      return [...new Set(rows.map(({ account_id }) => account_id))];
    },
    /** Both servers have it, or none has done it. */
    remove: (account: bigint, write: bigint): Promise<number> => database.run(sql.removeWrite, { account, write }),
    postpone: (account: bigint, write: bigint, ms: number): Promise<number> =>
      database.run(sql.postponeWrite, { account, write, dueAt: now() + ms }),
    async dueAccounts(limit: number): Promise<bigint[]> {
      const rows = await database.all(sql.dueWriteAccounts, { keyName, former, now: now(), limit });
      return [...new Set(rows.map(({ account_id }) => account_id))];
    },
    /** All of one account, oldest first. */
    of: async (account: bigint, limit: number): Promise<WaitingWrite[]> =>
      (await database.all(sql.writesOf, { account, limit })).map(toWaiting),
    /** Those that Columba is to get, oldest first. */
    forColumba: async (account: bigint, limit: number): Promise<WaitingWrite[]> =>
      (await database.all(sql.writesForColumba, { account, limit })).map(toWaiting),
    /** Those that the old server is still to get; `due` are acknowledged. */
    async counts(account: bigint): Promise<{ waiting: number; due: number }> {
      const row = await database.first(sql.countWritesOf, { account });
      return { waiting: Number(row?.waiting ?? 0n), due: Number(row?.due ?? 0n) };
    },
  };
}

const toWaiting = (row: sql.WriteRow): WaitingWrite => ({
  account: row.account_id,
  id: row.write_id,
  operation: row.operation,
  state: STATES.find((state) => state === row.state) ?? 'due',
  sealed: row.sealed,
  createdAt: Number(row.created_at),
  attempts: Number(row.attempts),
});
