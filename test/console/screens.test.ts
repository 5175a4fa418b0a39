import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import type { Route } from '../../src/console/page-request.ts';
import { customerRoutes, navigation, operatorRoutes } from '../../src/console/screens.ts';
import { act, type ConsoleClient, signedIn } from '../support/console-client.ts';
import { onOneEngine } from '../support/engines.ts';
import { sql } from '../support/opened-database.ts';
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

  test('an installation without accounts and carriers says so, and a new account without credits too', async (t) => {
    const api = await startOperatorApi(engine, 'empty');
    t.after(() => api.stop());
    // The service adds it if no connector is configured.
    await act(api, 'connector put', { params: { name: 'loopback' }, body: { kind: 'loopback', isDefault: true } });
    const { text } = await (await signedIn(api, { operator: 'ann' })).get('/console/');
    assert.match(text, /Messages reach nobody yet\..*There is no account yet\./s);
    assert.doesNotMatch(text, /Nothing needs your attention/);
    await act(api, 'account add', { body: { username: 'acme' } });
    const client = await signedIn(api, { username: 'acme' });
    assert.match((await client.get('/console/')).text, /There are no free credits\..*Three first steps/s);
  });

  test('a message whose outcome is not known is sent again only after a question', async (t) => {
    const api = await startOperatorApi(engine);
    t.after(() => api.stop());
    const client = await signedIn(api, { username: 'acme' });
    await api.services.database.run(sql("update sent set status = 'UNKNOWN' where message_id = 2001"), {});
    assert.match(
      (await client.get('/console/messages/2001')).text,
      /<summary[^>]*>.*?Send again….*the person may get it twice/s,
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
    assert.match(known.text, /No conversation yet\..*No message has been sent yet\./s);
    await act(api, 'message send', { params, body: { recipients: ['+27825550201'], text: 'The last one' } });
    const { text } = await client.get('/console/');
    assert.match(text, /Last sent.*\/console\/messages\/\d+"><bdi>Anna<\/bdi>.*The last one.*Waiting/s);
    assert.doesNotMatch(text, /first steps/);
    await act(api, 'inbox receive', { params, body: { text: 'An answer', sender: '+27825550201' } });
    assert.match(
      (await client.get('/console/')).text,
      /Latest conversations.*Anna.*1<span class="unseen"> unread.*Last sent.*The last one/s,
    );
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

/**
 * What happens to credits and messages if a form is sent twice.
 *
 * key: a once-key; the second time has the answer of the first one and does nothing.
 * state: the first time changes the state of what it is about, and the second time finds that.
 * nothing: it moves no credits and sends no message.
 */
const TWICE: Readonly<Record<'key' | 'state' | 'nothing', string>> = {
  key: `compose/send conversation messages/:id/resend batches/:id/resend sent accounts/:username/credits`,
  state: `messages/:id/cancel batches/:id/cancel scheduled queue unrouted accounts accounts/:username/remove
    blacklist inbox retention/person`,
  nothing: `access/factor access/password access/sessions access/tokens access/tokens/revoke access/user-ids
    access/user-ids/revoke accounts/:username/disable accounts/:username/enable accounts/:username/guard
    accounts/:username/guard/remove accounts/:username/settings accounts/:username/sign-in-link blacklist/remove
    compose/check compose/count connectors connectors/:name connectors/:name/remove connectors/:name/test
    connectors/new contacts contacts/:id contacts/:id/remove contacts/selected groups groups/:id groups/:id/remove
    import migration/accept migration/clients migration/clients/remove migration/stage migration/withdraw operators
    outbound-routes/:name outbound-routes/:name/remove outbound-routes/new outbound-routes/try retention templates
    templates/:id/remove tokens tokens/revoke webhooks webhooks/:id`,
};

describe('acts of the console', () => {
  test('of every form it is decided what happens to credits and messages if it is sent twice', () => {
    const paths = [...customerRoutes, ...operatorRoutes].filter(({ method }) => method === 'POST');
    const decided = Object.values(TWICE).flatMap((list) => list.split(/\s+/));
    assert.deepEqual([...new Set(paths.map(({ path }) => path.slice(1)))].sort(), decided.sort());
  });

  test('messages are sent and credits are added only with a once-key', () => {
    const folder = new URL('../../src/', import.meta.url);
    const uses = globSync(['console/**/*.ts', 'migration/screens/*.ts'], { cwd: folder }).flatMap((file) =>
      [
        ...readFileSync(new URL(file, folder), 'utf8').matchAll(
          /\.(run|once|full|download)\([^;]{0,60}?\b(messageSend|messageResend|batchResend|creditsAdd)\b/g,
        ),
      ].map(([, way, action]) => `${action} ${way}`),
    );
    // What is checked before sending is a dry run.
    const expected = 'batchResend once, creditsAdd once, messageResend once, messageSend once, messageSend run';
    assert.equal([...new Set(uses)].sort().join(', '), expected);
    assert.match(
      readFileSync(new URL('console/messages/check.ts', folder), 'utf8'),
      /dry_run: 'true' \}, body \};\s+const found = await request\.act\.run\(messageSend,/,
    );
  });
});
