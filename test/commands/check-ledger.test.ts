import assert from 'node:assert/strict';
import { test } from 'node:test';
import { columba } from '../support/command.ts';
import { onEveryEngine } from '../support/engines.ts';
import { openStore, sql } from '../support/opened-database.ts';

const check = (database: string) => columba(['check', '--ledger', '--database', database]);

onEveryEngine('columba check --ledger', (engine) => {
  test('columba account add books the opening credits as a movement, so that the ledger adds up', async () => {
    const database = await engine.fresh('empty');
    const added = await columba(['account', 'add', 'acme', '--credits', '500', '--database', database]);
    assert.equal(added.code, 0, added.stderr);
    const moved = await columba(['credits', 'movements', 'acme', '--json', '--database', database]);
    const [opening, ...others] = JSON.parse(moved.stdout).items;
    assert.deepEqual([opening.kind, opening.from, opening.to, opening.amount], ['grant', 'operator', 'free', '500']);
    assert.deepEqual(others, []);
    const { code, stdout, stderr } = await check(database);
    assert.deepEqual([code, stderr], [0, '']);
    const lines = stdout.trimEnd().split('\n');
    assert.equal(lines[0], 'The settings are valid and the database can be used.');
    assert.equal(lines.at(-1), 'Ledger: 1 account checked, all add up');
  });

  test('columba check --ledger finds that the sample data adds up', async () => {
    const { code, stderr } = await check(await engine.fresh('sample'));
    assert.deepEqual([code, stderr], [0, '']);
  });

  test('columba check --ledger names every wrong sum, ends with 1, and changes nothing', async () => {
    const database = await engine.fresh('empty');
    for (const name of ['acme', 'globex', 'initech']) {
      await columba(['account', 'add', name, '--credits', '500', '--database', database]);
    }
    const store = await openStore(database);
    await store.run(sql("update account set credits = 501 where username = 'acme'"), {});
    await store.run(
      sql("update ledger set held = 3 where account_id = (select account_id from account where username = 'globex')"),
      {},
    );
    await store.close();
    for (const _ of [1, 2]) {
      const { code, stdout, stderr } = await check(database);
      assert.equal(code, 1);
      assert.deepEqual(stderr.trimEnd().split('\n'), [
        'columba: The database can be used. The credits of 2 accounts do not add up.',
        'columba: acme: free credits are 501, and their movements add up to 500',
        'columba: globex: held credits are 3, and their movements add up to 0',
        'columba: globex: 3 credits are held, and scheduled messages hold 0',
      ]);
      assert.ok(!stdout.includes('The settings are valid'), 'something is wrong');
      assert.ok(stdout.includes('\nLedger: 3 accounts checked, 2 do not add up\n'), stdout);
    }
    assert.equal((await columba(['check', '--database', database])).code, 0, 'only where it is asked for');
  });
});
