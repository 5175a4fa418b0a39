import { randomUUID } from 'node:crypto';
import type { Database } from '../store/database.ts';
import * as sql from '../store/statements/migration-traffic.ts';
import { BYPASS, renewing } from './migration-stages.ts';

/**
 * Times in which clients called the old server past the proxy, or through a proxy that only passed
 * calls on. What they changed there is not here, so each account is copied whole before Columba
 * answers it again. Each such time has a name. An account is current when it was copied after the
 * last one.
 */
export type MigrationBypass = ReturnType<typeof createMigrationBypass>;

const OPEN = 'bypass open';
const copiedOf = (account: bigint): string => `bypass copied ${account}`;

export function createMigrationBypass(database: Database, now: () => number) {
  const renew = renewing(now);
  const set = (name: string, value: string): Promise<number> => database.run(sql.setState, { name, value, at: now() });
  const stateOf = async (name: string): Promise<string | null> =>
    (await database.first(sql.stateOf, { name }))?.value ?? null;

  /** Every account is to be copied. Every proxy sees it within a second. */
  async function note(): Promise<void> {
    await set(BYPASS, randomUUID());
    await renew(database);
  }

  return {
    note,
    /** A proxy passes calls on from now on. */
    async begin(): Promise<void> {
      await set(OPEN, randomUUID());
      await note();
    },
    async end(): Promise<void> {
      await note();
      await set(OPEN, '');
    },
    /** At the start of a proxy: one that was killed while it passed calls on has left no end. */
    async recover(): Promise<void> {
      if ((await stateOf(OPEN)) ?? '') await this.end();
    },
    isCopied: async (account: bigint, bypass: string): Promise<boolean> =>
      (await stateOf(copiedOf(account))) === bypass,
    /** The copy began after this bypass was noted. */
    noteCopied: async (account: bigint, bypass: string): Promise<void> => void (await set(copiedOf(account), bypass)),
  };
}
