import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { signedFields } from '../../src/domain/webhooks/standard-webhooks.ts';
import { type Engine, engines, onOneEngine } from '../support/engines.ts';
import { stranger } from '../support/http-client.ts';
import { type OperatorApi, startOperatorApi } from '../support/operator-api.ts';
import { openConnection, requestBytes, statusOf, textOf } from '../support/socket.ts';

/** What somebody without a token gets from the second listener, over real sockets. */

const SECRET = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;
const HOOK = { kind: 'callback', config: { url: 'http://127.0.0.1:1/', secret: SECRET, allowPrivate: true } };
const KANNEL = {
  kind: 'kannel-sendsms',
  config: {
    host: '127.0.0.1',
    port: 1,
    username: 'a',
    password: 'b',
    callbackUrl: 'http://127.0.0.1:8081/carriers/box/',
    callbackSecret: 'a-secret-of-some-length-1',
  },
};
const HEALTH = requestBytes('GET /health/live HTTP/1.1', ['Host: h']);
const UNSENT_BODY = ['Host: h', 'Content-Type: application/json', 'Content-Length: 1000'];

/** The status that a head gets whose body never comes. */
async function statusOfHead(api: OperatorApi, start: string, fields: readonly string[] = []): Promise<number> {
  const connection = await openConnection(api.address);
  await connection.send(requestBytes(start, [...UNSENT_BODY, ...fields]));
  const status = statusOf(await connection.receive());
  connection.close();
  return status;
}

onOneEngine('strangers at the second listener', (engine) => {
  test('path, connector, secret and token are checked before a body is received', async () => {
    const api = await startOperatorApi(engine);
    try {
      await api.call('PUT', '/connectors/hook', { body: HOOK });
      const put = await api.call('PUT', '/connectors/box', { body: KANNEL });
      assert.ok(put.status < 300, put.text);
      assert.equal(await statusOfHead(api, 'POST /nothing HTTP/1.1'), 404);
      assert.equal(await statusOfHead(api, 'POST /carriers/nobody/ HTTP/1.1'), 401);
      assert.equal(await statusOfHead(api, 'POST /carriers/hook/ HTTP/1.1'), 401);
      const old = signedFields([SECRET], { id: 'msg_1', at: api.clock.now - 3_600_000, body: '' });
      const fields = Object.entries(old).map(([name, value]) => `${name}: ${value}`);
      assert.equal(await statusOfHead(api, 'POST /carriers/hook/ HTTP/1.1', fields), 401, 'a signature of an hour ago');
      assert.equal(await statusOfHead(api, 'POST /carriers/box/wrong/mo?from=1&to=2 HTTP/1.1'), 401);
      assert.equal(await statusOfHead(api, 'POST /operator/v1/accounts HTTP/1.1'), 401);
      const { token } = await api.addToken(['contacts']);
      const small = [`Authorization: Bearer ${token}`];
      assert.equal(await statusOfHead(api, 'POST /operator/v1/accounts HTTP/1.1', small), 403);
      const foreign = ['Origin: https://elsewhere.example'];
      assert.equal(await statusOfHead(api, 'POST /console/sign-in HTTP/1.1', foreign), 403);
    } finally {
      await api.stop();
    }
  });

  test('Expect: 100-continue is answered with a refusal or 100 Continue after the token was checked', async () => {
    const api = await startOperatorApi(engine);
    try {
      const body = JSON.stringify({ username: 'newcomer' });
      const ask = (token: string) =>
        requestBytes('POST /operator/v1/accounts HTTP/1.1', [
          'Host: h',
          `Authorization: Bearer ${token}`,
          'Content-Type: application/json',
          `Content-Length: ${body.length}`,
          'Expect: 100-continue',
        ]);
      const refused = await openConnection(api.address);
      await refused.send(ask('wrong'));
      assert.equal(statusOf(await refused.receive()), 401);
      refused.close();
      const served = await openConnection(api.address);
      await served.send(ask(api.token));
      assert.equal(statusOf(await served.receive()), 100);
      await served.send(body);
      assert.equal(statusOf(await served.receive()), 201);
      served.close();
    } finally {
      await api.stop();
    }
  });

  test('silent connections of one address make room for its callbacks', async () => {
    const api = await startOperatorApi(engine, 'sample', { COLUMBA_CONNECTIONS_PER_CLIENT_MAX: '4' });
    try {
      await api.call('PUT', '/connectors/hook', { body: HOOK });
      const silent = Array.from({ length: 12 }, () => stranger(api.address));
      await Promise.all(silent.map(({ socket }) => once(socket, 'connect')));
      const body = JSON.stringify({ type: 'message.incoming', data: { sender: '1', destination: '2', text: 'x' } });
      const headers = { ...signedFields([SECRET], { id: 'msg_1', at: api.clock.now, body }) };
      const reply = await fetch(`${api.address}/carriers/hook/`, { method: 'POST', headers, body });
      assert.equal(reply.status, 204);
      const [first] = await (silent[0] as (typeof silent)[number]).told;
      assert.equal(statusOf(first as NonNullable<typeof first>), 503);
      for (const { socket } of silent) socket.destroy();
    } finally {
      await api.stop();
    }
  });

  test('silent connections make room for a new one when all are used, from whatever address', async () => {
    const api = await startOperatorApi(engine, 'sample', {
      COLUMBA_CONNECTIONS_MAX: '6',
      COLUMBA_CONNECTIONS_PER_CLIENT_MAX: '6',
    });
    try {
      const silent = Array.from({ length: 6 }, () => stranger(api.address, '', '127.0.0.2'));
      await Promise.all(silent.map(({ socket }) => once(socket, 'connect')));
      assert.equal((await fetch(`${api.address}/health/live`)).status, 200);
      for (const { socket } of silent) socket.destroy();
    } finally {
      await api.stop();
    }
  });
});

const sqlite = engines[0] as Engine;
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

test('a slow request with a token is left alone, and idle connections of strangers make room first', async () => {
  const api = await startOperatorApi(sqlite, 'sample', { COLUMBA_CONNECTIONS_MAX: '5' });
  try {
    const idle = Array.from({ length: 3 }, () => stranger(api.address, HEALTH, '127.0.0.2'));
    await Promise.all(idle.map(({ socket }) => once(socket, 'data')));
    const body = JSON.stringify({ username: 'newcomer' });
    const [known, unknown] = [await openConnection(api.address), await openConnection(api.address)];
    const head = ['Host: h', 'Content-Type: application/json', `Content-Length: ${body.length}`];
    await known.send(
      requestBytes('POST /operator/v1/accounts HTTP/1.1', [...head, `Authorization: Bearer ${api.token}`]),
    );
    const form = [
      `Host: ${new URL(api.address).host}`,
      'Sec-Fetch-Site: same-origin',
      'Content-Type: application/x-www-form-urlencoded',
    ];
    await unknown.send(requestBytes('POST /console/sign-in HTTP/1.1', [...form, 'Content-Length: 3']));
    await pause(2_200); // beyond one second, in ticks of half a second
    const late = [stranger(api.address, '', '127.0.0.2')];
    const told = await Promise.race(idle.map((each) => each.told));
    assert.deepEqual(told.map(statusOf), [200, 503]);
    for (let number = 0; number < 6; number += 1) late.push(stranger(api.address, '', '127.0.0.3'));
    await Promise.all(late.slice(1).map(({ socket }) => once(socket, 'connect')));
    await known.send(body);
    assert.equal(statusOf(await known.receive()), 201);
    for (const { socket } of [...idle, ...late]) socket.destroy();
    known.close();
    unknown.close();
  } finally {
    await api.stop();
  }
});

test('pipelined requests are answered in order, and when more than 16 wait, the connection is closed after these', async () => {
  const api = await startOperatorApi(sqlite);
  try {
    const few = await openConnection(api.address);
    const first = requestBytes('GET / HTTP/1.1', ['Host: h']);
    await few.send(Buffer.concat([first, HEALTH, first, HEALTH]));
    const answers = [];
    for (let number = 0; number < 4; number += 1) answers.push(await few.receive());
    assert.deepEqual(
      answers.map((answer) => textOf(answer) === 'live\n'),
      [false, true, false, true],
    );
    few.close();
    const many = stranger(api.address, Buffer.concat(Array.from({ length: 1_000 }, () => HEALTH)));
    const told = await many.told;
    assert.deepEqual([told.length, told.at(-1)?.headers.connection], [17, 'close']);
    assert.ok(told.every((answer) => textOf(answer) === 'live\n'));
    assert.equal((await fetch(`${api.address}/health/live`)).status, 200);
  } finally {
    await api.stop();
  }
});
