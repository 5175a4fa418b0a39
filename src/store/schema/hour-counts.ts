/**
 * account_hour and connector_hour: what happened in each hour of the last 31 days. The key is the
 * hour modulo 744 (`slot`), and a new hour replaces the row of 31 days ago, so the tables never
 * grow and nothing has to be deleted. Charts read these rows and never the messages.
 *
 * account_hour counts messages in the transaction that changes them. connector_hour counts parts;
 * processes write it about once a second, because all accounts share its rows.
 *
 * dispatch.first_due_at: when a message was due for the first time; `due_at` moves with every
 * attempt. It is null for messages of before and of nodes of an earlier version.
 */
export const hourCountTables = `
  create table account_hour (
    account_id bigint not null references account on delete cascade,
    slot bigint not null,
    hour bigint not null,
    accepted bigint not null,
    delivered bigint not null,
    failed bigint not null,
    primary key (account_id, slot)
  ) {clustered};
  create table connector_hour (
    connector text {binary} not null,
    slot bigint not null,
    hour bigint not null,
    accepted bigint not null,
    temporary bigint not null,
    permanent bigint not null,
    unknown_outcome bigint not null,
    delivered bigint not null,
    failed bigint not null,
    primary key (connector, slot)
  );
  alter table dispatch add column first_due_at bigint;
  create index dispatch_retried on dispatch (account_id, way, first_due_at, due_at)
    where state = 'waiting' and attempts > 0;
`;
