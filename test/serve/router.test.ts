import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Handler, Request } from '../../src/base/exchange.ts';
import { Problem } from '../../src/base/problem.ts';
import { createRouter, redirectTo, webRedirects } from '../../src/serve/router.ts';

const named =
  (name: string): Handler =>
  () => ({ status: 200, headers: {}, body: name });

const requestOf = (path: string, more: Partial<Request> = {}): Request => ({
  method: 'GET',
  path,
  query: '',
  headers: {},
  base: 'http://sms.example',
  client: '192.0.2.1',
  body: () => new Uint8Array(),
  ...more,
});

describe('router', () => {
  const router = createRouter({
    paths: { '/health/live': named('live') },
    prefixes: { '/console': named('console') },
    otherwise: named('otherwise'),
  });
  const answerTo = async (path: string, more: Partial<Request> = {}) => (await router(requestOf(path, more))).body;

  test('an exact path is routed to its handler, and paths below it are not', async () => {
    assert.equal(await answerTo('/health/live'), 'live');
    assert.equal(await answerTo('/health/live/'), 'otherwise');
    assert.equal(await answerTo('/health/alive'), 'otherwise');
  });

  test('a prefix matches itself and paths below it, and no longer names', async () => {
    assert.equal(await answerTo('/console'), 'console');
    assert.equal(await answerTo('/console/'), 'console');
    assert.equal(await answerTo('/console/accounts/1'), 'console');
    assert.equal(await answerTo('/consoles'), 'otherwise');
    assert.equal(await answerTo('/api/console'), 'otherwise');
  });

  test('names of Object.prototype are paths like any other', async () => {
    assert.equal(await answerTo('constructor'), 'otherwise');
    assert.equal(await answerTo('__proto__'), 'otherwise');
  });

  test('a request that was rejected before routing never reaches the handler of its path', async () => {
    const refused = new Problem('malformed', 'two Hosts');
    assert.equal(await answerTo('/health/live', { refused }), 'otherwise');
    assert.equal(await answerTo('/console', { refused }), 'otherwise');
  });
});

describe('redirect to the web listener', () => {
  const redirect = redirectTo('https://operator.example:8443/sms');
  const locationOf = async (request: Request) => (await redirect(request)).headers.Location;

  test('a redirect to the web listener keeps the path and the query', async () => {
    const request = requestOf('/console/accounts', { query: 'page=2&q=%20' });
    assert.equal(await locationOf(request), 'https://operator.example:8443/sms/console/accounts?page=2&q=%20');
    assert.equal(await locationOf(requestOf('/operator')), 'https://operator.example:8443/sms/operator');
  });

  test('a redirect to the web listener is 307 and is not cached', async () => {
    const { status, headers } = await redirect(requestOf('/console', { method: 'POST' }));
    assert.equal(status, 307);
    assert.equal(headers['Cache-Control'], 'no-store');
  });
});

describe('redirects of /console and /operator', () => {
  const otherwise = named('otherwise');
  const answer = async (webUrl: string, web: string | undefined, more: Partial<Request> = {}) => {
    const redirects = webRedirects(webUrl, () => web, otherwise);
    const { status, headers, body } = await (redirects['/operator'] as Handler)(
      requestOf('/operator/', { base: 'http://localhost:18080', query: 'a=1', ...more }),
    );
    return [status, headers.Location ?? body];
  };

  test('/console and /operator redirect to the address of the web listener', async () => {
    assert.deepEqual(await answer('', 'http://127.0.0.1:8081'), [307, 'http://127.0.0.1:8081/operator/?a=1']);
  });

  test('a forwarded request is never redirected to loopback, and is told which setting is missing', async () => {
    const forwarded: Partial<Request>[] = [
      { base: 'http://sms.example' },
      { base: 'http://192.0.2.7:18080' },
      ...['x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'forwarded', 'via'].map((name) => ({
        headers: { [name]: 'x' },
      })),
    ];
    for (const more of forwarded) {
      const [status, told] = await answer('', 'http://127.0.0.1:8081', more);
      assert.equal(status, 404, JSON.stringify(more));
      assert.match(String(told), /set COLUMBA_WEB_URL/);
    }
  });

  test('redirects of a web listener on all interfaces lead to the host by which the client came', async () => {
    for (const all of ['0.0.0.0', '[::]']) {
      assert.deepEqual(await answer('', `http://${all}:8081`), [307, 'http://localhost:8081/operator/?a=1']);
    }
  });

  test('the redirects lead to the public URL of the web listener if it has one', async () => {
    const url = 'https://operator.example/sms';
    assert.deepEqual(await answer(url, 'http://127.0.0.1:8081', { base: 'http://sms.example' }), [
      307,
      `${url}/operator/?a=1`,
    ]);
  });

  test('without a web listener /console and /operator are unknown paths', async () => {
    assert.deepEqual(webRedirects('', undefined, otherwise), {});
    assert.deepEqual(await answer('', undefined), [200, 'otherwise']);
  });
});
