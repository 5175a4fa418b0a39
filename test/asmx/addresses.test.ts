import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';
import type { Config } from '../../src/config/settings.ts';
import { onOneEngine } from '../support/engines.ts';
import { ACME, startService } from '../support/service.ts';
import { exchangeMessage } from '../support/socket.ts';

/** Under which address the service says it is, and whom it believes about that. */
onOneEngine('addresses', (engine) => {
  async function listening(settings: Partial<Config>, work: (address: string) => Promise<void>) {
    const service = await startService(engine, 'sample', settings);
    try {
      await work(await service.app.start());
    } finally {
      await service.stop();
    }
  }
  const request = (path: string, fields: readonly string[], version = '1.1') =>
    Buffer.from([`GET ${path} HTTP/${version}`, ...fields, 'Connection: close', '', ''].join('\r\n'));
  const get = (address: string, path: string, fields: readonly string[], version = '1.1') =>
    exchangeMessage(address, request(path, fields, version));

  /** The one address that the four ports of the WSDL have, without the path of the group. */
  async function baseIn(address: string, fields: readonly string[], version = '1.1', path = '/api/inbox.asmx') {
    const { start, body } = await get(address, `${path}?WSDL`, fields, version);
    assert.match(start, / 200 /);
    return baseOf(body.toString('utf8'));
  }
  function baseOf(wsdl: string) {
    const locations = [...wsdl.matchAll(/:address location="([^"]*)"/g)].map(([, location]) => location);
    assert.equal(locations.length, 4);
    assert.equal(new Set(locations).size, 1);
    return locations[0]?.replace(/\/api\/inbox\.asmx$/, '');
  }

  test("the WSDL has the request's own Host", () =>
    listening({}, async (address) => {
      for (const host of ['sms.example', 'sms.example:8443', 'SMS-1.example', '192.0.2.7:81', '[2001:db8::1]:8080']) {
        assert.equal(await baseIn(address, [`Host: ${host}`]), `http://${host}`);
      }
    }));

  const HOSTILE = ['a"b<c', 'a b', "a'b", 'evil.example/path', 'user@evil.example', 'a&b', 'a:b', 'x:123456', '<evil>'];
  test('an invalid Host is refused and never repeated in the answer', () =>
    listening({}, async (address) => {
      for (const host of HOSTILE) {
        for (const query of ['WSDL', 'disco', '', 'op=Read', 'wsdl=']) {
          for (const version of ['1.0', '1.1']) {
            const { start, body } = await get(address, `/api/inbox.asmx?${query}`, [`Host: ${host}`], version);
            assert.match(start, / 400 /, `${host} in ?${query}`);
            assert.ok(!body.toString('utf8').includes(host), `${host} in ?${query}`);
          }
        }
      }
    }));

  test('with an empty Host, or with HTTP/1.0 and no Host, the WSDL has the address of the connection', () =>
    listening({}, async (address) => {
      assert.equal(await baseIn(address, [], '1.0'), address);
      assert.equal(await baseIn(address, ['Host:']), address);
    }));

  test('the WSDL has an IPv6 address in brackets', () =>
    listening({ host: '::1' }, async (address) => {
      const { port } = new URL(address);
      assert.equal(address, `http://[::1]:${port}`);
      const chunks: Buffer[] = [];
      const socket = connect(Number(port), '::1');
      socket.write(request('/api/inbox.asmx?WSDL', [], '1.0'));
      for await (const chunk of socket) chunks.push(chunk);
      assert.equal(baseOf(Buffer.concat(chunks).toString('utf8')), address);
    }));

  test('COLUMBA_BASE_URL wins over every other source of the address in the WSDL, and its path precedes ours', () =>
    listening({ baseUrl: 'https://sms.example/gateway', trustedProxies: ['127.0.0.1'] }, async (address) => {
      const fields = ['Host: evil.example', 'X-Forwarded-Host: evil.example', 'X-Forwarded-Prefix: /evil'];
      for (const path of ['/api/inbox.asmx', '/gateway/api/inbox.asmx']) {
        assert.equal(await baseIn(address, fields, '1.1', path), 'https://sms.example/gateway');
        const { start } = await get(address, `${path}/CountRead?user_id=${ACME}`, ['Host: x']);
        assert.match(start, / 200 /);
      }
      for (const path of ['/other/api/inbox.asmx', '/gatewayapi/inbox.asmx', '/gateway/gateway/api/inbox.asmx']) {
        assert.match((await get(address, path, ['Host: x'])).start, / 404 /, path);
      }
    }));

  const FORWARDED = [
    'Host: inner:8080',
    'X-Forwarded-Proto: https',
    'X-Forwarded-Host: sms.example',
    'X-Forwarded-Prefix: /gateway/',
  ];

  test('the X-Forwarded fields of a trusted proxy decide the address in the WSDL', () =>
    listening({ trustedProxies: ['10.0.0.0/8', '127.0.0.1'] }, async (address) => {
      assert.equal(await baseIn(address, FORWARDED), 'https://sms.example/gateway');
      const inner = '/gateway/api/inbox.asmx';
      assert.equal(await baseIn(address, FORWARDED, '1.1', inner), 'https://sms.example/gateway');
      const rows: readonly (readonly [string[], string])[] = [
        [[], 'http://inner:8080'],
        [['X-Forwarded-Proto: HTTPS'], 'https://inner:8080'],
        [['X-Forwarded-Proto: http'], 'http://inner:8080'],
        [['X-Forwarded-Proto: javascript'], 'http://inner:8080'],
        [['X-Forwarded-Host: sms.example:8443'], 'http://sms.example:8443'],
        // a chain of proxies: the first is the one that the client met
        [['X-Forwarded-Proto: https, http', 'X-Forwarded-Host: sms.example, middle'], 'https://sms.example'],
        [['X-Forwarded-Host: a"b<c'], 'http://inner:8080'],
        [['X-Forwarded-Prefix: /a"><b'], 'http://inner:8080'],
        [['X-Forwarded-Prefix: gateway'], 'http://inner:8080'],
        [['X-Forwarded-Prefix: /'], 'http://inner:8080'],
        [['X-Forwarded-Prefix: /a/b'], 'http://inner:8080/a/b'],
      ];
      for (const [fields, base] of rows) {
        assert.equal(await baseIn(address, ['Host: inner:8080', ...fields]), base, fields.join());
      }
    }));

  test('a network can be named as trusted proxies', () =>
    listening({ trustedProxies: ['127.0.0.0/8'] }, async (address) => {
      assert.equal(await baseIn(address, FORWARDED), 'https://sms.example/gateway');
    }));

  test('the X-Forwarded fields of an untrusted client are ignored', async () => {
    for (const trustedProxies of [[], ['10.0.0.0/8', '127.0.0.2', '::1']]) {
      await listening({ trustedProxies }, async (address) => {
        assert.equal(await baseIn(address, FORWARDED), 'http://inner:8080');
      });
    }
  });

  test('failed identifications count for the client behind a trusted proxy, and otherwise for the peer of the connection', async () => {
    for (const trustedProxies of [['127.0.0.1'], []]) {
      const service = await startService(engine, 'sample', { trustedProxies });
      try {
        const address = await service.app.start();
        for (let failure = 0; failure < 20; failure++) {
          const client = `X-Forwarded-For: 192.0.2.${failure}`;
          const { start } = await get(address, '/api/inbox.asmx/CountRead?user_id=nobody', ['Host: x', client]);
          assert.match(start, / 403 /);
        }
        assert.equal(service.slept.length > 0, trustedProxies.length === 0);
      } finally {
        await service.stop();
      }
    }
  });
});
