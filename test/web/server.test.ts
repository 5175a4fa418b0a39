import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { columba, freshDatabase } from '../support/command.ts';
import { engines } from '../support/engines.ts';
import { type OperatorApi, startOperatorApi } from '../support/operator-api.ts';
import { exchange } from './raw-exchange.ts';

const sqlite = engines[0] as (typeof engines)[number];

describe('the web listener', () => {
  let api: OperatorApi;
  before(async () => {
    api = await startOperatorApi(sqlite);
  });
  after(() => api.stop());

  test('the web listener has a first page, the reference and health, with a strict CSP', async () => {
    for (const path of ['/', '/operator/', '/health/live', '/health/ready']) {
      const reply = await fetch(`${api.address}${path}`);
      assert.equal(reply.status, 200, path);
      const policy = reply.headers.get('content-security-policy') ?? '';
      assert.match(policy, /^default-src 'none'; style-src 'sha256-[^']+'; /);
      assert.doesNotMatch(policy, /unsafe|script-src/);
      assert.equal(reply.headers.get('x-content-type-options'), 'nosniff');
    }
    const page = await (await fetch(`${api.address}/operator/`)).text();
    assert.doesNotMatch(page, /<script|\son\w+=|\sstyle=/);
    assert.ok(page.includes(`${api.address}/operator/v1/accounts`));
    const away = await fetch(`${api.address}/operator`, { redirect: 'manual' });
    assert.deepEqual([away.status, away.headers.get('location')], [308, '/operator/']);
    assert.equal((await fetch(`${api.address}/nothing`)).status, 404);
  });

  test('a head that is too large is refused with 431, and a request that is no HTTP with 400', async () => {
    const large = `GET / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(100_000)}\r\n\r\n`;
    assert.match(await exchange(api.address, large), /^HTTP\/1\.1 431 /);
    assert.match(await exchange(api.address, 'nonsense\r\n\r\n'), /^HTTP\/1\.1 400 /);
  });

  test('a body in chunks is refused with 413 as soon as it is too large', async () => {
    const chunk = `10000\r\n${'x'.repeat(65_536)}\r\n`.repeat(20);
    const head = `POST /operator/v1/accounts HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${api.token}\r\n`;
    const answer = await exchange(
      api.address,
      `${head}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${chunk}0\r\n\r\n`,
    );
    assert.match(answer, /^HTTP\/1\.1 413 /);
    assert.match(answer, /application\/problem\+json/);
  });
});

test('COLUMBA_HOSTS is for the contract: the API takes every Host, and the console only HTTPS or a loopback name', async () => {
  const api = await startOperatorApi(sqlite, 'sample', { COLUMBA_HOSTS: 'sms.example' });
  try {
    const get = (path: string, host: string, field = '') =>
      exchange(api.address, `GET ${path} HTTP/1.1\r\nHost: ${host}\r\n${field}Connection: close\r\n\r\n`);
    const bearer = `Authorization: Bearer ${api.token}\r\n`;
    assert.match(await get('/operator/v1/accounts', 'columba.internal:8081', bearer), /^HTTP\/1\.1 200 /);
    assert.match(await get('/console/sign-in', '127.0.0.1:8081'), /^HTTP\/1\.1 200 [\s\S]*<form/);
    for (const host of ['rebound.example:8081', 'sms.example']) {
      assert.doesNotMatch(await get('/console/sign-in', host), /<form|Set-Cookie/i, host);
    }
  } finally {
    await api.stop();
  }
});

describe('the port of the web listener', () => {
  const taken = async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    return { port: (server.address() as { port: number }).port, free: () => server.close() };
  };

  test('a taken web port is reported in one sentence with the remedy', async () => {
    const { port, free } = await taken();
    const args = [
      'serve',
      '--port',
      '0',
      '--web-port',
      String(port),
      '--database',
      freshDatabase(),
      '--log-level',
      'silent',
    ];
    const { code, stdout, stderr } = await columba(args);
    assert.deepEqual([code, stdout], [1, '']);
    assert.equal(stderr, `columba: Port ${port} is taken. Choose another port with --web-port or COLUMBA_WEB_PORT.\n`);
    free();
  });
});
