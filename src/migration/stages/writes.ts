import { reserveIds, takeIds } from '../../domain/accounts/ids.ts';
import type { Database } from '../../store/database.ts';
import * as sql from './traffic.sql.ts';

const STATES = ['begun', 'asked', 'due', 'behind'] as const;
export type WriteState = (typeof STATES)[number];

/**
 * Writes that one server has done and the other still has to get. They are in the database, so that
 * no acknowledged write is lost. Callers encrypt their content.
 */
export interface WaitingWrite {
  readonly account: bigint;
  readonly id: bigint;
  readonly operation: string;
  /**
   * `begun`: Columba is asked first, and its answer is not known. `asked`: only the old server is
   * asked, because the account is compared, and its answer is not known. `due`: Columba has done
   * the write, and the old server has to. `behind`: the old server has done it, and Columba has to.
   */
  readonly state: WriteState;
  readonly sealed: string;
  readonly createdAt: number;
  readonly attempts: number;
}

/**
 * How long a claim lasts. A process that works on a write renews its claim more often; after this
 * time another process takes over the write of a killed one.
 */
export const CLAIM_MS = 15_000;
const BEHIND_ROWS_MAX = 10_000;

export type MigrationWrites = ReturnType<typeof createMigrationWrites>;

/** `keyName` and `former` name the key: a process takes only writes that it can decrypt. */
export function createMigrationWrites(database: Database, now: () => number, keyName: string, former = keyName) {
  return {
    /**
     * Stores a write before a server is asked. Writes of one account keep their order. An id is
     * never used again, because two proxies may remove the same write, one of them late.
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
    /** Columba has done the write, so the old server has to. */
    setDue: (account: bigint, write: bigint): Promise<number> =>
      database.run(sql.setWriteDue, { account, write, dueAt: now() }),
    /**
     * The old server has done the write, so Columba has to; `isHeld` claims it for this process.
     */
    setBehind: (account: bigint, write: bigint, isHeld = false): Promise<number> =>
      database.run(sql.setWriteBehind, { account, write, dueAt: now() + (isHeld ? CLAIM_MS : 0) }),
    /** Returns false if another process works on the write, or if it is not due. */
    claim: async (account: bigint, write: bigint): Promise<boolean> =>
      (await database.run(sql.claimWrite, { account, write, now: now(), until: now() + CLAIM_MS })) === 1,
    /** Renews the claim of the process that began or claimed the write. */
    extend: (account: bigint, write: bigint): Promise<number> =>
      database.run(sql.extendClaim, { account, write, until: now() + CLAIM_MS }),
    async behindAccounts(): Promise<bigint[]> {
      const rows = await database.all(sql.behindAccounts, { keyName, former, limit: BEHIND_ROWS_MAX });
      return [...new Set(rows.map(({ account_id }) => account_id))];
    },
    /** Removes a write that both servers have done, or neither. */
    remove: (account: bigint, write: bigint): Promise<number> => database.run(sql.removeWrite, { account, write }),
    postpone: (account: bigint, write: bigint, ms: number): Promise<number> =>
      database.run(sql.postponeWrite, { account, write, dueAt: now() + ms }),
    async dueAccounts(limit: number): Promise<bigint[]> {
      const rows = await database.all(sql.dueWriteAccounts, { keyName, former, now: now(), limit });
      return [...new Set(rows.map(({ account_id }) => account_id))];
    },
    /** All writes of one account, oldest first. */
    of: async (account: bigint, limit: number): Promise<WaitingWrite[]> =>
      (await database.all(sql.writesOf, { account, limit })).map(toWaiting),
    /** The writes that Columba has to get, oldest first. */
    forColumba: async (account: bigint, limit: number): Promise<WaitingWrite[]> =>
      (await database.all(sql.writesForColumba, { account, limit })).map(toWaiting),
    /** Counts the writes that the old server still has to get; `due` ones are acknowledged. */
    async counts(account: bigint): Promise<{ waiting: number; due: number }> {
      const row = await database.first(sql.countWritesOf, { account });
      return { waiting: Number(row?.waiting ?? 0n), due: Number(row?.due ?? 0n) };
    },
  };
}

function toWaiting(row: sql.WriteRow): WaitingWrite {
  const { state: stored, ...values } = sql.writeColumns.read(row);
  return { ...values, state: STATES.find((state) => state === stored) ?? 'due' };
}
