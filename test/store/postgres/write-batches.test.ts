import assert from 'node:assert/strict';
import { before, type TestContext, test } from 'node:test';
import { nextTurn } from '../../../src/base/event-loop.ts';
import type { Problem } from '../../../src/base/problem.ts';
import { hashUserId } from '../../../src/domain/accounts/credentials.ts';
import { markRead } from '../../../src/domain/messages/received.sql.ts';
import { mark } from '../../../src/domain/messages/sent.sql.ts';
import { type AccountKey, Caller } from '../../../src/store/caller.ts';
import { accountChanges } from '../../support/account-changes.ts';
import { adopt } from '../../support/contract-client.ts';
import { type Engine, engines } from '../../support/engines.ts';
import { openStore, sql } from '../../support/opened-database.ts';
import { openOutside } from '../../support/other-process.ts';
import { onPostgres, testOnOneServer } from '../../support/postgres-engines.ts';
import { createRandom, SEED } from '../../support/random.ts';
import { serve } from '../../support/serving.ts';
import { countRoundTrips } from './round-trips.ts';

/** Single writes of one event-loop turn share a transaction on PostgreSQL. */
const ACCOUNTS = 8;
const userOf = (account: number) => `user_id of ${account}`;
const callerOf = (userId: string) => new Caller(hashUserId(userId), () => false);

const addTag = sql<{ account: AccountKey; by: number }>(
  'update account set tag = tag + :by where account_id = :account',
);
/** Fails for 0. */
const divideTag = sql<{ account: AccountKey; by: number }>(
  'update account set tag = tag / :by where account_id = :account',
);

onPostgres('writes of one turn', () => {
  let engine: Engine;
  before(() => {
    engine = engines.find(({ name }) => name === 'postgres') as Engine;
  });

  async function open(t: TestContext) {
    const setting = await engine.fresh('empty');
    const { app } = await serve(setting);
    for (let account = 0; account < ACCOUNTS; account++) {
      await adopt(app, { userID: userOf(account), username: `account ${account}`, tag: 100 });
    }
    const store = await openStore(setting);
    const outside = await openOutside(setting);
    t.after(() => Promise.all([app.stop(), store.close(), outside.close()]));
    const tags = async () =>
      (await outside.query('select tag from account order by username')).map(({ tag }) => Number(tag));
    return { setting, app, store, outside, tags };
  }
  const all = Array.from({ length: ACCOUNTS }, (_, account) => account);

  testOnOneServer('writes of one turn take two round trips together, and one alone takes one', async (t) => {
    const { setting, tags } = await open(t);
    const { hostname, port } = new URL(setting);
    const turns = await countRoundTrips(hostname, Number(port || 5432));
    const store = await openStore(setting.replace(/@[^/]*/, `@127.0.0.1:${turns.port}`));
    t.after(async () => {
      await store.close();
      await turns.close();
    });
    const write = (account: number) => store.run(addTag, { account: callerOf(userOf(account)), by: 1 });
    assert.equal(await turns.of(() => write(0)), 1);
    assert.equal(await turns.of(() => Promise.all(all.map(write))), 2);
    assert.deepEqual(await tags(), [102, ...all.slice(1).map(() => 101)]);
  });

  testOnOneServer('marks of one turn are one statement, and take one round trip', async (t) => {
    const { setting, app } = await open(t);
    for (const name of ['one', 'two']) {
      await adopt(app, {
        userID: name,
        username: name,
        inbox: [{ id: 1, timestamp: '2026-05-01T00:00:00Z', read: false }],
      });
    }
    const { hostname, port } = new URL(setting);
    const turns = await countRoundTrips(hostname, Number(port || 5432));
    const store = await openStore(setting.replace(/@[^/]*/, `@127.0.0.1:${turns.port}`));
    t.after(async () => {
      await store.close();
      await turns.close();
    });
    const marks = () =>
      Promise.all(['one', 'two'].map((name) => store.run(markRead, { account: callerOf(name), id: 1n })));
    assert.equal(await turns.of(async () => assert.deepEqual(await marks(), [1, 1])), 1);
    assert.equal(await turns.of(async () => assert.deepEqual(await marks(), [0, 0])), 1);
  });

  test('equal marks of one turn that name a sent message through two user_ids all find it', async (t) => {
    const { app, store } = await open(t);
    const at = '2026-05-01T00:00:00Z';
    const sent = [{ id: 1, delivery_status: 'DELIVERED', timestamp_sent: at, timestamp_updated: at, marked: false }];
    await adopt(app, { userID: 'one', username: 'one', sent });
    const { userId } = await accountChanges(app).rotateUserId('one', false);
    const marks = ['one', 'one', userId].map((name) => store.run(mark, { account: callerOf(name), id: 1n }));
    assert.deepEqual(await Promise.all(marks), [1, 1, 1]);
  });

  test('marks and other writes of one turn are all done', async (t) => {
    const { app, store, outside, tags } = await open(t);
    await adopt(app, {
      userID: 'one',
      username: 'one',
      inbox: [{ id: 1, timestamp: '2026-05-01T00:00:00Z', read: false }],
    });
    const done = await Promise.all([
      store.run(markRead, { account: callerOf('one'), id: 1n }),
      ...all.map((account) => store.run(addTag, { account: callerOf(userOf(account)), by: 1 })),
      store.run(markRead, { account: callerOf(userOf(0)), id: 1n }),
    ]);
    assert.deepEqual(done, [1, ...all.map(() => 1), 0]);
    assert.deepEqual(
      (await tags()).slice(0, ACCOUNTS),
      all.map(() => 101),
    );
    const [row] = await outside.query(
      "select unread from tally join account using (account_id) where username = 'one'",
    );
    assert.equal(row?.unread, 0n);
  });

  test('each mark of one turn reports whether there was something to mark', async (t) => {
    const { setting, app, outside } = await open(t);
    const { ask } = await serve(setting);
    const message = (id: number) => ({ id, timestamp: '2026-05-01T00:00:00Z', read: false });
    for (const name of ['one', 'two']) {
      await adopt(app, { userID: name, username: name, inbox: [message(1), message(2), message(3)] });
    }
    const mark = (user_id: string, message_id: string) => ask('inbox', 'MarkMessageAsRead', { user_id, message_id });
    const asked = [
      ['one', '1', true],
      ['one', '1', true],
      ['two', '1', true],
      ['two', '2', true],
      ['one', '9', false],
      ['two', '9', false],
    ] as const;
    const answers = await Promise.all(asked.map(([user, id]) => mark(user, id)));
    for (const [index, answer] of answers.entries()) assert.match(answer, new RegExp(`>${asked[index]?.[2]}<`));
    const counts = await outside.query(
      "select unread, read from tally join account using (account_id) where username in ('one', 'two') order by username",
    );
    assert.deepEqual(counts, [
      { unread: 2n, read: 1n },
      { unread: 1n, read: 2n },
    ]);
  });

  test('a write that fails is rolled back alone among the writes of its turn', async (t) => {
    const { store, tags } = await open(t);
    const outcomes = await Promise.allSettled(
      all.map((account) => {
        const by = account === 3 ? 0 : 2;
        return store.run(divideTag, { account: callerOf(userOf(account)), by });
      }),
    );
    assert.deepEqual(
      outcomes.map(({ status }) => status),
      all.map((account) => (account === 3 ? 'rejected' : 'fulfilled')),
    );
    assert.deepEqual(
      await tags(),
      all.map((account) => (account === 3 ? 100 : 50)),
    );
  });

  test('an unknown, revoked or disabled user_id and one from another network is denied, and the others are served', async (t) => {
    const { app, store, tags } = await open(t);
    await accountChanges(app).setEnabled('account 1', false);
    await accountChanges(app).rotateUserId('account 2', true);
    await accountChanges(app).allow('account 3', ['198.51.100.0/24']);
    const userIds = [...all.map(userOf), 'nobody'];
    const outcomes = await Promise.allSettled(
      userIds.map((userId) => store.run(addTag, { account: callerOf(userId), by: 1 })),
    );
    const denied = outcomes.flatMap((each, index) =>
      each.status === 'rejected' && (each.reason as Problem).kind === 'denied' ? [userIds[index]] : [],
    );
    assert.deepEqual(denied, [userOf(1), userOf(2), userOf(3), 'nobody']);
    assert.deepEqual(await tags(), [101, 100, 100, 100, 101, 101, 101, 101]);
  });

  testOnOneServer('an account that another session has locked does not delay others', async (t) => {
    const { store, outside, tags } = await open(t);
    await outside.query('begin');
    await outside.query("select from account where username = 'account 0' for update");
    const writes = all.map((account) => store.run(addTag, { account: callerOf(userOf(account)), by: 1 }));
    await Promise.all(writes.slice(1));
    await outside.query('commit');
    await writes[0];
    assert.deepEqual(
      await tags(),
      all.map(() => 101),
    );
  });

  testOnOneServer(
    'writes of other turns do not wait for a write whose account another session has locked',
    async (t) => {
      const { store, outside, tags } = await open(t);
      const write = (account: number) => store.run(addTag, { account: callerOf(userOf(account)), by: 1 });
      await outside.query('begin');
      await outside.query("select from account where username like 'account _' and username < 'account 3' for update");
      // Each alone in its turn.
      const locked: Promise<number>[] = [];
      for (const account of [0, 1, 2]) {
        locked.push(write(account));
        await nextTurn();
      }
      await Promise.all(all.slice(3).map(write));
      await outside.query('commit');
      await Promise.all(locked);
      assert.deepEqual(
        await tags(),
        all.map(() => 101),
      );
    },
  );

  test('batches of several nodes with the same accounts in any order never deadlock', async (t) => {
    const { setting, app, store, outside, tags } = await open(t);
    t.diagnostic(`SEED=${SEED}`);
    const userIds = await Promise.all(
      all.map(async (account) => [
        userOf(account),
        (await accountChanges(app).rotateUserId(`account ${account}`, false)).userId,
      ]),
    );
    const stores = [store, await openStore(setting), await openStore(setting)];
    t.after(() => Promise.all(stores.slice(1).map((each) => each.close())));
    const random = createRandom('write batches');
    for (let round = 0; round < 40; round++) {
      await Promise.all(
        stores.flatMap((each) =>
          random.some(all).map((account) => {
            const caller = callerOf(random.pick(userIds[account] as string[]));
            // Some begin with a lock of their own, as operations of several statements do.
            return random.chance(0.2)
              ? each.transaction(caller, (queries) => queries.run(addTag, { account: caller, by: 0 }))
              : each.run(addTag, { account: caller, by: 0 });
          }),
        ),
      );
    }
    const [row] = await outside.query(
      'select pg_stat_clear_snapshot(), deadlocks from pg_stat_database where datname = current_database()',
    );
    assert.equal(Number(row?.deadlocks), 0);
    assert.equal((await tags()).length, ACCOUNTS);
  });
});
