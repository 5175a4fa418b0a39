import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Exchange } from '../../src/asmx/endpoint.ts';
import { hashUserId } from '../../src/domain/accounts/credentials.ts';
import { accountChanges } from '../support/account-changes.ts';
import { adopt, protocolsFor } from '../support/contract-client.ts';
import { type Engine, engines, onEveryEngine } from '../support/engines.ts';
import { type Arguments, PROTOCOLS, type Protocol, requestOf } from '../support/protocols.ts';
import { ACME, GLOBEX, startService } from '../support/service.ts';
import { CALLS, changes, type Serving, serve } from '../support/serving.ts';
import { exchangeMessage, requestBytes, statusOf, textOf } from '../support/socket.ts';

/** The response cache of the whole service. Only SQLite can tell that nothing has changed. */
const isCached = ({ kind, operation, call }: Exchange) =>
  kind === 'ok' && operation !== undefined && call === undefined;

async function serveCounting(engine: Engine, settings = {}) {
  const exchanges: Exchange[] = [];
  const observe = (exchange: Exchange) => void exchanges.push(exchange);
  const serving = await serve(
    await engine.fresh('sample'),
    { observe },
    { responseCacheBytesMax: 2 ** 25, ...settings },
  );
  return { ...serving, exchanges };
}

const READS = CALLS.filter(([, operation]) => !changes(operation));
const DENIED = 403;

/** What an operator does about acme, and whether its user_id is valid then. */
const OPERATOR: Record<string, readonly [valid: boolean, (app: Serving['app']) => Promise<unknown>]> = {
  'is disabled': [false, (app) => accountChanges(app).setEnabled('acme', false)],
  'has its user_id revoked': [false, (app) => accountChanges(app).revokeUserId('acme', hashUserId(ACME).slice(0, 8))],
  'gets another user_id in place of the one it has': [false, (app) => accountChanges(app).rotateUserId('acme', true)],
  'gets a further user_id': [true, (app) => accountChanges(app).rotateUserId('acme', false)],
  'is disabled and enabled again': [
    true,
    async (app) => {
      const accounts = accountChanges(app);
      await accounts.setEnabled('acme', false);
      await accounts.setEnabled('acme', true);
    },
  ],
};

onEveryEngine('response cache of the service', (engine) => {
  for (const protocol of protocolsFor(engine)) {
    test(`Read with only a time of day returns the messages of the current day, also on the next day (${protocol})`, async () => {
      const service = await startService(engine);
      const ask = async () => {
        const args = { user_id: ACME, from: '00:00:00', to: '23:59:59', max_count: 10 };
        const { text } = await service.call(protocol, 'inbox', 'Read', args);
        return [...text.matchAll(/<id>(\d+)</g)].map((match) => match[1]);
      };
      try {
        for (const [day, ids] of [
          [1, ['1001', '1002']],
          [2, ['1003']],
          [3, ['1004', '1005']],
          [5, []],
        ] as const) {
          service.clock.now = Date.UTC(2026, 9, day, 12);
          for (const _ of [1, 2]) assert.deepEqual(await ask(), ids);
        }
      } finally {
        await service.stop();
      }
    });
  }

  for (const [what, [valid, work]] of Object.entries(OPERATOR)) {
    test(`an account that ${what} is ${valid ? 'still answered' : 'denied at once'}, however often it was answered before`, async () => {
      const { app, call } = await serveCounting(engine);
      try {
        for (const _ of [1, 2]) for (const each of READS) assert.equal((await call(...each)).status, 200);
        await work(app);
        for (const each of READS) assert.equal((await call(...each)).status, valid ? 200 : DENIED, each[1]);
        assert.equal((await call('inbox', 'CountUnread', { user_id: GLOBEX })).status, 200);
      } finally {
        await app.stop();
      }
    });
  }

  test('SQLite caches each response that changed nothing and depends on no clock; PostgreSQL caches none', async () => {
    const { app, call, exchanges } = await serveCounting(engine);
    try {
      for (const each of CALLS) for (const _ of [1, 2]) await call(...each);
      const cached = exchanges.filter(isCached).map(({ group, operation }) => `${group}.${operation}`);
      const reads = READS.map(([group, operation]) => `${group}.${operation}`).filter((name) => name !== 'inbox.Read');
      // Nothing is scheduled any more, so this call changes nothing either.
      const expected = [...reads, 'compose.DeleteAllScheduled'];
      assert.deepEqual(cached, engine === engines[0] ? expected : []);
    } finally {
      await app.stop();
    }
  });

  test('with COLUMBA_RESPONSE_CACHE_BYTES_MAX at 0 no response is cached', async () => {
    const { app, call, exchanges } = await serveCounting(engine, { responseCacheBytesMax: 0 });
    try {
      for (const each of READS) for (const _ of [1, 2]) await call(...each);
      assert.deepEqual(exchanges.filter(isCached), []);
    } finally {
      await app.stop();
    }
  });
});

/** Responses are compressed by their bytes, not by their characters: these have three bytes each. */
const WIDE = 'wide';
const wideAccount = { username: WIDE, userID: WIDE, templates: ['字'.repeat(400)], company: '字'.repeat(300) };

onEveryEngine('response cache over a socket', (engine) => {
  let serving: Awaited<ReturnType<typeof serveCounting>>;
  let address: string;
  before(async () => {
    serving = await serveCounting(engine);
    await adopt(serving.app, wideAccount);
    address = await serving.app.start();
  });
  after(() => serving.app.stop());

  async function ask(protocol: Protocol, group: string, operation: string, args: Arguments, fields: readonly string[]) {
    const { method, path, query, headers, bytes } = requestOf(protocol, group, operation, args);
    const own = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
    const start = `${method} ${path}${query && `?${query}`} HTTP/1.1`;
    const answer = await exchangeMessage(
      address,
      requestBytes(start, ['Host: h', 'Connection: close', ...own, ...fields], bytes),
    );
    assert.equal(statusOf(answer), 200, textOf(answer));
    const { date, 'x-request-id': id, ...rest } = answer.headers;
    return { start: answer.start, headers: rest, body: answer.body, text: textOf(answer) };
  }

  for (const userId of [ACME, WIDE]) {
    for (const fields of [[], ['Accept-Encoding: gzip']]) {
      const who = `${userId === WIDE ? 'wide characters' : 'the sample data'}, ${fields[0] ?? 'no Accept-Encoding'}`;
      test(`a cached response has the head and body of the first one (${who})`, async () => {
        for (const protocol of PROTOCOLS) {
          for (const [group, operation, args] of READS) {
            const question = [protocol, group, operation, { user_id: userId, ...args }, fields] as const;
            const [first, again] = [await ask(...question), await ask(...question)];
            assert.deepEqual(again, first, `${operation} (${protocol})`);
          }
        }
      });
    }
  }

  test('a response cached for a client with gzip is sent uncompressed to a client without', async () => {
    const question = ['get', 'inbox', 'InboxDS', { user_id: ACME, max_count: 7 }] as const;
    const compressed = await ask(...question, ['Accept-Encoding: gzip']);
    const plain = await ask(...question, []);
    assert.deepEqual([compressed.headers['content-encoding'], plain.headers['content-encoding']], ['gzip', undefined]);
    assert.equal(plain.body.toString('utf8'), compressed.text);
  });
});
