import { Problem } from '../../base/problem.ts';
import type { Queries } from '../database.ts';
import { render, type SqlDialect, statement } from '../statement.ts';
import { sqliteAccountChange } from './account-change.ts';
import { accountVersionColumn, postgresAccountVersion, sqliteAccountVersion } from './account-version.ts';
import { batchTables, postgresBatches, sqliteBatches } from './batches.ts';
import { dispatchOrder, postgresDispatchOrder, sqliteDispatchOrder } from './dispatch-order.ts';
import { accountDirectory } from './distribution.ts';
import { hourCountTables } from './hour-counts.ts';
import { idCounterTable } from './id-counter.ts';
import { installationTable } from './installation.ts';
import { ledgerTables, postgresLedger, sqliteLedger } from './ledger.ts';
import {
  migratedAccountTables,
  migrationClientTables,
  migrationRuleTables,
  migrationTrafficTables,
} from './migration-tables.ts';
import { answersOfTokens, operatorTables } from './operator.ts';
import { receivingTables, replyWordColumns } from './receiving.ts';
import { resourceTables } from './resources.ts';
import {
  postgresSearch,
  postgresSearchByKind,
  postgresSearchWithCarriersDeleted,
  postgresSearchWithoutDeleted,
  searchByKind,
  searchTables,
  searchWithCarriersDeleted,
  searchWithoutDeleted,
  sqliteSearch,
  sqliteSearchByKind,
  sqliteSearchWithCarriersDeleted,
  sqliteSearchWithoutDeleted,
} from './search.ts';
import { draftTable, optOutColumns, postgresSending, sendingTables, sqliteSending } from './sending.ts';
import { signInTables, userIdUseTable } from './sign-in.ts';
import { postgresTriggers, sqliteTriggers, tallyTables } from './tally.ts';
import { postgresUnread, sqliteUnread, unreadTable } from './unread.ts';
import {
  carrierMemory,
  carrierQueryTable,
  outboundRouteTables,
  postgresWaysOut,
  spendGuardTables,
  sqliteWaysOut,
  waysOut,
} from './ways-out.ts';
import { webhookTables } from './webhooks.ts';

/**
 * The tables. Every key starts with the account, so that data can be partitioned by account.
 * Instants are milliseconds since 1970. Truth values are 0 and 1.
 * A released migration is never edited: add another one.
 * A migration only adds, so that nodes of the previous version work during a rolling upgrade. The
 * version after the next one removes what is not used.
 */
export interface Migration {
  readonly version: number;
  readonly name: string;
  readonly sql: string;
  /** SQL of one engine that runs after `text`, such as triggers. */
  readonly own?: Readonly<Record<SqlDialect['engine'], string>>;
}

export const migrations: readonly Migration[] = [
  {
    version: 1,
    name: 'accounts, contacts, messages',
    sql: `
      create table account (
        account_id bigint primary key,
        username text {binary} not null unique,
        password_hash text,
        contact_name text, contact_surname text, company text,
        email text, tel text, fax text, mobile text, address text,
        region text,
        credits bigint not null,
        used_credits bigint not null,
        priority bigint not null,
        tag bigint not null,
        created_at bigint not null,
        last_login_at bigint,
        disabled_at bigint
      );
      create table credential (
        account_id bigint not null references account on delete cascade,
        user_id_hash text not null unique,
        created_at bigint not null,
        revoked_at bigint,
        primary key (account_id, user_id_hash)
      );
      create table contact_group (
        account_id bigint not null references account on delete cascade,
        group_id bigint not null,
        name text,
        primary key (account_id, group_id)
      ) {clustered};
      create table contact (
        account_id bigint not null references account on delete cascade,
        contact_id bigint not null,
        name text, surname text, mobile text,
        number_key text,
        group_id bigint,
        primary key (account_id, contact_id),
        foreign key (account_id, group_id) references contact_group
      ) {clustered};
      create index contact_by_number on contact (account_id, number_key, contact_id);
      create index contact_by_group on contact (account_id, group_id, contact_id);
      create table template (
        account_id bigint not null references account on delete cascade,
        position bigint not null,
        text_hash text not null,
        text text not null,
        primary key (account_id, position),
        unique (account_id, text_hash)
      ) {clustered};
      create table blocked_number (
        account_id bigint not null references account on delete cascade,
        number text {binary} not null,
        number_key text not null,
        sample text,
        blocked_at bigint not null,
        primary key (account_id, number)
      ) {clustered};
      create index blocked_by_key on blocked_number (account_id, number_key);
      create table received (
        account_id bigint not null references account on delete cascade,
        message_id bigint not null,
        sender text, text text, short_code text,
        received_at bigint not null,
        is_read bigint not null,
        primary key (account_id, message_id)
      ) {clustered};
      create index received_by_time on received (account_id, received_at, message_id);
      create index received_by_state on received (account_id, is_read, received_at, message_id);
      create table sent (
        account_id bigint not null references account on delete cascade,
        message_id bigint not null,
        reference text, recipient text, text text,
        status text not null,
        sent_at bigint not null,
        updated_at bigint not null,
        is_marked bigint not null,
        primary key (account_id, message_id)
      ) {clustered};
      create index sent_by_time on sent (account_id, sent_at, message_id);
      create index sent_by_state on sent (account_id, is_marked, updated_at, message_id);
      create table scheduled (
        account_id bigint not null references account on delete cascade,
        message_id bigint not null,
        reference text, recipient text, text text,
        number_key text,
        held_parts bigint not null,
        scheduled_at bigint not null,
        created_at bigint not null,
        primary key (account_id, message_id)
      ) {clustered};
      create index scheduled_by_time on scheduled (account_id, scheduled_at, message_id);
      create index scheduled_by_number on scheduled (account_id, number_key);
    `,
  },
  { version: 2, name: 'tally', sql: tallyTables, own: { sqlite: sqliteTriggers, postgres: postgresTriggers } },
  { version: 3, name: 'allowed networks', sql: 'alter table account add column allowed_networks text' },
  { version: 4, name: 'unread', sql: unreadTable, own: { sqlite: sqliteUnread, postgres: postgresUnread } },
  {
    /**
     * Before this migration a `number_key` was E.164 where the region at the import allowed it. The
     * region may have changed. The last digits of a number are the same in every notation and in
     * E.164. So numbers are found by their last digits, and no key is computed again. Nodes of the
     * previous version work more slowly without the dropped indexes. No such version was released.
     */
    version: 5,
    name: 'numbers by their last digits',
    sql: `
      create index contact_by_number_end on contact (account_id, {ending number_key}, contact_id);
      create index blocked_by_number_end on blocked_number (account_id, {ending number_key}, number);
      create index scheduled_by_number_end on scheduled (account_id, {ending number_key}, message_id);
      drop index contact_by_number;
      drop index blocked_by_key;
      drop index scheduled_by_number;
    `,
  },
  { version: 6, name: 'id counters', sql: idCounterTable },
  { version: 7, name: "the operator's side", sql: operatorTables },
  { version: 8, name: 'ledger', sql: ledgerTables, own: { sqlite: sqliteLedger, postgres: postgresLedger } },
  { version: 9, name: 'history, gateway ids, retention', sql: resourceTables },
  { version: 10, name: 'sending', sql: sendingTables, own: { sqlite: sqliteSending, postgres: postgresSending } },
  {
    version: 11,
    name: 'versions of accounts',
    sql: accountVersionColumn,
    own: { sqlite: sqliteAccountVersion, postgres: postgresAccountVersion },
  },
  { version: 12, name: 'receiving', sql: receivingTables },
  { version: 13, name: 'sign-in', sql: signInTables },
  { version: 14, name: 'webhooks', sql: webhookTables },
  { version: 15, name: 'use of user_ids', sql: userIdUseTable },
  { version: 16, name: 'accounts of an old server', sql: migratedAccountTables },
  { version: 17, name: 'traffic of a migration', sql: migrationTrafficTables },
  {
    version: 18,
    name: 'last errors of connectors',
    sql: `
      alter table carrier_connector add column last_error text;
      alter table carrier_connector add column last_error_at bigint;
    `,
  },
  {
    version: 19,
    name: 'order of accounts that send',
    sql: dispatchOrder,
    own: { sqlite: sqliteDispatchOrder, postgres: postgresDispatchOrder },
  },
  { version: 20, name: 'accounts that changed last', sql: '', own: { sqlite: sqliteAccountChange, postgres: '' } },
  { version: 21, name: 'recipients of waiting messages', sql: optOutColumns },
  { version: 22, name: 'clients of an old server', sql: migrationClientTables },
  { version: 23, name: 'rules of clients, and who set which stage', sql: migrationRuleTables },
  { version: 24, name: 'answers of each token', sql: answersOfTokens },
  { version: 25, name: 'START and HELP words, answers', sql: replyWordColumns },
  {
    version: 26,
    name: 'why somebody accepted a difference of a migration',
    sql: `alter table migration_acceptance add column reason text not null default '';`,
  },
  {
    /**
     * A submission that nobody answered has an unknown outcome, where it was `unsure`; a message
     * that waits for an operator needs a decision, where it was `undecided`; a scheduled message
     * that was taken over is activated, where it was `armed`. Nodes of the previous version do not
     * know the new names, so all of them stop for this one. No such version was released.
     */
    version: 27,
    name: 'unknown outcomes, needed decisions and activated messages',
    sql: `
      alter table account rename column unsure_policy to unknown_outcome_policy;
      alter table carrier_connector rename column unsure to unknown_outcome;
      drop index dispatch_open;
      update dispatch set state = 'unknown-outcome' where state = 'unsure';
      update dispatch set state = 'needs-decision' where state = 'undecided';
      create index dispatch_open on dispatch (account_id, message_id) where state in ('unknown-outcome', 'needs-decision');
      update attempt set state = 'unknown-outcome' where state = 'unsure';
      update taken_message set state = 'activated' where state = 'armed';
    `,
  },
  { version: 28, name: 'installation', sql: installationTable },
  {
    version: 29,
    name: 'answers of carriers that nothing reads',
    sql: `
      alter table carrier_connector add column unread_answer text;
      alter table carrier_connector add column unread_answer_at bigint;
    `,
  },
  {
    version: 30,
    name: 'carriers without receipts',
    sql: 'alter table carrier_connector add column sends_receipts bigint not null default 1',
  },
  { version: 31, name: 'ways out', sql: waysOut, own: { sqlite: sqliteWaysOut, postgres: postgresWaysOut } },
  { version: 32, name: 'outbound routes and spend guards', sql: outboundRouteTables + spendGuardTables },
  {
    version: 33,
    name: 'fields for carriers',
    sql: `
      alter table account add column carrier_fields text;
      alter table dispatch add column carrier_fields text;
    `,
  },
  { version: 34, name: 'search', sql: searchTables, own: { sqlite: sqliteSearch, postgres: postgresSearch } },
  {
    version: 35,
    name: 'events by time',
    sql: `
      drop index webhook_delivery_by_time;
      create index webhook_delivery_by_time on webhook_delivery (at, webhook_id, event_id);
      create index webhook_delivery_by_webhook on webhook_delivery (webhook_id, at, event_id);
    `,
  },
  { version: 36, name: 'counts by the hour', sql: hourCountTables },
  { version: 37, name: 'batches', sql: batchTables, own: { sqlite: sqliteBatches, postgres: postgresBatches } },
  {
    version: 38,
    name: 'words of carriers for each attempt',
    sql: `
      alter table attempt add column reason text;
      alter table attempt add column settled_at bigint;
    `,
  },
  { version: 39, name: 'senders that numbers know', sql: carrierMemory },
  { version: 40, name: 'directory of accounts', sql: accountDirectory },
  { version: 41, name: 'values before and after in the audit', sql: 'alter table audit add column changes text' },
  {
    version: 42,
    name: 'drafts of messages, notes about contacts',
    sql: `${draftTable}
      alter table contact add column note text;
    `,
  },
  { version: 43, name: 'what carriers are asked after a restore', sql: carrierQueryTable },
  {
    version: 44,
    name: 'search by kind, unanswered and failed conversations',
    sql: searchByKind,
    own: { sqlite: sqliteSearchByKind, postgres: postgresSearchByKind },
  },
  {
    version: 45,
    name: 'cancelled messages are no failures',
    sql: searchWithoutDeleted,
    own: { sqlite: sqliteSearchWithoutDeleted, postgres: postgresSearchWithoutDeleted },
  },
  {
    version: 46,
    name: 'messages that the carrier deleted are failures',
    sql: searchWithCarriersDeleted,
    own: { sqlite: sqliteSearchWithCarriersDeleted, postgres: postgresSearchWithCarriersDeleted },
  },
];

/**
 * What a migration needs of a connection. Migrations run in a transaction that excludes all others.
 */
export interface Migratable extends Queries {
  exec(sql: string): void | Promise<void>;
}

/** Called before the first step, with the version of a database that has been used. */
export type BeforeMigration = (version: number) => Promise<void>;

export interface SchemaState {
  readonly version: number;
  readonly bytes: number;
}

/** The steps that a database of this version still needs. */
export const pendingMigrations = (version: number): readonly Migration[] => migrations.slice(version);

export async function migrate(
  connection: Migratable,
  dialect: SqlDialect,
  now: () => number,
  steps: readonly Migration[] = migrations,
  before?: BeforeMigration,
): Promise<void> {
  await connection.exec(
    'create table if not exists schema_version (version bigint primary key, name text not null, applied_at bigint not null)',
  );
  const done = Number((await connection.first(currentVersion, {}))?.version ?? 0n);
  const known = steps.length;
  refuseNewer(done, known);
  if (done > 0 && done < known) await before?.(done);
  for (const { version, name, sql, own } of steps.slice(done)) {
    await connection.exec(render(sql, [], dialect));
    if (own) await connection.exec(own[dialect.engine]);
    await connection.run(recordVersion, { version, name, appliedAt: now() });
  }
}

export function refuseNewer(version: number, known = migrations.length): void {
  if (version <= known) return;
  throw new Problem(
    'bad-argument',
    `The database has schema version ${version}, but this program knows versions only up to ${known}. Run the newer version of Columba that wrote it.`,
  );
}

export const currentVersion = statement<Record<string, never>, { version: bigint | null }>(
  'schema.currentVersion',
  'select max(version) as version from schema_version',
);
const recordVersion = statement<{ version: number; name: string; appliedAt: number }>(
  'schema.recordVersion',
  'insert into schema_version (version, name, applied_at) values (:version, :name, :appliedAt)',
  { affects: 'none' },
);
