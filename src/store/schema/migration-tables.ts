/**
 * Moving from an old server. `migration_stage` has the stage of each account; one that is not there
 * has the default stage, which is in `migration_state`. `migration_count` adds up what was compared
 * on each day, so it stays small however many calls there are. An example never has a number of a
 * phone or a text. `migration_write` has the writes that the old server is still to get, encrypted:
 * they hold a user_id.
 */
export const migrationTrafficTables = `
  create table migration_stage (
    account_id bigint not null references account on delete cascade,
    stage text not null,
    changed_at bigint not null,
    primary key (account_id)
  );
  create index migration_stage_by_stage on migration_stage (stage);
  create table migration_state (
    name text primary key,
    value text not null,
    changed_at bigint not null
  );
  create table migration_count (
    day bigint not null,
    operation text {binary} not null,
    protocol text {binary} not null,
    name text {binary} not null,
    total bigint not null,
    primary key (day, operation, protocol, name)
  );
  create table migration_example (
    operation text {binary} not null,
    protocol text {binary} not null,
    name text {binary} not null,
    slot bigint not null,
    example text not null,
    at bigint not null,
    primary key (operation, protocol, name, slot)
  );
  create index migration_example_by_time on migration_example (at);
  create table migration_acceptance (
    operation text primary key,
    accepted_by text not null,
    accepted_at bigint not null
  );
  create table migration_write (
    account_id bigint not null references account on delete cascade,
    write_id bigint not null,
    operation text not null,
    state text not null,
    key_name text not null,
    sealed text not null,
    created_at bigint not null,
    due_at bigint not null,
    attempts bigint not null,
    primary key (account_id, write_id)
  );
  create index migration_write_by_due on migration_write (key_name, due_at);
`;

/**
 * migrated_server: the old server, and which of its reads mark what they return, as JSON.
 * migrated_account: how far the copy of an account is. `inbox_until`: received messages up to this
 * time are here. The highest copied ids: rows above them were made here and are never removed.
 * taken_message: scheduled messages that are being taken over from the old server. A row outlives
 * its message, so that nobody takes it twice.
 */
export const migratedAccountTables = `
  create table migrated_server (
    url text {binary} primary key,
    reads_mark text not null,
    tested_at bigint not null
  );
  create table migrated_account (
    account_id bigint primary key references account on delete cascade,
    started_at bigint not null,
    completed_at bigint,
    synced_at bigint,
    inbox_until bigint,
    highest_message bigint not null default 0,
    highest_contact bigint not null default 0,
    highest_group bigint not null default 0
  ) {clustered};
  create table taken_message (
    account_id bigint not null references account on delete cascade,
    message_id bigint not null,
    state text not null,
    at bigint not null,
    primary key (account_id, message_id)
  ) {clustered};
`;

/**
 * The programs that call the old server through the proxy. A row stands for one User-Agent,
 * address, account, operation and protocol. `account_name` is the name of the account in
 * recordings; it is empty if a call had no user_id. `user_id_hash` finds the username once the
 * account has been copied. `days` are the days on which the row was seen. An address is personal
 * data, so rows that were not seen for 90 days are deleted, unless the operator sets another
 * retention.
 */
export const migrationClientTables = `
  create table migration_client (
    account_name text {binary} not null,
    agent text {binary} not null,
    address text {binary} not null,
    operation text {binary} not null,
    protocol text {binary} not null,
    user_id_hash text,
    first_at bigint not null,
    last_at bigint not null,
    last_day bigint not null,
    days bigint not null,
    total bigint not null,
    primary key (account_name, agent, address, operation, protocol)
  );
  create index migration_client_by_time on migration_client (last_at);
  create index migration_client_by_address on migration_client (address);
  create index migration_client_by_user_id on migration_client (user_id_hash);
  insert into retention (kind, days) values ('clients', 90) on conflict (kind) do nothing;
`;

/**
 * migration_client_rule: which server answers the reads of a client, by its address or a header
 * field. An empty `network` or `header` matches every call, and no account stands for all of them.
 * migration_stage_change and migration_default_change: who set which stage when.
 */
export const migrationRuleTables = `
  create table migration_client_rule (
    name text {binary} primary key,
    account_id bigint references account on delete cascade,
    network text not null,
    header text not null,
    header_value text not null,
    stage text not null,
    changed_at bigint not null
  );
  create index migration_client_rule_by_account on migration_client_rule (account_id);
  create table migration_stage_change (
    account_id bigint not null references account on delete cascade,
    changed_at bigint not null,
    stage text not null,
    changed_by text not null,
    primary key (account_id, changed_at)
  );
  create table migration_default_change (
    changed_at bigint primary key,
    stage text not null,
    changed_by text not null
  );
  insert into migration_stage_change (account_id, changed_at, stage, changed_by)
    select account_id, changed_at, stage, '' from migration_stage;
  insert into migration_default_change (changed_at, stage, changed_by)
    select changed_at, value, '' from migration_state where name = 'stage';
`;
