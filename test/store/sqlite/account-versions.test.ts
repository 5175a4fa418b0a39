import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { describe, type TestContext, test } from 'node:test';
import { systemClock } from '../../../src/base/clock.ts';
import { hashUserId } from '../../../src/domain/accounts/credentials.ts';
import type { AccountKey, Caller } from '../../../src/store/caller.ts';
import type { Database } from '../../../src/store/database.ts';
import { openSqlite } from '../../../src/store/sqlite/database.ts';
import { accountChanges } from '../../support/account-changes.ts';
import { columba, freshPath } from '../../support/command.ts';
import { adopt, exportOf } from '../../support/contract-client.ts';
import { engines } from '../../support/engines.ts';
import { openStore, pathOf, sql } from '../../support/opened-database.ts';
import { openOutside } from '../../support/other-process.ts';
import { ACME } from '../../support/service.ts';
import { CALLS, changes, serve } from '../../support/serving.ts';

const sqlite = engines[0] as (typeof engines)[number];

const TIME = '2026-05-01T00:00:00Z';
const OTHER = 'somebody else';
const touchAccount = sql<{ account: AccountKey }>('update account set tag = tag + 1 where account_id = :account');
const touch = "update account set tag = tag + 1 where username = 'acme'";

/** The service with the sample data, and an account beside it that shares nothing with acme. */
async function open(t: TestContext) {
  const setting = await sqlite.fresh('sample');
  let database: Database | undefined;
  const serving = await serve(setting, { database: (opened) => (database = opened) });
  t.after(() => serving.app.stop());
  const store = database as Database;
  const callerOf = async (userId: string, from = store) => (await from.identify(hashUserId(userId))) as Caller;
  await adopt(serving.app, { username: OTHER, userID: OTHER, inbox: [{ id: 1, timestamp: TIME, read: false }] });
  const versionOf = ({ id }: Caller, from = store) => from.version(id as bigint);

  /** Whether the versions of acme and of the other account are new ones after the work than they were before it. */
  async function areNew(work: () => unknown): Promise<[acme: boolean, other: boolean]> {
    const before = [await callerOf(ACME), await callerOf(OTHER)] as const;
    for (const caller of before) assert.equal(versionOf(caller), caller.version, 'nothing has happened yet');
    await work();
    return [versionOf(before[0]) !== before[0].version, versionOf(before[1]) !== before[1].version];
  }
  return { setting, serving, store, callerOf, versionOf, areNew };
}

describe('the version of an account in the embedded database', () => {
  const writing = CALLS.filter(([, operation]) => changes(operation));
  assert.equal(writing.length, 14);
  for (const [group, operation, args] of writing) {
    test(`the version of an account is new after ${operation} of ${group}, and that of another account is not`, async (t) => {
      const { serving, areNew } = await open(t);
      assert.deepEqual(await areNew(() => serving.ask(group, operation, args)), [true, false]);
    });
  }

  test('no version of an account occurs a second time', async (t) => {
    const { setting, store, callerOf } = await open(t);
    const outside = await openOutside(setting);
    t.after(() => outside.close());
    const works: readonly (() => Promise<unknown>)[] = [
      async () => store.run(touchAccount, { account: await callerOf(ACME) }),
      () => store.run(sql(touch), {}),
      () => outside.query(touch),
    ];
    const seen = new Set<number | undefined>();
    for (const work of [...works, ...works, ...works]) {
      await work();
      seen.add((await callerOf(ACME)).version);
    }
    assert.equal(seen.size, 3 * works.length);
  });

  test('an action of the operator changes the version of the account', async (t) => {
    const { serving, areNew } = await open(t);
    const accounts = accountChanges(serving.app);
    const works: readonly (() => Promise<unknown>)[] = [
      () => accounts.rotateUserId('acme', false),
      () => accounts.setEnabled('acme', false),
    ];
    for (const work of works) assert.equal((await areNew(work))[0], true, String(work));
  });

  test('the version of an account is new when a transaction has ended, and not before others can see it', async (t) => {
    const { store, callerOf, versionOf, areNew } = await open(t);
    const work = async () => {
      const acme = await callerOf(ACME);
      await store.transaction(acme, async (queries) => {
        await queries.run(touchAccount, { account: acme });
        assert.equal(versionOf(acme), acme.version);
      });
    };
    assert.deepEqual(await areNew(work), [true, false]);
  });

  test('the version of an account stays after every operation that reads', async (t) => {
    const { serving, store, areNew } = await open(t);
    for (const [group, operation, args] of CALLS.filter(([, name]) => !changes(name))) {
      assert.deepEqual(await areNew(() => serving.ask(group, operation, args)), [false, false], operation);
    }
    const works: readonly (() => Promise<unknown>)[] = [
      () => exportOf(serving.app),
      () => store.snapshot((queries) => queries.all(sql('select * from account'), {})),
      () => store.check(),
      () => store.backup(freshPath('db')),
      () => serving.call('inbox', 'CountRead', { user_id: 'nobody' }),
      () => store.transaction(null, async () => {}),
    ];
    for (const work of works) assert.deepEqual(await areNew(work), [false, false], String(work));
  });

  test('a write of 0 rows leaves the versions of all accounts', async (t) => {
    const { store, areNew } = await open(t);
    const works: readonly (() => Promise<unknown>)[] = [
      () => store.run(sql(`${touch} and 1 = 0`), {}),
      () => store.all(sql(`${touch} and 1 = 0 returning account_id`), {}),
      () => store.first(sql(`${touch} and 1 = 0 returning account_id`), {}),
      () => store.run(touchAccount, { account: 0n }),
    ];
    for (const work of works) assert.deepEqual(await areNew(work), [false, false], String(work));
  });

  test('a write to a table without accounts leaves the versions of all accounts', async (t) => {
    const { store, areNew } = await open(t);
    const note = sql("update schema_version set name = 'noted'", { affects: 'none' });
    assert.deepEqual(await areNew(() => store.run(note, {})), [false, false]);
  });

  test('a write to several accounts gives a new version to those whose rows it returns', async (t) => {
    const { store, areNew } = await open(t);
    const claim = sql(`${touch} returning account_id`, { affects: 'returned' });
    assert.deepEqual(await areNew(() => store.all(claim, {})), [true, false]);
  });

  test('an account that is added leaves the versions of the others', async (t) => {
    const { serving, areNew } = await open(t);
    const account = { username: 'newcomer', userID: 'newcomer' };
    assert.deepEqual(await areNew(() => adopt(serving.app, account)), [false, false]);
  });

  test('the version of an account is new after another connection has written to it, also around a checkpoint', async (t) => {
    const { setting, areNew } = await open(t);
    const outside = await openOutside(setting);
    t.after(() => outside.close());
    const ofAcme = "account_id = (select account_id from account where username = 'acme')";
    for (const work of [touch, `delete from template where ${ofAcme}`, touch]) {
      assert.deepEqual(await areNew(() => outside.query(work)), [true, false], work);
      assert.deepEqual(await areNew(() => outside.query('select 1')), [false, false]);
    }
    await outside.query('pragma wal_checkpoint(truncate)');
    assert.deepEqual(await areNew(() => outside.query(touch)), [true, false]);
  });

  test('an open or rolled back transaction of another connection does not change the version', async (t) => {
    const { setting, areNew } = await open(t);
    const outside = await openOutside(setting);
    t.after(() => outside.close());
    await outside.query('begin');
    assert.deepEqual(await areNew(() => outside.query(touch)), [false, false]);
    assert.deepEqual(await areNew(() => outside.query('rollback')), [false, false]);
  });

  test('two connections to the same database each see what the other writes', async (t) => {
    const { setting, store, callerOf, versionOf } = await open(t);
    const second = await openStore(setting);
    t.after(() => second.close());
    for (const [writer, reader] of [
      [store, second],
      [second, store],
    ] as const) {
      const acme = await callerOf(ACME, reader);
      assert.equal(versionOf(acme, reader), acme.version);
      await writer.run(sql(touch), {});
      assert.notEqual(versionOf(acme, reader), acme.version);
    }
  });

  test('calls with one pollId poll other processes once; another pollId, and a call without one, poll again', async (t) => {
    const { setting, store } = await open(t);
    let pollId: number | undefined;
    const second = await openSqlite(pathOf(setting), systemClock);
    t.after(() => second.close());
    const touched = () => store.run(sql(touch), {});
    const versionNow = async () => ((await second.identify(hashUserId(ACME), undefined, pollId)) as Caller).version;

    pollId = 1;
    const first = await versionNow();
    await touched();
    assert.equal(await versionNow(), first);
    pollId = 2;
    const next = await versionNow();
    assert.notEqual(next, first);
    await touched();
    pollId = undefined;
    const alone = await versionNow();
    assert.notEqual(alone, next);
    await touched();
    assert.notEqual(await versionNow(), alone);
  });

  test('a command in a process of its own gives a new version to its account', async (t) => {
    const { setting, areNew } = await open(t);
    const file = freshPath('json');
    const account = { username: 'new', userID: 'new', credits: 0, usedCredits: 0, datetimeCreated: TIME };
    writeFileSync(file, JSON.stringify({ accounts: [account] }));
    const importing = async () =>
      assert.equal((await columba(['import', file, '--database', `sqlite:${pathOf(setting)}`])).code, 0);
    assert.deepEqual(await areNew(importing), [false, false], 'another account');
    const disabling = () => columba(['account', 'disable', 'acme', '--database', `sqlite:${pathOf(setting)}`]);
    assert.deepEqual(await areNew(disabling), [true, false]);
  });
});
