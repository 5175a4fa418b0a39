import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hashUserId } from '../../../src/domain/accounts/credentials.ts';
import { type IdKind, takeIds } from '../../../src/domain/accounts/ids.ts';
import { createTemplates } from '../../../src/domain/contacts/templates.ts';
import type { Caller } from '../../../src/store/caller.ts';
import type { Database } from '../../../src/store/database.ts';
import { readAccount } from '../../../src/transfer/account-json.ts';
import { createArchive } from '../../../src/transfer/archive.ts';
import { type Engine, onEveryEngine } from '../../support/engines.ts';
import { account as accountJson, TIME } from '../../support/import-files.ts';
import { openStore } from '../../support/opened-database.ts';

const INT32_MAX = 2n ** 31n - 1n;
const INT64_MAX = 2n ** 63n - 1n;

const message = (id: bigint | number) => ({ id: String(id), timestamp: TIME, read: false });
const sent = (id: bigint | number) => ({
  id: String(id),
  delivery_status: 'DELIVERED',
  timestamp_sent: TIME,
  timestamp_updated: TIME,
  marked: false,
});
const scheduled = (id: bigint | number) => ({ id: String(id), timestamp_scheduled: TIME, timestamp_created: TIME });

/** An account in a database of its own. */
async function withAccount<T>(
  engine: Engine,
  fields: Readonly<Record<string, unknown>>,
  work: (store: Database, account: Caller) => Promise<T>,
): Promise<T> {
  const store = await openStore(await engine.fresh('empty'));
  try {
    await createArchive(store, Date.now, null).load(await readAccount(accountJson('one', fields), 0));
    const account = (await store.identify(hashUserId('user_id of one'))) as Caller;
    await store.confirm(account);
    return await work(store, account);
  } finally {
    await store.close();
  }
}

/** The next id of each kind, for an account that was imported so. */
const nextIds = (
  engine: Engine,
  fields: Readonly<Record<string, unknown>>,
): Promise<Record<Exclude<IdKind, 'write'>, bigint>> =>
  withAccount(engine, fields, async (store, account) => {
    const next = (kind: IdKind) => store.transaction(account, (queries) => takeIds(queries, account, kind));
    return {
      contact: await next('contact'),
      group: await next('group'),
      message: await next('message'),
      template: await next('template'),
    };
  });

onEveryEngine('new ids', (engine) => {
  test('the ids of an empty account begin at 1', async () => {
    assert.deepEqual(await nextIds(engine, {}), { contact: 1n, group: 1n, message: 1n, template: 1n });
  });

  test('new ids begin above those that were imported, over all kinds of messages', async () => {
    const imported = {
      groups: [{ id: 7 }, { id: 3 }],
      contacts: [{ id: 40 }, { id: 12 }],
      templates: ['a', 'b'],
      inbox: [message(5)],
      sent: [sent(900)],
      scheduled: [scheduled(17)],
    };
    assert.deepEqual(await nextIds(engine, imported), { contact: 41n, group: 8n, message: 901n, template: 3n });
  });

  test('imported ids that are negative or the largest possible do not exhaust the counters', async () => {
    const imported = {
      groups: [{ id: Number(INT32_MAX) }, { id: -5 }, { id: 2 }],
      contacts: [{ id: String(INT64_MAX) }, { id: String(INT32_MAX) }, { id: -1 }, { id: 3 }],
      inbox: [message(INT64_MAX), message(-1), message(4)],
    };
    assert.deepEqual(await nextIds(engine, imported), { contact: 4n, group: 3n, message: 5n, template: 1n });
  });

  test('contact and group ids stay within 32 bits, and an exhausted counter refuses new ones', () =>
    withAccount(engine, { contacts: [{ id: 2 ** 30 - 1 }] }, async (store, account) => {
      const next = () => store.transaction(account, (queries) => takeIds(queries, account, 'contact'));
      assert.equal(await next(), 2n ** 30n);
      for (const _ of [1, 2]) await assert.rejects(next(), { message: 'the account has no contact ids left' });
    }));

  test('several ids are taken at once, and a transaction that fails returns them', () =>
    withAccount(engine, {}, async (store, account) => {
      const take = (count: number) =>
        store.transaction(account, (queries) => takeIds(queries, account, 'message', count));
      assert.equal(await take(10), 1n);
      const failing = store.transaction(account, async (queries) => {
        await takeIds(queries, account, 'message', 5);
        throw new Error('no');
      });
      await assert.rejects(failing, /^Error: no$/);
      assert.equal(await take(1), 11n);
    }));

  test('ids that are taken at the same moment are all different', () =>
    withAccount(engine, {}, async (store, account) => {
      const take = () => store.transaction(account, (queries) => takeIds(queries, account, 'message', 2));
      const taken = await Promise.all(Array.from({ length: 20 }, take));
      assert.deepEqual(
        taken.toSorted((a, b) => Number(a - b)),
        Array.from({ length: 20 }, (_, index) => BigInt(2 * index + 1)),
      );
    }));

  test('the position of a template that was deleted is not used again', () =>
    withAccount(engine, { templates: ['a', 'b', 'c'] }, async (store, account) => {
      const templates = createTemplates(store);
      for (const text of ['b', 'c']) assert.equal(await templates.delete(account, text), true);
      await templates.save(account, 'd');
      assert.deepEqual(
        (await templates.all(account, 10)).map(({ position, text }) => [position, text]),
        [
          [1n, 'a'],
          [4n, 'd'],
        ],
      );
    }));
});
