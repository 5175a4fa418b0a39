import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as inboxSql from '../../../src/domain/messages/received.sql.ts';
import * as outboxSql from '../../../src/domain/messages/sent.sql.ts';
import type { TransactionQueries } from '../../../src/store/database.ts';
import { onEveryEngine } from '../../support/engines.ts';
import { createRandom, SEED } from '../../support/random.ts';
import {
  ALL,
  arrive,
  leave,
  openDomain,
  purgeAll,
  range,
  received,
  sent,
  stored,
} from '../../support/statement-counter.ts';

const ROUNDS = 70;
const AT_ONCE_MAX = 6;

onEveryEngine('the tally', (engine) => {
  test('the tally equals a count of the rows after any changes of two accounts, some of them concurrent', async (t) => {
    const { database, inbox, outbox, add, check } = await openDomain(engine, t);
    const random = createRandom('tally');
    t.diagnostic(`SEED=${SEED}`);
    const accounts = [
      await add('one', [received(1, false), received(2, true)]),
      await add('two', [], [sent(1, false)]),
    ];
    let last = 2;
    let imports = 0;
    const news = () => {
      last += 10;
      return range(last - 9, 1 + random.below(10));
    };
    const known = () => BigInt(1 + random.below(last));

    const steps: Readonly<Record<string, (account: bigint) => Promise<unknown>>> = {
      async import() {
        const [some, others] = [news(), news()];
        const name = `import ${++imports}`;
        const account = await add(
          name,
          some.map((id) => received(id, id % 2 === 0)),
          others.map((id) => sent(id, id % 3 === 0)),
        );
        await check(account, name);
      },
      receive: (account) =>
        database.transaction(account, (queries) => arrive(queries, account, news(), random.below(2) === 1)),
      send: (account) => database.transaction(account, (queries) => leave(queries, account, news(), random.below(2))),
      markRead: (account) => inbox.markRead(account, known()),
      markReadAgain: async (account) => {
        const id = known();
        await Promise.all([inbox.markRead(account, id), inbox.markRead(account, id)]);
      },
      markSent: (account) => outbox.mark(account, known()),
      delete: (account) => inbox.delete(account, known()),
      deleteTwice: async (account) => {
        const id = known();
        await Promise.all([inbox.delete(account, id), inbox.delete(account, id), inbox.markRead(account, id)]);
      },
      deleteSent: (account) => outbox.delete(account, known()),
      deleteAll: (account) => inbox.deleteAll(account),
      purge: () => purgeAll(database),
      failing: (account) =>
        assert.rejects(
          database.transaction(account, async (queries) => {
            await arrive(queries, account, news(), false);
            await leave(queries, account, news(), 0);
            await queries.run(inboxSql.deleteAllReceived, { account });
            throw new Error('on purpose');
          }),
          /on purpose/,
        ),
    };
    const often = ['receive', 'receive', 'send', 'markRead', 'markRead', 'markSent', 'delete', 'deleteSent'];
    const names = [...Object.keys(steps), ...often];
    const seen: Record<string, number> = {};
    for (let round = 1; round <= ROUNDS; round++) {
      const chosen = range(0, 1 + random.below(AT_ONCE_MAX)).map(() => random.pick(names));
      await Promise.all(chosen.map((name) => steps[name]?.(random.pick(accounts))));
      for (const name of chosen) seen[name] = (seen[name] ?? 0) + 1;
      for (const account of accounts) await check(account, `SEED=${SEED}, round ${round}: ${chosen}`);
    }
    assert.deepEqual(
      Object.keys(steps).filter((name) => !seen[name]),
      [],
      'every step was taken',
    );
    await purgeAll(database);
    for (const account of accounts) {
      const { unread, read } = await check(account, 'after everything');
      assert.equal((await database.first(stored, { account }))?.total, unread + read, 'nothing else is left');
    }
  });

  test('marking counts once, however often and concurrently it is done', async (t) => {
    const { inbox, outbox, add, check } = await openDomain(engine, t);
    const account = await add('one', [received(1, false), received(2, false)], [sent(1, false), sent(2, false)]);
    for (let time = 0; time < 3; time++) {
      assert.ok(await inbox.markRead(account, 1n));
      assert.ok(await outbox.mark(account, 1n));
      await Promise.all(range(0, 8).flatMap(() => [inbox.markRead(account, 2n), outbox.mark(account, 2n)]));
    }
    assert.deepEqual(await check(account, 'marked'), { unread: 0n, read: 2n, unmarked: 0n });
    await Promise.all(range(0, 8).map(() => inbox.delete(account, 2n)));
    await Promise.all(range(0, 8).map(() => outbox.delete(account, 2n)));
    assert.deepEqual(await check(account, 'deleted'), { unread: 0n, read: 1n, unmarked: 0n });
  });

  test('a message of an emptied inbox can be neither marked nor deleted, and counts for nothing', async (t) => {
    const { database, inbox, add, check } = await openDomain(engine, t);
    const account = await add('one', [received(1, false), received(2, true)]);
    await inbox.deleteAll(account);
    await database.transaction(account, (queries) => arrive(queries, account, [3], false));
    for (const id of [1n, 2n]) {
      assert.equal(await inbox.markRead(account, id), false);
      assert.equal(await inbox.delete(account, id), false);
    }
    assert.equal((await database.first(stored, { account }))?.total, 3n);
    assert.deepEqual(await check(account, 'emptied'), { unread: 1n, read: 0n, unmarked: 0n });
    await purgeAll(database);
    assert.equal((await database.first(stored, { account }))?.total, 1n);
    assert.deepEqual(await check(account, 'purged'), { unread: 1n, read: 0n, unmarked: 0n });
  });

  test('a rolled back message is not in the tally', async (t) => {
    const { database, inbox, add, check } = await openDomain(engine, t);
    const account = await add('one', [received(1, false), received(2, true)], [sent(1, false)]);
    const before = await check(account, 'before');
    const works: ((queries: TransactionQueries) => Promise<unknown>)[] = [
      (queries) => arrive(queries, account, [3, 4], false),
      (queries) => queries.run(inboxSql.markRead, { account, id: 1n }),
      (queries) => queries.run(inboxSql.deleteReceived, { account, id: 2n }),
      (queries) => queries.run(inboxSql.deleteAllReceived, { account }),
      (queries) => queries.run(outboxSql.mark, { account, id: 1n }),
      (queries) => queries.run(outboxSql.deleteSent, { account, id: 1n }),
    ];
    for (const work of works) {
      const failing = database.transaction(account, async (queries) => {
        await work(queries);
        await arrive(queries, account, [1], false); // there is one already
      });
      await assert.rejects(failing);
      assert.deepEqual(await check(account, String(work)), before);
    }
    assert.ok(await inbox.delete(account, 2n));
    assert.deepEqual(await check(account, 'after'), { unread: 1n, read: 0n, unmarked: 1n });
  });

  // 500 rows go to PostgreSQL in one statement.
  test('all messages of an import are stored and counted, whatever their number', async (t) => {
    const { inbox, add, check } = await openDomain(engine, t);
    for (const count of [0, 1, 499, 500, 501, 1_000, 1_001]) {
      const messages = range(1, count).map((id) => received(id, id % 3 === 0));
      const account = await add(
        `with ${count}`,
        messages,
        messages.map(({ id }) => sent(id, id % 5 === 0)),
      );
      const [read, marked] = [Math.floor(count / 3), Math.floor(count / 5)];
      assert.deepEqual(await check(account, `${count}`), {
        unread: BigInt(count - read),
        read: BigInt(read),
        unmarked: BigInt(count - marked),
      });
      assert.deepEqual(
        (await inbox.newest(account, ALL)).map(({ id }) => Number(id)),
        range(1, count).reverse(),
      );
    }
    await assert.rejects(
      add(
        'broken',
        [...range(1, 501), 501].map((id) => received(id, false)),
      ),
    );
    assert.deepEqual(await check(await add('broken', []), 'again'), { unread: 0n, read: 0n, unmarked: 0n });
  });
});
