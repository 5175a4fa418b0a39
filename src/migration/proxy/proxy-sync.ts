import { conflict } from '../../base/problem.ts';
import { createAccounts } from '../../domain/accounts/accounts.ts';
import { hashUserId } from '../../domain/accounts/credentials.ts';
import type { CopyDependencies } from '../copy/copy-account.ts';
import { syncAccount } from '../copy/sync.ts';
import type { Sync } from '../copy/syncs.ts';
import { copyProgress, type ReadEffects, readEffects } from '../stages/migrated-accounts.ts';
import type { MigrationStages } from '../stages/stages.ts';
import type { MigrationWrites } from '../stages/writes.ts';

/** Brings accounts up to date for the proxy, which knows only the user_id of a call. */
export interface ProxySync {
  readonly sync: Sync;
  /** Whether a test showed that an operation marks nothing at the old server. */
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
    async sync(userId, options = {}) {
      const account = (await stages.ofUserId(hashUserId(userId)))?.account;
      if (account === undefined) return;
      // While writes wait, the old server's lists would be older than ours.
      if ((await writes.counts(account)).waiting > 0) {
        if (options.everything) throw conflict('Writes of this account still wait for the old server.');
        return;
      }
      // An account that was not imported is not kept up to date.
      if (options.everything && (await copyProgress(database, account))?.completedAt == null) return;
      const { username } = await accounts.profile(account);
      effects = await readEffects(database, old.url);
      await syncAccount({ ...dependencies, effects }, { account, username, userId }, options);
    },
    leavesMarks: (operation) => effects[operation] === 'leaves',
  };
}
