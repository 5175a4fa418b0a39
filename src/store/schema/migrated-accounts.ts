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
