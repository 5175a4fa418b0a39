import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import fc from 'fast-check';
import type { AccountKey } from '../../../src/store/caller.ts';
import type { Database } from '../../../src/store/database.ts';
import {
  type AccountChange,
  createAccountVersions,
  type VersionSource,
} from '../../../src/store/sqlite/account-versions.ts';
import { engines } from '../../support/engines.ts';
import { openStore, sql } from '../../support/opened-database.ts';
import { openOutside } from '../../support/other-process.ts';

const sqlite = engines[0] as (typeof engines)[number];

/** The database as another process left it: its number, and the accounts that changed. */
function createSource() {
  const asked: bigint[] = [];
  const self = {
    asked,
    dataVersion: 1,
    mark: 0n,
    rows: [] as AccountChange[],
    fault: null as Error | null,
    change(changeId: bigint, ...accounts: bigint[]) {
      self.dataVersion += 1;
      self.rows = accounts.map((account_id, index) => ({
        change_id: changeId + BigInt(index),
        account_id,
        mark: self.mark,
      }));
    },
  };
  const source: VersionSource = {
    dataVersion: () => self.dataVersion,
    version: (account) => {
      asked.push(account);
      return 1;
    },
    identity: () => undefined,
    changesFrom: (changeId) => {
      if (self.fault) throw self.fault;
      return self.rows.filter((row) => row.change_id >= changeId);
    },
  };
  const versions = createAccountVersions(source);
  /** Of the accounts 1 to 3: those whose version is asked for anew. */
  const askedAnew = () => {
    asked.length = 0;
    versions.pollOtherProcesses();
    for (const account of [1n, 2n, 3n]) versions.versionOf(account);
    return [...asked];
  };
  assert.deepEqual(askedAnew(), [1n, 2n, 3n]);
  self.change(1n, 1n);
  assert.deepEqual(askedAnew(), [1n, 2n, 3n], 'the first change tells where to begin');
  assert.deepEqual(askedAnew(), []);
  return { self, askedAnew };
}

describe('versions after a commit of another process', () => {
  test('only the versions of accounts that changed are read again', () => {
    const { self, askedAnew } = createSource();
    self.change(1n, 1n, 3n);
    assert.deepEqual(askedAnew(), [1n, 3n]);
    self.change(2n, 3n, 2n);
    assert.deepEqual(askedAnew(), [2n, 3n]);
  });

  test('a commit without a new row changes at most the account of the last row', () => {
    const { self, askedAnew } = createSource();
    self.dataVersion += 1;
    assert.deepEqual(askedAnew(), [1n]);
  });

  test('all versions are read again if changes were missed', () => {
    const { self, askedAnew } = createSource();
    self.change(3n, 2n);
    assert.deepEqual(askedAnew(), [1n, 2n, 3n]);
    self.change(3n, 2n, 3n);
    assert.deepEqual(askedAnew(), [2n, 3n]);
    self.change(9n);
    assert.deepEqual(askedAnew(), [1n, 2n, 3n], 'no row at all');
  });

  test('all versions are read again if a number was used again, as after a restore', () => {
    const { self, askedAnew } = createSource();
    self.mark = 1n;
    self.change(1n, 2n, 3n);
    assert.deepEqual(askedAnew(), [1n, 2n, 3n]);
    self.change(2n, 3n);
    assert.deepEqual(askedAnew(), [3n]);
  });

  test('no version is used until the changes could be read', () => {
    const { self, askedAnew } = createSource();
    self.change(1n, 1n, 3n);
    self.fault = new Error('the disk is away');
    assert.throws(askedAnew, /the disk is away/);
    assert.throws(askedAnew, /the disk is away/);
    self.fault = null;
    assert.deepEqual(askedAnew(), [1n, 3n]);
  });
});

const touch = sql<{ account: AccountKey }>('update account set tag = tag + 1 where account_id = :account');
const touchAll = sql('update account set tag = tag + 1', { affects: 'all' });

async function open(t: TestContext, accounts: number) {
  const setting = await sqlite.fresh('empty');
  const stores = [await openStore(setting), await openStore(setting)] as const;
  const outside = await openOutside(setting);
  t.after(() => Promise.all([...stores.map((store) => store.close()), outside.close()]));
  for (let id = 1; id <= accounts; id++) {
    await outside.query(
      `insert into account (account_id, username, credits, used_credits, priority, tag, created_at) values (${id}, 'user ${id}', 0, 0, 0, 0, 0)`,
    );
  }
  const changes = async () =>
    (await outside.query('select change_id, account_id from account_change order by change_id')).map(
      ({ change_id, account_id }) => [Number(change_id), Number(account_id)] as const,
    );
  return { stores, outside, changes };
}

describe('the table of accounts that changed last', () => {
  test('each change adds a row, unless the last row is of the same account', async (t) => {
    const { outside, changes } = await open(t, 2);
    for (const id of [1, 1, 2, 2, 1]) await outside.query(`update account set tag = tag + 1 where account_id = ${id}`);
    assert.deepEqual(await changes(), [
      [1, 1],
      [2, 2],
      [3, 1],
    ]);
  });

  for (const keys of ['on', 'off']) {
    test(`an account that is deleted adds a row, with foreign keys ${keys}`, async (t) => {
      const { outside, changes, stores } = await open(t, 2);
      assert.notEqual(stores[0].version(2n), undefined);
      await outside.query(`pragma foreign_keys = ${keys}`);
      await outside.query('delete from account where account_id = 2');
      assert.deepEqual((await changes()).at(-1), [1, 2]);
      assert.equal(stores[0].version(2n), undefined);
    });
  }

  test('a user_id that another program gives to another account is no longer that of the first', async (t) => {
    const { outside, stores } = await open(t, 2);
    const ownerOf = async (hash: string) => (await stores[0].identify(hash))?.id;
    for (const hash of ['moved', 'stays']) {
      await outside.query(`insert into credential (account_id, user_id_hash, created_at) values (1, '${hash}', 0)`);
    }
    assert.equal(await ownerOf('moved'), 1n);
    await outside.query("update credential set account_id = 2 where user_id_hash = 'moved'");
    assert.equal(await ownerOf('stays'), 1n);
    assert.equal(await ownerOf('moved'), 2n);
  });

  test('a backup that is restored into the open database, and changed, shows no versions from before', async (t) => {
    const { outside, stores } = await open(t, 4);
    const touchOne = (id: number) => outside.query(`update account set tag = tag + 1 where account_id = ${id}`);
    await touchOne(1);
    const look = () => [1n, 2n, 3n, 4n].map((id) => stores[0].version(id));
    look();
    for (const id of [2, 3]) await touchOne(id);
    look();
    // What a restore does to this table.
    await outside.query('delete from account_change');
    for (const id of [4, 1, 2, 1]) await touchOne(id);
    const rows = await outside.query('select version from tally order by account_id');
    assert.deepEqual(
      look(),
      rows.map(({ version }) => Number(version)),
    );
  });

  test('a rolled back change leaves no row and no gap', async (t) => {
    const { outside, changes } = await open(t, 2);
    for (const each of ['begin', 'update account set tag = 1', 'rollback']) await outside.query(each);
    assert.deepEqual(await changes(), []);
    await outside.query('update account set tag = 1 where account_id = 2');
    assert.deepEqual(await changes(), [[1, 2]]);
  });

  test('at most 160 rows are kept, and a number is never used again', async (t) => {
    const { outside, changes } = await open(t, 3);
    let last = 0;
    for (let round = 0; round < 400; round++) {
      await outside.query('update account set tag = tag + 1'); // three accounts in turn
      const rows = await changes();
      assert.ok(rows.length <= 160);
      assert.equal(rows.at(-1)?.[0], last + 3);
      assert.equal((rows[0]?.[0] ?? 0) + rows.length - 1, last + 3, 'no gap');
      last += 3;
    }
  });

  test('whatever two processes change, each sees the versions that the other wrote', async (t) => {
    const ACCOUNTS = 5;
    const { stores, outside } = await open(t, ACCOUNTS);
    const number = (of: string) => fc.integer({ min: 0, max: of === 'store' ? 1 : ACCOUNTS - 1 });
    const step = fc.oneof(
      fc.record({ kind: fc.constant('one'), store: number('store'), account: number('account') }),
      fc.record({ kind: fc.constant('many'), store: number('store'), account: number('account') }),
      fc.record({ kind: fc.constant('look'), store: number('store'), account: number('account') }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        for (const { kind, store, account } of steps) {
          const own = stores[store] as Database;
          if (kind === 'one') await own.run(touch, { account: BigInt(account + 1) });
          // More rows than are kept.
          else if (kind === 'many') for (let round = 0; round < 40; round++) await own.run(touchAll, {});
          else own.version(BigInt(account + 1));
        }
        const rows = await outside.query('select account_id, version from tally');
        for (const { account_id, version } of rows) {
          for (const store of stores) assert.equal(store.version(account_id as bigint), Number(version));
        }
      }),
      { numRuns: 30 },
    );
  });
});
