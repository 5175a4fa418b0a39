import type { Database } from '../../store/database.ts';
import { recordsOf } from '../../store/json.ts';
import * as sql from './traffic.sql.ts';

/**
 * The counts of compared answers by day, operation, protocol and name. A million differences take
 * no more room than one.
 */
export interface CountKey {
  /** The operation with its group. */
  readonly operation: string;
  readonly protocol: string;
  readonly name: string;
}
export interface Counted extends CountKey {
  readonly total: number;
}
export interface Example extends CountKey {
  readonly example: string;
  readonly at: number;
}

/** The prefix of the names of counts of known differences, as databases have it. */
export const KNOWN_DIFFERENCE_PREFIX = 'mask ';
/** The name of counts of operations that the old server has and Columba lacks. */
export const UNKNOWN = 'unknown';
/** The most unknown operations. Old servers have fewer, but a caller may make up names. */
const UNKNOWN_MAX = 1_000;

export const DAY_MS = 86_400_000;
const COUNTS_KEPT_DAYS = 90;
export const EXAMPLES_MAX = 3;
/** Enough for 32 operations, 4 protocols and some 30 names, of which few occur. */
const EXAMPLES_READ_MAX = 2_000;

/** Latencies are counted in steps of a quarter of a power of two: 19 %. */
const STEPS = 4;
export const latencyStep = (ms: number): number => Math.max(0, Math.ceil(Math.log2(Math.max(ms, 1)) * STEPS));
export const latencyOfStep = (step: number): number => 2 ** (step / STEPS);

export interface CheckState {
  readonly isEqual: boolean;
  /** False if some account could not be read and the others do not differ. */
  readonly isWhole?: boolean;
  readonly at: number;
}

const toCheck = ({ value, changed_at }: { value: string; changed_at: bigint }): CheckState => ({
  isEqual: value === 'equal',
  isWhole: value !== 'incomplete',
  at: Number(changed_at),
});

/** A person accepts that an operation is not compared, or that Columba lacks it. */
export interface Acceptance {
  readonly operation: string;
  readonly by: string;
  readonly at: number;
  /** Empty if none was given. */
  readonly reason: string;
}

export type MigrationCounts = ReturnType<typeof createMigrationCounts>;

export function createMigrationCounts(database: Database, now: () => number) {
  const today = (): number => Math.floor(now() / DAY_MS);
  let slot = 0;
  return {
    async add(counts: readonly Counted[], examples: readonly Example[]): Promise<void> {
      const day = today();
      // Every node uses the same order, so that no two transactions wait for each other.
      const rows = counts
        .map(({ operation, protocol, name, total }) => [day, operation, protocol, name, total] as const)
        .sort((one, other) => (one.join('\n') < other.join('\n') ? -1 : 1));
      if (rows.length > 0) await database.run(sql.addCounts, { rows: recordsOf(rows) });
      for (const { operation, protocol, name, example, at } of examples) {
        slot = (slot + 1) % EXAMPLES_MAX;
        const row = [operation, protocol, name, slot, example, at] as const;
        await database.run(sql.putExamples, { rows: recordsOf([row]) });
      }
    },

    async since(days: number): Promise<{ counts: Counted[]; examples: Example[] }> {
      const rows = await database.all(sql.countsSince, { day: today() - days + 1 });
      const found = await database.all(sql.examplesSince, {
        at: now() - days * DAY_MS,
        limit: EXAMPLES_READ_MAX,
      });
      return {
        counts: rows.map((row) => ({ ...row, total: Number(row.total) })),
        examples: found.map((row) => ({ ...row, at: Number(row.at) })),
      };
    },

    /** Operations that the old server answered and Columba lacks, by all stored counts. */
    async unknown(): Promise<Counted[]> {
      const rows = await database.all(sql.countsNamed, { name: UNKNOWN, limit: UNKNOWN_MAX });
      return rows.map((row) => ({ ...row, total: Number(row.total) }));
    },

    async removeOld(): Promise<void> {
      await database.run(sql.deleteCountsBefore, { day: today() - COUNTS_KEPT_DAYS });
      await database.run(sql.deleteExamplesBefore, { at: now() - COUNTS_KEPT_DAYS * DAY_MS });
    },

    /** Stores the result of the last check of contents on both servers. */
    async setCheck(isEqual: boolean, isWhole = true): Promise<void> {
      const value = isEqual ? 'equal' : isWhole ? 'different' : 'incomplete';
      await database.run(sql.setState, { name: 'check', value, at: now() });
    },
    async check(): Promise<CheckState | null> {
      const row = await database.first(sql.stateOf, { name: 'check' });
      return row ? toCheck(row) : null;
    },

    async acceptances(): Promise<Acceptance[]> {
      const rows = await database.all(sql.acceptances, {});
      return rows.map((row) => ({
        operation: row.operation,
        by: row.accepted_by,
        at: Number(row.accepted_at),
        reason: row.reason,
      }));
    },
    async accept(operation: string, by: string, reason = ''): Promise<void> {
      await database.run(sql.accept, { operation, by, at: now(), reason });
    },
    /** Returns whether there was an acceptance. */
    async withdraw(operation: string): Promise<boolean> {
      return (await database.run(sql.withdrawAcceptance, { operation })) > 0;
    },

    /** Counts writes that one of the servers still has to get. */
    async waitingWrites(): Promise<{ total: number; oldestAt: number | null }> {
      const row = await database.first(sql.countWrites, {});
      return { total: Number(row?.total ?? 0n), oldestAt: row?.oldest == null ? null : Number(row.oldest) };
    },
  };
}
