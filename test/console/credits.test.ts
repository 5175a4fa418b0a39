import assert from 'node:assert/strict';
import { test } from 'node:test';
import { act, signedIn } from '../support/console-client.ts';
import { onOneEngine } from '../support/engines.ts';
import { startOperatorApi } from '../support/operator-api.ts';

onOneEngine('the credits of an account', (engine) => {
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

  test('a movement shows how it changed the free credits, and its number where it did not', async (t) => {
    const api = await startOperatorApi(engine);
    t.after(() => api.stop());
    const client = await signedIn(api, { username: 'acme' });
    const params = { username: 'acme' };
    const body = {
      recipients: ['+27825550201'],
      text: 'hello',
      sendAt: new Date(api.clock.now + 60_000).toISOString(),
    };
    await act(api, 'message send', { params, body });
    const { text } = await client.get('/console/credits');
    assert.match(text, /scope="row">Held for a message<\/th><td class="num" data-l="Change">−1<\/td>/);
  });
});
