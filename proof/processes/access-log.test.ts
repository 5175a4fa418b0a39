import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { describe, test } from 'node:test';
import { accountByName } from '../../src/domain/accounts/accounts.sql.ts';
import { traceparentOf } from '../../src/http/request-id.ts';
import { type Engine, onEveryEngine } from '../../test/support/engines.ts';
import { openStore } from '../../test/support/opened-database.ts';
import { until } from '../../test/support/program.ts';
import { PROTOCOLS, requestOf } from '../../test/support/protocols.ts';
import { ACME, GLOBEX } from '../../test/support/service.ts';
import { CALLS } from '../../test/support/serving.ts';
import { exchangeMessage, requestBytes, statusOf } from '../../test/support/socket.ts';
import { type LogLine, withObservedServer } from '../../test/support/telemetry-output.ts';

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c';
const SPAN_ID = 'b7ad6b7169203331';
const TRACEPARENT = `00-${TRACE_ID}-${SPAN_ID}-01`;

const COUNT = `/api/inbox.asmx/CountUnread?user_id=${ACME}`;
const NEW_ID = /^[0-9a-f]{12}-[0-9a-z]+$/;

async function ask(address: string, target: string, fields: Record<string, string> = {}): Promise<Response> {
  const answer = await fetch(address + target, { headers: fields });
  await answer.arrayBuffer();
  return answer;
}

const idOf = (answer: Response): string => answer.headers.get('x-request-id') ?? assert.fail('no X-Request-Id');

onEveryEngine('request ids', (engine) => {
  const GIVEN: [what: string, id: string, isUsed: boolean][] = [
    ['of one character', 'a', true],
    ['of 64 characters', 'x'.repeat(64), true],
    ['of every character that it may have', 'AZaz09._-', true],
    ['that is a UUID', '3f9c1e0d-6b1a-4a63-9b57-2f5f0a7d1c12', true],
    ['of 65 characters', 'x'.repeat(65), false],
    ['with a blank', 'a b', false],
    ['with a quote', 'a"b', false],
    ['with a slash', 'a/b', false],
    ['with what ends a line in a terminal', 'a%0d%0ab', false],
    ['that is empty', '', false],
  ];

  test('a valid request id of the client is used in the answer and in the log, and replaced by a new one otherwise', async () => {
    const answered: string[] = [];
    const { calls } = await withObservedServer(engine, {}, async ({ address }) => {
      for (const [, id] of GIVEN) answered.push(idOf(await ask(address, COUNT, { 'X-Request-Id': id })));
    });
    for (const [index, [what, id, isUsed]] of GIVEN.entries()) {
      const given = answered[index] as string;
      if (isUsed) assert.equal(given, id, what);
      else assert.match(given, NEW_ID, what);
    }
    assert.deepEqual(
      calls().map(({ request_id }) => request_id),
      answered,
    );
    const made = answered.filter((id) => NEW_ID.test(id));
    assert.equal(new Set(made).size, made.length, 'one was made twice');
  });

  test('every answer has a request id, also pages, descriptions, errors, health checks and bytes that are no request', async () => {
    await withObservedServer(engine, {}, async ({ address }) => {
      const targets = [
        ...['/', '/nowhere', '/api/inbox.asmx', '/api/inbox.asmx?wsdl', '/health/live', '/health/ready'],
        ...[
          '/api/inbox.asmx/Nope',
          '/api/inbox.asmx/CountUnread',
          `/api/inbox.asmx/Unread?user_id=${ACME}&max_count=x`,
        ],
      ];
      for (const target of targets) assert.match(idOf(await ask(address, target)), NEW_ID, target);
      const long = await fetch(`${address}/api/inbox.asmx`, { method: 'PUT', headers: { 'X-Request-Id': 'put' } });
      assert.equal(idOf(long), 'put');
      const given = { 'GET / HTTP/9.9': /^given$/, 'no request at all': NEW_ID, 'GET / HTTP/1.1 x': NEW_ID };
      for (const [start, id] of Object.entries(given)) {
        const answer = await exchangeMessage(address, requestBytes(start, ['Host: h', 'X-Request-Id: given']));
        assert.equal(statusOf(answer), 400, start);
        assert.match(answer.headers['x-request-id'] ?? '', id, start);
      }
    });
  });
});

describe('traceparent', () => {
  const CASES: [what: string, field: string, isValid: boolean][] = [
    ['of version 00', TRACEPARENT, true],
    ['that is not sampled', `00-${TRACE_ID}-${SPAN_ID}-00`, true],
    ['of a later version', `01-${TRACE_ID}-${SPAN_ID}-01`, true],
    ['of a later version with more behind it', `cc-${TRACE_ID}-${SPAN_ID}-01-what-comes-later`, true],
    ['of version ff', `ff-${TRACE_ID}-${SPAN_ID}-01`, false],
    ['of version 00 with more behind it', `${TRACEPARENT}-more`, false],
    ['of a later version with more that no dash parts', `01-${TRACE_ID}-${SPAN_ID}-01more`, false],
    ['in capital letters', TRACEPARENT.toUpperCase(), false],
    ['whose trace id is all zero', `00-${'0'.repeat(32)}-${SPAN_ID}-01`, false],
    ['whose span id is all zero', `00-${TRACE_ID}-${'0'.repeat(16)}-01`, false],
    ['that is too short', TRACEPARENT.slice(0, -1), false],
    ['that came twice', `${TRACEPARENT}, ${TRACEPARENT}`, false],
    ['that is empty', '', false],
  ];
  for (const [what, field, isValid] of CASES) {
    test(`a traceparent ${what} is ${isValid ? 'used' : 'ignored'}`, () =>
      assert.equal(traceparentOf(field), isValid ? field : undefined));
  }
});

const withoutTimes = ({ time, durationMs, request_id, level, msg, ...rest }: LogLine) => rest;
/** The same in every run of these tests. */
const KEY = { COLUMBA_LOG_KEY: 'a key' };

async function logged(engine: Engine, work: (address: string) => Promise<void>): Promise<LogLine[]> {
  const { calls } = await withObservedServer(engine, { env: KEY }, ({ address }) => work(address));
  return calls();
}

onEveryEngine('the log line of a call', (engine) => {
  test('the log line of a call says what was called, how it ended, how long it took, who called and from where', async () => {
    const lines = await logged(engine, async (address) => {
      await ask(address, COUNT, { traceparent: TRACEPARENT });
      await ask(address, COUNT);
      await ask(address, COUNT.replace(ACME, GLOBEX));
      await ask(address, COUNT.replace(ACME, 'nobody'));
      await ask(address, `/api/inbox.asmx/Unread?user_id=${ACME}&max_count=many`);
      await ask(address, '/api/inbox.asmx/Nope?user_id=x');
      await ask(address, '/api/inbox.asmx?wsdl');
      await ask(address, '/');
    });
    for (const { time, durationMs, level } of lines) {
      assert.equal(new Date(time as string).toISOString(), time);
      assert.ok(typeof durationMs === 'number' && durationMs >= 0 && durationMs < 60_000);
      assert.equal(level, 30);
    }
    const [acme, , globex] = lines.map(({ account }) => account);
    const call = {
      group: 'inbox',
      operation: 'CountUnread',
      form: 'get',
      kind: 'ok',
      status: 200,
      client: '127.0.0.1',
    };
    const wrong = { ...call, kind: 'bad-argument', status: 400 };
    const seen = lines.map(withoutTimes).map(({ bytes, ...rest }) => ({ ...rest, hasBytes: Number(bytes) > 0 }));
    const expected = [
      { ...call, trace_id: TRACE_ID, account: acme },
      { ...call, account: acme },
      { ...call, account: globex },
      { ...call, kind: 'denied', status: 403 },
      { ...wrong, operation: 'Unread' },
      { group: 'inbox', form: 'get', kind: 'unknown-operation', status: 404, client: '127.0.0.1' },
      { group: 'inbox', kind: 'ok', status: 200, client: '127.0.0.1' },
      { kind: 'ok', status: 200, client: '127.0.0.1' },
    ];
    assert.deepEqual(
      seen,
      expected.map((line) => ({ ...line, hasBytes: true })),
    );
    assert.notEqual(acme, globex);
  });

  test('the log line of a call names an account by 12 digits of the HMAC of its number, under the key of the settings', async () => {
    let number: bigint | undefined;
    const { calls } = await withObservedServer(engine, { env: KEY }, async ({ address, database }) => {
      await ask(address, COUNT);
      const store = await openStore(database);
      number = (await store.first(accountByName, { username: 'acme' }))?.account_id;
      await store.close();
    });
    const hmac = createHmac('sha256', KEY.COLUMBA_LOG_KEY).update(String(number)).digest('hex');
    assert.equal(calls()[0]?.account, hmac.slice(0, 12));
  });

  test('without a key in the settings, the log names an account differently after every start, and alike in all workers', async () => {
    const accounts: unknown[][] = [];
    for (const _ of [1, 2]) {
      const { calls } = await withObservedServer(engine, { args: ['--workers', '2'] }, async ({ address, lines }) => {
        await until('two workers serve', () => lines().filter(({ msg }) => msg === 'serving').length === 2);
        for (const _ of Array(12)) await ask(address, COUNT, { Connection: 'close' });
      });
      const ids = calls().map(({ request_id }) => String(request_id).split('-')[0]);
      assert.equal(new Set(ids).size, 2, 'one of the workers was asked nothing');
      accounts.push([...new Set(calls().map(({ account }) => account))]);
    }
    assert.deepEqual(
      accounts.map(({ length }) => length),
      [1, 1],
    );
    assert.notDeepEqual(accounts[0], accounts[1]);
  });

  test('every operation in every protocol has a line in the access log, with the bytes of its response', async () => {
    const sizes: number[] = [];
    const lines = await logged(engine, async (address) => {
      for (const form of PROTOCOLS) {
        for (const [group, operation, args] of CALLS) {
          const { method, path, query, headers, bytes } = requestOf(form, group, operation, { user_id: ACME, ...args });
          const target = `${address}${path}${query && `?${query}`}`;
          const given = { ...(headers as Record<string, string>), 'Accept-Encoding': 'identity' };
          const answer = await fetch(target, { method, headers: given, ...(bytes && { body: bytes }) });
          sizes.push((await answer.arrayBuffer()).byteLength);
        }
      }
    });
    assert.deepEqual(
      lines.map(({ form, group, operation, kind }) => [form, group, operation, kind].join()),
      PROTOCOLS.flatMap((form) => CALLS.map(([group, operation]) => [form, group, operation, 'ok'].join())),
    );
    assert.deepEqual(
      lines.map(({ bytes }) => bytes),
      sizes,
    );
    assert.equal(new Set(lines.map(({ account }) => account)).size, 1);
  });

  test('health checks have no line in the access log', async () => {
    const lines = await logged(engine, async (address) => {
      for (const target of ['/health/live', '/health/ready']) await ask(address, target);
    });
    assert.deepEqual(lines, []);
  });
});
