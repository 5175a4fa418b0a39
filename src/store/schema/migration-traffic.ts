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
