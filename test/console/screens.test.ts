import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { startOperatorApi } from '../operator/operator-api.ts';
import { onEveryEngine } from '../support/engines.ts';
import { act, type ConsoleClient, signedIn } from './console-client.ts';
import { HOLDER_SCREENS, OPERATOR_SCREENS } from './screens.ts';

/** Every screen answers, with data and without, on both databases. */
onEveryEngine('screens of the console', (engine) => {
  const shown = async (client: ConsoleClient, paths: readonly string[]) => {
    for (const path of paths) {
      const { status, text } = await client.get(path);
      assert.equal(status, 200, `${path}: ${/role="alert">(.*?)<\/div>/s.exec(text)?.[1] ?? ''}`);
      assert.match(text, /<h1>/, path);
      assert.doesNotMatch(text, /undefined|\[object|NaN|null</, path);
    }
  };

  test('every screen of a holder answers, with data and without', async (t) => {
    const api = await startOperatorApi(engine);
    t.after(() => api.stop());
    await shown(await signedIn(api, { username: 'acme' }), HOLDER_SCREENS);
    await act(api, 'account add', { body: { username: 'new' } });
    await shown(
      await signedIn(api, { username: 'new' }),
      HOLDER_SCREENS.filter((path) => !/\d{3}$/.test(path)),
    );
    assert.deepEqual(
      api.logged.filter((line) => /"level":[56]0/.test(line)),
      [],
    );
  });

  test('every screen of an operator answers, and those of a holder below the account, audited', async (t) => {
    const api = await startOperatorApi(engine);
    t.after(() => api.stop());
    const operator = await signedIn(api, { operator: 'ann' });
    await shown(operator, OPERATOR_SCREENS);
    await shown(
      operator,
      HOLDER_SCREENS.map((path) => path.replace('/console', '/console/accounts/acme')),
    );
    const { items } = await act<{ items: { action: string; actorName: string }[] }>(api, 'audit list', {
      query: { account: 'acme' },
    });
    assert.ok(items.some(({ action, actorName }) => action === 'account view' && actorName === 'ann'));
    assert.deepEqual(
      api.logged.filter((line) => /"level":[56]0/.test(line)),
      [],
    );
  });
});

describe('paths of the console', () => {
  test('lists of screens name each path once', () => {
    assert.equal(
      new Set([...HOLDER_SCREENS, ...OPERATOR_SCREENS]).size,
      HOLDER_SCREENS.length + OPERATOR_SCREENS.length - 2,
    );
  });
});
