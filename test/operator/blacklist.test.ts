import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openActions } from '../support/actions.ts';
import { onEveryEngine } from '../support/engines.ts';
import { checkLedger, load, scheduled, TWO_PARTS } from './archived-account.ts';

const acme = { username: 'acme' };

onEveryEngine('blacklist of the operator', (engine) => {
  test('a blacklisted number is allowed again, in whatever notation it is removed', async (t) => {
    const bench = await openActions(engine, t);
    await load(bench, { scheduled: [scheduled(1, TWO_PARTS, '0825550201'), scheduled(2, 'other', '0825550209')] });
    const { of } = bench;
    await bench.account('globex');
    const body = { number: '+27 82 555 0201', origin: 'STOP', evidence: 'stop' };
    assert.deepEqual(await of('acme', 'blacklist add', { body }), { cancelled: 1 });
    assert.deepEqual(await of('acme', 'credits show'), { free: '12', held: '1', used: '0' });
    await checkLedger(bench);
    const params = { number: '0825550201' };
    const theirs = await bench.refusal('blacklist remove', { params: { username: 'globex', ...params } });
    assert.equal(theirs.kind, 'not-found');
    assert.deepEqual(await of('acme', 'blacklist remove', { params }), { removed: 1 });
    assert.deepEqual((await of('acme', 'blacklist list')).items, []);
    assert.equal((await bench.refusal('blacklist remove', { params: { ...acme, ...params } })).kind, 'not-found');
    assert.equal(await bench.status('blacklist add', { params: acme, body }), 201);
  });

  test('a number with an exponent, whose digits are lost, is not blacklisted as another one', async (t) => {
    const { account, refusal } = await openActions(engine, t);
    await account('acme', { region: 'ZA' });
    const { kind, message } = await refusal('blacklist add', { params: acme, body: { number: '2.78E+10' } });
    assert.equal(kind, 'bad-argument');
    assert.match(message, /^a spreadsheet has written this number with an exponent/);
  });

  test('an erased person on the blacklist can be allowed again', async (t) => {
    const { of, run, account, refusal } = await openActions(engine, t);
    await account('acme', { region: 'ZA' });
    await of('acme', 'blacklist add', { body: { number: '0825550201' } });
    await run('person erase', { params: { number: '+27825550201' } });
    assert.equal((await of('acme', 'blacklist list')).items.length, 1);
    const other = { params: { ...acme, number: '0825550202' } };
    assert.equal((await refusal('blacklist remove', other)).kind, 'not-found');
    assert.deepEqual(await of('acme', 'blacklist remove', { params: { number: '082 555 0201' } }), { removed: 1 });
    assert.deepEqual((await of('acme', 'blacklist list')).items, []);
  });
});
