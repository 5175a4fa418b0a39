import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import type { Dialect } from '../../src/asmx/dialect/dialect.ts';
import { systemClock } from '../../src/base/clock.ts';
import { addAccount, EMPTY_ACCOUNT } from '../../src/domain/accounts/accounts.ts';
import { hashUserId } from '../../src/domain/accounts/credentials.ts';
import { takeIds } from '../../src/domain/accounts/ids.ts';
import { copyAccount } from '../../src/migration/copy/account-copy.ts';
import { checkAccounts } from '../../src/migration/copy/check.ts';
import { type ImportOptions, importAccounts } from '../../src/migration/copy/import.ts';
import { createOldServer } from '../../src/migration/old-server/old-server.ts';
import { accountIdNamed, copyProgress, readEffects } from '../../src/migration/stages/migrated-accounts.ts';
import { createMigrationStages, type Stage } from '../../src/migration/stages/stages.ts';
import { createMigrationWrites } from '../../src/migration/stages/writes.ts';
import { onOneEngine } from '../support/engines.ts';
import { ODD_DIALECT } from '../support/odd-dialect.ts';
import type { OldAccount } from '../support/old-server/accounts.ts';
import { sampleData, USER_IDS } from '../support/old-server/sample.ts';
import { type OldServerProcess, startOldServer } from '../support/old-server/server.ts';
import { ODD_WAYS, type Ways } from '../support/old-server/ways.ts';
import { type Service, startService } from '../support/service.ts';

const NOW = Date.UTC(2026, 10, 15, 12);
const USERS = USER_IDS.map((userId, index) => ({ line: index + 1, userId }));
const [ALPHA] = USER_IDS;

onOneEngine('migrate import', (engine) => {
  let service: Service;
  let old: OldServerProcess;
  beforeEach(async () => {
    service = await startService(engine, 'empty');
    old = await startOldServer(sampleData(NOW), ODD_WAYS);
  });
  afterEach(async () => {
    await service.stop();
    await old.close();
  });
  const alpha = (): OldAccount => old.data.accounts[0] as OldAccount;
  const dependencies = async (dialect: Dialect = ODD_DIALECT, retriesMax = 0) => {
    const client = createOldServer({
      url: old.url,
      dialect,
      retriesMax,
      clock: { ...systemClock, sleep: async () => {} },
    });
    const { database, archive } = service.app;
    const effects = await readEffects(database, client.url);
    return { database, archive, old: client, dialect, effects, now: () => service.clock.now };
  };
  const run = async (options: ImportOptions = {}, dialect?: Dialect, users = USERS.slice(0, 1)) =>
    importAccounts(await dependencies(dialect), users, options);
  const check = async (dialect?: Dialect, users = USERS.slice(0, 1)) =>
    checkAccounts(await dependencies(dialect), users);
  const shown = async (operation: string, args: Record<string, string> = {}) => {
    const [group = '', name = ''] = operation.split('.');
    return (await service.call('soap11', group, name, { user_id: ALPHA, ...args })).text;
  };
  const assertEqualSides = async (dialect?: Dialect, users?: typeof USERS) => {
    for (const each of await check(dialect, users))
      assert.deepEqual(each.differences, [], `${each.username} ${each.problem}`);
  };

  test('an import copies everything that can be copied, and marks or deletes nothing at the old server', async () => {
    const { accounts, stopped } = await run({}, ODD_DIALECT, USERS);
    assert.equal(stopped, null);
    assert.deepEqual(
      accounts.map(({ username, outcome, problem }) => ({ username, outcome, problem })),
      ['alpha', 'beta', 'gamma'].map((username) => ({ username, outcome: 'copied', problem: null })),
    );
    const [first] = accounts;
    assert(first);
    assert.deepEqual([first.groups, first.contacts, first.templates, first.sent, first.scheduled], [3, 8, 3, 60, 4]);
    assert.deepEqual([first.read, first.unread, first.hasPassword], [40, 20, true]);
    assert.deepEqual(old.data.writes, []);
    await assertEqualSides(ODD_DIALECT, USERS);
    assert.match(await shown('inbox.CountUnread'), /<CountUnreadResult>20</);
    assert.match(await shown('account.Profile'), /<username>alpha<\/username>.*<credits>1000</);
  });

  test('a second import changes nothing but what happened at the old server in between', async () => {
    await run();
    const id = (await accountIdNamed(service.app.database, 'alpha')) as bigint;
    const version = await service.app.database.version(id);
    await run();
    assert.equal(await service.app.database.version(id), version, 'the account was written to');
    const account = alpha();
    const at = NOW + 60_000;
    account.inbox.push({ id: 5_900, sender: '+27831', message: 'new', shortCode: '31222', at, read: false });
    account.inbox.splice(3, 1);
    (account.inbox[0] as { read: boolean }).read = true;
    account.sent.splice(5, 2);
    (account.sent[0] as { status: string }).status = 'Expired';
    account.scheduled.splice(0, 1);
    account.contacts.splice(2, 1);
    account.groups.splice(2, 1);
    account.templates.reverse();
    account.credits = 900;
    account.usedCredits = 150;
    const { accounts } = await run();
    assert.equal(accounts[0]?.problem, null);
    await assertEqualSides();
    const { discrepancies } = await service.app.ledger.check();
    assert.deepEqual(discrepancies, []);
  });

  const stage = (to: Stage) =>
    createMigrationStages(service.app.database, () => service.clock.now).set('alpha', to, true);

  test('an import leaves changes that were made in Columba alone as they are: credits, templates, contacts, deletes and marks', async () => {
    await run();
    await stage('alone');
    service.clock.now += 60_000;
    const account = (await accountIdNamed(service.app.database, 'alpha')) as bigint;
    const unread = alpha().inbox.filter(({ read }) => !read);
    await service.call('soap11', 'account', 'SaveMessageTemplate', { user_id: ALPHA, message: 'made here' });
    await service.call('soap11', 'inbox', 'DeleteMessage', { user_id: ALPHA, message_id: String(unread[0]?.id) });
    await service.call('soap11', 'inbox', 'MarkMessageAsRead', { user_id: ALPHA, message_id: String(unread[1]?.id) });
    await service.app.ledger.adjust(account, { amount: 50n, reason: 'Invoice 17', reference: null });
    const before = await Promise.all(
      ['account.Profile', 'account.FetchSavedMessages', 'account.FetchContacts'].map((each) => shown(each)),
    );
    const at = service.clock.now;
    alpha().inbox.push({ id: 5_900, sender: '+27831', message: 'late', shortCode: '31222', at, read: false });
    (alpha().sent[0] as { status: string }).status = 'Expired';
    alpha().credits = 7;
    alpha().templates.splice(0, 1);
    service.clock.now += 2 * 3_600_000;
    const { accounts } = await run();
    assert.deepEqual([accounts[0]?.outcome, accounts[0]?.read], ['late', 1]);
    const after = await Promise.all(
      ['account.Profile', 'account.FetchSavedMessages', 'account.FetchContacts'].map((each) => shown(each)),
    );
    assert.deepEqual(after, before);
    assert.match(await shown('inbox.CountUnread'), /<CountUnreadResult>19</); // one deleted, one marked, one new
    assert.match(await shown('inbox.Unread', { max_count: '50' }), />late</);
    assert.equal((await run()).accounts[0]?.read, 0, 'nothing comes twice');
    assert.deepEqual((await service.app.ledger.check()).discrepancies, []);
  });

  test('in the stage lead an import leaves writes of Columba that wait for the old server', async () => {
    await run();
    await stage('lead');
    const account = (await accountIdNamed(service.app.database, 'alpha')) as bigint;
    const writes = createMigrationWrites(service.app.database, () => service.clock.now, 'key');
    const write = await writes.begin(account, 'account.SaveMessageTemplate', '');
    await service.call('soap11', 'account', 'SaveMessageTemplate', { user_id: ALPHA, message: 'waits' });
    const { accounts } = await run();
    assert.deepEqual([accounts[0]?.outcome, accounts[0]?.remarks.length], ['left', 1]);
    assert.match(await shown('account.FetchSavedMessages'), />waits</);
    // The old server has it now.
    alpha().templates.push('waits');
    await writes.remove(account, write);
    assert.equal((await run()).accounts[0]?.outcome, 'copied');
    assert.match(await shown('account.FetchSavedMessages'), />waits</);
    // Another one comes while the old server is read.
    const copied = { account: { username: 'alpha' }, credential: { hash: hashUserId(ALPHA as string) } };
    await assert.rejects(
      copyAccount(service.app.database, copied as never, 0, write - 1n),
      /Clients changed something meanwhile/,
    );
  });

  test('new ids start above a million even if nothing was copied, so that the old server does not use the same ids later', async () => {
    const account = alpha();
    for (const list of [account.inbox, account.sent, account.scheduled]) list.length = 0;
    await run();
    const id = (await accountIdNamed(service.app.database, 'alpha')) as bigint;
    const next = await service.app.database.transaction(id, (queries) => takeIds(queries, id, 'message'));
    assert.ok(next > 1_000_000n);
  });

  test('an unknown cap of Read is found by the counts that do not fit', async () => {
    old.ways = { ...ODD_WAYS, caps: { 'inbox.Read': 7 } };
    const { caps: _, ...dialect } = ODD_DIALECT;
    const { accounts } = await run({}, dialect);
    assert.equal(accounts[0]?.problem, null);
    assert.equal(accounts[0]?.read, 40);
    await assertEqualSides({ ...dialect, caps: { 'inbox.Read': 7 } });
  });

  for (const [name, ways] of Object.entries<Partial<Ways>>({
    Unread: { readingMarks: ['inbox.Unread'] },
    Read: { readingMarks: ['inbox.Read'] },
    'Unread and Read': { readingMarks: ['inbox.Unread', 'inbox.Read'] },
  })) {
    test(`if ${name} marks messages, the test marks at most one message per account, and all are copied`, async () => {
      old.ways = { ...ODD_WAYS, ...ways };
      const { accounts, readEffects: effects } = await run();
      assert.equal(accounts[0]?.problem, null);
      assert.equal(accounts[0]?.outcome, 'copied');
      for (const operation of ways.readingMarks ?? []) assert.equal(effects[operation], 'marks');
      assert(old.data.writes.length <= (ways.readingMarks?.length ?? 0), JSON.stringify(old.data.writes));
      const before = old.data.writes.length;
      await run();
      await assertEqualSides();
      assert.equal(old.data.writes.length, before, 'the second import marked something');
    });
  }

  test('if Read returns only read messages, the import reads the others from Unread', async () => {
    old.ways = { ...ODD_WAYS, readReturnsReadOnly: true };
    const { accounts } = await run();
    assert.equal(accounts[0]?.problem, null);
    await assertEqualSides();
  });

  test('a status word that the dialect lacks stops the import before anything is written', async () => {
    (alpha().sent[4] as { status: string }).status = 'Vanished';
    const { accounts, stopped, unknownWords } = await run();
    assert.match(stopped ?? '', /"Vanished" \(1\)/);
    assert.deepEqual(unknownWords, { Vanished: 1 });
    assert.equal(accounts[0]?.outcome, 'failed');
    assert.equal(await accountIdNamed(service.app.database, 'alpha'), null);
  });

  test('a dry run reads everything and writes nothing', async () => {
    const { accounts } = await run({ dryRun: true }, ODD_DIALECT, USERS);
    assert.deepEqual(
      accounts.map(({ outcome }) => outcome),
      ['checked', 'checked', 'checked'],
    );
    assert.equal(accounts[0]?.read, 40);
    assert.equal(await accountIdNamed(service.app.database, 'alpha'), null);
    assert.deepEqual(old.data.writes, []);
  });

  test('an import stops if the server asks for a pause, and the next one continues', async () => {
    old.onCall = (operation) => {
      if (operation === 'compose.FetchScheduledDS') old.busyFor = 3;
    };
    const { stopped, isRetryable, accounts } = await run();
    assert.match(stopped ?? '', /503/);
    assert.equal(isRetryable, true);
    assert.equal(accounts.length, 0);
    old.onCall = () => {};
    old.busyFor = 0;
    await run();
    await assertEqualSides();
  });

  test('an import that ended in the middle of the inbox continues from there', async () => {
    let calls = 0;
    old.onCall = (operation) => {
      if (operation === 'inbox.Read' && ++calls === 6) old.cutsFor = 1;
    };
    assert.equal((await run()).isRetryable, true);
    const id = (await accountIdNamed(service.app.database, 'alpha')) as bigint;
    assert.equal((await copyProgress(service.app.database, id))?.completedAt, null);
    old.onCall = () => {};
    await run();
    await assertEqualSides();
    assert.match(await shown('inbox.CountUnread'), /<CountUnreadResult>20</);
  });

  test('scheduled messages are held, and credits stay as the old server shows them', async () => {
    await run();
    service.clock.now = NOW + 30 * 86_400_000;
    const id = (await accountIdNamed(service.app.database, 'alpha')) as bigint;
    const { free, held, used } = await service.app.ledger.balances(id);
    assert.deepEqual([free, held, used], [1_000n, 4n, 50n]);
    assert.deepEqual((await service.app.ledger.check()).discrepancies, []);
    assert.match(await shown('compose.FetchScheduledDS', { max: '10' }), /Later 3/);
  });

  test('new ids start a million above the copied ones, those of contacts ten thousand', async () => {
    await run();
    const id = (await accountIdNamed(service.app.database, 'alpha')) as bigint;
    const { takeIds } = await import('../../src/domain/accounts/ids.ts');
    const taken = await service.app.database.transaction(id, async (queries) => [
      await takeIds(queries, id, 'message'),
      await takeIds(queries, id, 'contact'),
      await takeIds(queries, id, 'group'),
    ]);
    assert.deepEqual(taken, [1_009_004n, 10_109n, 10_014n]);
  });

  test('messages that a client deleted in Columba do not come back with the next import', async () => {
    await run();
    assert.match(await shown('inbox.DeleteMessage', { message_id: '5001' }), />true</);
    assert.match(await shown('sent.DeleteSentMessage', { message_id: '7001' }), />true</);
    assert.match(await shown('compose.DeleteScheduledMessage', { message_id: '9001' }), />true</);
    await run();
    const [first] = await check();
    assert.deepEqual(
      first?.differences.flatMap(({ onlyThere }) => onlyThere),
      ['5001', '7001', '9001'],
    );
  });

  test('an account that was created in Columba with the same username is not touched', async () => {
    await service.app.database.transaction(null, (queries) =>
      addAccount(queries, { ...EMPTY_ACCOUNT, username: 'alpha' }, []),
    );
    const { accounts } = await run({}, ODD_DIALECT, USERS);
    assert.match(accounts[0]?.problem ?? '', /created in Columba/);
    assert.equal(accounts[1]?.outcome, 'copied');
  });

  test('a contact in several groups is reported', async () => {
    (alpha().contacts[1] as { groups: number[] }).groups = [11, 12];
    const { accounts } = await run();
    assert.match(accounts[0]?.remarks.join() ?? '', /Contact 102 is in the groups 11, 12/);
  });

  test('check names what differs by id, never by text', async () => {
    await run();
    (alpha().inbox[7] as { message: string }).message = 'changed text';
    alpha().sent.pop();
    const [first] = await check();
    const told = JSON.stringify(first);
    assert.equal(first?.isEqual, false);
    assert.deepEqual(first?.differences.find(({ what }) => what === 'received')?.different, ['5007']);
    assert.deepEqual(first?.differences.find(({ what }) => what === 'sent')?.onlyHere, ['7059']);
    assert.doesNotMatch(told, /changed text|\+2783/);
  });
});
