import { randomUuid } from '../../base/random.ts';
import type { Database } from '../../store/database.ts';
import { BEHIND_OPEN, BYPASS, OPEN_BYPASS, renewing } from './stages.ts';
import * as sql from './traffic.sql.ts';

/**
 * A bypass is a time in which clients called the old server without the proxy, or through a proxy
 * that only passed calls on. What they changed there is not here, so each account is copied whole
 * before Columba answers it again. Each bypass has a name. An account is current if it was copied
 * after the last bypass; while a proxy passes calls on, no account is.
 */
export type MigrationBypass = ReturnType<typeof createMigrationBypass>;

const copiedOf = (account: bigint): string => `bypass copied ${account}`;

export function createMigrationBypass(database: Database, now: () => number) {
  const renew = renewing(now);
  const set = (name: string, value: string): Promise<number> => database.run(sql.setState, { name, value, at: now() });
  const stateOf = async (name: string): Promise<string | null> =>
    (await database.first(sql.stateOf, { name }))?.value ?? null;

  /** Notes that every account has to be copied. Every proxy sees it within a second. */
  async function note(): Promise<void> {
    await set(BYPASS, randomUuid());
    await renew(database);
  }

  return {
    /**
     * Notes that clients called the old server without the proxies. It also closes the bypass of a
     * proxy that was killed while it passed calls on and never came back.
     */
    async noteAll(): Promise<void> {
      for (;;) {
        const open = await database.first(sql.anyState, { from: OPEN_BYPASS, before: BEHIND_OPEN });
        if (!open) break;
        await set(open.name, '');
      }
      await note();
    },
    /** Notes that the proxy of this name passes calls on from now on. */
    async begin(proxy: string): Promise<void> {
      await set(OPEN_BYPASS + proxy, randomUuid());
      await note();
    },
    /** Called when the proxy no longer does. After a kill in between, the bypass is still open. */
    async end(proxy: string): Promise<void> {
      await note();
      await set(OPEN_BYPASS + proxy, '');
      await renew(database);
    },
    /**
     * Called at the start of a proxy: closes the bypass that the proxy left open when it was
     * killed. Those of other proxies stay open.
     */
    async recover(proxy: string): Promise<void> {
      if ((await stateOf(OPEN_BYPASS + proxy)) ?? '') await this.end(proxy);
    },
    isCopied: async (account: bigint, bypass: string): Promise<boolean> =>
      (await stateOf(copiedOf(account))) === bypass,
    /** Notes a copy that began after this bypass. */
    noteCopied: async (account: bigint, bypass: string): Promise<void> => void (await set(copiedOf(account), bypass)),
  };
}
