import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setAccountEnabled } from '../../../src/domain/access/sessions.ts';
import { accountId, changeAccount, removeAccount } from '../../../src/domain/accounts/accounts.ts';
import { hashUserId } from '../../../src/domain/accounts/credentials.ts';
import { addUserId, revokeUserId } from '../../../src/domain/accounts/user-ids.ts';
import { copyAccount } from '../../../src/migration/copy/account-copy.ts';
import type { AccountKey } from '../../../src/store/caller.ts';
import type { Database, TransactionQueries } from '../../../src/store/database.ts';
import type { Statement } from '../../../src/store/statement.ts';
import { joined } from '../../../src/store/transactions.ts';
import { readAccount } from '../../../src/transfer/account-json.ts';
import { createArchive } from '../../../src/transfer/archive.ts';
import { onFirstEngine } from '../../support/engines.ts';
import { openStore } from '../../support/opened-database.ts';

const AT = Date.UTC(2026, 6);

interface Written {
  readonly name: string;
  readonly isLocked: boolean;
}

/**
 * Writes down each change of what every node of a distributed database has of an account, and whether its transaction had
 * locked the account, or had added it.
 */
function watchingLocks(database: Database): { database: Database; written: Written[] } {
  const written: Written[] = [];
  const watching = (queries: Pick<TransactionQueries, 'run'>, locked: AccountKey | null): TransactionQueries['run'] => {
    const added = new Set<unknown>();
    return (statement: Statement<never>, parameters: { account?: unknown }) => {
      const { name, distributed } = statement;
      if (name === 'accounts.addAccount') added.add(parameters.account);
      if (distributed?.everywhere) {
        const isLocked = added.has(parameters.account) || (locked !== null && locked === parameters.account);
        written.push({ name, isLocked });
      }
      return queries.run(statement, parameters as never);
    };
  };
  const watched: Database = {
    ...joined(database, database as never),
    run: watching(database, null),
    transaction: (account, work, lockWaitMs) =>
      database.transaction(
        account,
        (queries) =>
          work({
            all: (statement, parameters) => queries.all(statement, parameters),
            first: (statement, parameters) => queries.first(statement, parameters),
            run: watching(queries, account),
            runAll: (statement, parameters) => queries.runAll(statement, parameters),
          }),
        lockWaitMs,
      ),
    snapshot: (work) => database.snapshot(work),
  };
  return { database: watched, written };
}

onFirstEngine('the order of locks', (engine) => {
  test('whoever writes what every node has of an account has locked the account before, so that two never wait for each other', async (t) => {
    const store = await openStore(await engine.fresh('empty'));
    t.after(() => store.close());
    const { database, written } = watchingLocks(store);
    const archive = createArchive(database, () => AT, null);
    const given = { username: 'one', credits: '0', usedCredits: '0', datetimeCreated: '2026-01-01T00:00:00Z' };
    await archive.update(await readAccount({ ...given, userID: 'first' }, AT, true));
    await archive.update(await readAccount({ ...given, userID: 'second' }, AT, true));
    const account = await accountId(database, 'one');
    const { userId } = await addUserId(database, account, { userId: undefined, revokeOthers: true }, AT);
    await revokeUserId(database, account, hashUserId(userId), AT);
    await changeAccount(database, account, 'one', { allowedNetworks: '10.0.0.0/8' });
    await setAccountEnabled(database, account, 'one', AT);
    await removeAccount(database, account, 'one', []);
    const copied = await readAccount({ ...given, username: 'copied', userID: 'third' }, AT);
    const credential = (hash: string) => ({ hash: hashUserId(hash), createdAt: AT, revokedAt: null });
    await copyAccount(database, { ...copied, credential: credential('third') }, AT);
    await copyAccount(database, { ...copied, credential: credential('fourth') }, AT);
    const names = new Set(written.map(({ name }) => name));
    for (const name of ['addAccount', 'setSettings', 'setDisabledAt', 'remove'])
      assert.ok(names.has(`accounts.${name}`));
    for (const name of ['addCredential', 'revokeCredentials', 'revoke']) assert.ok(names.has(`userIds.${name}`));
    assert.deepEqual(
      written.filter(({ isLocked }) => !isLocked),
      [],
    );
  });
});
