import assert from 'node:assert/strict';
import { createServer, request as requestHttp, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { deflateRawSync } from 'node:zlib';
import { importAccounts } from '../../src/migration/copy/import.ts';
import { createOldServer } from '../../src/migration/old-server/old-server.ts';
import { createMigrationCounts } from '../../src/migration/stages/counts.ts';
import { accountIdNamed } from '../../src/migration/stages/migrated-accounts.ts';
import { engines } from '../support/engines.ts';
import { requestOf } from '../support/protocols.ts';
import { send, startProxied } from '../support/proxied.ts';
import { ACME } from '../support/service.ts';

/** An old server at its worst. Clients get its bytes; the kit neither breaks nor believes them. */

const [sqlite] = engines;
assert.ok(sqlite);

const SECRET = 'Secret text 0825550201';
const XML = 'text/xml; charset=utf-8';
const unread = (text: string) =>
  `<?xml version="1.0" encoding="utf-8"?><ArrayOfReceivedMessage xmlns="http://sms.example/api"><ReceivedMessage><id>1001</id><message>${text}</message></ReceivedMessage></ArrayOfReceivedMessage>`;

interface Odd {
  readonly status: number;
  readonly type: string;
  readonly body: Uint8Array;
  readonly coding?: string;
  /** What the comparison says; anything but a difference would hide it. */
  readonly outcome: 'different' | 'skipped';
}
const ODD: Readonly<Record<string, Odd>> = {
  'an error page of HTML': {
    status: 500,
    type: 'text/html',
    body: Buffer.from(`<html><title>Runtime Error</title><pre>${SECRET}</pre></html>`),
    outcome: 'different',
  },
  'a page of HTML with status 200': {
    status: 200,
    type: 'text/html; charset=utf-8',
    body: Buffer.from(`<!DOCTYPE html><html><body>${SECRET}<br></body></html>`),
    outcome: 'different',
  },
  'XML that is cut off': {
    status: 200,
    type: XML,
    body: Buffer.from(unread(SECRET).slice(0, -30)),
    outcome: 'different',
  },
  'windows-1252 that says UTF-8': {
    status: 200,
    type: XML,
    body: Buffer.from(unread(`${SECRET} caf\u00e9`), 'latin1'),
    outcome: 'different',
  },
  'UTF-16 with a byte order mark': {
    status: 200,
    type: 'text/xml; charset=utf-16',
    body: Buffer.from(`\ufeff${unread(SECRET).replace('utf-8', 'utf-16')}`, 'utf16le'),
    outcome: 'different',
  },
  'an empty body': { status: 200, type: XML, body: Buffer.alloc(0), outcome: 'different' },
  'a content coding that it is not': {
    status: 200,
    type: XML,
    coding: 'gzip',
    body: deflateRawSync(Buffer.from(unread(SECRET))),
    outcome: 'different',
  },
  'elements within elements, 20,000 deep': {
    status: 200,
    type: XML,
    body: Buffer.from(`${'<a>'.repeat(20_000)}${SECRET}${'</a>'.repeat(20_000)}`),
    outcome: 'different',
  },
  'a document type with entities': {
    status: 200,
    type: XML,
    body: Buffer.from(`<!DOCTYPE a [<!ENTITY b "${SECRET}"><!ENTITY c "&b;&b;&b;">]>${unread('&c;&c;')}`),
    outcome: 'different',
  },
  'a pause of a gateway': {
    status: 503,
    type: 'text/html',
    body: Buffer.from(`<html>Service Unavailable ${SECRET}</html>`),
    outcome: 'skipped',
  },
};

async function startOdd(t: TestContext): Promise<{ url: string; answer: Odd }> {
  const server = createServer((request, response: ServerResponse) => {
    request.resume().on('end', () => {
      const { status, type, body, coding } = odd.answer;
      const more = coding === undefined ? {} : { 'Content-Encoding': coding };
      response.writeHead(status, { 'Content-Type': type, 'Content-Length': body.length, ...more }).end(body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const odd = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    answer: ODD['an empty body'] as Odd,
  };
  return odd;
}

/** A connection for each: nobody closes an idle one. */
function exchange(target: URL, method: string, headers: Record<string, string>, bytes: string) {
  return new Promise<{ status: number; body: Buffer }>((resolve, reject) => {
    const length = { 'Content-Length': Buffer.byteLength(bytes) };
    const sent = requestHttp(target, { method, headers: { ...headers, ...length }, agent: false }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk) => chunks.push(chunk)).on('error', reject);
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, body: Buffer.concat(chunks) }));
    });
    sent.on('error', reject).end(bytes);
  });
}

test('odd answers of the old server reach the client unchanged, are counted, and change nothing in Columba', async (t) => {
  const odd = await startOdd(t);
  const { stage, migration, address, service, failures } = await startProxied(t, sqlite, { oldUrl: odd.url });
  await stage('compare');
  const { database } = service.app;
  const now = () => service.clock.now;
  const client = createOldServer({ url: odd.url, retriesMax: 0 });
  t.after(() => client.close());
  for (const [name, answer] of Object.entries(ODD)) {
    odd.answer = answer;
    const before = migration.pendingCounts.sinceStart.get(answer.outcome) ?? 0;
    for (const protocol of ['get', 'soap11', 'soap12'] as const) {
      const { method, path, query, headers, bytes } = requestOf(protocol, 'inbox', 'Unread', {
        user_id: ACME,
        max_count: 5,
      });
      const target = new URL(query === '' ? path : `${path}?${query}`, address);
      const given = await exchange(target, method, headers as Record<string, string>, bytes);
      assert.deepEqual([given.status, given.body], [answer.status, answer.body], name);
    }
    // A write that the old server did not surely do is not done here.
    await send(address, 'post', 'account', 'SaveMessageTemplate', { user_id: ACME, message: name }).catch(() => {});
    await migration.settled();
    assert.equal(
      (migration.pendingCounts.sinceStart.get(answer.outcome) ?? 0) - before,
      name.includes('pause') ? 4 : 3,
      `${name}: ${JSON.stringify([...migration.pendingCounts.sinceStart])}`,
    );
    const report = await importAccounts({ database, old: client, dialect: {}, effects: {}, now }, [
      { line: 1, userId: 'new-user' },
    ]);
    const isRefused = report.isRetryable || report.accounts.every(({ outcome }) => outcome === 'failed');
    assert.ok(isRefused, name);
    assert.doesNotMatch(JSON.stringify(report), /Secret|5550201/, name);
  }
  await migration.pendingCounts.flush();
  const { examples } = await createMigrationCounts(database, now).since(7);
  assert.doesNotMatch(JSON.stringify(examples), /Secret|5550201/);
  assert.doesNotMatch(failures.join(), /Secret|5550201/);
  assert.equal(await accountIdNamed(database, 'new-user'), null);
  const templates = (await service.call('get', 'account', 'FetchSavedMessages', { user_id: ACME })).text;
  for (const name of Object.keys(ODD)) assert.ok(!templates.includes(name), name);
});

test('a request and an answer that are too long to compare are passed on whole, and counted as dropped', async (t) => {
  const odd = await startOdd(t);
  const { call, stage, migration, failures } = await startProxied(t, sqlite, { oldUrl: odd.url });
  await stage('compare');
  const text = unread('m'.repeat(6_000_000));
  odd.answer = { status: 200, type: XML, body: Buffer.from(text), outcome: 'different' };
  assert.equal((await call('get', 'inbox', 'Unread', { user_id: ACME, max_count: 5 })).text, text);
  await migration.settled();
  assert.equal(migration.pendingCounts.sinceStart.get('dropped'), 1);
  const message = 'm'.repeat(3_000_000);
  for (const protocol of ['soap11', 'soap12', 'post'] as const) {
    await call(protocol, 'account', 'SaveMessageTemplate', { user_id: ACME, message });
  }
  // They are counted when the client has its answer.
  for (let tries = 0; tries < 500 && migration.pendingCounts.sinceStart.get('dropped') !== 4; tries++) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  assert.equal(migration.pendingCounts.sinceStart.get('dropped'), 4);
  assert.deepEqual([migration.pendingCounts.sinceStart.get('different'), failures], [undefined, []]);
});

test('100 clients at once get the answers of the old server, and every call is counted once', async (t) => {
  const odd = await startOdd(t);
  const { address, stage, migration, service } = await startProxied(t, sqlite, { oldUrl: odd.url });
  await stage('compare');
  const args = { user_id: ACME, max_count: 100 };
  const { text: expected } = await service.call('get', 'inbox', 'Unread', args);
  odd.answer = { status: 200, type: XML, body: Buffer.from(expected), outcome: 'different' };
  const client = async (): Promise<void> => {
    for (let calls = 0; calls < 2; calls++) {
      const { status, text } = await send(address, 'get', 'inbox', 'Unread', args);
      assert.deepEqual([status, text], [200, expected]);
    }
  };
  await Promise.all(Array.from({ length: 100 }, client));
  await migration.settled();
  // On a busy machine Columba refuses some, which is a failure and no difference.
  const counted = ['equal', 'dropped', 'failed'].map((name) => migration.pendingCounts.sinceStart.get(name) ?? 0);
  assert.equal(
    counted.reduce((sum, count) => sum + count, 0),
    200,
  );
  assert.equal(migration.pendingCounts.sinceStart.get('different'), undefined);
});
