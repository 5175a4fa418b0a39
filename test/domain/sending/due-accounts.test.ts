import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { type TestContext, test } from 'node:test';
import * as statements from '../../../src/domain/sending/dispatch.sql.ts';
import { postgresDialect } from '../../../src/store/postgres/dialect.ts';
import { sqliteDialect } from '../../../src/store/sqlite/connection.ts';
import { render, type Statement } from '../../../src/store/statement.ts';
import { onEveryEngine } from '../../support/engines.ts';
import { pathOf, sql } from '../../support/opened-database.ts';
import { openOutside } from '../../support/other-process.ts';
import { testOnOneServer } from '../../support/postgres-engines.ts';
import { message, openSending, type Sending, START } from '../../support/sending.ts';

const MANY = 1_000;

const manyAccounts = sql<{ from: number; priority: number; connector: string | null }>(
  `insert into account (account_id, username, credits, used_credits, priority, tag, created_at, connector)
   select n, 'crowd-' || n, 0, 0, :priority, 0, 0, cast(:connector as text)
   from (with recursive numbers(n) as (select cast(:from as bigint) union all select n + 1 from numbers where n < :from + ${MANY - 1})
     select n from numbers) as made`,
  { affects: 'all' },
);
const theirWork = sql<{ from: number; nextDueAt: number; servedAt: number }>(
  `insert into dispatch_account (account_id, next_due_at, served_at)
   select account_id, :nextDueAt, :servedAt from account where account_id >= :from and account_id < :from + ${MANY}`,
  { affects: 'none' },
);

/** Accounts that have work in this state, without messages: what reads all of them takes long. */
async function addCrowd(
  { database }: Sending,
  from: number,
  work: { nextDueAt: number; servedAt: number; priority?: number; connector?: string },
): Promise<void> {
  const { nextDueAt, servedAt, priority = 0, connector = null } = work;
  await database.run(manyAccounts, { from, priority, connector });
  await database.run(theirWork, { from, nextDueAt, servedAt });
}

onEveryEngine('accounts that are due', (engine) => {
  const open = async (t: TestContext) => {
    const sending = await openSending(engine, t);
    const served = async (limit: number) => [...new Set((await sending.claim(limit)).map(({ account }) => account))];
    return { sending, served };
  };

  test('a new message does not wait for the backlogs of 1,000 other accounts', async (t) => {
    const { sending, served } = await open(t);
    const account = await sending.addAccount();
    await addCrowd(sending, 1_000_000, { nextDueAt: START - 2, servedAt: START - 1 });
    await sending.accept(account);
    assert.deepEqual(await served(10), [account]);
  });

  test('messages of accounts that send little do not starve a backlog', async (t) => {
    const { sending, served } = await open(t);
    const account = await sending.addAccount();
    await sending.accept(account, message({ to: ['+27825550201', '+27825550202'] }));
    assert.deepEqual(await served(1), [account]);
    await addCrowd(sending, 1_000_000, { nextDueAt: START - 2, servedAt: START - 3 });
    assert.deepEqual(await served(10), [account]);
  });

  test('accounts of a higher priority are claimed first, and accounts of a paused connector delay no others', async (t) => {
    const { sending, served } = await open(t);
    const [low, high] = [await sending.addAccount(), await sending.addAccount({ priority: 3 })];
    await addCrowd(sending, 1_000_000, { nextDueAt: START - 2, servedAt: 0, priority: 9, connector: 'paused' });
    for (const account of [low, high]) await sending.accept(account);
    assert.deepEqual(await served(1), [high]);
    assert.deepEqual(await served(1), [low]);
  });

  test('an account whose priority or connector was changed is found by the new one', async (t) => {
    const { sending, served } = await open(t);
    const [first, second] = [await sending.addAccount(), await sending.addAccount()];
    for (const account of [first, second]) await sending.accept(account);
    await sending.change(second, { priority: 2 });
    assert.deepEqual(await served(1), [second]);
    await sending.change(first, { connector: 'other' });
    assert.deepEqual(await served(1), []);
    assert.deepEqual(
      (await sending.claim(1, 'other')).map(({ account }) => account),
      [first],
    );
  });

  testOnOneServer(
    'the index gives the due accounts in their order, however many are due',
    async (t) => {
      const { sending } = await open(t);
      await addCrowd(sending, 1_000_000, { nextDueAt: START - 2, servedAt: START - 1 });
      await addCrowd(sending, 2_000_000, { nextDueAt: START - 2, servedAt: START - 3 });
      await addCrowd(sending, 3_000_000, { nextDueAt: START + 9, servedAt: 0, connector: 'other' });
      const planOf = await planner(sending.setting, t);
      for (const statement of [statements.dueAccounts, statements.nextDue, statements.levels]) {
        const plan = await planOf(statement as unknown as Statement<Record<string, never>>);
        assert.match(plan, /dispatch_account_rested/, plan);
        assert.match(plan, /dispatch_account_backlog/, plan);
        assert.doesNotMatch(plan, /Seq Scan|SCAN dispatch_account/, plan);
        if (statement !== statements.levels) assert.doesNotMatch(plan, /Sort|TEMP B-TREE/, plan);
      }
    },
    engine.name,
  );
});

/** As the engine runs it, with what it knows about the rows. */
async function planner(setting: string, t: TestContext) {
  if (setting.startsWith('sqlite:')) {
    const database = new DatabaseSync(pathOf(setting));
    t.after(() => database.close());
    return async ({ text, parameters }: Statement<Record<string, never>>): Promise<string> =>
      database
        .prepare(`explain query plan ${render(text, parameters, sqliteDialect)}`)
        .all()
        .map(({ detail }) => String(detail))
        .join('\n');
  }
  const outside = await openOutside(setting);
  t.after(() => outside.close());
  await outside.query('analyze');
  await outside.query('set plan_cache_mode = force_generic_plan');
  return async ({ name, text, parameters }: Statement<Record<string, never>>): Promise<string> => {
    const prepared = name.replace('.', '_');
    await outside.query(`prepare ${prepared} as ${render(text, parameters, postgresDialect)}`);
    const rows = await outside.query(`explain (costs off) execute ${prepared}(${parameters.map(() => 'null')})`);
    return rows.map((row) => row['QUERY PLAN']).join('\n');
  };
}
