import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, test } from 'node:test';
import { systemClock } from '../../../src/base/clock.ts';
import * as sent from '../../../src/domain/messages/sent.sql.ts';
import * as search from '../../../src/domain/search/search.sql.ts';
import { postgresDialect } from '../../../src/store/postgres/dialect.ts';
import { createFailoverPool } from '../../../src/store/postgres/pool.ts';
import { sqliteDialect } from '../../../src/store/sqlite/connection.ts';
import { render, type Statement } from '../../../src/store/statement.ts';
import { engines, untouchedPostgres } from '../../support/engines.ts';
import { openStore, pathOf } from '../../support/opened-database.ts';
import { onOneServer } from '../../support/postgres-engines.ts';
import { genericPlan } from '../../support/statement-plans.ts';

/** Every list of the search reads one range of an index that is made for it, on both engines. */

const { documentsAmong, documentsDown, ...others } = search;
const statements = [others, documentsAmong, documentsDown, { undelivered: sent.undeliveredSent }]
  .flatMap((module) => Object.values<unknown>(module))
  .filter((each) => typeof (each as Statement).text === 'string') as Statement<Record<string, never>>[];
const isInsert = ({ text }: Statement): boolean => text.startsWith('insert');

/** The columns of each index that a statement compares, and the range of the next ones. */
const INDEXES: Readonly<Record<string, { sqlite: RegExp; postgres: RegExp }>> = {
  'search.entriesBefore': {
    sqlite:
      /(search_entry USING PRIMARY KEY \(account_id=\? AND token=\? AND kind=\? AND \(at,item_id\)<\(\?,\?\)\)[\s\S]*){3}/,
    postgres:
      /(using search_entry_pkey[\s\S]*Index Cond: .*account_id = .*token = .*kind = .*ROW\(at, item_id\) <=[\s\S]*){3}/,
  },
  'search.entriesDown': {
    sqlite: /search_entry USING PRIMARY KEY \(account_id=\? AND token=\? AND kind=\? AND \(at,item_id\)<\(\?,\?\)\)/,
    postgres: /Backward using search_entry_pkey[\s\S]*Index Cond: .*token = .*kind = .*ROW\(at, item_id\) <=/,
  },
  'search.entriesUp': {
    sqlite: /search_entry USING PRIMARY KEY \(account_id=\? AND token=\? AND kind=\? AND \(at,item_id\)>\(\?,\?\)\)/,
    postgres: /using search_entry_pkey[\s\S]*Index Cond: .*token = .*kind = .*ROW\(at, item_id\) >=/,
  },
  'search.countEntries': {
    sqlite: /search_entry USING PRIMARY KEY \(account_id=\? AND token=\? AND kind>\? AND kind<\?\)/,
    postgres: /using search_entry_pkey[\s\S]*Index Cond: .*token = .*kind >= .*kind <=/,
  },
  'search.conversationsBefore': {
    sqlite: /USING INDEX conversation_by_time \(account_id=\? AND \(last_at,number\)<\(\?,\?\)\)/,
    postgres: /Backward using conversation_by_time[\s\S]*ROW\(last_at, number\) </,
  },
  'search.unansweredBefore': {
    sqlite: /USING INDEX conversation_unanswered \(account_id=\? AND \(last_at,number\)<\(\?,\?\)\)/,
    postgres: /Backward using conversation_unanswered[\s\S]*ROW\(last_at, number\) </,
  },
  'search.failedBefore': {
    sqlite: /USING INDEX conversation_failed \(account_id=\? AND \(last_at,number\)<\(\?,\?\)\)/,
    postgres: /Backward using conversation_failed[\s\S]*ROW\(last_at, number\) </,
  },
  'outbox.undeliveredSent': {
    sqlite: /USING INDEX sent_undelivered \(account_id=\? AND \(sent_at,message_id\)<\(\?,\?\)\)/,
    postgres: /Backward using sent_undelivered[\s\S]*ROW\(sent_at, message_id\) <=/,
  },
};

describe('query plans of the search, on the embedded database', () => {
  let database: DatabaseSync;
  before(async () => {
    const setting = (await engines[0]?.fresh('sample')) as string;
    await (await openStore(setting)).close();
    database = new DatabaseSync(pathOf(setting));
  });
  after(() => database.close());

  for (const { name, text, parameters } of statements.filter((each) => !isInsert(each))) {
    test(`${name} searches its index and needs no sorting`, () => {
      const plan = database
        .prepare(`explain query plan ${render(text, parameters, sqliteDialect)}`)
        .all()
        .map(({ detail }) => String(detail));
      const scans = plan.filter((step) => /^SCAN (?!json_each|counted|newer|of_|\(subquery|CONSTANT)/.test(step));
      assert.deepEqual(scans, [], plan.join('\n'));
      assert.ok(!plan.some((step) => step.includes('ORDER BY')), plan.join('\n'));
      assert.match(plan.join('\n'), INDEXES[name]?.sqlite ?? /SEARCH \w+ USING/);
    });
  }
});

onOneServer('query plans of the search, on PostgreSQL', () => {
  let hosts: ReturnType<typeof createFailoverPool>;
  let client: Awaited<ReturnType<ReturnType<typeof createFailoverPool>['connect']>>;
  before(async () => {
    const setting = await untouchedPostgres();
    await (await openStore(setting)).close();
    hosts = createFailoverPool({ url: setting, connectionsMax: 1, timeoutMs: 5_000 }, systemClock);
    client = await hosts.connect();
  });
  after(async () => {
    client.release();
    await hosts.close();
  });

  for (const { name, text, parameters } of statements.filter((each) => !isInsert(each))) {
    test(`${name} reads by its index and needs no sorting`, async () => {
      const ask = async (sql: string) => (await client.query(sql)).rows;
      const plan = await genericPlan(ask, render(text, parameters, postgresDialect));
      assert.doesNotMatch(plan, /Seq Scan|Hash (Semi )?Join|Merge (Semi )?Join|\bSort\b/, plan);
      assert.match(plan, INDEXES[name]?.postgres ?? /Index (Only )?Scan/, plan);
    });
  }
});
