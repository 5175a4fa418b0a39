import assert from 'node:assert/strict';
import { once } from 'node:events';
import { before, type TestContext, test } from 'node:test';
import pg from 'pg';
import { systemClock } from '../../../src/base/clock.ts';
import { DriverChanged, tryFast } from '../../../src/store/postgres/prepared-query.ts';
import { type Engine, engines } from '../../support/engines.ts';
import { openStore, sql } from '../../support/opened-database.ts';
import { onPostgres } from '../../support/postgres-engines.ts';
import { CALLS, changes, serve } from '../../support/serving.ts';

/** src/store/postgres/driver-query.ts uses the inside of `pg`, which another version may change. */

const { query: queryOfDriver } = pg.Client.prototype;
type Custom = pg.Query & { handleError(error: Error): void; callback: unknown };
const isCustom = (config: unknown): config is Custom => typeof (config as Partial<pg.Query>)?.submit === 'function';

/** What another version might do with a query of our own class. */
const CHANGES: Readonly<Record<string, (config: Custom, pass: () => unknown) => unknown>> = {
  'takes no such query': (config) => {
    process.nextTick(() => config.handleError(new Error('not supported')));
    return config;
  },
  'throws at once': () => {
    throw new TypeError('query.then is not a function');
  },
  'reads the rows itself': (config, pass) => {
    Object.assign(config, { handleDataRow: () => {} });
    return pass();
  },
  'sends rows in another form': (config, pass) => {
    const own = Reflect.get(config, 'handleDataRow');
    Object.assign(config, { handleDataRow: () => Reflect.apply(own, config, [{ columns: [] }]) });
    return pass();
  },
};

function change(t: TestContext, how: (typeof CHANGES)[string]): void {
  t.mock.method(pg.Client.prototype, 'query', function (this: pg.Client, ...args: unknown[]) {
    const pass = () => Reflect.apply(queryOfDriver, this, args);
    const [config] = args;
    return isCustom(config) ? how(config, pass) : pass();
  });
}

onPostgres("the internals of pg's Query", () => {
  let engine: Engine;
  before(() => {
    engine = engines.find(({ name }) => name === 'postgres') as Engine;
  });

  test('this version of pg has the internals that driver-query.ts uses, so the faster way is taken', async (t) => {
    const options = { connectionString: await engine.fresh('empty'), pipeline: true };
    const client = new pg.Client(options);
    await client.connect();
    t.after(() => client.end());
    await tryFast(client, systemClock); // rejects with "pg's Query has changed: look at …"
    const store = await openStore(options.connectionString);
    t.after(() => store.close());
    const query = t.mock.method(pg.Client.prototype, 'query');
    await store.all(sql('select 1 as one'), {});
    assert.ok(isCustom(query.mock.calls[0]?.arguments[0]), 'the store took the documented way');
  });

  for (const [name, how] of Object.entries(CHANGES)) {
    test(`a pg that ${name} is detected at the start, logged once, and used through its documented interface`, async (t) => {
      const setting = await engine.fresh('empty');
      const warned = once(process, 'warning');
      change(t, how);
      const store = await openStore(setting);
      t.after(() => store.close());
      const [{ message }] = await warned;
      assert.match(message, /^pg's Query has changed: look at src\/store\/postgres\/driver-query\.ts \(.+\)\./);
      const echo = sql<{ text: string; number: bigint }, { text: string; number: bigint; nothing: null }>(
        'select cast(:text as text) as text, cast(:number as bigint) as number, null as nothing',
      );
      const values = { text: 'a\0b\u0001ñ', number: 9_007_199_254_740_993n };
      assert.deepEqual(await store.all(echo, values), [{ ...values, nothing: null }]);
    });
  }

  test('a pg that never answers such a query is detected as well', async (t) => {
    const client = new pg.Client({ connectionString: await engine.fresh('empty') });
    await client.connect();
    t.after(() => client.end());
    change(t, (config) => config);
    await assert.rejects(tryFast(client, systemClock, 50), DriverChanged);
  });

  test('a pg that does not pass an error to the callback is detected as well', async (t) => {
    const client = new pg.Client({ connectionString: await engine.fresh('empty') });
    await client.connect();
    t.after(() => client.end());
    t.mock.method(pg.Query.prototype as unknown as Custom, 'handleError', () => {});
    await assert.rejects(tryFast(client, systemClock, 1_000), {
      name: 'DriverChanged',
      message: /an error does not reach/,
    });
  });

  test('every operation answers the same through the documented interface', async (t) => {
    const reading = CALLS.filter(([, operation]) => !changes(operation));
    const answers = async () => {
      const { app, ask } = await serve(await engine.fresh('sample'), {}, { responseCacheBytesMax: 1_000_000 });
      t.after(() => app.stop());
      const texts: string[] = [];
      // The second time a response is cached, and the database is asked for the version of the account.
      for (const [group, operation, args] of [...reading, ...reading]) texts.push(await ask(group, operation, args));
      // Marks of one turn are one statement.
      const mark = ['1001', '1002'].map((message_id) => ask('inbox', 'MarkMessageAsRead', { message_id }));
      texts.push(...(await Promise.all(mark)));
      const writing = CALLS.filter((call) => !reading.includes(call));
      for (const [group, operation, args] of writing) texts.push(await ask(group, operation, args));
      for (const [group, operation, args] of reading) texts.push(await ask(group, operation, args));
      return texts;
    };
    const fast = await answers();
    change(t, CHANGES['takes no such query'] as (typeof CHANGES)[string]);
    assert.deepEqual(await answers(), fast);
  });
});
