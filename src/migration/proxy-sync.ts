import { createAccounts } from '../domain/accounts.ts';
import { hashUserId } from '../domain/credentials.ts';
import { type ReadEffects, readEffects } from '../domain/migrated-accounts.ts';
import type { MigrationStages } from '../domain/migration-stages.ts';
import type { MigrationWrites } from '../domain/migration-writes.ts';
import type { CopyDependencies } from './copy-account.ts';
import { syncAccount } from './sync.ts';

/** Brings an account up to date, for the proxy, which knows only the user_id of a call. */
export interface ProxySync {
  sync(userId: string): Promise<void>;
  /** Whether an operation was seen to mark nothing at the old server. */
  leavesMarks(operation: string): boolean;
}

export interface ProxySyncSettings extends Omit<CopyDependencies, 'effects'> {
  readonly stages: Pick<MigrationStages, 'ofUserId'>;
  readonly writes: Pick<MigrationWrites, 'counts'>;
}

export function createProxySync({ stages, writes, ...dependencies }: ProxySyncSettings): ProxySync {
  const { database, old, now } = dependencies;
  const accounts = createAccounts(database, now, null);
  let effects: ReadEffects = {};
  return {
    async sync(userId) {
      const account = (await stages.ofUserId(hashUserId(userId)))?.account;
      if (account === undefined) return;
      // The old server's lists would be older than ours.
      if ((await writes.counts(account)).waiting > 0) return;
      const { username } = await accounts.profile(account);
      effects = await readEffects(database, old.url);
      await syncAccount({ ...dependencies, effects }, { account, username, userId });
    },
    leavesMarks: (operation) => effects[operation] === 'leaves',
  };
}
