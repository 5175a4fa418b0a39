import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { actions } from '../../src/operator/actions/all.ts';
import { onOneEngine } from '../support/engines.ts';
import { type OperatorApi, startOperatorApi } from '../support/operator-api.ts';

onOneEngine('ETag, If-Match and Location', (engine) => {
  let api: OperatorApi;
  before(async () => {
    api = await startOperatorApi(engine);
  });
  after(() => api.stop());

  const tagOf = async (path: string) => (await api.call('GET', path)).headers.get('etag') ?? '';
  const change = (path: string, ifMatch: string, body: object, method = 'PATCH') =>
    api.call(method, path, { body, headers: { 'If-Match': ifMatch } });

  test('a change with the ETag of what was read is done, and a second one with the same ETag is refused', async () => {
    const path = '/accounts/acme';
    const read = await tagOf(path);
    assert.match(read, /^"[\w-]{22}"$/);
    const done = await change(path, read, { company: 'One' });
    assert.deepEqual([done.status, done.headers.get('etag')], [200, await tagOf(path)]);
    const refused = await change(path, read, { company: 'Two' });
    assert.deepEqual([refused.status, refused.json.type], [412, '/operator/#problem-changed']);
    assert.equal((await api.call('GET', path)).json.company, 'One');
    assert.equal((await change(path, `"other", ${await tagOf(path)}`, { company: 'Three' })).status, 200);
    assert.equal((await change(path, '*', { company: 'Four' })).status, 200);
    assert.equal((await change(path, `W/${await tagOf(path)}`, { company: 'Five' })).status, 412);
  });

  test('of several changes at the same time with the same ETag, exactly one is done', async () => {
    for (const [path, method, body] of [
      ['/accounts/acme', 'PATCH', (n: number) => ({ company: `Race ${n}` })],
      ['/retention', 'PUT', (n: number) => ({ inbox: 100 + n })],
    ] as const) {
      const read = await tagOf(path);
      const answers = await Promise.all(Array.from({ length: 6 }, (_, n) => change(path, read, body(n), method)));
      const done = answers.filter(({ status }) => status === 200);
      assert.equal(done.length, 1, path);
      assert.deepEqual([...new Set(answers.map(({ status }) => status))].sort(), [200, 412], path);
    }
  });

  test('an ETag does not change by what counts by itself', async () => {
    const read = await tagOf('/accounts/acme');
    const movement = { amount: '5', reason: 'top-up', reference: null };
    assert.equal((await api.call('POST', '/accounts/acme/credits/movements', { body: movement })).status, 201);
    assert.equal(await tagOf('/accounts/acme'), read);
  });

  test('a contact that was changed meanwhile is not removed', async () => {
    const created = await api.call('POST', '/accounts/acme/contacts', {
      body: { mobile: '+27825550299', name: 'Ann' },
    });
    const path = `/accounts/acme/contacts/${created.json.id}`;
    assert.equal(created.headers.get('location'), `/operator/v1${path}`);
    const read = await tagOf(path);
    assert.equal((await api.call('PUT', path, { body: { mobile: '+27825550299', name: 'Anna' } })).status, 200);
    const remove = (ifMatch: string) => api.call('DELETE', path, { headers: { 'If-Match': ifMatch } });
    assert.equal((await remove(read)).status, 412);
    assert.equal((await remove(await tagOf(path))).status, 200);
    assert.equal((await remove('*')).status, 404);
  });

  test('If-Match is refused where there is no ETag, rather than ignored', async () => {
    const headers = { 'If-Match': '"a"' };
    const answer = await api.call('POST', '/accounts/acme/disable', { headers });
    assert.deepEqual([answer.status, answer.json.errors[0].pointer], [400, 'If-Match']);
    assert.equal((await api.call('GET', '/accounts/acme', { headers })).status, 400);
    assert.equal((await api.call('GET', '/accounts/acme')).json.state, 'enabled');
  });

  test('the Location of an account is the path that shows it, whatever its name is', async () => {
    const added = await api.call('POST', '/accounts', { body: { username: 'a/b ü' } });
    const location = added.headers.get('location') ?? '';
    const shown = await api.call('GET', location.replace('/operator/v1', ''));
    assert.deepEqual([added.status, shown.json.username], [201, 'a/b ü']);
  });
});

test('every action that creates what another action shows has a Location', () => {
  const shown = actions.filter(({ method }) => method === 'GET').map(({ path }) => path);
  const creating = actions.filter(
    ({ path, status }) =>
      status === 201 && shown.some((each) => each.replace(/\/\{\w+\}$/, '') === path && each !== path),
  );
  assert.deepEqual(
    creating.map(({ name }) => name),
    ['account add', 'group add', 'contact add', 'inbox receive'],
  );
  for (const { name, location } of creating) assert.ok(location && shown.includes(location), name);
});
