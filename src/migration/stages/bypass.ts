import { randomUuid } from '../../base/random.ts';
import type { Database } from '../../store/database.ts';
import { BEHIND_OPEN, BYPASS, OPEN_BYPASS, renewing } from './stages.ts';
import * as sql from './traffic.sql.ts';

/**
 * Times in which clients called the old server past the proxy, or through a proxy that only passed
 * calls on. What they changed there is not here, so each account is copied whole before Columba
 * answers it again. Each such time has a name. An account is current when it was copied after the
 * last one, and no account is while a proxy passes calls on.
 */
export type MigrationBypass = ReturnType<typeof createMigrationBypass>;

const copiedOf = (account: bigint): string => `bypass copied ${account}`;

export function createMigrationBypass(database: Database, now: () => number) {
  const renew = renewing(now);
  const set = (name: string, value: string): Promise<number> => database.run(sql.setState, { name, value, at: now() });
  const stateOf = async (name: string): Promise<string | null> =>
    (await database.first(sql.stateOf, { name }))?.value ?? null;

  /** Every account is to be copied. Every proxy sees it within a second. */
  async function note(): Promise<void> {
    await set(BYPASS, randomUuid());
    await renew(database);
  }

  return {
    /**
     * Clients called the old server past the proxies. No proxy passes calls on any more: one that
     * was killed while it did and never came back has left no end.
     */
    async noteAll(): Promise<void> {
      for (;;) {
        const open = await database.first(sql.anyState, { from: OPEN_BYPASS, before: BEHIND_OPEN });
        if (!open) break;
        await set(open.name, '');
      }
      await note();
    },
    /** The proxy of this name passes calls on from now on. */
    async begin(proxy: string): Promise<void> {
      await set(OPEN_BYPASS + proxy, randomUuid());
      await note();
    },
    /** To be called when it no longer does. After a kill in between the proxy is still open. */
    async end(proxy: string): Promise<void> {
      await note();
      await set(OPEN_BYPASS + proxy, '');
      await renew(database);
    },
    /**
     * At the start of a proxy: if it was killed while it passed calls on, it has left no end. What
     * other proxies do is left alone.
     */
    async recover(proxy: string): Promise<void> {
      if ((await stateOf(OPEN_BYPASS + proxy)) ?? '') await this.end(proxy);
    },
    isCopied: async (account: bigint, bypass: string): Promise<boolean> =>
      (await stateOf(copiedOf(account))) === bypass,
    /** The copy began after this bypass was noted. */
    noteCopied: async (account: bigint, bypass: string): Promise<void> => void (await set(copiedOf(account), bypass)),
  };
}
