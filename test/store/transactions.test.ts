import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Database } from '../../src/store/database.ts';
import { clientOf } from '../support/contract-client.ts';
import { type Engine, onEveryEngine } from '../support/engines.ts';
import { openStore, sql } from '../support/opened-database.ts';
import { PROTOCOLS } from '../support/protocols.ts';
import { startService } from '../support/service.ts';
import { countTurns } from '../support/turns.ts';

const add = sql<{ id: number }>('insert into thing (id) values (:id)');
const things = sql<Record<string, never>, { id: bigint }>('select id from thing order by id');

const idsIn = async (database: Pick<Database, 'all'>) => (await database.all(things, {})).map(({ id }) => Number(id));

async function withThings(engine: Engine, work: (database: Database) => Promise<void>): Promise<void> {
  const database = await openStore(await engine.fresh('empty'));
  try {
    await database.run(sql('create table thing (id bigint primary key)'), {});
    await work(database);
  } finally {
    await database.close();
  }
}

type ListOperation = 'DeleteContact' | 'MoveContactToNewGroup' | 'RemoveContactFromGroup';

onEveryEngine('transactions', (engine) => {
  test('a transaction that throws leaves no change, and the caller gets the error', () =>
    withThings(engine, async (database) => {
      const failure = new Error('on purpose');
      const work = database.transaction(null, async (queries) => {
        await queries.run(add, { id: 1 });
        await nextTurn();
        await queries.run(add, { id: 2 });
        throw failure;
      });
      await assert.rejects(work, failure);
      assert.deepEqual(await idsIn(database), []);
    }));

  test('others can read during a transaction of 20,000 rows, and see the state before it', (t) =>
    withThings(engine, async (database) => {
      const turns = countTurns(t);
      const rows = Array.from({ length: 20_000 }, (_, id) => ({ id }));
      let isDone = false;
      const writing = database
        .transaction(null, (queries) => queries.runAll(add, rows))
        .then(() => {
          isDone = true;
        });
      const before = turns();
      while (turns() < before + 5) await nextTurn();
      assert.equal(isDone, false);
      assert.deepEqual(await idsIn(database), []);
      await writing;
      assert.equal((await idsIn(database)).length, 20_000);
    }));

  test('a transaction whose statement fails leaves no change, and the next one works', () =>
    withThings(engine, async (database) => {
      await assert.rejects(
        database.transaction(null, async (queries) => {
          await queries.run(add, { id: 1 });
          await queries.run(add, { id: 1 });
        }),
      );
      assert.deepEqual(await idsIn(database), []);
      await database.transaction(null, (queries) => queries.run(add, { id: 1 }));
      assert.deepEqual(await idsIn(database), [1]);
    }));

  test('a transaction returns the value of its work, and sees what it wrote', () =>
    withThings(engine, async (database) => {
      const seen = await database.transaction(null, async (queries) => {
        await queries.run(add, { id: 7 });
        return idsIn(queries);
      });
      assert.deepEqual(seen, [7]);
    }));

  test('no other connection sees a transaction before it has ended', () =>
    withThings(engine, async (database) => {
      await database.transaction(null, async (queries) => {
        await queries.run(add, { id: 1 });
        assert.deepEqual(await idsIn(database), []);
      });
      assert.deepEqual(await idsIn(database), [1]);
    }));

  test('concurrent transactions and single writes do not mix, and those that fail roll back nothing else', () =>
    withThings(engine, async (database) => {
      const work = Array.from({ length: 120 }, (_, index) => {
        const id = index * 10;
        if (index % 4 === 3) return database.run(add, { id });
        return database.transaction(null, async (queries) => {
          for (let step = 0; step < 5; step++) {
            await queries.run(add, { id: id + step });
            await nextTurn();
          }
          if (index % 2 === 1) throw new Error('on purpose');
        });
      });
      const outcomes = await Promise.allSettled(work);
      const expected = outcomes.flatMap((_, index) => {
        if (index % 4 === 3) return [index * 10];
        return index % 2 === 1 ? [] : [0, 1, 2, 3, 4].map((step) => index * 10 + step);
      });
      assert.deepEqual(
        outcomes.map(({ status }) => status),
        outcomes.map((_, index) => (index % 4 === 1 ? 'rejected' : 'fulfilled')),
      );
      assert.deepEqual(await idsIn(database), expected);
    }));

  test('a snapshot does not see later writes, and does not delay them', () =>
    withThings(engine, async (database) => {
      await database.run(add, { id: 1 });
      const seen = await database.snapshot(async (queries) => {
        const before = await idsIn(queries);
        await database.run(add, { id: 2 });
        await database.transaction(null, (inner) => inner.run(add, { id: 3 }));
        assert.deepEqual(await idsIn(database), [1, 2, 3]);
        return [before, await idsIn(queries)];
      });
      assert.deepEqual(seen, [[1], [1]]);
      assert.deepEqual(await database.snapshot(idsIn), [1, 2, 3]);
    }));

  test('close waits for a transaction in progress', async () => {
    const setting = await engine.fresh('empty');
    const database = await openStore(setting);
    await database.run(sql('create table thing (id bigint primary key)'), {});
    const begun = Promise.withResolvers<void>();
    const work = database.transaction(null, async (queries) => {
      begun.resolve();
      await nextTurn();
      await queries.run(add, { id: 1 });
      await nextTurn();
    });
    await begun.promise;
    await database.close();
    await work;
    const again = await openStore(setting);
    assert.deepEqual(await idsIn(again), [1]);
    await again.close();
  });

  test('list operations that succeed and fail at the same time leave exactly what the succeeding ones say', async () => {
    const service = await startService(engine);
    try {
      const ids = Array.from({ length: 240 }, (_, index) => index + 1);
      const contacts = ids.map((id) => ({ id, groupid: 1 }));
      const owner = await clientOf(service, 'get').newcomer({ groups: [{ id: 1 }, { id: 2 }], contacts });
      const calls = ids
        .filter((id) => id % 4 === 1)
        .flatMap((id, index) => {
          const client = clientOf(service, PROTOCOLS[index % PROTOCOLS.length] ?? 'get', owner.userId);
          const four = [id, id + 1, id + 2, id + 3];
          const one = async (done: boolean, operation: ListOperation, contact_id: number[], group_id?: string) =>
            assert.equal(await client.ask('account', operation, { contact_id, group_id: group_id ?? null }), done);
          return [
            one(true, 'DeleteContact', [id, id + 1]),
            one(false, 'DeleteContact', [...four, 9_999]),
            one(true, 'MoveContactToNewGroup', [id + 2], '2'),
            one(false, 'MoveContactToNewGroup', [id + 3, 9_999], '2'),
            one(false, 'RemoveContactFromGroup', [id + 3, 9_999], '1'),
          ];
        });
      await Promise.all(calls);
      assert.deepEqual(
        (await owner.ask('account', 'FetchContacts')).map(({ id, groupid }) => [Number(id), groupid]),
        ids.filter((id) => id % 4 === 3 || id % 4 === 0).map((id) => [id, id % 4 === 3 ? '2' : '1']),
      );
    } finally {
      await service.stop();
    }
  });
});
