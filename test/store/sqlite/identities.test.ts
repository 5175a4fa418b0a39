import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { hashUserId } from '../../../src/domain/accounts/credentials.ts';
import { createAccountVersions } from '../../../src/store/sqlite/account-versions.ts';
import { engines } from '../../support/engines.ts';
import { openStore, sql } from '../../support/opened-database.ts';
import { openOutside } from '../../support/other-process.ts';
import { ACME } from '../../support/service.ts';

/** Whom a user_id names is remembered in the embedded database, and never for longer than it is true. */
const sqlite = engines[0] as (typeof engines)[number];

async function open(t: TestContext) {
  const setting = await sqlite.fresh('sample');
  const store = await openStore(setting);
  t.after(() => store.close());
  const isKnown = async () => (await store.identify(hashUserId(ACME), () => false)) !== undefined;
  assert.ok(await isKnown());
  assert.ok(await isKnown());
  return { setting, store, isKnown };
}

const CHANGES = {
  'a user_id that is revoked': 'update credential set revoked_at = 1',
  'an account that is disabled': "update account set disabled_at = 1 where username = 'acme'",
  'an account that is restricted to networks': "update account set allowed_networks = '192.0.2.0/24'",
  'a user_id that is taken away': 'delete from credential',
} as const;
const UNDO = {
  'a user_id that is revoked': 'update credential set revoked_at = null',
  'an account that is disabled': 'update account set disabled_at = null',
  'an account that is restricted to networks': 'update account set allowed_networks = null',
} as const;

describe('cached identities', () => {
  for (const [what, text] of Object.entries(CHANGES)) {
    test(`${what} by this process is no longer known, and is known again when that is undone`, async (t) => {
      const { store, isKnown } = await open(t);
      await store.run(sql(text), {});
      assert.ok(!(await isKnown()));
      const undo = UNDO[what as keyof typeof UNDO];
      if (undo) await store.run(sql(undo), {});
      assert.equal(await isKnown(), undo !== undefined);
    });

    test(`${what} by another process is no longer known`, async (t) => {
      const { setting, isKnown } = await open(t);
      const outside = await openOutside(setting);
      await outside.query(text);
      assert.ok(!(await isKnown()));
      await outside.close();
    });

    test(`${what} in a transaction is known until the commit, also to concurrent calls, and not after it`, async (t) => {
      const { store, isKnown } = await open(t);
      await store.transaction(null, async (queries) => {
        await queries.run(sql(text), {});
        assert.ok(await isKnown());
        await queries.run(sql('update template set text = text'), {});
        assert.ok(await isKnown());
      });
      assert.ok(!(await isKnown()));
    });

    test(`${what} in a transaction that fails stays known`, async (t) => {
      const { store, isKnown } = await open(t);
      const work = store.transaction(null, async (queries) => {
        await queries.run(sql(text), {});
        throw new Error('no');
      });
      await assert.rejects(work, /^Error: no$/);
      assert.ok(await isKnown());
    });
  }

  test('only valid identities are cached, each once, and no more than the limit', () => {
    const asked: string[] = [];
    const { identify } = createAccountVersions({
      dataVersion: () => 1,
      version: () => 1,
      changesFrom: () => [],
      identity(hash) {
        asked.push(hash);
        return hash.startsWith('known') ? { id: 1n, networks: null, version: 1 } : undefined;
      },
    });
    for (const hash of ['known', 'stranger', 'known', 'stranger']) identify(hash);
    assert.deepEqual(asked, ['known', 'stranger', 'stranger']);
    for (let number = 0; number < 50_000; number++) identify(`known${number}`);
    asked.length = 0;
    identify('known');
    identify('known49999');
    assert.deepEqual(asked, ['known']);
  });

  test('a cached identity is used as long as the account has the same version', () => {
    let version = 1;
    let asked = 0;
    const versions = createAccountVersions({
      dataVersion: () => version,
      version: () => version,
      changesFrom: () => [],
      identity() {
        asked += 1;
        return { id: 1n, networks: null, version };
      },
    });
    for (const _ of [1, 2]) versions.identify('known');
    assert.equal(asked, 1);
    version = 2;
    versions.identify('known');
    assert.equal(asked, 1, 'other processes were not polled');
    versions.pollOtherProcesses();
    assert.equal(versions.identify('known')?.version, 2);
    assert.equal(asked, 2);
  });
});
