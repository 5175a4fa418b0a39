import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Route } from '../../src/console/page-request.ts';
import { customerRoutes, navigation, operatorRoutes } from '../../src/console/screens.ts';
import { act, type ConsoleClient, signedIn } from '../support/console-client.ts';
import { onOneEngine } from '../support/engines.ts';
import { startOperatorApi } from '../support/operator-api.ts';
import { CUSTOMER_SCREENS, OPERATOR_SCREENS } from '../support/screens.ts';

/** Every screen answers, with data and without, on both databases. */
onOneEngine('screens of the console', (engine) => {
  const shown = async (client: ConsoleClient, paths: readonly string[]) => {
    for (const path of paths) {
      const { status, text } = await client.get(path);
      assert.equal(status, 200, `${path}: ${/role="alert">(.*?)<\/div>/s.exec(text)?.[1] ?? ''}`);
      assert.match(text, /<h1>/, path);
      assert.doesNotMatch(text, /undefined|\[object|NaN|null</, path);
    }
  };

  test('every screen of a customer works, with data and without', async (t) => {
    const api = await startOperatorApi(engine);
    t.after(() => api.stop());
    await shown(await signedIn(api, { username: 'acme' }), CUSTOMER_SCREENS);
    await act(api, 'account add', { body: { username: 'new' } });
    await shown(
      await signedIn(api, { username: 'new' }),
      CUSTOMER_SCREENS.filter((path) => !/\d{3}$/.test(path)),
    );
    assert.deepEqual(
      api.logged.filter((line) => /"level":[56]0/.test(line)),
      [],
    );
  });

  test('the overview shows the first steps only while the account has no contacts and no messages', async (t) => {
    const api = await startOperatorApi(engine, 'empty');
    t.after(() => api.stop());
    const params = { username: 'acme' };
    await act(api, 'account add', { body: { ...params, region: 'ZA', credits: '9' } });
    const client = await signedIn(api, params);
    assert.match((await client.get('/console/')).text, /Three first steps/);
    await act(api, 'contact add', { params, body: { mobile: '+27825550201', name: 'Anna' } });
    const known = await client.get('/console/');
    assert.doesNotMatch(known.text, /first steps/);
    assert.match(known.text, /No message has arrived yet\..*No message has been sent yet\./s);
    await act(api, 'message send', { params, body: { recipients: ['+27825550201'], text: 'The last one' } });
    const { text } = await client.get('/console/');
    assert.match(text, /Last sent.*\/console\/messages\/\d+"><bdi>Anna<\/bdi>.*The last one.*Waiting/s);
    assert.doesNotMatch(text, /first steps/);
    await act(api, 'inbox receive', { params, body: { text: 'An answer', sender: '+27825550201' } });
    assert.match((await client.get('/console/')).text, /Last received.*An answer.*Last sent.*The last one/s);
  });

  test('every screen of an operator works, and so do those of a customer below the account, which the audit records', async (t) => {
    const api = await startOperatorApi(engine);
    t.after(() => api.stop());
    const operator = await signedIn(api, { operator: 'ann' });
    await shown(operator, OPERATOR_SCREENS);
    await shown(
      operator,
      CUSTOMER_SCREENS.map((path) => path.replace('/console', '/console/accounts/acme')),
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
  test('every page without a parameter is in the lists of screens, under a path of its own', () => {
    const pages = (routes: readonly Route[]) =>
      routes.flatMap(({ method, path }) => (method === 'GET' && !/[:.]/.test(path) ? [`/console${path}`] : []));
    const listed = (paths: readonly string[]) => new Set(paths.map((path) => path.split('?')[0]));
    for (const [routes, paths] of [
      [customerRoutes, CUSTOMER_SCREENS],
      [operatorRoutes, OPERATOR_SCREENS],
    ] as const) {
      assert.deepEqual(
        pages(routes).filter((path) => !listed(paths).has(path)),
        [],
      );
      assert.equal(new Set(pages(routes)).size, pages(routes).length);
    }
  });

  test('a screen of the navigation has a page at its key', () => {
    for (const [screens, routes] of [
      [navigation.customer, customerRoutes],
      [navigation.operator, operatorRoutes],
    ] as const) {
      const paths = new Set(routes.map(({ path }) => path));
      for (const key of screens.keys()) assert.ok(paths.has(key === 'overview' ? '/' : `/${key}`), key);
    }
  });

  test('lists of screens name each path once', () => {
    assert.equal(
      new Set([...CUSTOMER_SCREENS, ...OPERATOR_SCREENS]).size,
      CUSTOMER_SCREENS.length + OPERATOR_SCREENS.length - 2,
    );
  });
});
