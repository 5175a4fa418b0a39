import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { columba } from '../../test/support/command.ts';
import { clientOf } from '../../test/support/contract-client.ts';
import { freshDatabase, onPostgres, removeServer } from '../../test/support/postgres-engines.ts';
import { createPostgresServer, type PostgresServer } from '../../test/support/postgres-server.ts';
import { startService } from '../../test/support/service.ts';

/** What an operator is told of a PostgreSQL that cannot be used: where it is, who asked for what, and what to do. */
const SECRET = 'zqSecretzq';
/** Far more than a command takes: it only has to end. */
const PATIENCE = { timeout: 240_000 };

onPostgres('the operator is told which PostgreSQL cannot be used, and why:', () => {
  let server: PostgresServer;
  let at: string;
  before(async () => {
    // A session that never gets its password would else be ended by the server after a minute.
    server = await createPostgresServer(['fsync=off', 'authentication_timeout=10min']);
    at = `127.0.0.1:${server.port}`;
    await server.start();
    await server.query(`create role clerk login password 'another'`);
    await server.query('create role full login connection limit 0');
    const rules = join(server.folder, 'data', 'pg_hba.conf');
    writeFileSync(rules, `host all clerk 127.0.0.1/32 scram-sha-256\n${readFileSync(rules, 'utf8')}`);
    await server.query('select pg_reload_conf()');
  });
  after(() => removeServer(server));

  async function told(url: string): Promise<string> {
    const { code, stdout, stderr } = await columba(['check', '--database', url]);
    assert.deepEqual([code, stdout], [3, ''], stderr);
    assert.match(stderr, /^columba: [^\n]+\n$/, 'one sentence');
    assert.doesNotMatch(stderr, new RegExp(`Try again later|${SECRET}`));
    return stderr;
  }
  const url = (user: string, database: string) => `postgres://${user}:${SECRET}@${at}/${database}`;

  /** By what is wrong: where it is asked for, and how the sentence begins. */
  const CASES: Record<string, () => Promise<[url: string, sentence: string]>> = {
    'a database that does not exist': async () => [
      url('columba', 'nowhere'),
      `There is no database nowhere in PostgreSQL at ${at}. Create it: createdb --owner=columba nowhere`,
    ],
    'a wrong password': async () => [
      url('clerk', 'postgres'),
      `PostgreSQL at ${at} does not accept the password of user clerk.`,
    ],
    'a password that is missing': async () => [
      `postgres://clerk@${at}/postgres`,
      `PostgreSQL at ${at} does not accept the password of user clerk.`,
    ],
    'a role that does not exist': async () => [
      url('nobody', 'postgres'),
      `PostgreSQL at ${at} does not let user nobody use database postgres.`,
    ],
    'a role without a connection left': async () => [
      url('full', 'postgres'),
      `PostgreSQL at ${at} has no connection left for user full.`,
    ],
    'a role that may not make tables': async () => {
      const database = await freshDatabase(server);
      await server.query('create role guest login');
      await server.query('revoke create on schema public from public', database);
      return [url('guest', database), `User guest lacks rights in database ${database} at ${at}.`];
    },
    'a server that takes no writes': async () => {
      const database = await freshDatabase(server);
      await server.query(`alter database ${database} set default_transaction_read_only = on`);
      return [url('columba', database), `PostgreSQL at ${at} accepts no writes.`];
    },
    'a server without TLS': async () => [
      `${url('columba', 'postgres')}?sslmode=verify-full`,
      `The TLS connection to PostgreSQL at ${at} fails.`,
    ],
    'a port where nobody listens': async () => [
      `postgres://columba:${SECRET}@127.0.0.1:1/postgres`,
      'No PostgreSQL takes connections at 127.0.0.1:1.',
    ],
    'several servers where nobody listens': async () => [
      `postgres://columba:${SECRET}@127.0.0.1:1,127.0.0.1:2/postgres`,
      'No PostgreSQL takes connections at 127.0.0.1:1, 127.0.0.1:2.',
    ],
    'a host without an address': async () => [
      `postgres://columba:${SECRET}@host.invalid/postgres`,
      'The host of host.invalid:5432 has no address.',
    ],
  };
  for (const [name, prepare] of Object.entries(CASES)) {
    test(`columba check says what is wrong with ${name}`, PATIENCE, async () => {
      const [asked, sentence] = await prepare();
      const said = await told(asked);
      assert.ok(said.startsWith(`columba: ${sentence}`), said);
    });
  }

  test('while the service runs, the log names the same cause, and clients learn nothing of it', async (t) => {
    const database = await freshDatabase(server);
    const service = await startService(
      { name: 'postgres', fresh: async () => url('columba', database), release: () => {} },
      'empty',
      { databaseTimeoutMs: 2_000 },
    );
    t.after(() => service.stop());
    await server.query(`select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = '${database}'`);
    await server.query(`alter database ${database} rename to ${database}_away`);
    const { status, text } = await clientOf(service, 'get').raw('inbox', 'CountRead');
    assert.deepEqual([status, text], [503, 'The database does not answer. Try again later.\n']);
    const { msg, kind } = JSON.parse(service.logged.at(-1) ?? '{}');
    assert.equal(kind, 'unavailable');
    assert.ok(msg.startsWith(`There is no database ${database} in PostgreSQL at ${at}.`), msg);
    assert.doesNotMatch(service.logged.join(), new RegExp(SECRET));
  });
});
