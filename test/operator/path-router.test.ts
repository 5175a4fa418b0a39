import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createPathRouter } from '../../src/operator/path-router.ts';

const routes = ['GET /contacts/:id', 'DELETE /contacts/:id', 'POST /contacts/import', 'GET /', 'GET /:user/:id'];
const find = createPathRouter(
  routes.map((text) => {
    const [method = '', path = ''] = text.split(' ');
    return { method, path, text };
  }),
);
const found = (method: string, path: string) => {
  const { route, ...others } = find(method, path);
  return route ? { route: route.text, ...others } : others;
};
const NOTHING = { allowed: [] };

describe('the paths of the second listener', () => {
  test('a fixed segment wins over a parameter, whichever route was declared first', () => {
    assert.deepEqual(found('POST', '/contacts/import'), { route: 'POST /contacts/import', params: {} });
    assert.deepEqual(found('GET', '/contacts/import'), { route: 'GET /contacts/:id', params: { id: 'import' } });
    assert.deepEqual(found('GET', '/contacts/7'), { route: 'GET /contacts/:id', params: { id: '7' } });
  });

  test('a path that takes other methods names all of them, and HEAD is answered as GET', () => {
    assert.deepEqual(found('PUT', '/contacts/7'), { allowed: ['GET', 'DELETE'] });
    assert.deepEqual(found('HEAD', '/contacts/7'), { route: 'GET /contacts/:id', params: { id: '7' } });
    assert.deepEqual(found('HEAD', '/'), { route: 'GET /', params: {} });
  });

  test('a slash at the end, an empty segment and one more segment are other paths', () => {
    for (const path of ['', '/contacts', '/contacts/', '//7', '/contacts/7/', '/contacts//7', '/a/b/c']) {
      assert.deepEqual(found('GET', path), NOTHING, path);
    }
  });

  test('parameters are decoded, an encoded slash divides nothing, and what is no encoding is not found', () => {
    assert.deepEqual(found('GET', '/contacts/a%2Fb%20%C3%A9'), { route: 'GET /contacts/:id', params: { id: 'a/b é' } });
    assert.deepEqual(found('GET', '/contacts/%zz'), NOTHING);
    assert.deepEqual(found('GET', '/%63ontacts/7'), { route: 'GET /:user/:id', params: { user: 'contacts', id: '7' } });
  });

  test('the special characters of patterns are ordinary characters in a path', () => {
    assert.deepEqual(found('GET', '/:user/:id'), { route: 'GET /:user/:id', params: { user: ':user', id: ':id' } });
    assert.deepEqual(found('GET', '/contacts/*'), { route: 'GET /contacts/:id', params: { id: '*' } });
    assert.deepEqual(found('GET', '/contacts/__proto__'), { route: 'GET /contacts/:id', params: { id: '__proto__' } });
  });
});
