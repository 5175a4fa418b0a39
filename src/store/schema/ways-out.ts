/**
 * dispatch.way: the connector that an outbound route has chosen for a message. It is empty for a
 * message that goes where its account goes: to the connector of the account, else to the default
 * one. route_name: the name of the route. ways_passed: the ways that have refused the message in
 * this round, separated by commas. price: the credits for a part by this way; null where a part
 * costs one credit and no route has a say.
 *
 * dispatch_account: an account has one row for each way of its messages, because each connector
 * claims its own. connector_key is that way, or as before what the account names.
 *
 * The key of dispatch_account changes, so nodes of an earlier version stop for this step.
 */
export const waysOut = `
  alter table dispatch add column way text {binary} not null default '';
  alter table dispatch add column route_name text {binary};
  alter table dispatch add column ways_passed text;
  alter table dispatch add column price bigint;
  drop index dispatch_by_due;
  create index dispatch_by_due on dispatch (account_id, way, state, due_at, message_id);
`;

const copy = `update dispatch_account set
      connector_key = (select case when disabled_at is null then
          case when dispatch_account.way = '' then coalesce(connector, '') else dispatch_account.way end end
        from account where account_id = new.account_id),
      priority = (select priority from account where account_id = new.account_id)
    where account_id = new.account_id;`;

export const sqliteWaysOut = `
  drop trigger dispatch_account_insert;
  drop trigger account_dispatch_update;
  drop index dispatch_account_by_due;
  drop index dispatch_account_rested;
  drop index dispatch_account_backlog;
  alter table dispatch_account rename to dispatch_account_former;
  create table dispatch_account (
    account_id bigint not null references account on delete cascade,
    way text collate binary not null default '',
    next_due_at bigint not null,
    served_at bigint not null default 0,
    connector_key text collate binary,
    priority bigint not null default 0,
    primary key (account_id, way)
  ) without rowid;
  insert into dispatch_account (account_id, next_due_at, served_at, connector_key, priority)
    select account_id, next_due_at, served_at, connector_key, priority from dispatch_account_former;
  drop table dispatch_account_former;
  create index dispatch_account_by_due on dispatch_account (next_due_at);
  create index dispatch_account_rested on dispatch_account (connector_key, priority, next_due_at, account_id)
    where served_at < next_due_at;
  create index dispatch_account_backlog on dispatch_account (connector_key, priority, served_at, account_id)
    where served_at >= next_due_at;
  create trigger dispatch_account_insert after insert on dispatch_account begin ${copy} end;
  create trigger account_dispatch_update after update of connector, priority, disabled_at on account
    when old.connector is not new.connector or old.priority <> new.priority or old.disabled_at is not new.disabled_at
    begin ${copy} end;
`;

const postgresFunction = (name: string) =>
  `create or replace function ${name}() returns trigger language plpgsql as $$ begin ${copy} return null; end $$;`;

export const postgresWaysOut = `
  alter table dispatch_account add column way text collate "C" not null default '';
  alter table dispatch_account drop constraint dispatch_account_pkey;
  alter table dispatch_account add primary key (account_id, way);
  ${postgresFunction('dispatch_account_insert')}
  ${postgresFunction('account_dispatch_update')}
`;

/**
 * outbound_route: where messages go, one JSON document for each route: see domain/outbound.
 * outbound_count: what became of the parts that a route gave to a connector, and how many messages
 * it moved on to the next way.
 *
 * carrier_connector.tried_at: when a connector that is down last got a message to test it, although
 * another way was up. avoided_until: until then routes pass over a connector that refuses most.
 */
export const outboundRouteTables = `
  create table outbound_route (
    name text {binary} primary key,
    definition text not null,
    updated_at bigint not null
  );
  create table outbound_count (
    route text {binary} not null,
    connector text {binary} not null,
    accepted bigint not null default 0,
    temporary bigint not null default 0,
    permanent bigint not null default 0,
    unknown_outcome bigint not null default 0,
    failovers bigint not null default 0,
    primary key (route, connector)
  );
  alter table carrier_connector add column tried_at bigint not null default 0;
  alter table carrier_connector add column avoided_until bigint;
  alter table carrier_connector add column avoided_reason text;
`;

/**
 * spend_guard: what an account may spend, as JSON; no row for an account without a guard.
 * spend_count: what it has spent in a window of time that ends at ends_at, by rule and key. Keys of
 * numbers are hashes, so that a person who is erased leaves nothing here.
 *
 * The index of waiting messages by number also has those that the guard holds, because an opt-out
 * ends them too.
 */
export const spendGuardTables = `
  create table spend_guard (
    account_id bigint primary key references account on delete cascade,
    limits text not null,
    updated_at bigint not null
  ) {clustered};
  create table spend_count (
    account_id bigint not null references account on delete cascade,
    rule text {binary} not null,
    key text {binary} not null,
    ends_at bigint not null,
    amount bigint not null,
    primary key (account_id, rule, key)
  ) {clustered};
  create index spend_count_by_end on spend_count (account_id, ends_at);
  drop index dispatch_by_number_end;
  create index dispatch_by_number_end on dispatch (account_id, {ending recipient}, message_id)
    where state in ('waiting', 'held') and is_scheduled = 0;
  create index dispatch_held on dispatch (account_id, message_id) where state = 'held';
`;

/**
 * carrier_query: parts that a carrier had before a backup was restored, and that it is still to be
 * asked about. `due_at` is when somebody may ask, `asked` how often somebody did.
 *
 * attempt.sender: a carrier that is asked about a part compares its sender. Null where the message
 * names none, and in attempts from before this step.
 */
export const carrierQueryTable = `
  create table carrier_query (
    attempt_id text {binary} primary key,
    connector text {binary} not null,
    gateway_id text {binary} not null,
    sender text,
    due_at bigint not null,
    asked bigint not null default 0
  );
  create index carrier_query_by_due on carrier_query (connector, due_at, attempt_id desc);
  alter table attempt add column sender text;
`;

/**
 * sender_choice: the sender of a pool that a number knows, by route. The key of a number is a hash.
 *
 * held_receipt.for_all_parts: 1 for a receipt of a carrier that sends one for all parts of a
 * message. about: hashes of the addresses and the text of the receipt, as JSON, until it was
 * compared with the messages whose outcome is unknown.
 */
export const carrierMemory = `
  create table sender_choice (
    account_id bigint not null references account on delete cascade,
    route text {binary} not null,
    number_hash text {binary} not null,
    sender text not null,
    used_at bigint not null,
    primary key (account_id, route, number_hash)
  ) {clustered};
  create index sender_choice_by_time on sender_choice (account_id, used_at);
  alter table held_receipt add column for_all_parts bigint not null default 0;
  alter table held_receipt add column about text;
  create index held_receipt_about on held_receipt (held_at) where about is not null;
`;
