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
