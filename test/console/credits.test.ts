import assert from 'node:assert/strict';
import { test } from 'node:test';
import { act, signedIn } from '../support/console-client.ts';
import { onOneEngine } from '../support/engines.ts';
import { startOperatorApi } from '../support/operator-api.ts';

onOneEngine('the form of credits', (engine) => {
  test('a form of credits that is sent twice moves them once, and another amount moves them again', async (t) => {
    const api = await startOperatorApi(engine);
    t.after(() => api.stop());
    const client = await signedIn(api, { operator: 'ann' });
    const here = '/console/accounts/acme';
    const [, key = ''] = /name="key" value="([0-9a-f]{32})"/.exec((await client.get(here)).text) ?? [];
    const free = async () =>
      BigInt((await act<{ free: string }>(api, 'credits show', { params: { username: 'acme' } })).free);
    const before = await free();
    for (const amount of ['3', '3', '4']) {
      assert.equal((await client.post(`${here}/credits`, { key, amount, reason: 'Invoice' })).status, 303);
    }
    assert.equal((await free()) - before, 7n);
  });
});
