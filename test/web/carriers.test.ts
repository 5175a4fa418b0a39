import assert from 'node:assert/strict';
import { test } from 'node:test';
import { signedFields } from '../../src/domain/webhooks/standard-webhooks.ts';
import { onOneEngine } from '../support/engines.ts';
import { startOperatorApi } from '../support/operator-api.ts';

const SECRET = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;
const NEW_SECRET = `whsec_${Buffer.alloc(24, 9).toString('base64')}`;
const connectorBody = (secret: string) => ({
  kind: 'callback',
  config: { url: 'http://127.0.0.1:1/', secret, allowPrivate: true },
});
const MESSAGE = { sender: '0825550201', destination: '31234', text: 'from a carrier' };

async function callback(address: string, data: object, given: { at: number; secret?: string; id?: string }) {
  const body = JSON.stringify({ type: 'message.incoming', data });
  const { at, secret = SECRET, id = 'msg_1' } = given;
  const headers = { ...signedFields([secret], { id, at, body }), 'Content-Type': 'application/json' };
  return fetch(`${address}/carriers/hook/`, { method: 'POST', headers, body });
}

onOneEngine('carriers that call the web listener', (engine) => {
  test('a callback is in the inbox when it is acknowledged, and a repeated one is there once', async () => {
    const api = await startOperatorApi(engine);
    try {
      const { address, clock, call, logged } = api;
      assert.equal((await callback(address, MESSAGE, { at: clock.now })).status, 401, 'there is no such connector');
      assert.equal((await call('PUT', '/connectors/hook', { body: connectorBody(SECRET) })).status < 300, true);
      await call('PUT', '/routes/code', { body: { username: 'acme', destination: '31234' } });
      const texts = async () =>
        (await call('GET', '/accounts/acme/inbox?unread=true')).json.items
          .map(({ text }: { text: string }) => text)
          .filter((text: string) => text === MESSAGE.text);
      for (let round = 0; round < 3; round++) {
        assert.equal((await callback(address, MESSAGE, { at: clock.now })).status, 204);
        assert.deepEqual(await texts(), [MESSAGE.text]);
      }
      assert.equal((await callback(address, MESSAGE, { at: clock.now, id: 'msg_2' })).status, 204);
      assert.equal((await texts()).length, 2, 'another webhook-id is another message');
      assert.equal((await callback(address, MESSAGE, { at: clock.now, secret: NEW_SECRET })).status, 401);
      clock.now += 1_000;
      await call('PUT', '/connectors/hook', { body: connectorBody(NEW_SECRET) });
      assert.equal((await callback(address, MESSAGE, { at: clock.now, id: 'msg_3' })).status, 401, 'the old secret');
      assert.equal((await callback(address, MESSAGE, { at: clock.now, secret: NEW_SECRET })).status, 204);
      assert.doesNotMatch(logged.join(''), /825550201|from a carrier/);
    } finally {
      await api.stop();
    }
  });

  test('a body that is too large is refused with 413, and a compressed one with 415', async () => {
    const api = await startOperatorApi(engine);
    try {
      const url = `${api.address}/carriers/hook/`;
      assert.equal((await fetch(url)).status, 401);
      assert.equal((await api.call('PUT', '/connectors/hook', { body: connectorBody(SECRET) })).status < 300, true);
      const headers = signedFields([SECRET], { id: 'msg_1', at: api.clock.now, body: '' });
      assert.equal((await fetch(url, { method: 'POST', body: 'x'.repeat(1_048_577), headers })).status, 413);
      const compressed = { ...headers, 'Content-Encoding': 'gzip' };
      assert.equal((await fetch(url, { method: 'POST', body: 'x', headers: compressed })).status, 415);
    } finally {
      await api.stop();
    }
  });

  test('a caller without a valid secret gets one answer for every name, so that nobody learns which connectors exist', async () => {
    const api = await startOperatorApi(engine);
    try {
      const put = (name: string, body: object) => api.call('PUT', `/connectors/${name}`, { body });
      await put('hook', connectorBody(SECRET));
      await put('box', { kind: 'kannel-box', config: { host: '127.0.0.1', port: 1 } });
      const smsbox = { host: '127.0.0.1', port: 1, username: 'u', password: 'p', callbackUrl: 'http://127.0.0.1/' };
      const added = await put('smsbox', {
        kind: 'kannel-sendsms',
        config: { ...smsbox, callbackSecret: '0123456789abcdef' },
      });
      assert.equal(added.status, 200, added.text);
      const signed = signedFields([NEW_SECRET], { id: 'm1', at: api.clock.now, body: '{}' });
      const late = signedFields([NEW_SECRET], { id: 'm1', at: 0, body: '{}' });
      const requests: [string, RequestInit][] = [
        ['', {}],
        ['/wrong/dlr?id=1&d=1', {}],
        ['/wrong/mo', { method: 'POST', body: '{}' }],
        ['/', { method: 'POST', body: '{}' }],
        ['/', { method: 'POST', body: '{}', headers: signed }],
        ['/', { method: 'POST', body: '{}', headers: late }],
        ['/', { method: 'PUT', body: '{}' }],
        ['/a/b/c', { method: 'DELETE' }],
      ];
      for (const [path, init] of requests) {
        const told = async (name: string) => {
          const answer = await fetch(`${api.address}/carriers/${name}${path}`, init);
          const { date: _, ...headers } = Object.fromEntries(answer.headers);
          return { status: answer.status, headers, text: await answer.text() };
        };
        const unknown = await told('nobody');
        assert.equal(unknown.status, 401, path);
        for (const name of ['hook', 'box', 'smsbox', 'loopback']) assert.deepEqual(await told(name), unknown, name);
      }
    } finally {
      await api.stop();
    }
  });

  test('the 101st callback of a network in a minute that proves nothing gets 429 and no line in the log, and a genuine one still passes', async () => {
    const api = await startOperatorApi(engine);
    try {
      const { address, clock, call, logged } = api;
      await call('PUT', '/connectors/hook', { body: connectorBody(SECRET) });
      const wrong = () => callback(address, MESSAGE, { at: clock.now, secret: NEW_SECRET });
      for (let count = 1; count <= 100; count++) assert.equal((await wrong()).status, 401);
      const lines = logged.length;
      const refused = await wrong();
      assert.equal(refused.status, 429);
      assert.ok(Number(refused.headers.get('Retry-After')) > 0);
      assert.equal((await fetch(`${address}/carriers/nobody/`)).status, 429, 'it does not tell which connectors exist');
      assert.equal(logged.length, lines);
      assert.equal((await callback(address, MESSAGE, { at: clock.now })).status, 204);
      clock.now += 60_000;
      assert.equal((await wrong()).status, 401, 'a minute later');
    } finally {
      await api.stop();
    }
  });
});
