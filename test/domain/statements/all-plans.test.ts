import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import * as accounts from '../../../src/domain/accounts/accounts.sql.ts';
import * as inbox from '../../../src/domain/messages/received.sql.ts';
import * as queue from '../../../src/domain/queue/queue.sql.ts';
import * as receipts from '../../../src/domain/sending/receipts.sql.ts';
import { Caller } from '../../../src/store/caller.ts';
import { lockManyQuery, lockQuery } from '../../../src/store/postgres/caller-statement.ts';
import { VERSIONS } from '../../../src/store/postgres/connection.ts';
import { onOneServer } from '../../support/postgres-engines.ts';
import { allStatements, costOf, type StatementText, textsOf } from '../../support/statement-plans.ts';
import { postgresPlans } from './plan-readers.ts';

/**
 * PostgreSQL up to 17 adds 1e10 for a way of reading that a session has switched off and that the statement cannot avoid.
 * Later versions say Disabled instead. See src/store/postgres/pool.ts.
 */
const COST_MAX = 1e9;
const isForced = (plan: string): boolean => costOf(plan) >= COST_MAX || /\bDisabled: true\b/.test(plan);

const ROWS = 2_000;

/**
 * Some thousand rows in every table, as made as its columns allow: no trigger runs and no key is checked. An account has
 * 50 of them where the table's key has more than the account.
 */
const FILL = `do $$
  declare target record; list text; keys bigint;
  begin
    set local session_replication_role = replica;
    for target in select table_name from information_schema.tables
      where table_schema = 'public' and table_type = 'BASE TABLE' and table_name <> 'schema_version' loop
      select array_length(conkey, 1) into keys from pg_constraint
        where conrelid = target.table_name::regclass and contype = 'p';
      select string_agg(case
          when column_name = 'account_id' and keys > 1 then 'n % 40 + 1'
          when column_name = 'message_id' and keys > 1 then 'n / 40'
          when column_name = 'generation' then '0'
          when data_type = 'bigint' and column_name like 'is\\_%' then 'n % 2'
          when data_type = 'text' then quote_literal('text ') || ' || n'
          else 'n' end, ', ' order by ordinal_position) into list
        from information_schema.columns where table_schema = 'public' and table_name = target.table_name;
      execute format('insert into %I select %s from generate_series(1, %s) n on conflict do nothing', target.table_name, list,
        case when target.table_name in ('received', 'unread_message') then ${ROWS * 5} else ${ROWS} end);
    end loop;
  end $$`;

onOneServer('plans of all statements on PostgreSQL', () => {
  let statements: StatementText[];
  const { ask, planOfText } = postgresPlans();
  const plan = ({ text }: { text: string }) => planOfText(text);
  const own = (statement: unknown) => plan(textsOf(statement as never)[0] as StatementText);

  before(async () => {
    const others = [VERSIONS, lockManyQuery(['hash']), lockQuery(1n), lockQuery(new Caller('hash'))];
    statements = [
      ...(await allStatements()).flatMap(textsOf),
      ...others.map((each) => ({ ...each, isOptional: false })),
    ];
  });

  /** By its name, with its plan. */
  async function forced(): Promise<string[]> {
    const found: string[] = [];
    for (const { name, text, isOptional } of statements) {
      try {
        const planned = await plan({ text });
        if (isForced(planned)) found.push(`${name}\n${planned}`);
      } catch (thrown) {
        if (!isOptional) throw new Error(`${name} cannot be planned`, { cause: thrown });
      }
    }
    return found;
  }
  const holds = async (state: string) => {
    const found = await forced();
    assert.equal(found.length, 0, `${found.length} with ${state}:\n${found.join('\n\n')}`);
  };

  test('there are more than 350 statements, and most have several forms', () => {
    assert.ok(statements.filter(({ isOptional }) => !isOptional).length > 350);
    assert.ok(statements.length > 550);
  });

  // The tests from here on share a database, which fills up.
  test('bitmapscan, hashjoin and mergejoin are off because they would read whole tables', async () => {
    await withWay('bitmapscan', async () =>
      assert.match(await own(inbox.unread), /Bitmap Heap Scan on (unread_message|received) /),
    );
    await withWay('hashjoin', async () =>
      assert.match(
        await own(receipts.matched),
        /Hash Join[\s\S]*Index Scan using attempt_by_id on attempt .*\n(?! *Index Cond)/,
      ),
    );
    await withWay('mergejoin', async () =>
      assert.match(
        await own(queue.queueAfter),
        /Merge Join[\s\S]*Index Scan using account_pkey on account .*\n?(?! *Index Cond)/,
      ),
    );
  });
  test('with tables that nobody has analyzed, no cost comes from a way that is switched off', () =>
    holds('new tables'));

  test('seqscan is off because a small table would be read whole, and the plan kept when it has grown', async () => {
    await ask('analyze');
    await withWay('seqscan', async () => assert.match(await own(accounts.account), /Seq Scan on account/));
    assert.doesNotMatch(await own(accounts.account), /Seq Scan/);
  });
  test('with small tables that are analyzed, no cost comes from a way that is switched off', () =>
    holds('small tables'));

  test('memoize is off because every message of a list is looked up once', async () => {
    await ask(FILL);
    await ask('analyze');
    await withWay('memoize', async () => assert.match(await own(inbox.unread), /Memoize/));
  });
  test('sorting is on, so that submissions are found by their messages and then sorted', async () => {
    // PostgreSQL 15 reads a table that nobody has analyzed in the order of its key: it expects few rows.
    assert.match(await own(receipts.attemptsOf), /Index Cond: \(\(account_id = .*\) AND \(message_id = ANY/);
  });
  test('questions about one id are removed by their keys: each is not compared with a page of others', async () => {
    await ask('truncate carrier_query');
    await ask(
      "insert into carrier_query select 'part ' || n, 'carrier', 'id ' || n, null, 0, 0 from generate_series(1, 50000) n",
    );
    await ask('analyze carrier_query');
    assert.match(await own(receipts.removeSharing), /Index Scan using carrier_query_pkey .*\n *Index Cond: /);
  });
  test('with filled tables, no cost comes from a way that is switched off', () => holds('filled tables'));
  test('with empty tables that are analyzed, no cost comes from a way that is switched off', async () => {
    const tables = await ask(
      "select table_name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'",
    );
    const names = tables.map((row) => row.table_name).filter((name) => name !== 'schema_version');
    await ask(`truncate ${names.join()} cascade`);
    await ask('vacuum analyze');
    await holds('empty tables');
  });

  async function withWay(way: string, work: () => Promise<void>): Promise<void> {
    await ask(`set enable_${way} = on`);
    await work().finally(() => ask(`set enable_${way} = off`));
  }
});
