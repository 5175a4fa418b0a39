import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import pg from 'pg';
import { systemClock } from '../../src/base/clock.ts';
import { distributePostgres, openPostgres, readDistribution } from '../../src/store/postgres/database.ts';
import { SESSION } from '../../src/store/postgres/pool.ts';
import { type Distribution, distribution } from '../../src/store/schema/distribution.ts';
import { type Migration, migrations } from '../../src/store/schema/migrations.ts';
import { columba } from '../../test/support/command.ts';
import { KNOWN_EVERYWHERE } from '../../test/support/databases.ts';
import { sql } from '../../test/support/opened-database.ts';
import { allStatements } from '../../test/support/statement-plans.ts';
import { SAMPLE } from '../../test/support/templates.ts';
import { type CitusCluster, createCluster, onCitus } from './cluster.ts';
import { prepareTrial } from './prepared.ts';

onCitus('an installation that is distributed', () => {
  let cluster: CitusCluster;
  let database: string;
  const run = async (...args: string[]) => {
    const { code, stdout, stderr } = await columba([...args, '--database', database]);
    assert.equal(code, 0, stderr);
    return stdout;
  };
  const ask = (text: string) => cluster.coordinator.query(text, 'installation');
  /** Tables of which the coordinator has rows that no query finds. */
  const oldRows = (name = 'installation') =>
    cluster.coordinator.query(
      `select logicalrelid::text from pg_dist_partition
         where (partmethod, repmodel) <> ('n', 's') and pg_relation_size(logicalrelid) > 0`,
      name,
    );
  const settings = () => ({ url: database, connectionsMax: 2, timeoutMs: 60_000 });
  before(async () => {
    cluster = await createCluster();
    database = await cluster.ownDatabase('app', 'installation');
  });
  after(() => cluster?.remove());

  test('the export is the same before and after, and the ledger adds up', async () => {
    await run('import', SAMPLE);
    await cluster.join('installation');
    const onOneNode = await run('check');
    assert.match(onOneNode, /Citus: installed, and all tables are on one node/);
    await ask('create table visit (account_id bigint references account)');
    await ask('insert into visit select account_id from account');
    const exported = await run('export', '--ndjson');
    await assert.rejects(
      run('citus', 'distribute', '--dry-run'),
      /visit_account_id_fkey of visit refers to account.*alter table visit drop constraint visit_account_id_fkey/,
    );
    await ask('alter table visit drop constraint visit_account_id_fkey');
    for (const [made, refused] of [
      ['table invoice (account_id bigint references account)', /drop constraint invoice_account_id_fkey/],
      ['view names as select username from account_directory', /again afterwards: drop view reports\.names/],
    ] as const) {
      await ask(`create schema reports; create ${made.replace(' ', ' reports.')}`);
      await assert.rejects(run('citus', 'distribute', '--dry-run'), refused);
      await ask('drop schema reports cascade');
    }
    await ask(`create function report() returns trigger language plpgsql as
      'begin insert into visit values (new.account_id); return null; end'`);
    for (const table of ['received', 'credential']) {
      await ask(`create trigger report after insert on ${table} for each row execute function report()`);
      await assert.rejects(
        run('citus', 'distribute', '--dry-run'),
        new RegExp(`The trigger report of ${table} is one of another program.*drop trigger report on ${table}`),
      );
      await ask(`drop trigger report on ${table}`);
    }
    assert.match(await run('citus', 'distribute', '--dry-run'), /select create_distributed_table\('account'/);
    assert.match(await run('check'), /Citus: installed, and all tables are on one node/);
    assert.match(await run('citus', 'distribute'), /distributed, with \d+ statements/);
    assert.match(await run('citus', 'distribute'), /every table is distributed already/);
    const checked = await run('check', '--ledger');
    assert.match(checked, /Citus: the accounts are spread over 2 worker nodes/);
    assert.match(checked, /all add up/);
    const megabytes = (of: string) => Number(/^Size: ([\d.]+) MB$/m.exec(of)?.[1]);
    assert.ok(megabytes(checked) > 2 * megabytes(onOneNode), 'the size is that of three nodes');
    assert.equal(await run('export', '--ndjson'), exported);
    assert.deepEqual(await oldRows(), []);
  });

  test('a table that is not distributed is named, and the next start distributes it', async () => {
    await cluster.coordinator.query(
      'alter table batch drop constraint batch_account_id_fkey; select undistribute_table($$batch$$)',
      'installation',
    );
    assert.deepEqual((await readDistribution(settings(), systemClock)).undistributed, ['batch']);
    await (await openPostgres(settings(), systemClock)).close();
    assert.deepEqual((await readDistribution(settings(), systemClock)).undistributed, []);
    assert.equal(await distributePostgres(settings(), systemClock), 0);
  });

  test('a table of another program is named by the check and is no fault, and keeps its rows', async () => {
    assert.match(await run('check'), /^Tables that are not of Columba, and stay as they are: visit$/m);
    assert.equal((await ask('select from visit')).length, 2);
    await ask('drop table visit');
  });

  test('rows from before the distribution do not make a start wait for an export: the check names them, and the command removes them', async () => {
    const earlier = await cluster.ownDatabase('earlier', 'earlier');
    await columba(['import', SAMPLE, '--database', earlier]);
    await cluster.join('earlier');
    const { steps } = await readDistribution({ ...settings(), url: earlier }, systemClock);
    const client = new pg.Client({ connectionString: earlier });
    await client.connect();
    const kept = (await steps()).filter((step) => !step.includes('truncate_local_data'));
    for (const step of ['begin', ...kept, 'commit']) await client.query(step);
    const before = await oldRows('earlier');
    assert.ok(before.length > 10);
    await client.query('begin'); // an export reads
    await client.query('select from account');
    const { code, stderr } = await columba(['check', '--database', earlier]);
    assert.equal(code, 0, stderr);
    assert.match(stderr, /^columba: Rows from before the distribution .*: account, .*run: columba citus distribute$/m);
    assert.deepEqual(await oldRows('earlier'), before);
    await client.end();
    const removed = await columba(['citus', 'distribute', '--database', earlier]);
    assert.equal(removed.code, 0, removed.stderr);
    assert.deepEqual(await oldRows('earlier'), []);
    assert.doesNotMatch((await columba(['check', '--database', earlier])).stderr, /Rows from before/);
  });

  test('the time-outs of a role end no statement over all accounts on the workers', async () => {
    await ask("alter role app set statement_timeout = '500ms'");
    const opened = await openPostgres(settings(), systemClock);
    const slow = sql<Record<string, never>, { total: bigint }>('select count(pg_sleep(1)) as total from account');
    assert.equal((await opened.transaction(null, (queries) => queries.first(slow, {})))?.total, 2n);
    await opened.close();
    await ask('alter role app reset statement_timeout');
  });

  test('a superuser does not distribute the tables of another role, which then could not use them', async () => {
    const ofSuperuser = cluster.coordinator.url('installation');
    const { code, stderr } = await columba(['citus', 'distribute', '--database', ofSuperuser]);
    assert.equal(code, 1);
    assert.match(
      stderr,
      /The tables belong to the role app, and new ones would belong to columba\. Run this command with a URL that names app\./,
    );
  });

  const checkWorker = (name: string) =>
    columba(['check', '--database', `postgres://app@127.0.0.1:${cluster.workers[0]?.port}/${name}`]);

  test('a worker says that it is one before the distribution, where Citus says only that an operation is not allowed', async () => {
    await cluster.ownDatabase('later', 'later');
    await cluster.join('later');
    const { code, stderr } = await checkWorker('later');
    assert.equal(code, 1);
    assert.match(stderr, /This server is a worker of Citus.*Use the URL of the coordinator\./);
  });

  test('a worker that does not know the tables of the coordinator says so', async () => {
    const { code, stderr } = await checkWorker('installation');
    assert.equal(code, 1);
    assert.match(stderr, /a worker of Citus that does not know the tables of the coordinator/);
  });

  test('the way back of an upgrade is refused, which would fill tables of one node', async () => {
    const { code, stderr } = await columba(['restore', '--before-upgrade', '--database', database]);
    assert.equal(code, 1);
    assert.match(stderr, /spread over the nodes of Citus.*Restore all nodes/);
  });

  test('every statement of the program is taken', async () => {
    const client = new pg.Client({ connectionString: database });
    await client.connect();
    await client.query(SESSION);
    const [first] = (await client.query('select account_id::text as id from account limit 1')).rows;
    const refused: string[] = [];
    const statements = await allStatements();
    assert.ok(statements.length > 400);
    for (const statement of statements) {
      const { name } = statement;
      try {
        const { sql, values } = await prepareTrial(client, statement, first.id);
        await client.query('deallocate trial');
        await client.query({ name, text: sql, values: [...values] });
      } catch (thrown) {
        const { code = '', message } = thrown as { code?: string; message: string };
        // A key that the made-up values break is none of our business; on a worker it has the code of any error.
        if (!code.startsWith('23') && !message.includes('violates')) refused.push(`${name}: ${message}`);
      }
      await client.query('rollback');
    }
    await client.end();
    assert.deepEqual(refused, []);
  });

  test('a migration that adds tables distributes them at the next start, with their foreign keys', async (t) => {
    const kinds = distribution as Record<string, Distribution>;
    const steps = migrations as Migration[];
    kinds.reminder = 'account';
    kinds.holiday = 'reference';
    kinds.closing = 'local';
    steps.push({ version: steps.length + 1, name: 'reminders', sql: REMINDERS });
    t.after(() => {
      for (const table of ['reminder', 'holiday', 'closing']) delete kinds[table];
      steps.pop();
    });
    await (await openPostgres(settings(), systemClock)).close();
    const { undistributed } = await readDistribution(settings(), systemClock);
    assert.deepEqual(undistributed, []);
    const stored = await ask(`select logicalrelid::text as name, partmethod::text as method from pg_dist_partition
      where logicalrelid::text in ('reminder', 'holiday', 'closing') order by 1`);
    assert.deepEqual(stored, [
      { name: 'holiday', method: 'n' },
      { name: 'reminder', method: 'h' },
    ]);
    const add = (account: string) =>
      ask(`insert into reminder (account_id, reminder_id, at) values (${account}, 1, 0)`);
    await assert.rejects(add('1'), /violates foreign key/);
    const functions = await ask("select prosrc from pg_proc where proname = 'tally_unread_insert'");
    assert.match(String(functions[0]?.prosrc), /loop/);
    assert.doesNotMatch(String(functions[0]?.prosrc), /plain PostgreSQL/);
    const [{ id } = {}] = await ask("select account_id::text as id from account where username = 'acme'");
    await add(String(id));
    assert.equal((await ask('select from reminder')).length, 1);
    await ask(`delete from account where account_id = ${id}`);
    assert.equal((await ask('select from reminder')).length, 0, 'deleted with the account');
  });

  /** Opens the database with a migration more than it has had. */
  async function openWithNext(sql: string, tables: Record<string, Distribution>, url = database): Promise<void> {
    const kinds = distribution as Record<string, Distribution>;
    const steps = migrations as Migration[];
    // The steps of the tests before are among those that the database has.
    const [{ version } = {}] = await ask('select max(version)::int as version from schema_version');
    const added: Migration[] = [];
    for (let next = steps.length + 1; next <= Number(version) + 1; next++) {
      added.push({ version: next, name: 'added by a test', sql: next > Number(version) ? sql : '' });
    }
    Object.assign(kinds, tables);
    steps.push(...added);
    try {
      await (await openPostgres({ ...settings(), url }, systemClock)).close();
    } finally {
      for (const table of Object.keys(tables)) delete kinds[table];
      steps.splice(-added.length);
    }
  }

  test('tables that a member of the role makes belong to that role, which could not use them otherwise', async () => {
    await ask('create role member login in role app');
    const asMember = (url: string) => url.replace('app@', 'member@');
    const owners = async (name: string) =>
      (
        await cluster.coordinator.query(
          "select distinct relowner::regrole::text as owner from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'",
          name,
        )
      ).map(({ owner }) => owner);
    await openWithNext(PARCELS, { parcel: 'account', depot: 'local' }, asMember(database));
    assert.deepEqual(await owners('installation'), ['app']);
    await openWithNext('alter table parcel add column weight bigint', { parcel: 'account', depot: 'local' });

    const shared = await cluster.ownDatabase('owner_of_shared', 'shared');
    await ask('grant owner_of_shared to member');
    await columba(['import', SAMPLE, '--database', shared]);
    await cluster.join('shared');
    const ofMember = shared.replace('owner_of_shared@', 'member@');
    const { code, stderr } = await columba(['citus', 'distribute', '--database', ofMember]);
    assert.equal(code, 0, stderr);
    assert.deepEqual(await owners('shared'), ['owner_of_shared']);
  });

  test('a migration makes its tables known to the workers where they know those of the coordinator', async () => {
    await cluster.coordinator.query(KNOWN_EVERYWHERE, 'installation');
    await openWithNext(NOTES, { note: 'local', note_of: 'local' });
    const [worker] = cluster.workers;
    assert.deepEqual(await worker?.query('select count(*)::int as notes from note', 'installation'), [{ notes: 0 }]);
    assert.deepEqual(await worker?.query('select count(*)::int as notes from note_of', 'installation'), [{ notes: 0 }]);
  });
});

/** A version after that, for an installation whose services ask any node. */
const NOTES = 'create table note (at bigint primary key); create table note_of (at bigint references note);';

/** A version after that. */
const PARCELS = `
  create table parcel (
    account_id bigint not null references account on delete cascade,
    parcel_id bigint not null,
    primary key (account_id, parcel_id)
  );
  create table depot (at bigint primary key);
  alter table account add column parcels bigint;
`;

/** As the next version might add them. */
const REMINDERS = `
  alter table received add column reminded_at bigint;
  alter table account add column reminder text not null default '';
  create or replace function tally_unread_insert() returns trigger language plpgsql as $$ begin
    raise exception 'of plain PostgreSQL; and not a loop'; end $$;
  create table reminder (
    account_id bigint not null references account on delete cascade,
    reminder_id bigint not null,
    at bigint not null,
    primary key (account_id, reminder_id)
  ) {clustered};
  create index reminder_by_time on reminder (account_id, at);
  create table holiday (day bigint primary key, name text not null);
  create table closing (at bigint primary key);
  alter table account add column reminders_until bigint;
`;
