import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer as createHttp } from 'node:http';
import { createServer as createHttps } from 'node:https';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { engines } from '../support/engines.ts';
import { requestOf } from '../support/protocols.ts';
import { type Proxied, startProxied } from '../support/proxied.ts';
import { ACME } from '../support/service.ts';

/** What a client gets through the proxy, byte by byte, against the old server alone. */

const [sqlite] = engines;
assert.ok(sqlite);

const listening = (server: Server): Promise<string> =>
  new Promise((resolve) =>
    server.listen(0, '127.0.0.1', () => resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)),
  );

/** An old server that sends the given bytes, and keeps what it was sent. */
async function scriptedServer(t: TestContext, answer: string) {
  const received: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    let text = '';
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      const [head = '', body] = text.split(/\r\n\r\n(.*)/s, 2);
      const length = Number(/content-length: *(\d+)/i.exec(head)?.[1] ?? 0);
      const isChunked = /transfer-encoding: *chunked/i.test(head);
      if (body === undefined || (isChunked ? !body.endsWith('0\r\n\r\n') : body.length < length)) return;
      received.push(text);
      text = '';
      socket.write(Buffer.from(answer, 'latin1'));
    });
  });
  const url = await listening(server);
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { url, received };
}

/** All that a client is told until `isWhole`, as one character a byte. */
function told(address: string, bytes: string, isWhole: (text: string) => boolean): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(new URL(address).port), '127.0.0.1', () => socket.write(bytes, 'latin1'));
    let text = '';
    socket.on('error', reject);
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
      if (isWhole(text)) socket.destroy();
    });
    socket.on('close', () => resolve(text));
  });
}

/** A certificate for 127.0.0.1 that nobody signed, as old servers have them. It is valid until 2126. */
const [KEY, CERTIFICATE] = ['key', 'certificate'].map((name) =>
  readFileSync(new URL(`tls/${name}.pem`, import.meta.url), 'utf8'),
) as [string, string];

const BODY = '<?xml version="1.0" encoding="utf-8"?>\r\n<long xmlns="http://sms.example/api">4\u00e9</long>';
const OLD_ANSWER =
  'HTTP/1.1 200 Fine\r\nCACHE-control: private, max-age=0\r\nContent-Type: text/xml; charset=utf-8\r\n' +
  'Server: Microsoft-IIS/6.0\r\nX-Powered-By: ASP.NET\r\nx-AspNet-Version: 1.1.4322\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\n' +
  `Date: Sun, 15 Nov 2026 12:00:00 GMT\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`;

const REQUEST =
  `GET /api/inbox.asmx/CountUnread?user_id=${ACME}&x=%C3%A9+%zz HTTP/1.1\r\nhOst: old.example\r\nuser-AGENT: Old  Client/1.0\r\n` +
  'X-Twice: 1\r\nX-Twice: 2\r\nAccept: */*\r\n\r\n';

/** Without what belongs to one connection. */
const endToEndPart = (text: string): string => text.replaceAll(/^(?:Connection|Keep-Alive): [^\r]*\r\n/gim, '');
const isAnswered = (text: string): boolean => text.includes('</long>') || text.includes('</soap:Envelope>');

/** Columba's side in each kind of trouble: the address that the proxy is given. */
const TROUBLES: Readonly<Record<string, (t: TestContext) => Promise<string>>> = {
  'is down': async () => 'http://127.0.0.1:1',
  'never answers': async (t) => {
    const server = createServer((socket) => void socket.on('error', () => {}));
    t.after(() => server.close());
    return listening(server);
  },
  'answers 500': async (t) => {
    const server = createHttp((_, response) => response.writeHead(500).end('broken'));
    t.after(() => server.close());
    return listening(server);
  },
  'closes in the middle': async (t) => {
    const server = createHttp((request, response) => {
      response.writeHead(200, { 'Content-Length': 1_000 }).write('<lo');
      setImmediate(() => request.socket.destroy());
    });
    t.after(() => server.close());
    return listening(server);
  },
};

for (const [trouble, addressOf] of Object.entries(TROUBLES)) {
  test(`a client gets the bytes of the old server when Columba ${trouble}`, async (t) => {
    const old = await scriptedServer(t, OLD_ANSWER);
    const newUrl = await addressOf(t);
    const proxied = await startProxied(t, sqlite, { oldUrl: old.url, newUrl, newTimeoutMs: 50 });
    await proxied.stage('compare');
    const direct = await told(old.url, REQUEST, isAnswered);
    const through = await told(proxied.address, REQUEST, isAnswered);
    assert.equal(endToEndPart(through), direct);
    await proxied.migration.settled();
    assert.equal(proxied.migration.pendingCounts.sinceStart.get('failed'), 1);
  });
}

test('the old server gets the head and the body of a request as they were sent', async (t) => {
  const old = await scriptedServer(t, OLD_ANSWER);
  const { address } = await startProxied(t, sqlite, { oldUrl: old.url });
  const { bytes } = requestOf('soap11', 'inbox', 'CountUnread', { user_id: ACME });
  const post =
    `POST /api/inbox.asmx HTTP/1.1\r\nHost: old.example\r\nCONTENT-type: text/xml;charset=utf-8\r\nSoapAction: "x"\r\nX-Odd:  two  blanks\r\n` +
    `content-LENGTH: ${Buffer.byteLength(bytes)}\r\n\r\n${bytes}`;
  await told(address, post, isAnswered);
  await told(address, REQUEST, isAnswered);
  // Blanks around a value are no part of it (RFC 9112 §5).
  assert.deepEqual(old.received.map(endToEndPart), [post.replace('X-Odd:  two', 'X-Odd: two'), REQUEST]);
});

test('a chunked request reaches the old server with the same body', async (t) => {
  const old = await scriptedServer(t, OLD_ANSWER);
  const { address, recorded } = await startProxied(t, sqlite, { oldUrl: old.url });
  const form = `user_id=${ACME}`;
  const halves = [form.slice(0, 9), form.slice(9)].map((half) => `${half.length.toString(16)}\r\n${half}\r\n`);
  const post =
    'POST /api/inbox.asmx/CountUnread HTTP/1.1\r\nHost: old.example\r\nContent-Type: application/x-www-form-urlencoded\r\n' +
    `Transfer-Encoding: chunked\r\n\r\n${halves.join('')}0\r\n\r\n`;
  await told(address, post, isAnswered);
  const [, body = ''] = old.received[0]?.split(/\r\n\r\n(.*)/s) ?? [];
  assert.equal(body.replaceAll(/(?:^|\r\n)[0-9a-f]+\r\n/g, '').replace(/\r\n$/, ''), form);
  assert.equal((await recorded())[0]?.operation, 'CountUnread');
});

test('a plain pass-through reads no call and records nothing, and can be ended', async (t) => {
  const old = await scriptedServer(t, OLD_ANSWER);
  const { address, migration, recorded } = await startProxied(t, sqlite, { oldUrl: old.url });
  await migration.setPassThrough(true);
  assert.equal(endToEndPart(await told(address, REQUEST, isAnswered)), OLD_ANSWER);
  await migration.setPassThrough(false);
  await told(address, REQUEST, isAnswered);
  assert.equal((await recorded()).length, 1);
});

test('a body beyond the limit is passed to the old server unchanged', async (t) => {
  const old = await scriptedServer(t, OLD_ANSWER);
  const { address } = await startProxied(t, sqlite, { oldUrl: old.url });
  const body = `user_id=${ACME}&message=${'m'.repeat(3_000_000)}`;
  const post = `POST /api/account.asmx/SaveMessageTemplate HTTP/1.1\r\nHost: old.example\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  assert.equal(endToEndPart(await told(address, post, isAnswered)), OLD_ANSWER);
  assert.equal(endToEndPart(old.received[0] ?? ''), post);
});

test('an old server that is down is answered with 502, and one that closes without an answer closes the connection of the client', async (t) => {
  const { address } = await startProxied(t, sqlite, { oldUrl: 'http://127.0.0.1:1' });
  assert.match(await told(address, REQUEST, () => false), /^HTTP\/1\.1 502 Bad Gateway\r\n/);
  const closing = createServer((socket) => void socket.on('data', () => socket.destroy()).on('error', () => {}));
  const other = await startProxied(t, sqlite, { oldUrl: await listening(closing) });
  t.after(() => closing.close());
  assert.equal(await told(other.address, REQUEST, () => false).catch(() => ''), '');
});

test('an untrusted certificate of the old server is accepted only if an option says so', async (t) => {
  const server = createHttps({ key: KEY, cert: CERTIFICATE }, (_, response) => response.end(BODY));
  const url = (await listening(server)).replace('http:', 'https:');
  t.after(() => server.close());
  const isWhole = (text: string) => text.includes('\r\n\r\n');
  const statusOf = async ({ address }: Proxied) => (await told(address, REQUEST, isWhole)).slice(9, 12);
  assert.equal(await statusOf(await startProxied(t, sqlite, { oldUrl: url })), '502');
  assert.equal(await statusOf(await startProxied(t, sqlite, { oldUrl: url, oldTls: { ca: CERTIFICATE } })), '200');
  assert.equal(await statusOf(await startProxied(t, sqlite, { oldUrl: url, oldTls: { insecure: true } })), '200');
});

test('a full queue drops comparisons, counts them, and delays no client', async (t) => {
  const stalled = createServer((socket) => void socket.on('error', () => {}));
  t.after(() => stalled.close());
  const newUrl = await listening(stalled);
  const { call, stage, migration } = await startProxied(t, sqlite, { newUrl, newTimeoutMs: 500, queueItemsMax: 5 });
  await stage('compare');
  for (let calls = 0; calls < 20; calls++) {
    assert.equal((await call('get', 'inbox', 'CountUnread', { user_id: ACME })).status, 200);
  }
  assert.ok((migration.pendingCounts.sinceStart.get('dropped') ?? 0) > 0);
});
