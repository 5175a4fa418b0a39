/**
 * route: which account gets the messages to a number or short code. unrouted: messages for which
 * there was no route; the operator decides. incoming_once: SHA-256 of what has come already, so
 * that a carrier that repeats itself brings nothing twice. held_incoming: parts of a long message
 * whose other parts have not come yet. `parts` is a JSON object of texts by number.
 *
 * held_receipt: receipts whose submission is not known. The answer to a submission may come after
 * its receipt, so they are kept for some time. An id that a receipt does not have is ''.
 * receipt_watch: one row; up to which attempt somebody has looked for those without a receipt.
 */
export const receivingTables = `
  alter table account add column stop_words text;
  create table route (
    name text {binary} primary key,
    destination text not null,
    destination_end text {binary} not null,
    keyword text not null,
    priority bigint not null,
    account_id bigint not null references account on delete cascade,
    updated_at bigint not null
  );
  create index route_by_destination on route (destination_end);
  create index route_by_account on route (account_id);
  create table unrouted (
    unrouted_id bigint primary key,
    connector text not null,
    sender text not null,
    destination text not null,
    text text not null,
    received_at bigint not null
  );
  create index unrouted_by_time on unrouted (received_at, unrouted_id);
  create table incoming_once (
    key_hash text {binary} primary key,
    received_at bigint not null,
    forget_at bigint not null
  );
  create index incoming_once_by_time on incoming_once (forget_at);
  create table held_incoming (
    group_hash text {binary} primary key,
    connector text not null,
    sender text not null,
    destination text not null,
    total bigint not null,
    parts text not null,
    received_at bigint not null,
    held_at bigint not null
  );
  create index held_incoming_by_time on held_incoming (held_at);
  create table held_receipt (
    connector text {binary} not null,
    gateway_id text {binary} not null,
    attempt_id text {binary} not null,
    status text not null,
    at bigint not null,
    detail text,
    held_at bigint not null,
    primary key (connector, gateway_id, attempt_id, status)
  );
  create index held_receipt_by_time on held_receipt (held_at);
  create table receipt_watch (
    watch_id bigint primary key,
    looked_to text {binary} not null,
    taken_at bigint not null
  );
  insert into receipt_watch (watch_id, looked_to, taken_at) values (1, '', 0);
`;

/**
 * Words that opt in again and that ask for help, the languages whose lists of words count, and the
 * texts that answer STOP and HELP. shared_opt_out: 1 for a route whose STOP and START count for all
 * accounts that have a route of its destination.
 */
export const replyWordColumns = `
  alter table account add column start_words text;
  alter table account add column help_words text;
  alter table account add column word_languages text;
  alter table account add column stop_answer text;
  alter table account add column help_answer text;
  alter table route add column shared_opt_out bigint not null default 0;
`;
