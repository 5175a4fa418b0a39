import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { systemClock } from '../../src/base/clock.ts';
import { openPostgres } from '../../src/store/postgres/database.ts';
import { exportAccounts } from '../../src/transfer/export.ts';
import { clientOf, exportOf } from '../../test/support/contract-client.ts';
import { sql } from '../../test/support/opened-database.ts';
import { engineOn, freshDatabase, onPostgres, removeServer, until } from '../../test/support/postgres-engines.ts';
import { createPostgresServer, type PostgresServer } from '../../test/support/postgres-server.ts';
import { PROTOCOLS } from '../../test/support/protocols.ts';
import { ACME, type Service, startService } from '../../test/support/service.ts';
import { CALLS } from '../../test/support/serving.ts';
import { createNetwork, type Network } from './network.ts';

/** All operations, one after the other or all at once. */
async function callAll(service: Service, atOnce: boolean): Promise<number[]> {
  const statuses: Promise<number>[] = [];
  for (const [group, operation, args] of CALLS) {
    const call = service.call('post', group, operation, { user_id: ACME, ...args }).then(({ status }) => status);
    statuses.push(call);
    if (!atOnce) await call;
  }
  return Promise.all(statuses);
}

onPostgres('connections to PostgreSQL', () => {
  let server: PostgresServer;
  before(async () => {
    server = await createPostgresServer();
    await server.start();
  });
  after(() => removeServer(server));

  const connectionsOf = async (database: string) =>
    Number(
      (
        await server.query(
          `select count(*) from pg_stat_activity where datname = '${database}' and application_name = 'columba'`,
        )
      )[0]?.count,
    );

  test('a transaction that the server ended because the process hung is unavailable, not an internal error', async (t) => {
    const url = server.url(await freshDatabase(server));
    const database = await openPostgres({ url, connectionsMax: 1, timeoutMs: 60_000 }, systemClock);
    t.after(() => database.close());
    const hung = database.transaction(1n, async (queries) => {
      await queries.all(sql("select set_config('idle_in_transaction_session_timeout', '100', true)"), {});
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 600); // the whole process
      return queries.all(sql('select 1 as one'), {});
    });
    await assert.rejects(hung, { kind: 'unavailable' });
  });

  test('many more calls at once than there are connections are all answered, without further connections', async (t) => {
    let database = '';
    const engine = engineOn(server, (name) => {
      database = name;
      return server.url(name);
    });
    const service = await startService(engine, 'sample', { databaseConnections: 3, databaseTimeoutMs: 20_000 });
    t.after(() => service.stop());
    const counts = new Set<number>();
    let counting = true;
    const counted = (async () => {
      while (counting) counts.add(await connectionsOf(database));
    })();
    const calls = Array.from({ length: 400 }, (_, index) => {
      const client = clientOf(service, PROTOCOLS[index % PROTOCOLS.length] ?? 'get');
      return index % 2 === 0
        ? client.ask('account', 'SaveMessageTemplate', { message: `number ${index}` })
        : client.ask('inbox', 'CountRead');
    });
    await Promise.all(calls);
    counting = false;
    await counted;
    assert.equal(Math.max(...counts), 3, 'all of them were used');
    const templates = await clientOf(service, 'get').ask('account', 'FetchSavedMessages');
    assert.equal(templates.filter((text) => text.startsWith('number ')).length, 200);
  });

  test('PostgreSQL ends a snapshot in which nothing is queried for 10 minutes', async (t) => {
    const url = server.url(await freshDatabase(server));
    const database = await openPostgres({ url, connectionsMax: 2, timeoutMs: 5_000 }, systemClock);
    t.after(() => database.close());
    const shown = await database.snapshot((queries) =>
      queries.all(sql('show idle_in_transaction_session_timeout'), {}),
    );
    assert.deepEqual(shown, [{ idle_in_transaction_session_timeout: '10min' }]);
  });

  test('a service that has stopped leaves no connection', { timeout: 300_000 }, async () => {
    let database = '';
    const engine = engineOn(server, (name) => {
      database = name;
      return server.url(name);
    });
    const service = await startService(engine);
    await callAll(service, true);
    assert.notEqual(await connectionsOf(database), 0);
    await service.stop();
    await until(async () => (await connectionsOf(database)) === 0);
  });

  test('a statement is prepared once on a connection, by its name, however often it is used', async (t) => {
    const network: Network = await createNetwork(server.port);
    const engine = engineOn(server, (name) => server.url(name).replace(`:${server.port}/`, `:${network.port}/`));
    const service = await startService(engine, 'sample', { databaseConnections: 4 });
    t.after(async () => {
      await service.stop();
      await network.close();
    });
    for (const atOnce of [false, true, true, false]) {
      for (const status of await callAll(service, atOnce)) assert.equal(status, 200);
    }
    await exportOf(service.app);
    assert.ok(network.prepared.filter((names) => names.length > 0).length > 1, 'only one connection was used');
    const all = new Set(network.prepared.flat());
    assert.ok(all.size > 20, [...all].join());
    for (const names of network.prepared) assert.deepEqual([...new Set(names)], names);
    assert.ok(!all.has(''), 'a statement with parameters was sent without a name');
  });

  test('a connection reports the statements that it has prepared, each once', async (t) => {
    const url = server.url(await freshDatabase(server));
    const database = await openPostgres({ url, connectionsMax: 1, timeoutMs: 5_000 }, systemClock);
    t.after(() => database.close());
    const used = sql<{ account: bigint }>('select account_id from account where account_id = :account');
    for (const account of [1n, 2n, 3n]) {
      await database.all(used, { account });
      await database.transaction(account, (queries) => queries.all(used, { account }));
    }
    type Row = { name: string; generic_plans: bigint; custom_plans: bigint };
    const prepared = await database.all(
      sql<Record<string, never>, Row>('select name, generic_plans, custom_plans from pg_prepared_statements'),
      {},
    );
    const uses = Object.fromEntries(prepared.map((row) => [row.name, Number(row.generic_plans + row.custom_plans)]));
    assert.equal(prepared.length, new Set(prepared.map(({ name }) => name)).size);
    assert.deepEqual([uses[used.name], uses.lockAccount], [6, 3]);
  });

  test('calls that find their server gone at the same time all continue with the next server', async (t) => {
    const [first, second] = [await createNetwork(server.port), await createNetwork(server.port)];
    const hosts = `127.0.0.1:${first.port},127.0.0.1:${second.port}`;
    const engine = engineOn(server, (name) => server.url(name).replace(`127.0.0.1:${server.port}`, hosts));
    const service = await startService(engine, 'sample', { databaseConnections: 8 });
    t.after(async () => {
      await service.stop();
      await second.close();
    });
    for (const status of await callAll(service, true)) assert.equal(status, 200);
    assert.equal(second.prepared.length, 0, 'the first that answers is the one that is used');
    await first.close();
    await new Promise((resolve) => setTimeout(resolve, 500)); // until the service has seen that its connections are cut
    for (const status of await callAll(service, true)) assert.equal(status, 200);
  });

  test('an export continues at the pace of its reader, however slow that is', { timeout: 300_000 }, async (t) => {
    const service = await startService(engineOn(server), 'sample', { databaseTimeoutMs: 500 });
    t.after(() => service.stop());
    const pieces: string[] = [];
    let pauses = 0;
    const fast = await exportOf(service.app);
    // A text that fills the export's piece, so that there is something to wait for.
    await clientOf(service, 'get').newcomer({
      inbox: Array.from({ length: 300 }, (_, id) => ({
        id,
        message: 'm'.repeat(1_000),
        timestamp: '2026-01-01T00:00:00Z',
        read: true,
      })),
    });
    const count = await exportAccounts(
      service.app.archive,
      { ndjson: true, username: null, clock: systemClock },
      async (piece) => {
        pieces.push(piece);
        if (++pauses <= 2) await new Promise((resolve) => setTimeout(resolve, 1_500));
      },
    );
    assert.equal(count, fast.split('\n').length);
    assert.ok(pauses > 2, `${pauses} pieces`);
    assert.ok(pieces.join('').includes(fast.split('\n')[0] as string));
  });
});
