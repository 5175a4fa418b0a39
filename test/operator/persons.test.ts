import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openActions } from '../support/actions.ts';
import { onEveryEngine } from '../support/engines.ts';
import { sql, TABLES } from '../support/opened-database.ts';

const MORE = ['audit', 'idempotency', 'operator_token', 'retention'];

onEveryEngine('persons', (engine) => {
  test('an erased person leaves no number in any table, and stays on the blacklist by a hash', async (t) => {
    const { database, of, run, account, status } = await openActions(engine, t);
    await account('acme', { region: 'ZA' });
    const number = '+27825550201';
    await of('acme', 'contact add', { body: { mobile: '082 555 0201', name: 'Ann' } });
    await of('acme', 'inbox receive', { body: { gatewayId: 'g1', sender: '27825550201', text: 'stop' } });
    await of('acme', 'message record', { body: { recipient: '0825550201', text: 'hi' } });
    await of('acme', 'blacklist add', { body: { number: '0825550201', origin: 'STOP', evidence: 'stop' } });
    await of('acme', 'credits add', { body: { amount: '5', reason: 'refund for +27825550201' } });
    const dry = await run('person erase', { params: { number }, query: { dry_run: 'true' } });
    const done = await run('person erase', { params: { number } });
    assert.deepEqual({ ...done, dryRun: true }, dry);
    const { contacts, inbox, sent, blacklist, movements } = done;
    assert.deepEqual([contacts, inbox, sent, blacklist, movements], [1, 1, 1, 1, 1]);
    for (const table of [...TABLES, ...MORE]) {
      const rows = await database.all(sql<Record<string, never>, object>(`select * from ${table}`), {});
      const text = rows.map((row) => Object.values(row).join(' ')).join('\n');
      assert.doesNotMatch(text.replace(/[ ()-]/g, ''), /825550201/, table);
    }
    const [entry] = (await of('acme', 'blacklist list')).items;
    assert.deepEqual([entry.number, entry.origin, entry.evidence], [null, 'STOP', null]);
    const again = { params: { username: 'acme' }, body: { number: '0825550201' } };
    assert.equal(await status('blacklist add', again), 200, 'it is there already');
  });
});
