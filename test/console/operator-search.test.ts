import assert from 'node:assert/strict';
import { test } from 'node:test';
import { act, signedIn } from '../support/console-client.ts';
import { onOneEngine } from '../support/engines.ts';
import { startOperatorApi } from '../support/operator-api.ts';

onOneEngine("the operator's search", (engine) => {
  test('a search in all accounts shows each number with the name that its own account gave it', async (t) => {
    const api = await startOperatorApi(engine);
    t.after(() => api.stop());
    const client = await signedIn(api, { operator: 'ann' });
    const sender = '+27825550999';
    for (const [username, name] of Object.entries({ north: 'Thandi', south: 'Tante Thea', west: '' })) {
      await act(api, 'account add', { body: { username, region: 'ZA' } });
      const own = { params: { username } };
      await act(api, 'inbox receive', { ...own, body: { sender, text: `to ${username}` } });
      if (name) await act(api, 'contact add', { ...own, body: { mobile: '0825550999', name } });
    }
    const { text } = await client.get('/console/search?q=0825550999');
    const shown = [...text.matchAll(/class="open"[^>]*>(.*?)<\/a>.*?<bdi>to (\w+)<\/bdi>/gs)].map(
      ([, person, account]) => `${account}: ${person?.replace(/<[^>]+>/g, '')}`,
    );
    assert.deepEqual(shown.sort(), ['north: Thandi', 'south: Tante Thea', `west: ${sender}`]);
  });
});
