import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import { systemClock } from '../../src/base/clock.ts';
import { Problem } from '../../src/base/problem.ts';
import { type CallbackConfig, callbackConfig, createCallback } from '../../src/carriers/callback/callback.ts';
import type { CarrierEvents, ReceivedReceipt, Submission } from '../../src/carriers/connector.ts';
import type { ArrivedMessage } from '../../src/domain/receiving/incoming.ts';
import { refusalOfSignature, signedFields } from '../../src/domain/webhooks/standard-webhooks.ts';

const SECRET = `whsec_${Buffer.alloc(24, 7).toString('base64')}`;
const OTHER = `whsec_${Buffer.alloc(24, 8).toString('base64')}`;
const NOW = Date.UTC(2026, 10, 15, 12);
const now = () => NOW;

const part: Submission = {
  attemptId: '0123456789abcdef0123456789abcdef',
  sender: 'Acme',
  recipient: '+27825550201',
  body: new Uint8Array([104, 105]),
  text: 'hi',
  encoding: 'gsm7',
  udh: new Uint8Array([5, 0, 3, 9, 2, 1]),
  priority: 1,
  validUntil: NOW + 60_000,
};
const config = (url: string, given: Partial<CallbackConfig> = {}): CallbackConfig =>
  callbackConfig.parse({ url, secret: SECRET, allowPrivate: true, ...given });

interface Seen {
  readonly headers: Headers;
  readonly body: string;
}

/** A carrier that answers as the test wants. */
async function carrier(t: TestContext, answer: (response: ServerResponse, request: IncomingMessage) => void) {
  const seen: Seen[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => {
      body += chunk;
    });
    request.on('end', () => {
      seen.push({ headers: new Headers(request.headers as Record<string, string>), body });
      answer(response, request);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { seen, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/sms` };
}

const submitTo = async (url: string, given: Partial<CallbackConfig> = {}, signal = new AbortController().signal) => {
  const connector = createCallback('hook', config(url, given), { clock: { ...systemClock, now } });
  const [result] = await connector.submit([part], signal);
  await connector.stop();
  return result;
};

describe('submissions of the callback connector', () => {
  test('a part is one signed POST, and the answer may name its id', async (t) => {
    const { seen, url } = await carrier(t, (response) => response.end('{"gatewayId":"gw-1"}'));
    assert.deepEqual(await submitTo(url), { kind: 'accepted', gatewayId: 'gw-1' });
    const [{ headers, body } = assert.fail()] = seen;
    assert.equal(refusalOfSignature([SECRET], headers, body, NOW), null);
    assert.equal(headers.get('webhook-id'), part.attemptId);
    assert.deepEqual(JSON.parse(body), {
      type: 'message.submit',
      timestamp: '2026-11-15T12:00:00.000Z',
      data: {
        attemptId: part.attemptId,
        sender: 'Acme',
        recipient: '+27825550201',
        text: 'hi',
        encoding: 'gsm7',
        udh: '050003090201',
        priority: 1,
        validUntil: '2026-11-15T12:01:00.000Z',
      },
    });
  });

  test('while a secret is rotated the old one is valid too', async (t) => {
    const { seen, url } = await carrier(t, (response) => response.writeHead(202).end());
    assert.deepEqual(await submitTo(url, { oldSecret: OTHER }), { kind: 'accepted', gatewayId: null });
    const [{ headers, body } = assert.fail()] = seen;
    for (const secret of [SECRET, OTHER]) assert.equal(refusalOfSignature([secret], headers, body, NOW), null);
  });

  const ANSWERS: readonly (readonly [number, object])[] = [
    [204, { kind: 'accepted', gatewayId: null }],
    [302, { kind: 'temporary', reason: 'HTTP 302', connectorDown: true }],
    [400, { kind: 'permanent', reason: 'HTTP 400 E7' }],
    [401, { kind: 'temporary', reason: 'HTTP 401 E7', connectorDown: true }],
    [404, { kind: 'temporary', reason: 'HTTP 404 E7', connectorDown: true }],
    [422, { kind: 'permanent', reason: 'HTTP 422 E7' }],
    [429, { kind: 'temporary', reason: 'HTTP 429 E7', retryAfterMs: 7_000 }],
    [500, { kind: 'unknown-outcome', reason: 'HTTP 500 E7' }],
    [502, { kind: 'unknown-outcome', reason: 'HTTP 502 E7' }],
    [503, { kind: 'temporary', reason: 'HTTP 503 E7', retryAfterMs: 7_000 }],
  ];
  for (const [status, expected] of ANSWERS) {
    test(`an answer with ${status} is ${(expected as { kind: string }).kind}`, async (t) => {
      const { url } = await carrier(t, (response) => {
        const fields = { 'Retry-After': '7', Location: 'http://127.0.0.1:1/' };
        const body = status >= 400 ? '{"code":"E7","text":"+27825550201"}' : '';
        response.writeHead(status, fields).end(status === 204 ? undefined : body);
      });
      assert.deepEqual(await submitTo(url), expected);
    });
  }

  test('a connection that closes without an answer has an unknown outcome: the carrier may have the part', async (t) => {
    const { url } = await carrier(t, (_, request) => request.socket.destroy());
    assert.equal((await submitTo(url))?.kind, 'unknown-outcome');
  });

  test('a submission that the gateway does not answer in time has an unknown outcome', async (t) => {
    const { url } = await carrier(t, () => {});
    // Long enough that a busy machine has sent the request by then: else the submission is temporary.
    assert.deepEqual(await submitTo(url, { timeoutMs: 4_000 }), {
      kind: 'unknown-outcome',
      reason: 'no answer in time',
    });
  });

  test('a refused connection makes the submission temporary and the connector down', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) => server.close(resolve));
    const result = await submitTo(`http://127.0.0.1:${port}/`);
    assert.deepEqual(result, { kind: 'temporary', reason: 'ECONNREFUSED', connectorDown: true });
  });

  test('a submission that is stopped before it is sent is temporary, and one that is stopped later has an unknown outcome', async (t) => {
    const stopped = AbortSignal.abort();
    const stop = new AbortController();
    const { url } = await carrier(t, () => stop.abort());
    const notSent = { kind: 'temporary', reason: 'aborted before it was sent' };
    assert.deepEqual(await submitTo(url, {}, stopped), notSent);
    assert.deepEqual(await submitTo(url, {}, stop.signal), { kind: 'unknown-outcome', reason: 'stopped' });
  });

  test('private addresses are refused by number and by name, and nothing is sent', async (t) => {
    const { seen, url } = await carrier(t, (response) => response.end());
    for (const address of [url, url.replace('127.0.0.1', 'localhost'), 'https://[::1]:1/', 'https://10.0.0.1/']) {
      const result = await submitTo(address, { allowPrivate: false });
      assert.equal(result?.kind, 'temporary');
      assert.match(result.reason, /allowPrivate is off/);
    }
    assert.deepEqual(seen, []);
  });
});

interface Told {
  readonly receipts: ReceivedReceipt[];
  readonly messages: ArrivedMessage[];
}

async function started(given: Partial<CarrierEvents> = {}) {
  const told: Told = { receipts: [], messages: [] };
  const connector = createCallback('hook', config('http://127.0.0.1:1/'), { clock: { ...systemClock, now } });
  await connector.start({
    receipt: async (receipt) => void told.receipts.push(receipt),
    incoming: async (message) => void told.messages.push(message),
    late: () => assert.fail('callbacks have no late answers'),
    ...given,
  });
  const post = async (
    content: unknown,
    options: { secret?: string; at?: number; id?: string; method?: string } = {},
  ) => {
    const body = typeof content === 'string' ? content : JSON.stringify(content);
    const { secret = SECRET, at = NOW, id = 'msg_1', method = 'POST' } = options;
    const request = new Request('http://columba.example/carriers/hook/', {
      method,
      headers: signedFields([secret], { id, at, body }),
      ...(method === 'POST' && { body }),
    });
    const response = (await connector.handle?.(request)) ?? assert.fail();
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
  return { told, post };
}
const RECEIPT = { attemptId: part.attemptId, status: 'DELIVERED', at: '2026-11-15T11:59:00Z', code: '000' };
const MESSAGE = { sender: '0825550201', destination: '31234', text: 'hello' };

describe('callbacks to the callback connector', () => {
  test('signed receipts and messages are passed on, one or many', async () => {
    const { told, post } = await started();
    assert.equal((await post({ type: 'message.receipt', data: RECEIPT })).status, 204);
    assert.equal(
      (await post({ type: 'message.incoming', data: [MESSAGE, { ...MESSAGE, gatewayId: 'g-2' }] })).status,
      204,
    );
    assert.deepEqual(told.receipts, [
      {
        connector: 'hook',
        attemptId: part.attemptId,
        gatewayId: null,
        status: 'DELIVERED',
        at: NOW - 60_000,
        detail: '000',
      },
    ]);
    assert.deepEqual(
      told.messages.map(({ gatewayId, text, receivedAt }) => [gatewayId, text, receivedAt]),
      [
        ['webhook:msg_1:0', 'hello', NOW],
        ['g-2', 'hello', NOW],
      ],
    );
  });

  test('a list of receipts and messages is passed on as a whole, or not at all', async () => {
    const { told, post } = await started();
    const list = [
      { type: 'message.receipt', data: RECEIPT },
      { type: 'message.incoming', data: MESSAGE },
      { type: 'message.incoming', data: [MESSAGE, { ...MESSAGE, gatewayId: 'g-2' }] },
    ];
    assert.equal((await post(list)).status, 204);
    assert.equal(told.receipts.length, 1);
    assert.deepEqual(
      told.messages.map(({ gatewayId }) => gatewayId),
      ['webhook:msg_1:0', 'webhook:msg_1:1', 'g-2'],
    );
    const tooMany = Array.from({ length: 3 }, () => ({
      type: 'message.incoming',
      data: Array.from({ length: 200 }, () => MESSAGE),
    }));
    for (const wrong of [[...list, { type: 'message.receipt', data: {} }], [], tooMany]) {
      assert.equal((await post(wrong)).status, 400);
    }
    assert.deepEqual([told.receipts.length, told.messages.length], [1, 3]);
    const stored = async () => {};
    const down = async () => Promise.reject(new Problem('unavailable', 'The database is not available.'));
    const { post: partly } = await started({ receipt: stored, incoming: down });
    assert.equal((await partly(list)).status, 503, 'nothing is acknowledged where one of them is not on disk');
  });

  test('a wrong secret, an old or future timestamp and another body are denied', async () => {
    const { told, post } = await started();
    const content = { type: 'message.receipt', data: RECEIPT };
    for (const options of [{ secret: OTHER }, { at: NOW - 301_000 }, { at: NOW + 301_000 }]) {
      await assert.rejects(post(content, options), { kind: 'denied' });
    }
    await assert.rejects(post(content, { method: 'GET' }), { kind: 'denied' }); // a GET has no body that is signed
    assert.deepEqual(told, { receipts: [], messages: [] });
  });

  test('a submission of ours that is sent back is refused, although its signature is valid', async () => {
    const { told, post } = await started();
    assert.equal((await post({ type: 'message.submit', data: {} })).status, 400);
    assert.deepEqual(told, { receipts: [], messages: [] });
  });

  test('a wrong body is refused with 400, which names fields and never values', async () => {
    const { post } = await started();
    const wrong: unknown[] = [
      'no json +27825550201',
      { type: 'message.receipt', data: { status: 'DELIVERED' } },
      { type: 'message.receipt', data: { ...RECEIPT, status: '+27825550201' } },
      { type: 'message.receipt', data: { ...RECEIPT, code: 'for +27825550201' } },
      { type: 'message.incoming', data: { ...MESSAGE, text: 'x'.repeat(10_001) } },
      { type: 'message.incoming', data: { ...MESSAGE, more: '+27825550201' } },
      { type: 'message.incoming', data: Array.from({ length: 501 }, () => MESSAGE) },
      { type: 'message.incoming', data: { ...MESSAGE, part: { reference: 1, total: 1, number: 1 } } },
    ];
    for (const content of wrong) {
      const { status, text } = await post(content);
      assert.equal(status, 400, text);
      assert.doesNotMatch(text, /825550201|DELIVERED/);
    }
  });

  test('nothing is acknowledged while the database is not available', async () => {
    const down = async () => {
      throw new Problem('unavailable', 'The database is not available.');
    };
    const { post } = await started({ receipt: down });
    const { status, headers } = await post({ type: 'message.receipt', data: RECEIPT });
    assert.deepEqual([status, headers.get('retry-after')], [503, '5']);
  });
});
