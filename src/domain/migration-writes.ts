import type { Database } from '../store/database.ts';
import * as sql from '../store/statements/migration-traffic.ts';
import { reserveIds, takeIds } from './ids.ts';

/**
 * Writes that Columba has answered and the old server is still to get. They are in the database, so
 * that nothing that was acknowledged is lost. What they hold is encrypted by whoever adds them.
 */
export interface WaitingWrite {
  readonly account: bigint;
  readonly id: bigint;
  readonly operation: string;
  /** begun: Columba was asked, and its answer is not known. */
  readonly state: 'begun' | 'due';
  readonly sealed: string;
  readonly createdAt: number;
  readonly attempts: number;
}

/** By then Columba has answered, or the process that asked it has ended. */
const BEGUN_MS = 60_000;

export type MigrationWrites = ReturnType<typeof createMigrationWrites>;

/** `keyName` tells which key encrypts: a process takes only what it can read. */
export function createMigrationWrites(database: Database, now: () => number, keyName: string) {
  return {
    /**
     * Before Columba is asked. Writes of one account keep their order. An id is never used again:
     * two proxies may remove the same write, one of them late.
     */
    begin: (account: bigint, operation: string, sealed: string): Promise<bigint> =>
      database.transaction(account, async (queries) => {
        // Earlier versions numbered writes without the counter.
        const last = (await queries.first(sql.lastWrite, { account }))?.write_id ?? 0n;
        await reserveIds(queries, account, 'write', [last]);
        const write = await takeIds(queries, account, 'write');
        const at = now();
        const row = { account, write, operation, state: 'begun', keyName, sealed, at, dueAt: at + BEGUN_MS };
        await queries.run(sql.addWrite, row);
        return write;
      }),
    /** Columba has done it, so the old server is to do it. */
    arm: (account: bigint, write: bigint): Promise<number> =>
      database.run(sql.armWrite, { account, write, dueAt: now() }),
    /** The old server has it, or Columba has not done it. */
    remove: (account: bigint, write: bigint): Promise<number> => database.run(sql.removeWrite, { account, write }),
    postpone: (account: bigint, write: bigint, ms: number): Promise<number> =>
      database.run(sql.postponeWrite, { account, write, dueAt: now() + ms }),
    async dueAccounts(limit: number): Promise<bigint[]> {
      const rows = await database.all(sql.dueWriteAccounts, { keyName, now: now(), limit });
      return [...new Set(rows.map(({ account_id }) => account_id))];
    },
    /** All of one account, oldest first. */
    async of(account: bigint, limit: number): Promise<WaitingWrite[]> {
      const rows = await database.all(sql.writesOf, { account, limit });
      return rows.map((row) => ({
        account: row.account_id,
        id: row.write_id,
        operation: row.operation,
        state: row.state === 'begun' ? 'begun' : 'due',
        sealed: row.sealed,
        createdAt: Number(row.created_at),
        attempts: Number(row.attempts),
      }));
    },
    async count(account: bigint): Promise<number> {
      return Number((await database.first(sql.countWritesOf, { account }))?.total ?? 0n);
    },
  };
}
