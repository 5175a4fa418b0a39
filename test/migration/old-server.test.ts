import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { contract } from '../../src/asmx/contract/contract.ts';
import type { Contract } from '../../src/asmx/contract/types.ts';
import type { Dialect } from '../../src/asmx/dialect/dialect.ts';
import { systemClock } from '../../src/base/clock.ts';
import {
  baseOf,
  createOldServer,
  isReading,
  OldServerBusy,
  OldServerUnreachable,
  retryAfter,
} from '../../src/migration/old-server/old-server.ts';
import type { OldServerTls } from '../../src/migration/old-server/server-tls.ts';
import { ODD_DIALECT } from '../support/odd-dialect.ts';
import { sampleData, USER_IDS } from '../support/old-server/sample.ts';
import { type OldServerProcess, startOldServer } from '../support/old-server/server.ts';
import { ODD_WAYS, PLAIN_WAYS } from '../support/old-server/ways.ts';

const NOW = Date.UTC(2026, 10, 15, 12);
const [ALPHA, BETA] = USER_IDS;
const PROTOCOLS = ['soap11', 'soap12', 'get', 'post'] as const;

const clientOf = (old: OldServerProcess, dialect: Dialect, more = {}) =>
  createOldServer({ url: old.url, dialect, ...more });

const ARGUMENTS: Record<string, unknown> = {
  groupid: 11,
  mobile: '+27820001010',
  from: NOW - 10 * 86_400_000,
  to: NOW,
  max_count: 1_000,
  max: 1_000,
};

describe('client of the old server', () => {
  let plain: OldServerProcess;
  let odd: OldServerProcess;
  before(async () => {
    plain = await startOldServer(sampleData(NOW), PLAIN_WAYS);
    odd = await startOldServer(sampleData(NOW), { ...ODD_WAYS, caps: {} });
  });
  after(() => Promise.all([plain.close(), odd.close()]));

  for (const protocol of PROTOCOLS) {
    test(`every reading operation returns the same values from a plain and an odd server in ${protocol}`, async () => {
      const plainClient = clientOf(plain, { namespace: PLAIN_WAYS.namespace });
      const oddClient = clientOf(odd, ODD_DIALECT);
      for (const [group, operations] of Object.entries(contract as Contract)) {
        for (const [operation, { parameters }] of Object.entries(operations)) {
          if (!isReading(group, operation)) continue;
          const args = Object.fromEntries(Object.keys(parameters).map((name) => [name, ARGUMENTS[name] ?? ALPHA]));
          const name = `${group}.${operation}`;
          const one = (await plainClient.call(group, operation, args, { protocol })).result;
          const other = (await oddClient.call(group, operation, args, { protocol })).result;
          assert(one.kind === 'value' && other.kind === 'value', `${name}: ${one.kind}, ${other.kind}`);
          assert.deepEqual(withOurWords(one.value), other.value, name);
          assert.equal(other.namespace, ODD_WAYS.namespace, name);
        }
      }
      plainClient.close();
      oddClient.close();
    });

    test(`a fault has its code and a text without the user_id in ${protocol}`, async () => {
      const client = clientOf(plain, { namespace: PLAIN_WAYS.namespace });
      const { result } = await client.call('account', 'Profile', { user_id: 'Unknown' }, { protocol });
      assert.equal(result.kind, 'fault');
      assert(result.kind === 'fault');
      assert.equal(result.code, { soap11: 'Server', soap12: 'Receiver', get: 'HTTP 500', post: 'HTTP 500' }[protocol]);
      assert.match(result.text, /… user_id\./);
      client.close();
    });

    test(`lists of texts and odd characters arrive unchanged in ${protocol}`, async () => {
      const client = clientOf(odd, ODD_DIALECT);
      const message = `a & b <c> "d" é 😀 ${protocol}`;
      const saved = await client.call('account', 'SaveMessageTemplate', { user_id: BETA, message }, { protocol });
      assert(saved.result.kind === 'value' && saved.result.value === true);
      assert(odd.data.accounts[1]?.templates.includes(message));
      const gone = await client.call(
        'account',
        'DeleteContact',
        { user_id: BETA, contact_id: ['1', '2'] },
        { protocol },
      );
      assert(gone.result.kind === 'value' && gone.result.value === false);
      client.close();
    });
  }

  test('a read is tried again after the pause that the server asks for, and a write is not', async () => {
    const pauses: number[] = [];
    const client = clientOf(
      plain,
      {},
      { retriesMax: 2, clock: { ...systemClock, sleep: async (ms: number) => void pauses.push(ms) } },
    );
    plain.busyFor = 1;
    const { result } = await client.call('inbox', 'CountUnread', { user_id: ALPHA });
    assert.equal(result.kind, 'value');
    assert.deepEqual(pauses, [1_000]);
    plain.busyFor = 1;
    const writing = client.call('inbox', 'MarkMessageAsRead', { user_id: ALPHA, message_id: '1' });
    await assert.rejects(writing, OldServerBusy);
    client.close();
  });

  test('without an answer the call ends with OldServerUnreachable', async () => {
    const client = clientOf(plain, {});
    plain.cutsFor = 1;
    await assert.rejects(client.call('inbox', 'CountUnread', { user_id: ALPHA }), OldServerUnreachable);
    plain.slowMs = 500;
    const hasty = clientOf(plain, {}, { timeoutMs: 20 });
    await assert.rejects(hasty.call('inbox', 'CountUnread', { user_id: ALPHA }), /No answer in 0\.02 seconds/);
    plain.slowMs = 0;
    const nobody = createOldServer({ url: 'http://127.0.0.1:1' });
    await assert.rejects(nobody.call('inbox', 'CountUnread', { user_id: ALPHA }), /ECONNREFUSED/);
    for (const each of [client, hasty, nobody]) each.close();
  });

  test('an answer that is larger than the limit is refused', async () => {
    const client = clientOf(plain, {}, { answerBytesMax: 1_000 });
    const fetching = client.call('sent', 'FetchSentDS', { user_id: ALPHA, max: 1_000 });
    await assert.rejects(fetching, /more than 1000 bytes/);
    client.close();
  });

  test('calls are sent at the given rate', async () => {
    const clock = { now: 0 };
    const sleep = async (ms: number) => {
      clock.now += ms;
    };
    const client = clientOf(plain, {}, { rate: 4, clock: { ...systemClock, now: () => clock.now, sleep } });
    for (let index = 0; index < 5; index++) await client.call('inbox', 'CountUnread', { user_id: ALPHA });
    assert.equal(clock.now, 1_000);
    assert.equal(client.requests, 5);
    client.close();
  });

  test('a certificate must be trusted, be named by --old-ca, or be accepted explicitly', async () => {
    const folder = new URL('./tls/', import.meta.url);
    const [cert, key] = ['certificate.pem', 'key.pem'].map((name) => readFileSync(new URL(name, folder), 'utf8'));
    const answer = `<long xmlns="${PLAIN_WAYS.namespace}">7</long>`;
    const server = createServer({ cert, key }, (_, response) => {
      response.writeHead(200, { 'Content-Type': 'text/xml; charset=utf-8' });
      response.end(answer);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const count = async (tls: OldServerTls) => {
      const client = createOldServer({ url, protocol: 'get', tls });
      const { result } = await client.call('inbox', 'CountRead', { user_id: ALPHA }).finally(() => client.close());
      return result.kind === 'value' ? result.value : result;
    };
    await assert.rejects(count({}), /certificate of the old server is not trusted .*--old-ca FILE/);
    assert.equal(await count({ ca: cert as string }), 7n);
    assert.equal(await count({ insecure: true }), 7n);
    server.close();
    server.closeAllConnections();
  });

  test('the error about a certificate that is too weak names both ways to accept it, and does not advise to try later', async () => {
    const folder = new URL('./tls/', import.meta.url);
    const [cert, key] = ['weak-certificate.pem', 'weak-key.pem'].map((name) =>
      readFileSync(new URL(name, folder), 'utf8'),
    );
    const server = createServer({ cert, key, ciphers: 'DEFAULT@SECLEVEL=0' }, (_, response) => {
      response.writeHead(200, { 'Content-Type': 'text/xml; charset=utf-8' });
      response.end(`<long xmlns="${PLAIN_WAYS.namespace}">7</long>`);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const count = async (tls: OldServerTls) => {
      const client = createOldServer({ url, protocol: 'get', tls });
      const { result } = await client.call('inbox', 'CountRead', { user_id: ALPHA }).finally(() => client.close());
      return result.kind === 'value' ? result.value : result;
    };
    const told = await count({}).catch((thrown: OldServerUnreachable) => thrown);
    assert(told instanceof OldServerUnreachable);
    assert.equal(told.isTemporary, false);
    assert.match(told.message, /too weak.*old\.example, issued by itself, a key of 768 bits.*SHA-256 D5:1E/);
    assert.match(told.message, /--old-ca FILE --old-legacy-tls, or .*--old-insecure-certificate/);
    assert.equal(await count({ ca: cert as string, legacy: true }), 7n);
    assert.equal(await count({ insecure: true }), 7n);
    server.close();
    server.closeAllConnections();
  });

  test('the address of one service or of all of them leads to the same base', () => {
    for (const url of ['http://old.example', 'http://old.example/', 'http://old.example/api/account.asmx?WSDL'])
      assert.equal(baseOf(url), 'http://old.example');
    assert.equal(baseOf('https://old.example:8443/sms/api/'), 'https://old.example:8443/sms');
    assert.throws(() => baseOf('ftp://old.example/'), /http or https/);
  });

  test('Retry-After is read as seconds and as a date', () => {
    assert.equal(retryAfter('7', 0), 7_000);
    assert.equal(retryAfter('Sun, 15 Nov 2026 12:00:30 GMT', NOW), 30_000);
    assert.equal(retryAfter('soon', NOW), null);
  });
});

/** What the plain server writes without a dialect: a status that is no word of ours stays. */
function withOurWords(value: unknown): unknown {
  const words = new Map(Object.entries(ODD_DIALECT.statusWords ?? {}).map(([ours, theirs]) => [String(theirs), ours]));
  if (!Array.isArray(value)) return value;
  return value.map((row) =>
    typeof row?.delivery_status === 'string'
      ? { ...row, delivery_status: words.get(row.delivery_status) ?? row.delivery_status }
      : row,
  );
}
