import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { systemClock } from '../../../src/base/clock.ts';
import type { Submission, SubmitResult } from '../../../src/carriers/connector.ts';
import { createHttp } from '../../../src/carriers/http/http.ts';
import { NEVER, submissionOf } from '../../support/kannel-recording.ts';
import { configAt, configOf, type Posted, type Reply, startProvider } from '../../support/provider.ts';

const NOW = Date.UTC(2026, 10, 18, 12);

const FILE = {
  settings: ['baseUrl'],
  secrets: ['apiKey'],
  receipts: 'none',
  request: {
    method: 'POST',
    url: '{setting.baseUrl}/accounts/{attemptId}/sms?v=1',
    headers: { 'X-Key': '{secret.apiKey}' },
    query: { valid: '{validitySeconds}' },
    json: { to: '{recipient|noplus}', from: '{sender}', body: '{text}', ttl: '{validitySeconds|number}' },
  },
  answer: [{ when: { status: 200, 'json:/id': { present: true } }, result: 'accepted', gatewayId: 'json:/id' }],
};

/** Sends to a provider that answers as the test wants. Sleeps are over at once, and recorded. */
async function opened(
  t: TestContext,
  file: object | string,
  answer: (posted: Posted, count: number) => Reply | undefined,
) {
  const { posted, url } = await startProvider(t, answer);
  const slept: number[] = [];
  const unread: string[] = [];
  const clock = { ...systemClock, now: () => NOW, sleep: async (ms: number) => void slept.push(ms) };
  const config = typeof file === 'string' ? configAt(file, url) : configOf(file as Record<string, unknown>, url);
  const connector = createHttp('carrier', config, { clock, unread: (_, each) => void unread.push(each) });
  t.after(() => connector.stop());
  const submit = async (more: Partial<Submission> = {}, text = 'Hi'): Promise<SubmitResult> => {
    const [result] = await connector.submit(
      [submissionOf(text, { sender: null, recipient: '+27825550201', ...more })],
      NEVER,
    );
    return result ?? assert.fail();
  };
  return { posted, slept, unread, connector, submit, config };
}
const ok = { status: 200, body: { id: 'p-1' } };

describe('requests of a provider file', () => {
  test('a field of the message and the number of the attempt stand where the file wants them', async (t) => {
    const json = { to: '{recipient}', body: '{text}', template: '{field.templateId}', try: '{attemptNumber|number}' };
    const file = { ...FILE, fields: ['templateId'], request: { ...FILE.request, json } };
    const { posted, submit } = await opened(t, file, () => ok);
    await submit({ fields: { templateId: '1107"}', entityId: 'not asked for' }, attemptNumber: 3 });
    await submit();
    const wanted = { to: '+27825550201', body: 'Hi' };
    assert.deepEqual(
      posted.map(({ body }) => JSON.parse(body)),
      [
        { ...wanted, template: '1107"}', try: 3 },
        { ...wanted, try: 1 },
      ],
    );
  });

  test('values are encoded for their place, and a field without a value is left out', async (t) => {
    const { posted, submit, config } = await opened(t, FILE, () => ok);
    const nasty = 'a"},"to":"1&b=c\r\nX: {recipient} €😀';
    assert.deepEqual(await submit({ validUntil: NOW + 90_000 }, nasty), { kind: 'accepted', gatewayId: 'p-1' });
    const [{ path, headers, body } = assert.fail()] = posted;
    assert.match(path, /^\/accounts\/[0-9a-f]{32}\/sms\?v=1&valid=90$/);
    assert.equal(headers['x-key'], config.secrets.apiKey);
    assert.deepEqual(JSON.parse(body), { to: '27825550201', from: config.defaultSender, body: nasty, ttl: 90 });
    await submit({ sender: 'Acme' });
    assert.deepEqual(JSON.parse(posted[1]?.body ?? ''), { to: '27825550201', from: 'Acme', body: 'Hi' });
    assert.doesNotMatch(posted[1]?.path ?? '', /valid/);
  });

  test('a form keeps every character of a text', async (t) => {
    const { json: _, ...request } = FILE.request;
    const file = { ...FILE, request: { ...request, form: { to: '{recipient}', text: '{text}' } } };
    const { posted, submit } = await opened(t, file, () => ok);
    const nasty = 'a&to=1%20+é€\n😀';
    await submit({}, nasty);
    assert.deepEqual(Object.fromEntries(new URLSearchParams(posted[0]?.body)), { to: '+27825550201', text: nasty });
  });

  test('a document of XML and a plain text carry a message, and what they cannot carry is refused', async (t) => {
    const { json: _, ...request } = FILE.request;
    const xml = '<sms ttl="{validitySeconds}"><to>{recipient}</to><body>{text}</body></sms>';
    const { posted, submit } = await opened(t, { ...FILE, request: { ...request, xml } }, () => ok);
    await submit({}, 'Hi</body><to>999</to> "&"\n😀');
    assert.equal(posted[0]?.headers['content-type'], 'application/xml; charset=utf-8');
    const body = 'Hi&lt;/body&gt;&lt;to&gt;999&lt;/to&gt; &quot;&amp;&quot;&#10;😀';
    assert.equal(posted[0]?.body, `<sms ttl=""><to>+27825550201</to><body>${body}</body></sms>`);
    assert.equal((await submit({}, 'a\u0007b')).kind, 'permanent');
    assert.equal(posted.length, 1);
    const plain = await opened(
      t,
      { ...FILE, request: { ...request, text: 'TO {recipient}\n{text}|{sender}|{validityMs}' } },
      () => ok,
    );
    await plain.submit({ sender: 'Acme' }, 'a<b');
    assert.equal(plain.posted[0]?.body, 'TO +27825550201\na<b|Acme|');
  });

  test('hexUcs2 writes only a text beyond GSM 7-bit as hexadecimal digits', async (t) => {
    const { json: _, ...request } = FILE.request;
    const form = { dcs: '{encoding|map:gsm7=0,ucs2=8}', text: '{text|hexUcs2}' };
    const { posted, submit } = await opened(t, { ...FILE, request: { ...request, form } }, () => ok);
    await submit({}, '€5 é');
    await submit({ encoding: 'ucs2' }, 'П😀');
    assert.deepEqual(
      posted.map((each) => Object.fromEntries(new URLSearchParams(each.body))),
      [
        { dcs: '0', text: '€5 é' },
        { dcs: '8', text: '041FD83DDE00' },
      ],
    );
  });

  test('a long text is one submission, and a text beyond the limit of the file is refused before anything is sent', async (t) => {
    const { posted, submit, connector } = await opened(t, { ...FILE, limits: { textMax: 400 } }, () => ok);
    assert.equal(connector.partsAs, 'whole');
    assert.equal((await submit({}, 'x'.repeat(400))).kind, 'accepted');
    const reason = 'the text has more than the 400 characters that the provider takes';
    const refused = { kind: 'permanent', reason, isOurs: true };
    assert.deepEqual(await submit({}, 'x'.repeat(401)), refused);
    assert.equal(posted.length, 1);
  });
});

describe('answers', () => {
  const DEFAULTS: readonly (readonly [number, object])[] = [
    [200, { kind: 'unknown-outcome', reason: 'HTTP 200' }],
    [302, { kind: 'temporary', reason: 'HTTP 302', connectorDown: true }],
    [400, { kind: 'permanent', reason: 'HTTP 400' }],
    [401, { kind: 'temporary', reason: 'HTTP 401', connectorDown: true }],
    [404, { kind: 'temporary', reason: 'HTTP 404', connectorDown: true }],
    [408, { kind: 'temporary', reason: 'HTTP 408' }],
    [429, { kind: 'temporary', reason: 'HTTP 429', retryAfterMs: 1_000 }],
    [500, { kind: 'unknown-outcome', reason: 'HTTP 500' }],
    [503, { kind: 'temporary', reason: 'HTTP 503' }],
  ];
  for (const [status, expected] of DEFAULTS) {
    test(`a ${status} that no rule reads is ${(expected as { kind: string }).kind}, and is kept for the operator`, async (t) => {
      const { submit, unread } = await opened(t, FILE, () => ({ status, body: { error: 'words' } }));
      assert.deepEqual(await submit(), expected);
      assert.deepEqual(unread, [`HTTP ${status}\n\n{"error":"words"}`]);
    });
  }

  test('an answer that no rule reads is kept with its first 2 KB, without secrets, numbers and the text', async (t) => {
    const { submit, unread, config } = await opened(t, FILE, ({ headers, body }) => ({
      status: 200,
      body: {
        seen: headers['x-key'],
        base64: Buffer.from(String(headers['x-key'])).toString('base64'),
        body,
        more: 'é'.repeat(3_000),
      },
    }));
    assert.equal((await submit({}, 'a very "secret" text')).kind, 'unknown-outcome');
    const [kept = ''] = unread;
    assert.ok(Buffer.byteLength(kept) <= 2_048 && Buffer.byteLength(kept) > 2_000, String(Buffer.byteLength(kept)));
    const { apiKey = '' } = config.secrets;
    for (const hidden of [apiKey, Buffer.from(apiKey).toString('base64'), '27825550201', 'secret']) {
      assert.ok(!kept.includes(hidden), hidden);
    }
    await submit();
    assert.equal(unread.length, 1, 'one of many is enough');
  });

  test('a submission without a connection is temporary and the connector is down, and one without an answer has an unknown outcome', async (t) => {
    const broken = await opened(t, FILE, () => undefined);
    assert.equal((await broken.submit()).kind, 'unknown-outcome');
    const nowhere = createHttp('carrier', configOf(FILE, 'http://127.0.0.1:1'), { clock: systemClock });
    t.after(() => nowhere.stop());
    assert.deepEqual(await nowhere.submit([submissionOf('Hi')], NEVER), [
      { kind: 'temporary', reason: 'ECONNREFUSED', connectorDown: true },
    ]);
  });

  test('an id beyond 53 bits is read exactly', async (t) => {
    const { submit } = await opened(t, FILE, () => ({ status: 200, body: '{"id": 9007199254740993123}' }));
    assert.deepEqual(await submit(), { kind: 'accepted', gatewayId: '9007199254740993123' });
  });

  test('a throttled connector waits as long as the provider wants, for all messages alike', async (t) => {
    const replies = [{ status: 429, headers: { 'Retry-After': '7' } }];
    const { submit, slept } = await opened(t, FILE, () => replies.pop() ?? ok);
    assert.deepEqual(await submit(), { kind: 'temporary', reason: 'HTTP 429', retryAfterMs: 7_000 });
    assert.equal((await submit()).kind, 'accepted');
    assert.ok((slept.at(-1) ?? 0) > 6_000, String(slept));
  });

  test('a connector submits no faster than the rate of the provider file', async (t) => {
    const { submit, slept } = await opened(t, { ...FILE, limits: { ratePerSecond: 2 } }, () => ok);
    for (let count = 0; count < 3; count++) await submit();
    assert.equal(slept.length, 2);
    assert.ok(
      slept.every((ms, index) => ms > 400 * index && ms <= 500 * (index + 1)),
      String(slept),
    );
  });
});

describe('a token', () => {
  const isToken = ({ path }: Posted) => path === '/v1/Authentication';

  test('one token serves many messages, and a refused token is renewed once', async (t) => {
    let tokens = 0;
    const accepted = { status: 200, body: { EventId: 1, Messages: 1 } };
    const { posted, submit } = await opened(t, 'smsportal', (each) => {
      if (isToken(each)) return { status: 200, body: { token: `t${++tokens}`, expiresInMinutes: 60 } };
      return each.headers.authorization === 'Bearer t1' && posted.length > 4 ? { status: 401, body: '' } : accepted;
    });
    for (let count = 0; count < 5; count++) assert.equal((await submit()).kind, 'accepted');
    assert.equal(tokens, 2);
    assert.deepEqual(
      posted.filter(isToken).map(({ headers }) => headers.authorization?.split(' ')[0]),
      ['Basic', 'Basic'],
    );
  });

  test('no message is sent without a token, and the connector is down', async (t) => {
    const { posted, submit } = await opened(t, 'smsportal', () => ({ status: 401, body: '' }));
    assert.deepEqual(await submit(), { kind: 'temporary', reason: 'no token: HTTP 401', connectorDown: true });
    assert.ok(posted.every(isToken));
  });
});

describe('requests that a provider accepts only once', () => {
  test('after a lost answer the same id is sent once more, and the answer 409 proves that the message was accepted', async (t) => {
    const { posted, submit, slept } = await opened(t, 'android-sms-gateway', (_, count) =>
      count === 1 ? undefined : { status: 409, body: { message: 'exists' } },
    );
    const attemptId = '0193300c2a00f3a1c2d4e5b697887766';
    assert.deepEqual(await submit({ attemptId }), { kind: 'accepted', gatewayId: attemptId });
    assert.deepEqual(
      posted.map(({ body }) => JSON.parse(body).id),
      [attemptId, attemptId],
    );
    assert.ok(slept.includes(30_000));
  });

  test('a refusal of the repeat proves nothing of the first request, so the outcome stays unknown', async (t) => {
    const { submit } = await opened(t, 'android-sms-gateway', (_, count) =>
      count === 1 ? undefined : { status: 400 },
    );
    assert.equal((await submit()).kind, 'unknown-outcome');
  });

  test('a file without repeat never sends a message twice', async (t) => {
    const { posted, submit } = await opened(t, 'twilio', () => undefined);
    assert.equal((await submit()).kind, 'unknown-outcome');
    assert.equal(posted.length, 1);
  });
});
