import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accountId } from '../../src/domain/accounts/accounts.ts';
import { createDrafts, forgetDrafts } from '../../src/domain/messages/drafts.ts';
import { openActions } from '../support/actions.ts';
import { onEveryEngine } from '../support/engines.ts';
import { sql, TABLES } from '../support/opened-database.ts';
import { checkLedger, load, scheduled, TWO_PARTS } from './archived-account.ts';

type None = Record<string, never>;
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
    const drafts = createDrafts(database, () => 0);
    const acme = await accountId(database, 'acme');
    const draft = (id: string) => ({ account: acme, id, owner: 'account/1' });
    await drafts.save(draft('a'), JSON.stringify({ fields: [['to', 'Ann 082 555-0201\n0825550209']] }));
    await drafts.save(draft('b'), JSON.stringify({ fields: [['to', '0825550209']] }));
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
    assert.equal(await drafts.find(draft('a')), null);
    assert.notEqual(await drafts.find(draft('b')), null);
    const [entry] = (await of('acme', 'blacklist list')).items;
    assert.deepEqual([entry.number, entry.origin, entry.evidence], [null, 'STOP', null]);
    const again = { params: { username: 'acme' }, body: { number: '0825550201' } };
    assert.equal(await status('blacklist add', again), 200, 'it is there already');
  });

  test('an account keeps its 50 newest drafts, and none longer than a day', async (t) => {
    const { database, account } = await openActions(engine, t);
    await account('acme', {});
    const acme = await accountId(database, 'acme');
    let now = 0;
    const drafts = createDrafts(database, () => now);
    const key = (id: number) => ({ account: acme, id: String(id), owner: 'account/1' });
    for (let id = 0; id < 51; id += 1) {
      now += 1;
      await drafts.save(key(id), `{"text":"\u0000 ${id}"}`);
    }
    assert.equal(await drafts.find(key(0)), null);
    assert.equal((await drafts.find(key(1)))?.content, '{"text":"\u0000 1"}');
    await drafts.accepted(key(1), '{"path":"/sent"}');
    assert.deepEqual({ ...(await drafts.find(key(1))) }, { content: null, result: '{"path":"/sent"}' });
    await assert.rejects(drafts.save({ ...key(2), owner: 'operator/1' }, '{}'), /somebody else/);
    now += 24 * 3_600_000;
    assert.equal(await drafts.find(key(2)), null);
    await forgetDrafts(database, now);
    const rows = await database.all(sql<None, { draft_id: string }>('select draft_id from message_draft'), {});
    assert.deepEqual(
      rows.map(({ draft_id }) => draft_id),
      ['50'],
    );
  });

  test('an export has all that accounts know about a person, and nothing of others', async (t) => {
    const bench = await openActions(engine, t);
    const { of, run, account } = bench;
    await load(bench, { region: 'ZA', scheduled: [scheduled(7, TWO_PARTS), scheduled(8, 'x', '+27825550209')] });
    await account('globex', { region: 'ZA', mobile: '0825550201' });
    await account('initech', { region: 'ZA' });
    const { id: contact } = await of('acme', 'contact add', { body: { mobile: '082 555 0201', name: 'Ann' } });
    const { id: received } = await of('acme', 'inbox receive', { body: { sender: '0027825550201', text: 'stop' } });
    const { id: sent } = await of('acme', 'message record', { body: { recipient: '0825550201', text: 'hi' } });
    await of('acme', 'blacklist add', { body: { number: '0825550208', evidence: 'of another person' } });
    for (const number of ['0825550202', '+44825550201']) {
      await of('acme', 'contact add', { body: { mobile: number } });
      await of('acme', 'inbox receive', { body: { sender: number, text: 'from another person' } });
      await of('acme', 'message record', { body: { recipient: number, text: 'to another person' } });
    }
    const params = { number: '+27825550201' };
    const { accounts } = await run('person show', { params });
    const [first, second, ...others] = accounts;
    assert.deepEqual(others, []);
    const idsOf = (rows: { id: string }[]) => rows.map(({ id }) => id);
    assert.deepEqual(
      [first.username, ...[first.contacts, first.inbox, first.sent, first.scheduled].map(idsOf)],
      ['acme', [contact], [received], [sent], ['7']],
    );
    assert.deepEqual([first.blacklist, first.erasedFromBlacklist, first.profile, first.leftOut], [[], false, false, 0]);
    assert.deepEqual([first.inbox[0].text, first.sent[0].text, first.contacts[0].name], ['stop', 'hi', 'Ann']);
    assert.deepEqual([second.username, second.profile, second.contacts], ['globex', true, []]);
    assert.doesNotMatch(JSON.stringify(accounts), /another person/);
    const one = await run('person show', { params: { number: '0825550201' }, query: { account: 'acme' } });
    assert.deepEqual(one.accounts, [first]);
    assert.deepEqual((await run('person show', { params, query: { account: 'initech' } })).accounts, []);
  });

  test('erasing a person cancels what is scheduled, returns its credits and leaves others alone', async (t) => {
    const bench = await openActions(engine, t);
    await load(bench, { region: 'ZA', scheduled: [scheduled(7, TWO_PARTS), scheduled(8, 'x', '+27825550209')] });
    const params = { number: '+27825550201' };
    const dry = await bench.run('person erase', { params, query: { dry_run: 'true' } });
    assert.deepEqual(await bench.of('acme', 'credits show'), { free: '10', held: '3', used: '0' });
    const done = await bench.run('person erase', { params });
    assert.deepEqual([dry.scheduled, dry.creditsReturned], [1, '2']);
    assert.deepEqual([done.scheduled, done.creditsReturned], [1, '2']);
    assert.deepEqual(await bench.of('acme', 'credits show'), { free: '12', held: '1', used: '0' });
    await checkLedger(bench);
    assert.deepEqual((await bench.run('person show', { params })).accounts, []);
    const local = await bench.refusal('person erase', { params: { number: '0825550201' } });
    assert.equal(local.kind, 'bad-argument', 'a local number names another person in each country');
  });
});
