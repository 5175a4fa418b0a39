/**
 * history: every status that a sent message has had. It is deleted with the message.
 * gateway_message: the id of a gateway, as SHA-256, and the received message. It outlives the
 * message, so that a repeated delivery does not bring a deleted message back.
 * retention: the days for which each kind of data is kept. A missing row means for ever.
 */
export const resourceTables = `
  create table history (
    account_id bigint not null references account on delete cascade,
    message_id bigint not null,
    position bigint not null,
    status text not null,
    at bigint not null,
    detail text,
    primary key (account_id, message_id, position),
    foreign key (account_id, message_id) references sent on delete cascade
  ) {clustered};
  create table gateway_message (
    account_id bigint not null references account on delete cascade,
    gateway_id_hash text {binary} not null,
    message_id bigint not null,
    received_at bigint not null,
    primary key (account_id, gateway_id_hash)
  ) {clustered};
  create index gateway_message_by_time on gateway_message (account_id, received_at);
  alter table blocked_number add column origin text;
  create table retention (
    kind text primary key,
    days bigint not null,
    applied_at bigint
  );
`;
