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
