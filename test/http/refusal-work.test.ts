import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { BlockList } from 'node:net';
import { StatementSync } from 'node:sqlite';
import { after, before, test } from 'node:test';
import pg from 'pg';
import { pino } from 'pino';
import { systemClock } from '../../src/base/clock.ts';
import type { Reply } from '../../src/base/exchange.ts';
import { readConfig } from '../../src/config/settings.ts';
import { type App, createApp } from '../../src/serve/compose/contract.ts';
import type { Database } from '../../src/store/database.ts';
import { accountChanges } from '../support/account-changes.ts';
import { onOneEngine } from '../support/engines.ts';
import { account, document, importText } from '../support/import-files.ts';
import { PROTOCOLS, type Protocol, requestOf } from '../support/protocols.ts';
import { ACME, GLOBEX, textOf } from '../support/service.ts';

/**
 * Whether a user_id is unknown, revoked, disabled, restricted to other networks or no user_id at all cannot be told from the
 * answer, its size, or the work that was done for it: hashes, statements, checks of networks.
 */
const DENIED: Record<string, string | null> = {
  unknown: '00000000-0000-4000-8000-000000000000',
  revoked: GLOBEX,
  disabled: ACME,
  empty: '',
  blank: ' ',
  'as long as allowed': 'x'.repeat(128),
  'too long': 'x'.repeat(129),
  'much too long': 'x'.repeat(10_000),
  missing: null,
};

/** How often each method of the database was called. */
function counted(database: Database, counts: Map<string, number>): Database {
  return new Proxy(database, {
    get(target, name: keyof Database) {
      const method = target[name] as ((...args: unknown[]) => unknown) | undefined;
      if (!method) return method; // an await looks for `then`
      return (...args: unknown[]) => {
        counts.set(name, (counts.get(name) ?? 0) + 1);
        return method.apply(target, args);
      };
    },
  });
}

/** How often each is called, whoever calls it. */
function countCalls<T extends object>(
  prototype: T,
  names: readonly (keyof T & string)[],
  counted: () => void,
): () => void {
  const before = names.map((name) => [name, prototype[name]] as const);
  for (const [name, method] of before) {
    Object.assign(prototype, {
      [name](this: T, ...args: unknown[]) {
        counted();
        return (method as (...given: unknown[]) => unknown).apply(this, args);
      },
    });
  }
  return () => void Object.assign(prototype, Object.fromEntries(before));
}

const NETWORK = '198.51.100.0/24';
const INSIDE = '198.51.100.7';
const RESTRICTED = {
  restricted: '00000000-0000-4000-8000-000000000001',
  'restricted, and remembered': '00000000-0000-4000-8000-000000000002',
};

const CALLS: readonly (readonly [group: string, operation: string, args: Record<string, string>])[] = [
  ['inbox', 'CountUnread', {}],
  ['account', 'SaveMessageTemplate', { message: 'x' }],
  ['inbox', 'Unread', { max_count: '-1' }],
];

onOneEngine('a user_id that is not valid', (engine) => {
  const counts = new Map<string, number>();
  let app: App;
  let hashes = 0;
  let statements = 0;
  let checks = 0;
  const { hash } = crypto;
  const undo: (() => void)[] = [];
  const denied = { ...DENIED, ...RESTRICTED };

  before(async () => {
    const database = await engine.fresh('sample');
    app = await createApp(readConfig({ COLUMBA_DATABASE: database }), {
      clock: { ...systemClock, sleep: async () => {} },
      log: pino({ level: 'silent' }),
      database: (opened) => counted(opened, counts),
    });
    await accountChanges(app).rotateUserId('globex', true);
    await accountChanges(app).setEnabled('acme', false);
    for (const [what, userID] of Object.entries(RESTRICTED)) {
      const restricted = account(what, { userID, allowedNetworks: NETWORK });
      assert.deepEqual((await importText(app, document(restricted))).mistakes, []);
    }
    const count = () => void statements++;
    undo.push(countCalls(StatementSync.prototype, ['get', 'all', 'run'], count));
    undo.push(countCalls(pg.Client.prototype as { query: unknown }, ['query'], count));
    undo.push(countCalls(BlockList.prototype, ['check'], () => void checks++));
    crypto.hash = ((...args: Parameters<typeof hash>) => {
      hashes += 1;
      return hash(...args);
    }) as typeof hash;
    syncBuiltinESMExports();
  });
  after(async () => {
    crypto.hash = hash;
    syncBuiltinESMExports();
    for (const each of undo) each();
    await app.stop();
  });

  async function ask(
    protocol: Protocol,
    [group, operation, args]: (typeof CALLS)[number],
    user_id: string | null,
    client = '192.0.2.1',
  ) {
    const { bytes, ...request } = requestOf(protocol, group, operation, { user_id, ...args });
    return app.endpoint({
      ...request,
      base: 'http://h',
      client,
      body: async () => Buffer.from(bytes),
    } as Parameters<App['endpoint']>[0]);
  }
  /** An answer to the last byte, and what was done for it. */
  async function seen(work: () => Promise<Reply>) {
    counts.clear();
    hashes = statements = checks = 0;
    const reply = await work();
    const text = await textOf(reply);
    return {
      ...reply,
      text,
      body: Buffer.byteLength(text),
      hashes,
      statements,
      checks,
      calls: Object.fromEntries(counts),
    };
  }

  for (const protocol of PROTOCOLS) {
    test(`an invalid user_id in ${protocol} gets the same answer after the same work, whatever is wrong with it`, async () => {
      for (const call of CALLS) {
        await ask(protocol, call, '-'); // it connects, and prepares the statement
        const first = await seen(() => ask(protocol, call, DENIED.unknown as string));
        assert.match(first.text, /The user_id is not valid\./);
        assert.equal(first.hashes, 1);
        assert.equal(first.checks, 1);
        assert.ok(first.statements > 0);
        assert.equal(first.calls.identify, 1);
        for (const [what, userId] of Object.entries(denied)) {
          if (what.endsWith('remembered')) {
            assert.equal((await ask(protocol, ['inbox', 'CountUnread', {}], userId, INSIDE)).status, 200);
          }
          assert.deepEqual(await seen(() => ask(protocol, call, userId)), first, `${what}, ${call[1]}`);
        }
      }
    });
  }
});
