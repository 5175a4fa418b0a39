import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import pg from 'pg';
import { serving } from '../../test/support/command.ts';
import { clientOf } from '../../test/support/contract-client.ts';
import {
  engineOn,
  freshDatabase,
  onPostgres,
  removeServer,
  signal,
  until,
} from '../../test/support/postgres-engines.ts';
import { createPostgresServer, type PostgresServer } from '../../test/support/postgres-server.ts';
import { PROTOCOLS } from '../../test/support/protocols.ts';
import { ACME, type Answer, type Service, startService } from '../../test/support/service.ts';
import { createNetwork, type Network } from './network.ts';

const SETTINGS = { databaseTimeoutMs: 800, databaseConnections: 4 };
/** Far more than the time-outs add up to: it only has to end. */
const PATIENCE = { timeout: 300_000 };

function assertUnavailable({ status, headers, text }: Answer): void {
  assert.equal(status, 503, text);
  assert.equal(headers['Content-Type'], 'text/plain; charset=utf-8');
  assert.match(String(headers['Retry-After'] ?? ''), /^\d+$/);
  assert.equal(text, 'The database does not answer. Try again later.\n');
}

const health = async (address: string, name: string) => {
  const reply = await fetch(`${address}/health/${name}`);
  return { status: reply.status, text: await reply.text(), retry: reply.headers.get('Retry-After') };
};

/** An account whose contacts are moved between two groups, all in one transaction: never are some here and some there. */
async function mover(service: Service) {
  const ids = Array.from({ length: 40 }, (_, index) => index + 1);
  const contacts = ids.map((id) => ({ id, groupid: 1 }));
  const owner = await clientOf(service, 'get').newcomer({ groups: [{ id: 1 }, { id: 2 }], contacts });
  const statuses: Record<number, number> = {};
  let moving = true;
  const work = Array.from({ length: 6 }, async (_, index) => {
    const client = clientOf(service, PROTOCOLS[index % PROTOCOLS.length] ?? 'get', owner.userId);
    for (let turn = index; moving; turn++) {
      const args = { contact_id: ids, group_id: String(1 + (turn % 2)) };
      const { status } = await client.raw('account', 'MoveContactToNewGroup', args);
      statuses[status] = (statuses[status] ?? 0) + 1;
    }
  });
  return {
    statuses,
    answered: (status: number): number => statuses[status] ?? 0,
    async end(): Promise<void> {
      moving = false;
      await Promise.all(work);
    },
    groups: async () => new Set((await owner.ask('account', 'FetchContacts')).map(({ groupid }) => groupid)).size,
  };
}

onPostgres('a database that does not answer', () => {
  let server: PostgresServer;
  let network: Network;
  before(async () => {
    server = await createPostgresServer();
    await server.start();
    network = await createNetwork(server.port);
  });
  after(async () => {
    await network.close();
    await removeServer(server);
  });
  const throughNetwork = () =>
    engineOn(server, (name) => server.url(name).replace(`:${server.port}/`, `:${network.port}/`));

  test(
    'a service whose database takes no writes is not ready once a write was refused, until writes are taken again',
    PATIENCE,
    async (t) => {
      const service = await startService(throughNetwork(), 'sample', SETTINGS);
      const address = await service.app.start();
      const readOnly = async (value: 'on' | 'off') => {
        await server.query(`alter system set default_transaction_read_only = ${value}`);
        await server.query('select pg_reload_conf()');
      };
      t.after(() => service.stop());
      t.after(() => readOnly('off'));
      const save = () => service.call('post', 'account', 'SaveMessageTemplate', { user_id: ACME, message: 'x' });
      const ready = async () => (await health(address, 'ready')).status;
      await readOnly('on');
      await until(async () => (await save()).status === 503);
      for (let time = 0; time < 2; time++) assert.equal(await ready(), 503, 'ready, although writes are refused');
      assert.equal((await service.call('get', 'inbox', 'CountUnread', { user_id: ACME })).status, 200);
      await readOnly('off');
      await until(async () => (await ready()) === 200);
      assert.equal((await save()).status, 200);
    },
  );

  const OUTAGES: Record<string, { begin: () => void | Promise<void>; end: () => void | Promise<void> }> = {
    'is stopped': { begin: () => server.stop('fast'), end: () => server.start() },
    'has crashed': { begin: () => server.stop('immediate'), end: () => server.start() },
    'is frozen': { begin: () => signal(server, 'SIGSTOP'), end: () => signal(server, 'SIGCONT') },
    'is behind a network that swallows all': { begin: () => network.swallow(), end: () => network.restore() },
  };
  for (const [name, { begin, end }] of Object.entries(OUTAGES)) {
    test(
      `while the database ${name}, calls in every protocol get 503; then the service continues by itself`,
      PATIENCE,
      async (t) => {
        const service = await startService(throughNetwork(), 'sample', SETTINGS);
        const load = await mover(service);
        let out = false;
        t.after(async () => {
          if (out) await end();
          await load.end();
          await service.stop();
        });
        const address = await service.app.start();
        await until(async () => load.answered(200) > 20);
        await begin();
        out = true;
        await until(async () => load.answered(503) > 6);

        const reads = PROTOCOLS.map((protocol) => clientOf(service, protocol).raw('inbox', 'CountRead'));
        for (const answer of await Promise.all(reads)) assertUnavailable(answer);
        const writes = PROTOCOLS.map((protocol) => clientOf(service, protocol).raw('inbox', 'DeleteAllMessages'));
        for (const answer of await Promise.all(writes)) assertUnavailable(answer);
        assert.deepEqual(await health(address, 'live'), { status: 200, text: 'live\n', retry: null });
        const unready = { status: 503, text: 'the database does not answer\n', retry: '5' };
        assert.deepEqual(await health(address, 'ready'), unready);

        await end();
        out = false;
        const earlier = load.answered(200);
        await until(async () => (await health(address, 'ready')).status === 200);
        await until(async () => load.answered(200) > earlier + 20);
        await load.end();
        t.diagnostic(`answers by status: ${JSON.stringify(load.statuses)}`);
        assert.deepEqual(Object.keys(load.statuses), ['200', '503'], service.logged.at(-1));
        assert.equal(await load.groups(), 1, 'some contacts were moved and some not');
      },
    );
  }

  test('writes of an account that another session has locked get 503, and nothing else does', PATIENCE, async (t) => {
    let url = '';
    const address = (name: string) => {
      url = server.url(name);
      return url;
    };
    const service = await startService(engineOn(server, address), 'sample', SETTINGS);
    const other = new pg.Client({ connectionString: url });
    await other.connect();
    t.after(async () => {
      await other.end();
      await service.stop();
    });
    await other.query("begin; select from account where username = 'acme' for update");
    const neighbour = await clientOf(service, 'get').newcomer({});

    const save = (message: string) =>
      Promise.all(
        PROTOCOLS.map((protocol) => clientOf(service, protocol).raw('account', 'SaveMessageTemplate', { message })),
      );
    const saving = save('while it is locked');
    for (const answer of await saving) assertUnavailable(answer);
    assert.equal(await neighbour.ask('account', 'SaveMessageTemplate', { message: 'mine' }), true);
    assert.equal((await clientOf(service, 'get').ask('account', 'Profile'))?.username, 'acme');
    const left = await other.query(
      // Not by xact_start: a statement of a moment ago, which is ending, has one too.
      "select pid from pg_stat_activity where datname = current_database() and application_name = 'columba' and state like 'idle in transaction%'",
    );
    assert.deepEqual(left.rows, [], 'a transaction was left open');

    await other.query('rollback');
    for (const answer of await save('when it is free')) assert.equal(answer.status, 200, answer.text);
    const templates = await clientOf(service, 'get').ask('account', 'FetchSavedMessages');
    assert.ok(!templates.includes('while it is locked'));
    assert.equal(templates.filter((text) => text === 'when it is free').length, 1);
  });

  /** What an administrator may do to the service's role, and how to undo it; the sessions that it has are ended. */
  const REFUSALS: Record<string, readonly [string, string]> = {
    'may not log in any more': ['nologin', 'login'],
    'may have no more connections': ['connection limit 0', 'connection limit -1'],
  };
  for (const [name, [refuse, admit]] of Object.entries(REFUSALS)) {
    test(`a role that ${name} leads to 503, not to an internal error`, PATIENCE, async (t) => {
      const role = `clerk_${refuse.replaceAll(' ', '_')}`;
      await server.query(`create role ${role} login`);
      const database = await freshDatabase(server);
      await server.query(`alter database ${database} owner to ${role}`);
      const url = server.url(database).replace('columba@', `${role}@`);
      const service = await startService({ name, fresh: async () => url, release: () => {} }, 'empty', SETTINGS);
      t.after(() => service.stop());
      const owner = await clientOf(service, 'get').newcomer({});
      await server.query(`alter role ${role} ${refuse}`);
      await server.query(`select pg_terminate_backend(pid, 5000) from pg_stat_activity where usename = '${role}'`);
      for (const protocol of PROTOCOLS) {
        assertUnavailable(await clientOf(service, protocol, owner.userId).raw('inbox', 'CountRead'));
      }
      await server.query(`alter role ${role} ${admit}`);
      assert.equal(await owner.ask('inbox', 'CountRead'), 0n);
    });
  }

  test('a service that is asked to stop while its database is frozen ends', PATIENCE, async (t) => {
    const database = await engineOn(server).fresh('none');
    const service = await serving(['--database', database, '--database-timeout-ms', '800']);
    t.after(() => {
      service.child.kill('SIGKILL');
      signal(server, 'SIGCONT');
    });
    const ready = async () => (await fetch(`${service.address}/health/ready`)).status;
    assert.deepEqual(await Promise.all([ready(), ready(), ready(), ready()]), [200, 200, 200, 200]);
    signal(server, 'SIGSTOP');
    assert.equal(await ready(), 503);
    service.child.kill('SIGTERM');
    const { code, stderr } = await service.ended;
    assert.equal(code, 0, stderr);
  });
});
