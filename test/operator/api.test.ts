import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { onOneEngine } from '../support/engines.ts';
import { type Answer, callAt, type OperatorApi, startOperatorApi } from '../support/operator-api.ts';
import { ACME } from '../support/service.ts';

const kindOf = ({ json }: Answer): string => json.type.replace('/operator/#problem-', '');

onOneEngine("the operator's API", (engine) => {
  let api: OperatorApi;
  before(async () => {
    api = await startOperatorApi(engine);
  });
  after(() => api.stop());

  test('the API creates, shows, changes, disables and deletes an account', async () => {
    const body = {
      username: 'initech',
      company: 'Initech',
      region: 'ZA',
      allowedNetworks: ['10.0.0.0/8'],
      credits: '7',
    };
    const added = await api.call('POST', '/accounts', { body });
    assert.equal(added.status, 201, added.text);
    assert.match(added.json.userId, /^[0-9a-f-]{36}$/);
    assert.match(added.headers.get('x-request-id') ?? '', /./);
    const again = await api.call('POST', '/accounts', { body });
    assert.deepEqual([again.status, kindOf(again)], [409, 'conflict']);

    const shown = await api.call('GET', '/accounts/initech');
    const { company, allowedNetworks, credits, state, createdAt } = shown.json;
    assert.deepEqual(
      { company, allowedNetworks, credits, state, createdAt },
      {
        company: 'Initech',
        allowedNetworks: ['10.0.0.0/8'],
        credits: '7',
        state: 'enabled',
        createdAt: '2026-11-15T12:00:00.000Z',
      },
    );
    const patch = { company: null, priority: 2, quietHours: '22:00-06:00', timeZone: 'Africa/Johannesburg' };
    const headers = { 'Content-Type': 'application/merge-patch+json' };
    const changed = await api.call('PATCH', '/accounts/initech', { body: patch, headers });
    assert.deepEqual([changed.json.company, changed.json.priority, changed.json.region], [null, 2, 'ZA']);

    assert.equal((await api.call('DELETE', '/accounts/initech')).status, 409);
    assert.equal((await api.call('POST', '/accounts/initech/disable')).json.state, 'disabled');
    const removed = await api.call('DELETE', '/accounts/initech');
    assert.deepEqual([removed.status, removed.json.removed.userIds, removed.json.removed.credits], [200, 1, '7']);
    assert.equal((await api.call('GET', '/accounts/initech')).status, 404);
  });

  test("the operator's API lists accounts by part of a name and by state", async () => {
    const names = async (query: string) =>
      (await api.call('GET', `/accounts${query}`)).json.items.map(({ username }: { username: string }) => username);
    assert.deepEqual(await names(''), ['acme', 'globex']);
    assert.deepEqual(await names('?q=ACM'), ['acme']);
    assert.deepEqual(await names('?state=disabled'), []);
    const first = await api.call('GET', '/accounts?limit=1');
    assert.equal(first.headers.get('link'), `</operator/v1/accounts?limit=1&after=${first.json.next}>; rel="next"`);
    assert.deepEqual(await names(`?limit=1&after=${first.json.next}`), ['globex']);
    for (const path of ['/accounts?q=a&after=', '/tokens?after=', '/accounts/acme/user-ids?after=']) {
      const other = await api.call('GET', `${path}${first.json.next}`);
      assert.deepEqual(
        [other.status, other.json.errors],
        [400, [{ pointer: '?after', detail: 'this is not a cursor of this list' }]],
      );
    }
  });

  test('an imported user_id works from the next call on, until it is revoked', async () => {
    const send = (userId: string) =>
      api.app.accounts.asCaller(userId, { client: '192.0.2.1' }, (account) => api.app.accounts.profile(account));
    const added = await api.call('POST', '/accounts/acme/user-ids', { body: { userId: 'legacy-1' } });
    assert.deepEqual([added.status, added.json.userId], [201, 'legacy-1']);
    await send('legacy-1');
    assert.equal((await api.call('POST', '/accounts/globex/user-ids', { body: { userId: 'legacy-1' } })).status, 409);
    const path = `/accounts/acme/user-ids/${added.json.hash.slice(0, 12)}`;
    assert.equal((await api.call('DELETE', path.replace('acme', 'globex'))).status, 404);
    assert.equal((await api.call('DELETE', path)).status, 200);
    await assert.rejects(send('legacy-1'), { kind: 'denied' });
    await send(ACME);
  });

  test('all wrong fields are reported at once, with pointers and without the values', async () => {
    const body = { username: '', region: 'SECRET1', priority: 9, credits: -5, nonsense: 'SECRET2', tag: 'SECRET3' };
    const { status, json, text, headers } = await api.call('POST', '/accounts', { body });
    assert.deepEqual([status, headers.get('content-type')], [400, 'application/problem+json']);
    const pointers = json.errors.map(({ pointer }: { pointer: string }) => pointer).sort();
    assert.deepEqual(pointers, ['#/credits', '#/nonsense', '#/priority', '#/region', '#/tag', '#/username']);
    assert.doesNotMatch(text, /SECRET/);
    const query = await api.call('GET', '/accounts?limit=0&state=odd&colour=red&limit=2');
    assert.deepEqual(query.json.errors, [{ pointer: '?limit', detail: 'this was given twice' }]);
    const more = await api.call('GET', '/accounts?limit=0&state=odd&colour=red');
    assert.deepEqual(more.json.errors.map(({ pointer }: { pointer: string }) => pointer).sort(), [
      '?colour',
      '?limit',
      '?state',
    ]);
  });

  test('a request that is no JSON, too large, of another type, at another path or by another method gets its own status', async () => {
    const cases: [number, string, Promise<Answer>][] = [
      [400, 'malformed', api.call('POST', '/accounts', { text: '{"username":' })],
      [400, 'malformed', api.call('POST', '/accounts', { text: Buffer.from([0x22, 0xff, 0x22]) })],
      [400, 'bad-argument', api.call('POST', '/accounts', { text: '[]' })],
      [413, 'too-large', api.call('POST', '/accounts', { text: `"${'x'.repeat(2 ** 20)}"` })],
      [
        415,
        'unsupported-media',
        api.call('POST', '/accounts', { text: 'a=1', headers: { 'Content-Type': 'text/plain' } }),
      ],
      [404, 'not-found', api.call('GET', '/nothing')],
      [404, 'not-found', api.call('GET', '/accounts/nobody')],
      [405, 'method', api.call('PUT', '/accounts')],
    ];
    for (const [status, kind, asked] of cases) {
      const answer = await asked;
      assert.deepEqual([answer.status, kindOf(answer)], [status, kind]);
      assert.equal(answer.json.status, status);
    }
    assert.equal((await api.call('PUT', '/accounts')).headers.get('allow'), 'GET, POST');
  });

  test('a missing, unknown, expired or revoked token gets 401, and a missing scope is named with 403', async () => {
    for (const token of [null, 'colo_x', `colo_${'A'.repeat(43)}`]) {
      const answer = await api.call('GET', '/accounts', { token });
      assert.deepEqual(
        [answer.status, kindOf(answer), answer.headers.get('www-authenticate')],
        [401, 'denied', 'Bearer'],
      );
    }
    const { id, token } = await api.addToken(['audit']);
    const lacking = await api.call('GET', '/accounts', { token });
    assert.deepEqual([lacking.status, lacking.json.detail], [403, 'The token lacks the scope accounts.']);
    assert.equal((await api.call('GET', '/audit', { token })).status, 200);
    assert.equal((await api.call('DELETE', `/tokens/${id}`)).status, 200);
    assert.equal((await api.call('GET', '/audit', { token })).status, 401);

    const expiresAt = new Date(api.clock.now + 60_000).toISOString();
    const short = await api.call('POST', '/tokens', { body: { name: 'short', scopes: ['audit'], expiresAt } });
    assert.equal((await api.call('GET', '/audit', { token: short.json.token })).status, 200);
    api.clock.now += 60_000;
    assert.equal((await api.call('GET', '/audit', { token: short.json.token })).status, 401);
  });

  test('a token cannot grant a scope that it lacks, and a token of an account only scopes of accounts', async () => {
    const { token } = await api.addToken(['accounts']);
    const more = await api.call('POST', '/tokens', { token, body: { name: 'more', scopes: ['erase'] } });
    assert.deepEqual([more.status, more.json.detail], [403, 'The token lacks the scope erase.']);
    const body = { name: 'own', scopes: ['accounts'], username: 'acme' };
    assert.equal((await api.call('POST', '/tokens', { body })).status, 400);
    const own = await api.addToken(['contacts'], 'acme');
    assert.match(own.token, /^cola_/);
    assert.equal((await api.call('GET', '/accounts', { token: own.token })).status, 403);
    await api.call('POST', '/accounts/acme/disable');
    assert.equal((await api.call('GET', '/openapi.json', { token: own.token })).status, 401);
    await api.call('POST', '/accounts/acme/enable');
  });

  test('a request with an Idempotency-Key is executed once, the same request gets the same answer, and another body is refused with 422', async () => {
    const headers = { 'Idempotency-Key': '"key-1"' };
    const body = { username: 'once' };
    const first = await api.call('POST', '/accounts', { body, headers });
    const second = await api.call('POST', '/accounts', { body, headers: { 'Idempotency-Key': 'key-1' } });
    assert.deepEqual([first.status, second.status, second.text], [201, 201, first.text]);
    assert.deepEqual(
      [first.headers.get('idempotent-replayed'), second.headers.get('idempotent-replayed')],
      [null, 'true'],
    );
    const other = await api.call('POST', '/accounts', { body: { username: 'twice' }, headers });
    assert.deepEqual([other.status, kindOf(other)], [422, 'key-reused']);
    assert.equal((await api.call('GET', '/accounts/twice')).status, 404);

    const refused = { 'Idempotency-Key': 'key-2' };
    const taken = await api.call('POST', '/accounts', { body, headers: refused });
    const replayed = await api.call('POST', '/accounts', { body, headers: refused });
    assert.deepEqual([taken.status, replayed.status, replayed.headers.get('idempotent-replayed')], [409, 409, 'true']);
    const wrong = await api.call('POST', '/accounts', { body, headers: { 'Idempotency-Key': 'x'.repeat(129) } });
    assert.equal(wrong.status, 400);

    api.clock.now += 24 * 3_600_000;
    const later = await api.call('POST', '/accounts', { body: { username: 'later' }, headers });
    assert.equal(later.status, 201, later.text);
  });

  test('the answer that is stored for an Idempotency-Key contains no readable secret', async () => {
    const headers = { 'Idempotency-Key': 'secretive' };
    const { json } = await api.call('POST', '/tokens', { body: { name: 'kept', scopes: ['audit'] }, headers });
    const rows = await api.services.database.all(
      {
        name: 'test.kept',
        text: 'select answer from idempotency',
        parameters: [],
        writes: false,
        affects: undefined,
      } as never,
      {} as never,
    );
    assert.ok(rows.length > 0);
    assert.ok(!JSON.stringify(rows).includes(json.token.slice(5)));
  });

  test('the audit names actor, address, action and object, the newest first, and never a secret', async () => {
    const body = { username: 'watched', password: 'PASSWORD-SECRET' };
    api.clock.now += 1;
    const { json } = await api.call('POST', '/accounts', { body });
    api.clock.now += 1;
    const added = await api.call('POST', '/accounts/watched/user-ids', { body: { userId: 'USER-ID-SECRET' } });
    assert.equal(added.status, 201);
    const audit = await api.call('GET', '/audit?limit=2');
    const [newest, older] = audit.json.items;
    assert.deepEqual(
      [newest.action, newest.account, newest.fields, newest.address, newest.actorName, newest.actorKind],
      ['user-id add', 'watched', ['userId'], '127.0.0.1', 'test', 'operator'],
    );
    assert.deepEqual([older.action, older.target, older.fields], ['account add', 'watched', ['username', 'password']]);
    const whole = (await api.call('GET', '/audit?limit=500')).text;
    for (const secret of ['PASSWORD-SECRET', 'USER-ID-SECRET', json.userId, api.token])
      assert.ok(!whole.includes(secret));
    const refused = await api.call('POST', '/accounts', { body });
    assert.equal(refused.status, 409);
    const after = await api.call('GET', '/audit?limit=1');
    assert.equal(after.json.items[0].id, newest.id, 'what was refused is not in it');
  });

  test('the audit of an account contains its creation and everything else that names it', async () => {
    await api.call('POST', '/accounts', { body: { username: 'traced' } });
    await api.call('POST', '/tokens', { body: { name: 'own', scopes: ['contacts'], username: 'traced' } });
    const { json } = await api.call('GET', '/audit?username=traced');
    const done = json.items.map(({ action, account }: { action: string; account: string }) => `${action} ${account}`);
    assert.deepEqual(done.sort(), ['account add traced', 'token add traced']);
  });

  test('status and the OpenAPI document are served to tokens', async () => {
    const { json } = await api.call('GET', '/status');
    assert.equal(json.database.engine, engine.name);
    assert.ok(json.accounts >= 2);
    assert.equal((await api.call('GET', '/openapi.json')).json.openapi, '3.1.0');
    const head = await api.call('HEAD', '/status');
    assert.deepEqual([head.status, head.text], [200, '']);
  });
});

onOneEngine("the operator's API without a token", (engine) => {
  test("the operator's API answers 404 until a token exists", async () => {
    const api = await startOperatorApi(engine, 'empty');
    try {
      await api.services.database.transaction(null, async (queries) => {
        const text = 'delete from operator_token';
        await queries.run(
          {
            name: 'test.forget',
            text,
            parameters: [],
            writes: true,
            affects: 'none',
          } as never,
          {} as never,
        );
      });
      for (const token of [null, api.token]) {
        assert.equal((await callAt(api.address, 'GET', '/accounts', { token })).status, 404);
      }
      const { token } = await api.addToken(['accounts']);
      assert.equal((await callAt(api.address, 'GET', '/accounts', { token: null })).status, 401);
      assert.equal((await callAt(api.address, 'GET', '/accounts', { token })).status, 200);
    } finally {
      await api.stop();
    }
  });

  test('audit entries of one millisecond are listed in the order in which they were made', async (t) => {
    const api = await startOperatorApi(engine, 'empty');
    t.after(() => api.stop());
    for (let count = 0; count < 20; count++) {
      await api.call('POST', '/tokens', { body: { name: `order ${count}`, scopes: ['audit'] } });
    }
    const { items } = (await api.call('GET', '/audit?limit=20')).json;
    assert.deepEqual(
      items.map(({ target }: { target: string }) => target),
      Array.from({ length: 20 }, (_, index) => `order ${19 - index}`),
    );
  });

  test('where an address has a rate limit, answers say which, and a 429 says that nothing is left', async (t) => {
    const limited = { COLUMBA_ADDRESS_RATE: '1', COLUMBA_ADDRESS_BURST: '2' };
    const api = await startOperatorApi(engine, 'empty', limited);
    t.after(() => api.stop());
    const answers: Answer[] = [];
    for (let count = 0; count < 3; count++) answers.push(await api.call('GET', '/accounts'));
    assert.deepEqual(
      answers.map(({ status, headers }) => [status, headers.get('ratelimit-policy'), headers.get('ratelimit')]),
      [
        [200, '"address";q=2;w=2', null],
        [200, '"address";q=2;w=2', null],
        [429, '"address";q=2;w=2', '"address";r=0;t=1'],
      ],
    );
  });
});
