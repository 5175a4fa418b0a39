import assert from 'node:assert/strict';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { systemClock } from '../../src/base/clock.ts';
import { callHttp, type HttpCall, peerOf, Refused } from '../../src/base/http-client.ts';
import { createVirtualClock, settled } from '../support/virtual-clock.ts';

async function serving(t: TestContext, answer: RequestListener) {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { host: '127.0.0.1', port, tls: false };
}
const call = (more: Partial<HttpCall> = {}): HttpCall => ({
  method: 'POST',
  path: '/sms?x=1',
  body: 'hello',
  timeoutMs: 10_000,
  answerBytesMax: 100,
  agent: false,
  ...more,
});
const whole: RequestListener = (request, response) => {
  request.resume().on('end', () => response.end('x'.repeat(200)));
};

test('an answer has its status, its header fields and its body', async (t) => {
  const seen: unknown[] = [];
  const peer = await serving(t, async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    seen.push([request.method, request.url, request.headers['content-length'], request.headers['x-own'], body]);
    response.writeHead(202, { 'Retry-After': '7' }).end('taken');
  });
  const outcome = await callHttp(systemClock, peer, call({ headers: { 'X-Own': 'yes' } }));
  assert.ok(outcome.kind === 'answered');
  assert.deepEqual([outcome.status, outcome.headers['retry-after'], String(outcome.body)], [202, '7', 'taken']);
  assert.deepEqual(seen, [['POST', '/sms?x=1', '5', 'yes', 'hello']]);
});

test('a request to a closed port is unsent, and one whose answer does not come is unanswered', async (t) => {
  const refused = await callHttp(systemClock, { host: '127.0.0.1', port: 1, tls: false }, call());
  assert.deepEqual(refused, { kind: 'unsent', reason: 'ECONNREFUSED' });
  const closing = await serving(t, (request) => request.socket.destroy());
  assert.deepEqual(await callHttp(systemClock, closing, call()), { kind: 'unanswered', reason: 'ECONNRESET' });
});

test('the time-out of a request is measured by the clock that is passed in', async (t) => {
  const clock = createVirtualClock();
  let hasCome = () => {};
  const came = new Promise<void>((resolve) => {
    hasCome = resolve;
  });
  const peer = await serving(t, () => hasCome());
  const calling = callHttp(clock, peer, call());
  await came;
  await settled();
  await clock.advance(10_000);
  assert.deepEqual(await calling, { kind: 'unanswered', reason: 'no answer in time' });
});

test('a request that is aborted before it was sent is unsent, and one that is aborted later is unanswered', async (t) => {
  const stop = new AbortController();
  const peer = await serving(t, () => stop.abort());
  const { signal } = stop;
  assert.deepEqual(await callHttp(systemClock, peer, call({ signal })), { kind: 'unanswered', reason: 'aborted' });
  assert.deepEqual(await callHttp(systemClock, peer, call({ signal })), { kind: 'unsent', reason: 'aborted' });
});

test('an answer beyond its limit is unanswered, cut, or reduced to its status', async (t) => {
  const peer = await serving(t, whole);
  assert.deepEqual(await callHttp(systemClock, peer, call()), { kind: 'unanswered', reason: 'ANSWER_TOO_LARGE' });
  for (const beyond of ['cut', 'ignore'] as const) {
    const outcome = await callHttp(systemClock, peer, call({ beyond }));
    assert.ok(outcome.kind === 'answered');
    assert.equal(outcome.status, 200);
    assert.ok(outcome.body.length <= 100);
  }
});

test('an address is checked after its name was resolved, and the connection goes to the checked address', async (t) => {
  const { port } = await serving(t, (_, response) => response.end());
  const check = (address: string) => {
    if (address !== '127.0.0.1') throw new Refused('not this one');
  };
  const to = (host: string, addresses: string[]) =>
    callHttp(
      systemClock,
      { host, port, tls: false },
      call({ check, resolve: async () => addresses.map((address) => ({ address, family: 4 })) }),
    );
  assert.equal((await to('name.example', ['127.0.0.1'])).kind, 'answered');
  assert.deepEqual(await to('name.example', ['127.0.0.1', '10.0.0.1']), { kind: 'unsent', reason: 'not this one' });
  assert.deepEqual(await to('name.example', []), { kind: 'unsent', reason: 'the name has no address' });
  assert.deepEqual(await to('10.0.0.1', []), { kind: 'unsent', reason: 'not this one' });
});

test('the peer of a URL has its port, its path with the query, and its name and password', () => {
  assert.deepEqual(peerOf(new URL('https://a:b%40@sms.example/x?y=1')), {
    host: 'sms.example',
    port: 443,
    tls: true,
    path: '/x?y=1',
    auth: 'a:b@',
  });
  assert.deepEqual(peerOf(new URL('http://[::1]:8080')), { host: '::1', port: 8080, tls: false, path: '/' });
});
