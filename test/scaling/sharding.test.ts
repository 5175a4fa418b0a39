import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { onEveryEngine } from '../support/engines.ts';
import { openStore, pathOf, TABLES } from '../support/opened-database.ts';
import { ONE_SERVER } from '../support/postgres-engines.ts';
import { type Index, type StatementText, strayingIndexes, strayings } from './locality.ts';
import { CONNECTORS, MIGRATION, MIGRATION_KEYS, QUERIES, RESTORE, SIGN_IN, UNEXPORTED } from './whole-installation.ts';

const SOURCE = new URL('../../src/', import.meta.url);

/** Statements that look beyond one account, each with the reason why it may. */
const BEYOND: Readonly<Record<string, string>> = {
  ...CONNECTORS,
  ...MIGRATION,
  ...RESTORE,
  'accounts.identify': 'a user_id names the account: nothing else is known yet',
  'userIds.credentialOwner': 'a user_id must not name two accounts',
  'accounts.accountByName': 'the operator names an account by its username',
  'accounts.accountsAfter': 'the operator lists and exports all accounts',
  'attempts.byAttemptId': 'a late answer of a carrier names the attempt, and nothing else is known yet',
  'audit.add': 'the audit is of all accounts',
  'audit.addDeletion': 'the audit is of all accounts',
  'audit.before': 'the audit is of all accounts',
  'audit.ofAccountBefore': 'the audit is of all accounts',
  'outbox.appendHistory': 'all rows of its list belong to the account that it is given',
  'sending.dueAccounts': 'a dispatcher looks for work of any account',
  'sending.levels': 'a dispatcher looks for work of any account',
  'sending.lockAccounts': 'a dispatcher looks for work of any account',
  'sending.nextDue': 'a dispatcher looks for work of any account',
  'drafts.forget': 'drafts of every account end after a day',
  'idempotency.answerOf': 'a key belongs to a token',
  'idempotency.claim': 'a key belongs to a token',
  'idempotency.dropOldestAnswers': 'a key belongs to a token',
  'idempotency.forget': 'a key belongs to a token',
  'idempotency.keep': 'a key belongs to a token',
  'idempotency.release': 'a key belongs to a token',
  'idempotency.takeOver': 'a key belongs to a token',
  'idempotency.useOfToken': 'a key belongs to a token',
  'incoming.groupsBeyond': 'what carriers bring belongs to no account yet',
  'incoming.addOnce': 'what carriers bring belongs to no account yet',
  'incoming.addOnceWithin': 'what carriers bring belongs to no account yet',
  'incoming.addUnrouted': 'what carriers bring belongs to no account yet',
  'incoming.countUnrouted': 'what carriers bring belongs to no account yet',
  'incoming.countUnroutedBefore': 'what carriers bring belongs to no account yet',
  'incoming.deleteUnroutedBefore': 'what carriers bring belongs to no account yet',
  'incoming.forgetOnce': 'what carriers bring belongs to no account yet',
  'incoming.groupsAfter': 'what carriers bring belongs to no account yet',
  'incoming.holdGroup': 'what carriers bring belongs to no account yet',
  'incoming.oldGroups': 'what carriers bring belongs to no account yet',
  'incoming.setParts': 'what carriers bring belongs to no account yet',
  'incoming.takeGroup': 'what carriers bring belongs to no account yet',
  'incoming.takeUnrouted': 'what carriers bring belongs to no account yet',
  'incoming.unroutedAfter': 'what carriers bring belongs to no account yet',
  'incoming.unroutedWithId': 'what carriers bring belongs to no account yet',
  'search.entriesEverywhere': 'the operator looks for a number in all accounts',
  'search.nextBackfill': 'the index is filled for one account after the other',
  'search.nextChanged': 'the index is filled for one account after the other',
  'sending.openAfter': 'it looks for messages whose time is over, wherever they are',
  'receipts.attemptsAfter': 'it looks for submissions without a receipt, wherever they are',
  'receipts.dropBeyond': 'a held receipt names no account',
  'receipts.dropHeld': 'a held receipt names no account',
  'receipts.hold': 'a held receipt names no account',
  'receipts.heldAbout': 'a held receipt names no account',
  'receipts.compared': 'a held receipt names no account',
  'receipts.unknownSubmissions': 'it looks for submissions without an answer, whosever they are',
  'receipts.heldByRestore': 'a carrier names an attempt, not an account',
  'receipts.heldMatches': 'a carrier names an attempt, not an account',
  'receipts.heldOf': 'a held receipt names no account',
  'receipts.matched': 'a carrier names an attempt, not an account',
  'receipts.moveWatch': 'the watch is of the installation',
  'receipts.removeHeld': 'a held receipt names no account',
  'receipts.takeWatch': 'the watch is of the installation',
  'receipts.passedTo': 'the watch is of the installation',
  'receipts.removePassed': 'the watch is of the installation',
  'receipts.watchedTo': 'the watch is of the installation',
  ...QUERIES,
  'routes.after': 'a route names the account: nothing else is known yet',
  'routes.byEnd': 'a route names the account: nothing else is known yet',
  'routes.count': 'a route names the account: nothing else is known yet',
  'routes.named': 'a route names the account: nothing else is known yet',
  'routes.put': 'a route names the account: nothing else is known yet',
  'routes.remove': 'a route names the account: nothing else is known yet',
  'queue.after': 'the operator looks at messages of all accounts',
  'queue.openAfter': 'the operator looks at messages of all accounts',
  'retention.countAudit': 'the audit is of all accounts',
  'retention.deleteAudit': 'the audit is of all accounts',
  'retention.hold': 'retention is a setting of the installation',
  'retention.set': 'retention is a setting of the installation',
  'retention.settings': 'retention is a setting of the installation',
  'retention.take': 'retention is a setting of the installation',
  'retention.unset': 'retention is a setting of the installation',
  'operators.add': 'an operator belongs to no account',
  'operators.byName': 'an operator belongs to no account',
  'operators.byId': 'an operator belongs to no account',
  'operators.after': 'an operator belongs to no account',
  'operators.setDisabled': 'an operator belongs to no account',
  'operators.setPassword': 'an operator belongs to no account',
  'operators.signedIn': 'an operator belongs to no account',
  'webhooks.addTest': 'a webhook may be about all accounts',
  'webhooks.add': 'a webhook may be about all accounts',
  'webhooks.count': 'a webhook may be about all accounts',
  'webhooks.byId': 'a webhook may be about all accounts',
  'webhooks.after': 'a webhook may be about all accounts',
  'webhooks.remove': 'a webhook may be about all accounts',
  'webhooks.rotate': 'a webhook may be about all accounts',
  'webhooks.setDisabled': 'a webhook may be about all accounts',
  'webhooks.due': 'a webhook may be about all accounts',
  'webhooks.claim': 'a webhook may be about all accounts',
  'webhooks.settle': 'a webhook may be about all accounts',
  'webhooks.addAttempt': 'a webhook may be about all accounts',
  'webhooks.attemptsBefore': 'a webhook may be about all accounts',
  'webhooks.eventsAfter': 'a webhook may be about all accounts',
  'webhooks.eventsOfWebhookAfter': 'a webhook may be about all accounts',
  'webhooks.resend': 'a webhook may be about all accounts',
  'webhooks.deleteOld': 'a webhook may be about all accounts',
  'events.emit': 'a webhook may be about all accounts',
  ...SIGN_IN,
  'tokens.add': 'a token may belong to no account',
  'tokens.after': 'the operator lists all tokens',
  'tokens.any': 'the API exists once there is a token',
  'tokens.byHash': 'a token names its account: nothing else is known yet',
  'tokens.byId': 'the operator names a token by its id',
  'tokens.revoke': 'the operator names a token by its id',
  'tokens.used': 'a token may belong to no account',
  'purge.next': 'it looks for inboxes that were emptied, wherever they are',
  'counts.sending': 'the operator wants to know how much there is',
  'counts.messages': 'the operator wants to know how much there is',
  'counts.scheduled': 'the operator wants to know how much there is',
  'counts.waitingByConnector': 'the operator wants to know how much there is',
  'counts.retriedByConnector': 'the operator wants to know how much there is',
  'counts.submissionsBefore': 'the operator wants to know how connectors do',
  'counts.toPurge': 'the operator wants to know how much there is',
  'schema.currentVersion': 'the schema belongs to no account',
  'schema.recordVersion': 'the schema belongs to no account',
};
/** Keys of the whole installation: these tables are kept whole on every node. */
const EVERYWHERE = [
  'account: unique (username)',
  'audit: index (account, at, audit_id)',
  'audit: index (at, audit_id)',
  'audit: primary key (audit_id)',
  'carrier_connector: primary key (name)',
  'carrier_query: index (connector, due_at, attempt_id)',
  'carrier_query: primary key (attempt_id)',
  'connector_hour: primary key (connector, slot)',
  'credential: unique (user_id_hash)',
  'held_incoming: index (held_at)',
  'held_incoming: primary key (group_hash)',
  'held_receipt: index (held_at)',
  'held_receipt: index (held_at)', // that of receipts which name addresses
  'held_receipt: primary key (connector, gateway_id, attempt_id, status)',
  'idempotency: index (claimed_at)',
  'idempotency: index (token_id, claimed_at)',
  'idempotency: primary key (key_hash)',
  'incoming_once: index (forget_at)',
  'incoming_once: primary key (key_hash)',
  'installation: primary key (installation_id)',
  ...MIGRATION_KEYS,
  'operator: primary key (operator_id)',
  'operator: unique (name)',
  'operator_token: index (created_at, token_id)',
  'operator_token: primary key (token_id)',
  'operator_token: unique (token_hash)',
  'outbound_count: primary key (route, connector)',
  'outbound_route: primary key (name)',
  'receipt_watch: primary key (watch_id)',
  'recovery_code: foreign key (operator_id)',
  'recovery_code: index (operator_id)',
  'recovery_code: primary key (owner, code_hash)',
  'retention: primary key (kind)',
  'route: index (destination_end)',
  'route: primary key (name)',
  'second_factor: foreign key (operator_id)',
  'second_factor: index (operator_id)',
  'second_factor: primary key (owner)',
  'session: foreign key (operator_id)',
  'session: index (expires_at)',
  'session: index (operator_id)',
  'session: index (owner, created_at, session_id)',
  'session: primary key (session_hash)',
  'sign_in_failure: index (failed_at)',
  'sign_in_failure: primary key (key_hash)',
  'sign_in_link: foreign key (operator_id)',
  'sign_in_link: index (expires_at)',
  'sign_in_link: index (operator_id)',
  'sign_in_link: index (owner)',
  'sign_in_link: primary key (link_hash)',
  'unrouted: index (received_at, unrouted_id)',
  'unrouted: primary key (unrouted_id)',
  'webhook: index (created_at, webhook_id)',
  'webhook: primary key (webhook_id)',
  'webhook_attempt: foreign key (webhook_id, event_id)',
  'webhook_attempt: index (webhook_id, at, event_id, number)',
  'webhook_attempt: primary key (webhook_id, event_id, number)',
  'webhook_delivery: foreign key (webhook_id)',
  'webhook_delivery: index (at, webhook_id, event_id)',
  'webhook_delivery: index (webhook_id, at, event_id)',
  'webhook_delivery: index (webhook_id, due_at)',
  'webhook_delivery: primary key (webhook_id, event_id)',
];
/**
 * Indexes of spread tables, each node has its own: nobody who calls waits for a search over all
 * nodes. A dispatcher looks for work of any account; a carrier names an attempt, not an account;
 * maintenance deletes old drafts of all accounts.
 */
const SEARCHED = [
  'search_entry: index (token, at, account_id, kind, item_id)',
  'attempt: index (attempt_id)',
  'attempt: index (connector, gateway_id)',
  'dispatch_account: index (connector_key, priority, next_due_at, account_id)',
  'dispatch_account: index (connector_key, priority, served_at, account_id)',
  'dispatch_account: index (next_due_at)',
  'migration_write: index (key_name, due_at)',
  'message_draft: index (saved_at)',
];
const WHOLE_TABLES = [...new Set(EVERYWHERE.map((each) => each.split(':')[0] as string))];

describe('statements', () => {
  let exported: StatementText[];
  before(async () => {
    const modules = await Promise.all(
      globSync(['store/{*,schema/*}.ts', 'domain/**/*.sql.ts', 'migration/**/*.sql.ts'], {
        cwd: fileURLToPath(SOURCE),
      }).map((file) => import(new URL(file, SOURCE).href) as Promise<object>),
    );
    exported = modules.flatMap((module) => Object.values(module)).filter(isStatement);
  });

  test('the test covers every statement of the program', () => {
    const written = globSync(fileURLToPath(new URL('**/*.ts', SOURCE))).flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(/\bstatement<[\s\S]*?>\(\s*'([\w.]+)'/g)].map(
        ([, name]) => name as string,
      ),
    );
    assert.ok(written.length > 40);
    const names = exported.map(({ name }) => name);
    assert.deepEqual(written.filter((name) => !names.includes(name)).sort(), UNEXPORTED);
    assert.deepEqual(new Set(names).size, names.length, 'a name twice');
  });

  test('every statement concerns one account, except those that this test names', () => {
    const stray = exported.filter((each) => strayings(each, TABLES).length > 0).map(({ name }) => name);
    assert.deepEqual(
      stray.sort(),
      Object.keys(BEYOND)
        .filter((name) => !name.startsWith('schema.'))
        .sort(),
    );
  });

  test('statements beyond one account use only tables that are on every node', () => {
    const spread = TABLES.filter((table) => !EVERYWHERE.some((each) => each.startsWith(`${table}:`)));
    assert.deepEqual(spread.length, TABLES.length - WHOLE_TABLES.length);
    const nobodyWaits =
      /^(attempts\.byAttemptId|drafts\.forget|installation\.skipIds|outbox\.appendHistory|purge\.next|migrationTraffic\.(behindAccounts|dueWriteAccounts|countWrites)|queue\.\w+|receipts\.\w+|search\.\w+|senders\.\w+|sending\.\w+|spending\.\w+|counts\.\w+)$/;
    const calls = exported.filter(({ name }) => Object.hasOwn(BEYOND, name) && !nobodyWaits.test(name));
    // The version is read from the row of the account that was found: from one node.
    const ofCaller = '(select version from tally where tally.account_id = caller.account_id)';
    const ofGuard = 'from spend_guard where account_id = :account';
    for (const { name, text: whole } of calls) {
      const text = whole.replace(ofCaller, '').replace(ofGuard, '');
      assert.doesNotMatch(text, new RegExp(`\\b(from|join|into|update) (${spread.join('|')})\\b`), name);
    }
  });

  const WRONG: Readonly<Record<string, string>> = {
    'all accounts': 'select count(*) as total from received',
    'an id that is unique only in an account': 'delete from received where message_id = :id',
    'another comparison': 'select text from template where account_id <> :account',
    'a range': 'select text from template where account_id >= :account',
    'several accounts': 'select text from template where account_id in (:account, :other)',
    'a way around': 'update sent set is_marked = 1 where account_id = :account or message_id = :id',
    'another name': 'update sent set is_marked = 1 where account_id = :other and message_id = :id',
    'another column': 'update sent set is_marked = 1 where message_id = :account',
    'no condition': 'update account set credits = 0',
    'a text that only looks so': "delete from sent where text = 'where account_id = :account'",
    'a subquery without it': `select name from contact where account_id = :account
      and group_id in (select group_id from contact_group where name = :name)`,
    'a subquery that compares with itself': `select name, (select count(*) from contact
      where contact.account_id = contact.account_id) as total from contact_group where account_id = :account`,
    'a join without it': `select received.text from received join sent on sent.message_id = received.message_id
      where received.account_id = :account`,
    'a list of tables': 'select received.text from received, sent where received.account_id = :account',
    'an insert without it': 'insert into template (position, text) values (:position, :text)',
    'an insert of an account that was not given': 'insert into template (account_id, text) values (1, :text)',
    'an insert from a query': 'insert into sent (account_id, message_id) select account_id, message_id from scheduled',
  };
  for (const [name, text] of Object.entries(WRONG)) {
    test(`a made-up statement that strays is found: ${name}`, () => {
      assert.notDeepEqual(strayings({ name, text }, TABLES), []);
    });
  }
});

function isStatement(value: unknown): value is StatementText {
  return typeof value === 'object' && value !== null && 'text' in value && 'name' in value && 'parameters' in value;
}

type Row = { table: string; name: string; kind: Index['kind']; column: string };

function indexesOf(rows: readonly Row[]): Index[] {
  const indexes = new Map<string, Index & { columns: string[] }>();
  for (const { table, name, kind, column } of rows) {
    const key = `${table} ${name}`;
    const index = indexes.get(key) ?? { table, name, kind, columns: [] };
    index.columns.push(column);
    indexes.set(key, index);
  }
  return [...indexes.values()];
}

const SQLITE_INDEXES = `
  select t.name as "table", l.name, i.name as "column",
    case when l.origin = 'pk' then 'primary key' when l."unique" then 'unique' else 'index' end as kind, i.seqno as place
  from sqlite_master t, pragma_index_list(t.name) l, pragma_index_info(l.name) i where t.type = 'table'
  union all
  select t.name, 'foreign key ' || f.id, f."from", 'foreign key', f.seq
  from sqlite_master t, pragma_foreign_key_list(t.name) f where t.type = 'table'
  order by place`;
const POSTGRES_INDEXES = `
  select t.relname as table, i.relname as name, a.attname as column,
    case when x.indisprimary then 'primary key' when x.indisunique then 'unique' else 'index' end as kind, k.place
  from pg_index x join pg_class t on t.oid = x.indrelid join pg_class i on i.oid = x.indexrelid
    cross join lateral unnest(x.indkey::int2[]) with ordinality k (number, place)
    join pg_attribute a on a.attrelid = t.oid and a.attnum = k.number
  where t.relnamespace = 'public'::regnamespace
  union all
  select c.conrelid::regclass::text, c.conname, a.attname, 'foreign key', k.place
  from pg_constraint c cross join lateral unnest(c.conkey) with ordinality k (number, place)
    join pg_attribute a on a.attrelid = c.conrelid and a.attnum = k.number
  where c.contype = 'f' and c.connamespace = 'public'::regnamespace
  order by place`;

/** The keys and indexes of a database, after SQL of the test's own. */
async function indexesIn(setting: string, sql = ''): Promise<Index[]> {
  if (setting.startsWith('sqlite:')) {
    const database = new DatabaseSync(pathOf(setting));
    database.exec(sql);
    const rows = database.prepare(SQLITE_INDEXES).all() as unknown as Row[];
    database.close();
    return indexesOf(rows);
  }
  const client = new pg.Client({ connectionString: setting });
  await client.connect();
  try {
    await client.query(sql);
    return indexesOf((await client.query(POSTGRES_INDEXES)).rows);
  } finally {
    await client.end();
  }
}

onEveryEngine('tables', (engine) => {
  if (engine.name === 'postgres' && ONE_SERVER) return;
  let setting: string;
  before(async () => {
    setting = await engine.fresh('empty');
    await (await openStore(setting)).close();
  });

  test('every key, index and reference starts with the account, except those that must be unique everywhere', async () => {
    const indexes = await indexesIn(setting);
    assert.deepEqual(
      strayingIndexes(indexes),
      [...EVERYWHERE, ...SEARCHED, 'schema_version: primary key (version)'].sort(),
    );
    const keyed = indexes.filter(({ kind }) => kind === 'primary key').map(({ table }) => table);
    assert.deepEqual(keyed.sort(), [...TABLES, 'schema_version'].sort());
    const referring = indexes.filter(({ kind }) => kind === 'foreign key').map(({ table }) => table);
    const spread = TABLES.filter((table) => !WHOLE_TABLES.includes(table));
    assert.deepEqual(
      spread.filter((table) => !referring.includes(table)).sort(),
      ['search_change', 'search_entry'], // a trigger deletes their rows: see store/schema/search.ts
      'refer to no account',
    );
  });

  test('a table or an index of a later version whose key does not start with the account is found', async () => {
    const later = await engine.fresh('empty');
    await (await openStore(later)).close();
    const indexes = await indexesIn(
      later,
      `create table carrier (carrier_id bigint primary key, account_id bigint not null references account);
       create index sent_by_recipient on sent (recipient);
       create unique index received_once on received (message_id, account_id);`,
    );
    const known = strayingIndexes(await indexesIn(setting));
    assert.deepEqual(
      strayingIndexes(indexes).filter((each) => !known.includes(each)),
      ['carrier: primary key (carrier_id)', 'received: unique (message_id, account_id)', 'sent: index (recipient)'],
    );
  });
});
