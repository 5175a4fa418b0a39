import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { createIndexer } from '../../../src/domain/search/indexer.ts';
import { domainOf } from '../../../src/operator/domain.ts';
import { openActions } from '../../support/actions.ts';
import { type Engine, onEveryEngine } from '../../support/engines.ts';
import { sql } from '../../support/opened-database.ts';
import { openOutside } from '../../support/other-process.ts';

const noPause = async () => {};
const entries = sql<{ account: bigint }, { token: string }>(
  'select token from search_entry where account_id = :account order by token',
);

/** An account, and the database as another program opens it. */
async function practice(engine: Engine, t: TestContext) {
  const setting = await engine.fresh('empty');
  const bench = await openActions({ ...engine, fresh: async () => setting }, t);
  const id = await bench.account('practice', { credits: '100', region: 'ZA' });
  return { ...bench, setting, id, domain: domainOf(bench.services) };
}

onEveryEngine('the indexer of the search', (engine) => {
  if (engine.name === 'postgres') {
    test('a message that is deleted while it is being indexed leaves nothing in the index', async (t) => {
      const { id, database, domain, setting, of } = await practice(engine, t);
      const outside = await openOutside(setting);
      t.after(() => outside.close());
      await outside.query('begin');
      await of('practice', 'inbox receive', {
        body: { gatewayId: '1', sender: '+27825550201', text: 'unusual zebra' },
      });
      await outside.query(`delete from received where account_id = ${id}`);
      const { run } = createIndexer(database, domain.region);
      await run(noPause);
      await outside.query('commit');
      assert.equal(await domain.search.isComplete(id), true);
      assert.deepEqual(await database.all(entries, { account: id }), [], 'deleted before its note was read');
      await of('practice', 'message record', { body: { recipient: '+27825550201', text: 'another giraffe' } });
      await outside.query('begin');
      let deletion: Promise<unknown> | undefined;
      const indexer = createIndexer(database, (account) => {
        deletion ??= outside.query(`delete from sent where account_id = ${id}`);
        return domain.region(account);
      });
      await indexer.run(noPause);
      await deletion;
      await outside.query('commit');
      assert.equal(await domain.search.isComplete(id), true);
      assert.deepEqual(await database.all(entries, { account: id }), [], 'deleted after its note was read');
    });
  }

  test('a new contact is found at once, however many messages are still to be indexed', async (t) => {
    const { id, domain, of, setting } = await practice(engine, t);
    const outside = await openOutside(setting);
    const message = { account_id: id, sender: '+27825550202', text: 'giraffe', received_at: 5, generation: 0 };
    const many = Array.from({ length: 250 }, (_, number) => ({ ...message, message_id: 1_000 + number }));
    await outside.insert('received', many);
    await outside.close();
    await of('practice', 'contact add', { body: { name: 'Ann', surname: 'Lee', mobile: '+27825550201' } });
    assert.equal(await domain.search.isComplete(id), false);
    assert.deepEqual(
      (await domain.search.contacts(id, 'lee')).map(({ name }) => name),
      ['Ann Lee'],
    );
  });
});
