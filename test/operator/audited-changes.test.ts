import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openActions } from '../support/actions.ts';
import { onEveryEngine } from '../support/engines.ts';

onEveryEngine('values in the audit', (engine) => {
  test('the audit says what a setting or an amount was before and after, and no name, number or text', async (t) => {
    const { of, account, run } = await openActions(engine, t);
    await account('acme', { credits: '10' });
    const last = async () => (await run('audit list', { query: { limit: '1' } })).items[0];
    await of('acme', 'account change', {
      body: { quietHours: '22:00-06:00', contactName: 'Anna', tel: '0825550201', stopAnswer: 'You are out.' },
    });
    const changed = await last();
    assert.deepEqual(changed.changes, [{ field: 'quietHours', from: null, to: '22:00-06:00' }]);
    assert.deepEqual(changed.fields.sort(), ['contactName', 'quietHours', 'stopAnswer', 'tel']);
    assert.doesNotMatch(JSON.stringify(changed), /Anna|0825550201|You are out/);
    await of('acme', 'account change', { body: { quietHours: '22:00-06:00' } });
    assert.deepEqual((await last()).changes, []);
    await of('acme', 'credits add', { body: { amount: '5', reason: 'invoice' } });
    assert.deepEqual((await last()).changes, [{ field: 'free', from: '10', to: '15' }]);
    const config = {};
    const put = (ratePerSecond: number) =>
      run('connector put', { params: { name: 'loopback' }, body: { kind: 'loopback', config, ratePerSecond } });
    await put(5);
    await put(7);
    assert.deepEqual((await last()).changes, [{ field: 'ratePerSecond', from: '5', to: '7' }]);
    await run('connector pause', { params: { name: 'loopback' } });
    assert.deepEqual((await last()).changes, [{ field: 'paused', from: 'false', to: 'true' }]);
    const networks = Array.from({ length: 10 }, (_, index) => `198.51.100.${index + 100}/32`);
    await of('acme', 'account change', { body: { allowedNetworks: networks } });
    await of('acme', 'account change', { body: { allowedNetworks: [...networks, '203.0.113.1/32'] } });
    assert.equal((await last()).changes.length, 1, 'values that differ behind what is shown of them differ');
    await run('person erase', { params: { number: '+27825550209' }, query: { username: 'acme' } });
    assert.deepEqual([(await last()).action, (await last()).account], ['person erase', 'acme']);
    await run('retention set', { body: { inbox: 30 } });
    assert.deepEqual((await last()).changes, [{ field: 'inbox', from: null, to: '30' }]);
  });
});
