import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import * as accounts from '../../../src/domain/accounts/accounts.sql.ts';
import * as blacklist from '../../../src/domain/contacts/blacklist.sql.ts';
import * as contacts from '../../../src/domain/contacts/contacts.sql.ts';
import * as groups from '../../../src/domain/contacts/groups.sql.ts';
import * as templates from '../../../src/domain/contacts/templates.sql.ts';
import * as purge from '../../../src/domain/messages/purge.sql.ts';
import * as inbox from '../../../src/domain/messages/received.sql.ts';
import * as scheduled from '../../../src/domain/messages/scheduled.sql.ts';
import * as outbox from '../../../src/domain/messages/sent.sql.ts';
import { Caller } from '../../../src/store/caller.ts';
import { lockManyQuery, lockQuery, withCaller } from '../../../src/store/postgres/caller-statement.ts';
import { VERSIONS } from '../../../src/store/postgres/connection.ts';
import { postgresDialect } from '../../../src/store/postgres/dialect.ts';
import { manyOf } from '../../../src/store/postgres/many-statement.ts';
import { SESSION } from '../../../src/store/postgres/pool.ts';
import { render, type Statement } from '../../../src/store/statement.ts';
import { engines } from '../../support/engines.ts';
import { openStore } from '../../support/opened-database.ts';
import { type Outside, openOutside } from '../../support/other-process.ts';
import { onOneServer } from '../../support/postgres-engines.ts';

const statements = [inbox, outbox, scheduled, contacts, groups, templates, blacklist, accounts, purge]
  .flatMap((module) => Object.values(module) as unknown as Statement<never>[])
  .filter(({ text, parameters }) => text !== undefined && parameters !== undefined);

/** 40 accounts, 10,000 messages of each kind. */
const DATA = `
  insert into account (account_id, username, credits, used_credits, priority, tag, created_at)
    select n, 'user ' || n, 0, 0, 0, 0, 0 from generate_series(1, 40) n;
  insert into credential (account_id, user_id_hash, created_at) select n, 'hash ' || n, 0 from generate_series(1, 40) n;
  insert into contact_group (account_id, group_id, name) select n, g, 'group' from generate_series(1, 40) n, generate_series(1, 5) g;
  insert into contact (account_id, contact_id, number_key, group_id)
    select n, i, 'key ' || i, i % 5 + 1 from generate_series(1, 40) n, generate_series(1, 250) i;
  insert into template (account_id, position, text_hash, text)
    select n, i, 'hash ' || i, 'text' from generate_series(1, 40) n, generate_series(1, 250) i;
  insert into blocked_number (account_id, number, number_key, blocked_at)
    select n, i, i, 0 from generate_series(1, 40) n, generate_series(1, 250) i;
  insert into received (account_id, message_id, text, received_at)
    select n, i, 'text', i * 1000 from generate_series(1, 40) n, generate_series(1, 250) i;
  insert into unread_message (account_id, generation, received_at, message_id)
    select n, 0, i * 1000, i from generate_series(1, 40) n, generate_series(1, 225) i;
  insert into sent (account_id, message_id, text, status, sent_at, updated_at, is_marked)
    select n, i, 'text', 'DELIVERED', i * 1000, i * 1000, i % 10 / 9 from generate_series(1, 40) n, generate_series(1, 250) i;
  insert into scheduled (account_id, message_id, text, number_key, held_parts, scheduled_at, created_at)
    select n, i, 'text', 'key ' || i, 1, i * 1000, 0 from generate_series(1, 40) n, generate_series(1, 250) i;
  analyze`;

onOneServer('query plans of PostgreSQL', () => {
  let outside: Outside;
  before(async () => {
    const setting = (await engines.find(({ name }) => name === 'postgres')?.fresh('empty')) as string;
    await (await openStore(setting)).close();
    outside = await openOutside(setting);
    for (const each of [...DATA.split(';'), ...SESSION.split(';')]) await outside.query(each);
  });
  after(() => outside.close());

  let count = 0;
  async function planOf({ text, parameters }: { text: string; parameters: readonly string[] }): Promise<string> {
    const name = `plan_${++count}`;
    await outside.query(`prepare ${name} as ${text}`);
    const values = parameters.length > 0 ? `(${parameters.map(() => 'null')})` : '';
    const rows = await outside.query(`explain (costs off) execute ${name}${values}`);
    return rows.map((row) => row['QUERY PLAN']).join('\n');
  }
  const plain = ({ text, parameters }: Statement<never>) => ({
    text: render(text, parameters as readonly string[], postgresDialect),
    parameters: parameters as readonly string[],
  });

  const indexesIn = (plan: string) =>
    [...plan.matchAll(/(?:using|Bitmap Index Scan on) (\w+)/g)].map(([, name]) => name);
  /** Of finding out who calls, and of the account's version, which comes with what is read. */
  const CALLER = ['credential_user_id_hash_key', 'account_pkey'];
  const VERSION = 'tally_pkey';

  // Receipts alone run what is joined with records, for an account whose id is known.
  const about = statements.filter(
    ({ parameters, text }) => (parameters as readonly string[]).includes('account') && !text.includes('{joined'),
  );
  const asked = about.flatMap((statement) => {
    const caller = withCaller(statement, postgresDialect);
    return caller ? [{ statement, caller }] : [];
  });

  test('most statements about an account can be combined with the identification of the caller', () => {
    const rest = about.filter((each) => !asked.some(({ statement }) => statement === each)).map(({ text }) => text);
    assert.ok(asked.length > 25);
    for (const text of rest) assert.match(text, /^insert |\breturning\b/);
  });

  for (const { statement, caller } of asked) {
    test(`${statement.name} reads no table from end to end, and uses the same indexes whoever calls`, async () => {
      const [own, called] = [await planOf(plain(statement)), await planOf(caller)];
      for (const plan of [own, called]) {
        assert.doesNotMatch(plan, /Seq Scan/);
        for (const [, first] of plan.matchAll(/Index Cond: \(+(\w+) /g)) {
          assert.match(first ?? '', /^(account_id|user_id_hash)$/, plan);
        }
      }
      const version = statement.writes ? [] : [VERSION];
      assert.deepEqual(indexesIn(called).toSorted(), [...CALLER, ...version, ...indexesIn(own)].toSorted(), called);
    });
  }

  const many = [inbox.markRead, inbox.deleteReceived, outbox.mark, outbox.deleteSent].map(
    (each) => each as unknown as Statement<never>,
  );
  for (const statement of many) {
    test(`${statement.name} for many accounts at once uses the same indexes`, async () => {
      const together = manyOf(statement, postgresDialect) ?? assert.fail('it has not that form');
      const parameters = ['hashes', ...together.parameters];
      const [own, called] = [await planOf(plain(statement)), await planOf({ ...together, parameters })];
      assert.doesNotMatch(called, /Seq Scan/);
      // The callers are found by their hashes, and their accounts are locked by their keys.
      const expected = [...CALLER, 'account_pkey', ...indexesIn(own)];
      assert.deepEqual(indexesIn(called).toSorted(), expected.toSorted(), called);
    });
  }

  const LISTS: Readonly<Record<string, readonly [index: string, condition: RegExp]>> = {
    'inbox.unread': ['unread_message_pkey', /account_id = .* AND \(generation = /],
    'inbox.receivedBetween': ['received_by_arrival', /account_id = .* AND \(generation = .* AND \(received_at <= /],
    'inbox.newest': ['received_by_arrival', /account_id = .* AND \(generation = .*received_at/],
    'inbox.receivedFrom': ['received_pkey', /account_id = .* AND \(message_id >= /],
    'outbox.unmarked': ['sent_by_state', /account_id = .* AND \(is_marked = 0\)/],
    'outbox.newestSent': ['sent_by_time', /account_id = .*sent_at/],
    'outbox.sentFrom': ['sent_pkey', /account_id = .* AND \(message_id >= /],
    'outbox.soonest': ['scheduled_by_time', /account_id = .*scheduled_at/],
    'outbox.scheduledFrom': ['scheduled_pkey', /account_id = .* AND \(message_id >= /],
    'outbox.scheduledByEnd': ['scheduled_by_number_end', /account_id = .* AND \("right".* AND \(message_id >= /],
    'contacts.contactsByEnd': ['contact_by_number_end', /account_id = .* AND \("right".* AND \(contact_id >= /],
    'blacklist.byEnd': ['blocked_by_number_end', /account_id = .* AND \("right".* AND \(number > /],
  };
  for (const [name, [index, condition]] of Object.entries(LISTS)) {
    test(`${name} takes its rows from ${index} in their order, and sorts nothing`, async () => {
      const found = asked.find(({ statement }) => statement.name === name) ?? assert.fail(`there is no ${name}`);
      for (const plan of [await planOf(plain(found.statement)), await planOf(found.caller)]) {
        assert.match(plan, new RegExp(`Index (Only )?Scan (Backward )?using ${index} on `));
        assert.match(plan.split(index)[1] ?? '', condition);
        assert.doesNotMatch(plan, /Sort/);
      }
    });
  }

  test('the account is locked by its key, also if only a user_id is known', async () => {
    for (const account of [1n, new Caller('hash 1')]) {
      const { text, values } = lockQuery(account);
      const plan = await planOf({ text, parameters: values.map(String) });
      assert.doesNotMatch(plan, /Seq Scan/);
      assert.match(plan, /Index Scan using account_pkey on account/);
    }
  });

  test('the accounts of many callers are locked by their keys, in order', async () => {
    const { text } = lockManyQuery(['hash 1']);
    const plan = await planOf({ text, parameters: ['hashes'] });
    assert.doesNotMatch(plan, /Seq Scan/);
    assert.match(plan, /LockRows[\s\S]*account_id = ANY/);
    for (const [condition] of plan.matchAll(/Index (?:Only )?Scan .*\n.*$/gm)) assert.match(condition, /Index Cond/);
  });

  test('versions are read by the key of the tally', async () => {
    const plan = await planOf({ text: VERSIONS.text, parameters: ['accounts'] });
    assert.match(plan, /Index Scan (using|on) tally_pkey/);
  });

  test('the backlog of the purge is found in an index of its own, and its rows by their generation', async () => {
    assert.match(await planOf(plain(purge.next as unknown as Statement<never>)), /using tally_to_purge on tally/);
    const plan = await planOf(plain(purge.deleteSome as unknown as Statement<never>));
    assert.doesNotMatch(plan, /Seq Scan/);
    assert.match(plan, /account_id = \$1\) AND \(generation < \$2\)/);
  });
});
