import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openActions } from '../support/actions.ts';
import { onEveryEngine } from '../support/engines.ts';
import { checkLedger, load, scheduled, TWO_PARTS } from './archived-account.ts';

const AT = '2026-11-15T12:00:00.000Z';

onEveryEngine('credits of the operator', (engine) => {
  test('a second import with --update keeps the ledger adding up', async (t) => {
    const bench = await openActions(engine, t);
    await load(bench, { scheduled: [scheduled(1, TWO_PARTS), scheduled(2, 'short')] });
    await bench.of('acme', 'credits add', { body: { amount: '5', reason: 'more' } });
    await load(bench, { credits: '99', scheduled: [scheduled(1, 'short'), scheduled(3, TWO_PARTS)] }, true);
    assert.deepEqual(await bench.of('acme', 'credits show'), { free: '14', held: '4', used: '0' });
    await checkLedger(bench);
    const tooMany = Array.from({ length: 8 }, (_, index) => scheduled(10 + index, TWO_PARTS));
    await assert.rejects(load(bench, { scheduled: tooMany }, true), /fewer than the 16 credits/);
    assert.deepEqual(await bench.of('acme', 'credits show'), { free: '14', held: '4', used: '0' });
    await checkLedger(bench);
  });

  test('the opening credits of an account are a movement', async (t) => {
    const bench = await openActions(engine, t);
    await bench.account('acme', { credits: '500' });
    await bench.account('globex');
    const { items } = await bench.of('acme', 'credits movements');
    assert.deepEqual(
      items.map(({ kind, from, to, amount, at }: Record<string, string>) => [kind, from, to, amount, at]),
      [['grant', 'operator', 'free', '500', AT]],
    );
    assert.deepEqual((await bench.of('globex', 'credits movements')).items, []);
    await checkLedger(bench);
  });
});
