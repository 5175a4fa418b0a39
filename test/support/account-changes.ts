import { setAccountEnabled } from '../../src/domain/access/sessions.ts';
import { accountId, accountRecord, changeAccount } from '../../src/domain/accounts/accounts.ts';
import { addUserId, revokeUserId, userIdsOf } from '../../src/domain/accounts/user-ids.ts';
import type { Services } from '../../src/serve/compose/services.ts';

/** What an operator does to an account, by its username: as the actions do it. */
export function accountChanges({ database }: Pick<Services, 'database'>) {
  return {
    async show(username: string) {
      const account = await accountRecord(database, username);
      return { account, credentials: await userIdsOf(database, account.id, { after: null, limit: 1_000 }) };
    },
    async setEnabled(username: string, enabled: boolean): Promise<void> {
      await setAccountEnabled(database, await accountId(database, username), username, enabled ? null : Date.now());
    },
    /** An empty list allows all networks. */
    async allow(username: string, networks: readonly string[]): Promise<void> {
      const allowedNetworks = networks.join() || null;
      await changeAccount(database, await accountId(database, username), username, { allowedNetworks });
    },
    async rotateUserId(username: string, revokeOthers: boolean) {
      const account = await accountId(database, username);
      return addUserId(database, account, { userId: undefined, revokeOthers }, Date.now());
    },
    async revokeUserId(username: string, hashPrefix: string): Promise<void> {
      await revokeUserId(database, await accountId(database, username), hashPrefix, Date.now());
    },
  };
}
