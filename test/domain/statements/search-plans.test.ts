import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { unreadPartiesUp } from '../../../src/domain/messages/received.sql.ts';
import * as sent from '../../../src/domain/messages/sent.sql.ts';
import * as search from '../../../src/domain/search/search.sql.ts';
import type { Statement } from '../../../src/store/statement.ts';
import { onOneServer } from '../../support/postgres-engines.ts';
import { postgresPlans, sqlitePlans } from './plan-readers.ts';

/** Every list of the search reads one range of an index that is made for it, on both engines. */

const { documentsAmong, documentsDown, ...others } = search;
const statements = [
  others,
  documentsAmong,
  documentsDown,
  { undelivered: sent.undeliveredSent, count: sent.countUndelivered, unreadPartiesUp },
]
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
  'inbox.unreadPartiesUp': {
    sqlite:
      /unread_message USING PRIMARY KEY \(account_id=\? AND generation=\? AND \(received_at,message_id\)>\(\?,\?\)\)[\s\S]*received USING PRIMARY KEY \(account_id=\? AND message_id=\?\)/,
    postgres:
      /using unread_message_pkey[\s\S]*Index Cond: .*generation = .*ROW\(received_at, message_id\) >=[\s\S]*using received_pkey/,
  },
  'search.countEntries': {
    sqlite: /search_entry USING PRIMARY KEY \(account_id=\? AND token=\? AND kind>\? AND kind<\?\)/,
    postgres: /using search_entry_pkey[\s\S]*Index Cond: .*token = .*kind >= .*kind <=/,
  },
  'search.conversationsBefore': {
    sqlite: /USING INDEX conversation_by_time \(account_id=\? AND \(last_at,number\)<\(\?,\?\)\)/,
    postgres: /Backward using conversation_by_time[\s\S]*ROW\(last_at, number\) </,
  },
  'search.conversationsAmong': {
    sqlite: /conversation USING PRIMARY KEY \(account_id=\? AND number=\?\)/,
    postgres: /using conversation_pkey[\s\S]*Index Cond: .*account_id = .*number = ANY/,
  },
  'search.unansweredBefore': {
    sqlite: /USING INDEX conversation_unanswered \(account_id=\? AND \(last_at,number\)<\(\?,\?\)\)/,
    postgres: /Backward using conversation_unanswered[\s\S]*ROW\(last_at, number\) </,
  },
  'search.failedBefore': {
    sqlite: /USING INDEX conversation_failed \(account_id=\? AND \(last_at,number\)<\(\?,\?\)\)/,
    postgres: /Backward using conversation_failed[\s\S]*ROW\(last_at, number\) </,
  },
  'outbox.countUndelivered': {
    sqlite: /USING INDEX sent_undelivered \(account_id=\? AND sent_at>\?\)/,
    postgres: /using sent_undelivered[\s\S]*Index Cond: .*sent_at >=/,
  },
  'outbox.undeliveredSent': {
    sqlite: /USING INDEX sent_undelivered \(account_id=\? AND \(sent_at,message_id\)<\(\?,\?\)\)/,
    postgres: /Backward using sent_undelivered[\s\S]*ROW\(sent_at, message_id\) <=/,
  },
};

describe('query plans of the search, on the embedded database', () => {
  const { planOf } = sqlitePlans();

  for (const statement of statements.filter((each) => !isInsert(each))) {
    const { name } = statement;
    test(`${name} searches its index and needs no sorting`, () => {
      const plan = planOf(statement);
      const scans = plan.filter((step) => /^SCAN (?!json_each|counted|of_|\(subquery|CONSTANT)/.test(step));
      assert.deepEqual(scans, [], plan.join('\n'));
      assert.ok(!plan.some((step) => step.includes('ORDER BY')), plan.join('\n'));
      assert.match(plan.join('\n'), INDEXES[name]?.sqlite ?? /SEARCH \w+ USING/);
    });
  }
});

onOneServer('query plans of the search, on PostgreSQL', () => {
  const { planOf } = postgresPlans();

  for (const statement of statements.filter((each) => !isInsert(each))) {
    const { name } = statement;
    test(`${name} reads by its index and needs no sorting`, async () => {
      const plan = await planOf(statement);
      assert.doesNotMatch(plan, /Seq Scan|Hash (Semi )?Join|Merge (Semi )?Join|\bSort\b/, plan);
      assert.match(plan, INDEXES[name]?.postgres ?? /Index (Only )?Scan/, plan);
    });
  }
});
