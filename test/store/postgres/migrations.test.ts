import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import pg from 'pg';
import { systemClock } from '../../../src/base/clock.ts';
import { openPostgres } from '../../../src/store/postgres/database.ts';
import { postgresDialect } from '../../../src/store/postgres/dialect.ts';
import { type Migratable, type Migration, migrate, migrations } from '../../../src/store/schema/migrations.ts';
import { render, type Statement } from '../../../src/store/statement.ts';
import { columba } from '../../support/command.ts';
import { type Engine, engines } from '../../support/engines.ts';
import { contentOf } from '../../support/opened-database.ts';
import { onOneServer } from '../../support/postgres-engines.ts';
import { PROTOCOLS } from '../../support/protocols.ts';
import { ACME, type Service, startService } from '../../support/service.ts';
import { CALLS } from '../../support/serving.ts';

const known = migrations.length;
/** The key of src/store/postgres/database.ts. */
const MIGRATION_LOCK = 4269856720;

async function withClient<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

const rows = (url: string, text: string) => withClient(url, async (client) => (await client.query(text)).rows);
const versions = (url: string) => rows(url, 'select version::int, name from schema_version order by version');

/** What a newer Columba does when it starts: its further steps, behind the same lock. */
const upgrade = (url: string, steps: readonly Omit<Migration, 'version'>[], between = async () => {}): Promise<void> =>
  withClient(url, async (client) => {
    const execute = async (statement: Statement<never>, parameters: Readonly<Record<string, unknown>>) => {
      const text = render(statement.text, statement.parameters, postgresDialect);
      return client.query(
        text,
        (statement.parameters as readonly string[]).map((name) => parameters[name]),
      );
    };
    const connection: Migratable = {
      exec: async (text) => void (await client.query(text)),
      all: async (statement, parameters) => (await execute(statement as Statement<never>, parameters)).rows,
      first: async (statement, parameters) => (await execute(statement as Statement<never>, parameters)).rows[0],
      run: async (statement, parameters) => (await execute(statement as Statement<never>, parameters)).rowCount ?? 0,
    };
    await client.query(`begin; select pg_advisory_xact_lock(${MIGRATION_LOCK})`);
    const numbered = steps.map((step, index) => ({ ...step, version: known + index + 1 }));
    await migrate(connection, postgresDialect, () => 0, [...migrations, ...numbered]);
    await between();
    await client.query('commit');
  });

const ADDITION = {
  name: 'campaigns',
  sql: `alter table received add column campaign_id bigint;
    alter table account add column campaign_note text not null default '';
    create table campaign (account_id bigint not null references account on delete cascade, campaign_id bigint not null,
      name text {binary}, primary key (account_id, campaign_id)) {clustered};
    create index received_by_campaign on received (account_id, campaign_id, message_id);`,
};
const NEWER = `The database has schema version ${known + 1}, but this program knows versions only up to ${known}. Run the newer version of Columba that wrote it.`;

/** Those that take things away come last, so that the others have something to answer. */
const CALLED = CALLS.toSorted(
  ([, one], [, two]) => Number(one.startsWith('Delete')) - Number(two.startsWith('Delete')),
);

async function answersOf(service: Service): Promise<string[]> {
  const answers: string[] = [];
  for (const protocol of PROTOCOLS) {
    for (const [group, operation, args] of CALLED) {
      const { status, text } = await service.call(protocol, group, operation, { user_id: ACME, ...args });
      answers.push(`${group}.${operation} ${protocol} ${status} ${text}`);
    }
  }
  return answers;
}

onOneServer('migrations of PostgreSQL', () => {
  let engine: Engine;
  before(() => {
    engine = engines.find(({ name }) => name === 'postgres') as Engine;
  });

  test('eight programs that start at once on an empty database all come up, and each migration runs once', async () => {
    const url = await engine.fresh('none');
    const outcomes = await Promise.all(Array.from({ length: 8 }, () => columba(['check', '--database', url])));
    for (const { code, stderr } of outcomes) assert.deepEqual([code, stderr], [0, '']);
    assert.deepEqual(
      await versions(url),
      migrations.map(({ version, name }) => ({ version, name })),
    );
  });

  test('while a newer program migrates, and after it, a running one serves all operations as before', async (t) => {
    const url = await engine.fresh('sample');
    const running = await startService({ ...engine, fresh: async () => url, release: () => {} });
    const untouched = await startService(engine);
    t.after(() => Promise.all([running.stop(), untouched.stop()]));
    assert.equal(CALLED.length, 32);
    const first = await answersOf(running); // and now all statements are prepared
    assert.deepEqual(first, await answersOf(untouched));

    let migrating = true;
    const statuses = new Set<number>();
    const meanwhile = Array.from({ length: 4 }, async () => {
      while (migrating) statuses.add((await running.call('get', 'account', 'Profile', { user_id: ACME })).status);
    });
    await upgrade(url, [ADDITION], () => new Promise((resolve) => setTimeout(resolve, 300)));
    migrating = false;
    await Promise.all(meanwhile);
    assert.deepEqual([...statuses], [200]);
    assert.deepEqual((await versions(url)).at(-1), { version: known + 1, name: 'campaigns' });

    const after = await answersOf(running);
    assert.deepEqual(after, await answersOf(untouched));
    assert.deepEqual(
      after.filter((answer) => !/^\S+ \S+ 200 /.test(answer)),
      [],
    );
  });

  test('a program that is older than the schema does not start, says why in one sentence, and changes nothing', async () => {
    const url = await engine.fresh('none');
    await upgrade(url, [ADDITION]);
    const before = await contentOf(url);
    await assert.rejects(openPostgres({ url, connectionsMax: 1, timeoutMs: 5_000 }, systemClock), { message: NEWER });
    for (const command of ['check', 'serve']) {
      const { code, stdout, stderr } = await columba([
        command,
        '--database',
        url,
        ...(command === 'serve' ? ['--port', '0'] : []),
      ]);
      assert.deepEqual([code, stdout, stderr], [1, '', `columba: ${NEWER}\n`]);
    }
    assert.equal(await contentOf(url), before);
  });

  test('a step that fails leaves no change, not even of the steps before it, and the running program continues', async (t) => {
    const url = await engine.fresh('sample');
    const running = await startService({ ...engine, fresh: async () => url, release: () => {} });
    t.after(() => running.stop());
    await assert.rejects(
      upgrade(url, [
        ADDITION,
        { name: 'broken', sql: 'create table fine (a bigint); create table account (a bigint)' },
      ]),
      /relation "account" already exists/,
    );
    assert.equal((await versions(url)).length, known);
    const left = await rows(
      url,
      `select table_name from information_schema.columns
       where table_name in ('campaign', 'fine') or column_name in ('campaign_id', 'campaign_note')`,
    );
    assert.deepEqual(left, []);
    assert.equal((await running.call('get', 'account', 'Profile', { user_id: ACME })).status, 200);
    await upgrade(url, [ADDITION]);
    assert.equal((await versions(url)).length, known + 1);
  });

  test('a program that starts while another one migrates waits for it, longer than a call would', {
    timeout: 300_000,
  }, async () => {
    const url = await engine.fresh('none');
    const opening = await withClient(url, async (client) => {
      await client.query(`begin; select pg_advisory_xact_lock(${MIGRATION_LOCK})`);
      const opening = openPostgres({ url, connectionsMax: 1, timeoutMs: 300 }, systemClock);
      opening.catch(() => {});
      await new Promise((resolve) => setTimeout(resolve, 2_500));
      await client.query('rollback');
      return opening;
    });
    await (await opening).close();
    assert.equal((await versions(url)).length, known);
  });

  test('a migration may take longer than a call: an index of a large table does', { timeout: 300_000 }, async () => {
    const url = await engine.fresh('none');
    await rows(
      url,
      `create function slow() returns event_trigger language plpgsql as
         $$ begin if tg_tag = 'CREATE INDEX' then perform pg_sleep(0.4); end if; end $$;
       create event trigger slow on ddl_command_start execute function slow()`,
    );
    await (await openPostgres({ url, connectionsMax: 1, timeoutMs: 300 }, systemClock)).close();
    assert.equal((await versions(url)).length, known);
  });
});
