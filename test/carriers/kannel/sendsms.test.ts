import assert from 'node:assert/strict';
import type { AddressInfo } from 'node:net';
import { createServer, type Server, type Socket } from 'node:net';
import { after, describe, test } from 'node:test';
import type { Connector, SubmitResult } from '../../../src/carriers/connector.ts';
import { kannelSendsmsConfig } from '../../../src/carriers/kannel/config.ts';
import { createKannelSendsms } from '../../../src/carriers/kannel/sendsms.ts';
import { NEVER, type Recording, record, submissionOf } from '../../support/kannel-recording.ts';
import { until } from '../../support/program.ts';
import { namesIn, readRequest, sectionsOf } from './captures.ts';

const SECRET = 'secret-of-the-callbacks';
const servers = new Set<Server>();
const sockets = new Set<Socket>();
after(() => {
  for (const socket of sockets) socket.destroy();
  for (const server of servers) server.close();
});

/** Answers every request with the same octets; with null it never answers, with `closed` it closes. */
async function smsboxThat(answer: string | null | 'closed'): Promise<{ port: number; requests: string[] }> {
  const requests: string[] = [];
  const server = createServer((socket) => {
    sockets.add(socket);
    let text = '';
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      const end = text.indexOf('\r\n\r\n');
      const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0);
      if (end < 0 || text.length < end + 4 + length) return;
      requests.push(text);
      text = '';
      if (answer === 'closed') socket.destroy();
      else if (answer !== null) socket.write(answer, 'latin1');
    });
  });
  servers.add(server);
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return { port: (server.address() as AddressInfo).port, requests };
}

function connectorAt(port: number, more: object = {}): { recording: Recording; connector: Connector } {
  const recording = record();
  const config = kannelSendsmsConfig.parse({
    host: '127.0.0.1',
    port,
    username: 'columba',
    password: 'sendpw',
    smscId: 'carrier',
    callbackUrl: 'http://127.0.0.1:8081/carriers/kannel',
    callbackSecret: SECRET,
    ...more,
  });
  return { recording, connector: createKannelSendsms('kannel', config, recording.deps) };
}

describe('recorded refusals of sendsms', () => {
  const permanent = (reason: string): SubmitResult => ({ kind: 'permanent', reason });
  const down = (reason: string, retryAfterMs: number): SubmitResult => ({
    kind: 'temporary',
    reason,
    retryAfterMs,
    connectorDown: true,
  });
  const notAuthorised = down('Authorization failed for sendsms', 60_000);
  const expected: Record<string, SubmitResult> = {
    'account-65': permanent('Account field misformed or too long, rejected'),
    'bearerbox-dies-before-it-answered': { kind: 'unknown-outcome', reason: 'ECONNRESET' },
    'bearerbox-down': down('ECONNREFUSED', 1_000),
    'blacklist-core': permanent('receiver in black-list'),
    'blacklist-user': permanent('Number(s) has/have been denied by white- and/or black-lists.'),
    'charset-unknown': permanent('Charset or body misformed, rejected'),
    'coding-3': permanent('Coding field misformed, rejected'),
    'dlr-mask-67': permanent('DLR-Mask field misformed, rejected'),
    'dlr-url-ftp': permanent('DLR-URL field misformed, rejected'),
    'from-missing': permanent('Sender missing and no global set, rejected'),
    'ip-not-allowed': notAuthorised,
    'method-put': down('status 400', 60_000),
    'no-credentials': notAuthorised,
    'no-route': down('no route', 30_000),
    'not-http': down('status 400', 60_000),
    path: down('Unknown request.', 60_000),
    'post-wrong-password': notAuthorised,
    'priority-4': permanent('Priority field misformed, rejected'),
    'queue-full': { kind: 'temporary', reason: 'the queue of Kannel is full', retryAfterMs: 5_000 },
    'smsbox-down': down('ECONNREFUSED', 1_000),
    'smsc-stopped': down('no route', 30_000),
    'to-empty': permanent('Empty receiver number not allowed, rejected'),
    'to-letters': permanent('Number(s) has/have been denied by white- and/or black-lists.'),
    'to-missing': permanent('Missing receiver number, rejected'),
    'udh-wrong-length': permanent('UDH field misformed, rejected'),
    'validity-negative': permanent('Validity field misformed, rejected'),
    'wrong-password': notAuthorised,
    'wrong-user': notAuthorised,
  };

  test('each recorded refusal of sendsms has its case', () =>
    assert.deepEqual(namesIn('refuse'), Object.keys(expected).sort()));

  for (const [name, result] of Object.entries(expected)) {
    test(`${name} is ${result.kind}${'connectorDown' in result ? ', and the connector is down' : ''}`, async () => {
      const [answer = ''] = sectionsOf(`refuse/${name}`, 'response');
      const isRefused = answer.startsWith('(none: refused)');
      const { port, requests } = await smsboxThat(answer.startsWith('(none: closed)') ? 'closed' : answer);
      const { recording, connector } = connectorAt(isRefused ? 1 : port);
      await connector.start(recording.events);
      const part = submissionOf('x');
      const submitting = connector.submit([part], NEVER);
      for (const callback of sectionsOf(`refuse/${name}`, 'request to us')) {
        // The callback belongs to this attempt, and may come before the answer.
        await until('the request', () => requests.length === 1);
        const query = readRequest(callback).target.replace(/^\/dlr\?id=\w+/, `id=${part.attemptId}`);
        const address = `http://127.0.0.1/carriers/kannel/${SECRET}/dlr?${query.replace('&A=', '&a=')}`;
        assert.equal((await connector.handle?.(new Request(address)))?.status, 200);
      }
      assert.deepEqual(await submitting, [result]);
      assert.deepEqual(recording.receipts, []);
      await connector.stop();
    });
  }
});

describe('a request to sendsms', () => {
  test('a request to sendsms has the fields of the recorded one, with the text in its body', async () => {
    for (const [name, part] of [
      ['post-plain', submissionOf('Hello åäö €', { priority: 1 })],
      ['own-1-of-2', submissionOf(`${'x'.repeat(152)}å`, { udh: Buffer.from('050003ab0201', 'hex') })],
      ['post-plain-ucs2', submissionOf('Привет 😀', { encoding: 'ucs2' })],
    ] as const) {
      const recorded = readRequest(sectionsOf(`submit/${name}`, 'request')[0] ?? '');
      const { port, requests } = await smsboxThat(sectionsOf(`submit/${name}`, 'response')[0] ?? '');
      const { connector } = connectorAt(port);
      assert.deepEqual(await connector.submit([part], NEVER), [{ kind: 'accepted', gatewayId: null }]);
      await connector.stop();
      const sent = readRequest(requests[0] ?? '');
      assert.equal(`${sent.method} ${sent.target}`, `${recorded.method} ${recorded.target}`);
      for (const field of ['username', 'password', 'smsc', 'from', 'to', 'coding', 'dlr-mask', 'udh'] as const) {
        assert.equal(sent.headers[`x-kannel-${field}`], recorded.headers[`x-kannel-${field}`], field);
      }
      assert.equal(sent.headers['content-type'], recorded.headers['content-type']);
      const url = `http://127.0.0.1:8081/carriers/kannel/${SECRET}/dlr?id=${part.attemptId}`;
      assert.equal(sent.headers['x-kannel-dlr-url'], `${url}&d=%d&a=%A&f=%F&e=%I&t=%T&s=%i`);
      assert.equal(sent.body.toString('utf8'), part.text);
    }
  });

  test('the validity is sent in whole minutes, at least one, and never beyond that of the message', async () => {
    const { port, requests } = await smsboxThat(sectionsOf('submit/keep-alive', 'response')[0] ?? '');
    const { connector, recording } = connectorAt(port, { validityMinutes: 77 });
    const now = recording.deps.now(); // a millisecond may pass at any step: 77 minutes stay 77
    for (const validUntil of [null, now + 90_500, now + 30_000]) {
      await connector.submit([submissionOf('x', { validUntil })], NEVER);
    }
    const [late] = await connector.submit([submissionOf('x', { validUntil: now })], NEVER);
    assert.equal(late?.kind, 'temporary');
    await connector.stop();
    assert.deepEqual(
      requests.map((text) => readRequest(text).headers['x-kannel-validity']),
      ['77', '1', '1'],
    );
  });

  test('a second request to sendsms uses the connection of the first', async () => {
    const { port, requests } = await smsboxThat(sectionsOf('submit/keep-alive', 'response')[0] ?? '');
    const { connector } = connectorAt(port);
    const before = sockets.size;
    for (let call = 0; call < 5; call++) await connector.submit([submissionOf('x')], NEVER);
    assert.equal(requests.length, 5);
    assert.equal(sockets.size, before + 1);
    await connector.stop();
  });

  test('at most `window` requests are without an answer, and a waiting one that is aborted is temporary', async () => {
    const { port, requests } = await smsboxThat(null);
    const { connector } = connectorAt(port, { window: 2 });
    const abort = new AbortController();
    const submitting = connector.submit(
      Array.from({ length: 5 }, () => submissionOf('x')),
      abort.signal,
    );
    await until('two requests', () => requests.length === 2);
    abort.abort();
    const kinds = (await submitting).map(({ kind }) => kind);
    assert.deepEqual(kinds, ['unknown-outcome', 'unknown-outcome', 'temporary', 'temporary', 'temporary']);
    assert.equal(requests.length, 2);
    await connector.stop();
  });

  test('an answer that does not come in time leaves the submission with an unknown outcome', async () => {
    const { port } = await smsboxThat(null);
    const { connector } = connectorAt(port, { answerTimeoutMs: 200 });
    assert.deepEqual(await connector.submit([submissionOf('x')], NEVER), [
      { kind: 'unknown-outcome', reason: 'no answer in time' },
    ]);
    await connector.stop();
  });

  test('after a refused connection the port is not tried again for a moment', async () => {
    const { connector } = connectorAt(1);
    const first = await connector.submit([submissionOf('x')], NEVER);
    const second = await connector.submit([submissionOf('x')], NEVER);
    const down = { kind: 'temporary', retryAfterMs: 1_000, connectorDown: true };
    assert.deepEqual(first, [{ ...down, reason: 'ECONNREFUSED' }]);
    assert.deepEqual(second, [{ ...down, reason: 'smsbox does not answer' }]);
    await connector.stop();
  });

  test('a text or sender that Kannel would change is refused before it is sent', async () => {
    const { port, requests } = await smsboxThat(null);
    const { connector } = connectorAt(port);
    const results = await connector.submit(
      [
        submissionOf('x', { sender: null }),
        submissionOf('x', { sender: 'a'.repeat(21) }),
        submissionOf('x', { sender: 'Åke' }),
        submissionOf('x', { sender: '1000\r\nX-Kannel-To: 1' }),
        submissionOf('x', { recipient: '+46 70 +47' }),
      ],
      NEVER,
    );
    assert.deepEqual(new Set(results.map(({ kind }) => kind)), new Set(['permanent']));
    assert.equal(requests.length, 0);
    await connector.stop();
  });

  test('no reason contains a number, a text or the password', async () => {
    const body = 'to +46700000001 \u00ff\n<b>is wrong</b>';
    const answer = `HTTP/1.1 400 Bad Request\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    const { port } = await smsboxThat(answer);
    const { connector } = connectorAt(port);
    const [result] = await connector.submit([submissionOf('x')], NEVER);
    assert.ok(result?.kind === 'permanent');
    assert.doesNotMatch(result.reason, /\d{4}|sendpw/);
    await connector.stop();
  });
});

describe('the configuration', () => {
  const least = {
    host: 'h',
    username: 'u',
    password: 'p',
    callbackUrl: 'http://h/carriers/k',
    callbackSecret: SECRET,
  };
  test('the configuration of sendsms requires the address of Kannel and of its callbacks, and all else has a default', () => {
    assert.equal(kannelSendsmsConfig.parse(least).port, 13_013);
    for (const missing of Object.keys(least)) {
      const { [missing as 'host']: _, ...rest } = least;
      assert.equal(kannelSendsmsConfig.safeParse(rest).success, false, missing);
    }
  });

  test('the configuration of sendsms refuses unknown fields, a percent sign in the callback address, and characters that break header fields', () => {
    for (const wrong of [
      { hots: 'h' },
      { callbackUrl: 'http://h/%d' },
      { callbackUrl: 'ftp://h/' },
      { callbackSecret: 'short' },
      { callbackSecret: 'sixteen/and+more%d' },
      { password: 'p\r\nX: y' },
      { port: 0 },
      { window: 0 },
      { smscId: '' },
    ]) {
      assert.equal(kannelSendsmsConfig.safeParse({ ...least, ...wrong }).success, false, JSON.stringify(wrong));
    }
  });
});
