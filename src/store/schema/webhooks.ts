/**
 * Events for customers. An event is written to `webhook_delivery` once for each webhook that wants
 * it, in the transaction of the change. It holds ids only: numbers and texts are read when it is
 * delivered. `due_at` is null once nothing more is to be done. `low_credits` is the number below
 * which the credits of an account are low. The secret of a webhook is stored as it is, because each
 * request is signed with it.
 */
export const webhookTables = `
  alter table account add column low_credits bigint;
  create table webhook (
    webhook_id bigint primary key,
    account_id bigint references account on delete cascade,
    url text not null,
    events text not null,
    is_full bigint not null,
    secret text not null,
    old_secret text,
    old_secret_until bigint,
    created_at bigint not null,
    disabled_at bigint,
    disabled_reason text
  );
  create index webhook_by_time on webhook (created_at, webhook_id);
  create index webhook_by_account on webhook (account_id);
  create table webhook_delivery (
    webhook_id bigint not null references webhook on delete cascade,
    event_id bigint not null,
    account_id bigint references account on delete cascade,
    type text not null,
    at bigint not null,
    data text not null,
    due_at bigint,
    attempts bigint not null,
    lease_until bigint not null,
    primary key (webhook_id, event_id)
  );
  create index webhook_delivery_by_due on webhook_delivery (webhook_id, due_at);
  create index webhook_delivery_by_time on webhook_delivery (at);
  create index webhook_delivery_by_account on webhook_delivery (account_id);
  create table webhook_attempt (
    webhook_id bigint not null,
    event_id bigint not null,
    number bigint not null,
    at bigint not null,
    status bigint,
    error text,
    duration_ms bigint not null,
    primary key (webhook_id, event_id, number),
    foreign key (webhook_id, event_id) references webhook_delivery on delete cascade
  );
  create index webhook_attempt_by_time on webhook_attempt (webhook_id, at, event_id, number);
`;
