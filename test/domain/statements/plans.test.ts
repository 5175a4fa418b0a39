import assert from 'node:assert/strict';
import { constants } from 'node:sqlite';
import { describe, test } from 'node:test';
import * as accounts from '../../../src/domain/accounts/accounts.sql.ts';
import * as blacklist from '../../../src/domain/contacts/blacklist.sql.ts';
import * as contacts from '../../../src/domain/contacts/contacts.sql.ts';
import * as groups from '../../../src/domain/contacts/groups.sql.ts';
import * as templates from '../../../src/domain/contacts/templates.sql.ts';
import * as messageCounts from '../../../src/domain/messages/counts.sql.ts';
import * as purge from '../../../src/domain/messages/purge.sql.ts';
import * as inbox from '../../../src/domain/messages/received.sql.ts';
import * as scheduled from '../../../src/domain/messages/scheduled.sql.ts';
import * as outbox from '../../../src/domain/messages/sent.sql.ts';
import * as sendingCounts from '../../../src/domain/queue/counts.sql.ts';
import { identify } from '../../../src/store/callers.sql.ts';
import { auditedOf } from '../../../src/store/postgres/audited-statement.ts';
import { withCaller } from '../../../src/store/postgres/caller-statement.ts';
import { postgresDialect } from '../../../src/store/postgres/dialect.ts';
import { sqliteDialect } from '../../../src/store/sqlite/connection.ts';
import { render, type Statement } from '../../../src/store/statement.ts';
import { onOneServer } from '../../support/postgres-engines.ts';
import { postgresPlans, sqlitePlans } from './plan-readers.ts';

const statementsOf = (module: object) =>
  Object.values(module).filter((each) => typeof each?.text === 'string') as Statement<Record<string, never>>[];
/** Receipts alone run it, for an account whose id is known. */
const isJoined = ({ text }: { text: string }): boolean => text.includes('{joined');
const isInsert = ({ text }: Statement) => /^\s*insert/.test(text);

/** The operator's own are in operator-plans.test.ts. */
const CONTACTS = [{ ...contacts, count: undefined }, groups, templates];

describe('query plans of the embedded database', () => {
  const { database, planOf } = sqlitePlans();

  for (const statement of [inbox, outbox, scheduled, ...CONTACTS]
    .flatMap(statementsOf)
    .filter((each) => !isInsert(each))) {
    test(`${statement.name} searches an index by account and needs no sorting`, () => {
      const plan = planOf(statement);
      const onTables = plan.filter((step) => /^(SEARCH|SCAN) /.test(step) && !/json_each|^SCAN counted$/.test(step));
      assert.ok(onTables.length > 0, plan.join('\n'));
      for (const step of onTables) {
        assert.match(step, /^SEARCH \w+ USING (COVERING INDEX \w+|INDEX \w+|PRIMARY KEY) \(account_id=\?/);
      }
      assert.ok(!plan.some((step) => step.includes('TEMP B-TREE')), plan.join('\n'));
    });
  }

  const COVERED: Record<string, string> = {
    'inbox.unread':
      'SEARCH unread_message USING PRIMARY KEY (account_id=? AND generation=? AND (received_at,message_id)>(?,?))',
    'inbox.receivedBetween':
      'INDEX received_by_arrival (account_id=? AND generation=? AND (received_at,message_id)>(?,?) AND received_at<?)',
    'inbox.newest': 'INDEX received_by_arrival (account_id=? AND generation=? AND (received_at,message_id)<(?,?))',
    'inbox.unreadNewest':
      'SEARCH unread_message USING PRIMARY KEY (account_id=? AND generation=? AND (received_at,message_id)<(?,?))',
    'inbox.stateBetween':
      'INDEX received_by_arrival (account_id=? AND generation=? AND (received_at,message_id)>(?,?) AND received_at<?)',
    'inbox.stateBetweenNewest':
      'INDEX received_by_arrival (account_id=? AND generation=? AND received_at>? AND (received_at,message_id)<(?,?))',
    'inbox.counts': 'SEARCH tally USING PRIMARY KEY (account_id=?)',
    'outbox.unmarked': 'INDEX sent_by_state (account_id=? AND is_marked=? AND (updated_at,message_id)>(?,?))',
    'outbox.countUnmarked': 'SEARCH tally USING PRIMARY KEY (account_id=?)',
    'outbox.newestSent': 'INDEX sent_by_time (account_id=? AND (sent_at,message_id)<(?,?))',
    'outbox.unmarkedNewest': 'INDEX sent_by_state (account_id=? AND is_marked=? AND (updated_at,message_id)<(?,?))',
    'outbox.oldestSent': 'INDEX sent_by_time (account_id=? AND (sent_at,message_id)>(?,?))',
    'outbox.latestScheduled': 'INDEX scheduled_by_time (account_id=? AND (scheduled_at,message_id)<(?,?))',
    'outbox.scheduledByEnd': 'INDEX scheduled_by_number_end (account_id=? AND <expr>=? AND message_id>?)',
    'outbox.soonest': 'INDEX scheduled_by_time (account_id=? AND (scheduled_at,message_id)>(?,?))',
    'contacts.contactsByEnd': 'INDEX contact_by_number_end (account_id=? AND <expr>=? AND contact_id>?)',
    'blacklist.byEnd': 'INDEX blocked_by_number_end (account_id=? AND <expr>=? AND number>?)',
    'contacts.contactsOfGroup': 'INDEX contact_by_group (account_id=? AND group_id=? AND contact_id>?)',
    'contacts.contactsOfGroupDown': 'INDEX contact_by_group (account_id=? AND group_id=? AND contact_id<?)',
  };
  for (const [name, expected] of Object.entries(COVERED)) {
    test(`${name} uses the index that is made for it, with all that it asks for`, () => {
      const statement = [inbox, outbox, scheduled, blacklist, ...CONTACTS]
        .flatMap(statementsOf)
        .find((each) => each.name === name);
      const plan = planOf(statement as Statement<never>).join('\n');
      assert.ok(plan.includes(expected), plan);
    });
  }

  /** SQLite asks what is allowed whenever it plans. */
  function isPlannedAtEachCall(text: string, values: number[]): boolean {
    let asked = 0;
    database().setAuthorizer(() => {
      asked += 1;
      return constants.SQLITE_OK;
    });
    const prepared = database().prepare(text);
    prepared.setReadBigInts(true);
    prepared.all(...values);
    const once = asked;
    assert.ok(once > 0);
    prepared.all(...values);
    database().setAuthorizer(null);
    return asked > once;
  }

  // A pragma as a table is planned anew each time; only `columba check` asks for it.
  const all = [accounts, ...CONTACTS, inbox, outbox, scheduled, purge, messageCounts, sendingCounts]
    .flatMap(statementsOf)
    .filter(({ name }) => name !== messageCounts.status.name);
  for (const { name, text, parameters } of all.filter(({ writes }) => !writes)) {
    test(`${name} is planned once, not at each call`, () => {
      const values = parameters.map(() => 1);
      assert.ok(!isPlannedAtEachCall(render(text, parameters, sqliteDialect), values));
    });
  }

  test('a limit that is only a parameter is planned at each call, which is why the fragment for limits exists', () => {
    assert.ok(isPlannedAtEachCall('select message_id from received limit ?1', [1]));
  });

  test('purge.next reads only inboxes that were emptied, and purge.deleteSome only old generations', () => {
    const [next, deleteSome] = [purge.next, purge.deleteSome].map((each) => planOf(each).join('\n'));
    assert.match(next ?? '', /USING (COVERING )?INDEX tally_to_purge/);
    assert.match(deleteSome ?? '', /COVERING INDEX received_by_\w+ \(account_id=\? AND generation<\?\)/);
    assert.match(deleteSome ?? '', /SEARCH received USING PRIMARY KEY \(account_id=\? AND message_id=\?\)/);
  });

  test('accounts.identify finds a user_id by its hash, without a scan', () => {
    const plan = planOf(identify);
    assert.deepEqual(
      plan.filter((step) => step.startsWith('SCAN')),
      [],
    );
    assert.match(plan.join('\n'), /SEARCH credential USING INDEX \w+ \(user_id_hash=\?\)/);
  });
});

onOneServer('query plans of PostgreSQL', () => {
  const { ask, planOfText } = postgresPlans();

  /** As it is for all values, however little is in the tables, and whether it is asked with the caller, with its audit entry, or without. */
  async function plansOf(statement: Statement<never>): Promise<string[]> {
    const texts = [
      render(statement.text, statement.parameters, postgresDialect),
      withCaller(statement, postgresDialect)?.text ?? [],
      statement.deletes ? auditedOf(statement, postgresDialect, !/\breturning\b/.test(statement.text)).text : [],
    ].flat();
    return Promise.all(texts.map(planOfText));
  }

  for (const statement of [inbox, outbox, scheduled, ...CONTACTS, purge]
    .flatMap(statementsOf)
    .filter((each) => !isInsert(each) && !isJoined(each))) {
    test(`${statement.name} reads by an index and needs no sorting`, async () => {
      for (const plan of await plansOf(statement as unknown as Statement<never>)) {
        assert.doesNotMatch(plan, /Seq Scan|Hash (Semi )?Join|Merge (Semi )?Join/, plan);
        assert.doesNotMatch(plan, /\bSort\b/, plan);
      }
    });
  }

  test('a list is planned once, not at each call', async () => {
    const unread = { name: 'plans.unread', text: render(inbox.unread.text, inbox.unread.parameters, postgresDialect) };
    for (let call = 0; call < 20; call++) await ask({ ...unread, values: [1, 0, 0, 10] });
    const rows = await ask(
      `select generic_plans, custom_plans from pg_prepared_statements where name = 'plans.unread'`,
    );
    assert.deepEqual(rows, [{ generic_plans: 20n, custom_plans: 0n }]);
  });
});
