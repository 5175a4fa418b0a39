import type { AccountKey } from '../../store/caller.ts';
import { statement } from '../../store/statement.ts';

/** The programs that call the old server: see schema/migration-tables.ts. */

type Nothing = Record<string, never>;

const KEY = 'account_name, agent, address, operation, protocol';
const KEY_COLUMNS = 'account_name text, agent text, address text, operation text, protocol text';

export interface ClientKeyRow {
  account_name: string;
  agent: string;
  address: string;
  operation: string;
  protocol: string;
}

/** Adds counts; those of several proxies add up. */
export const addClients = statement<{ rows: string }>(
  'migrationClients.add',
  `insert into migration_client (${KEY}, user_id_hash, first_at, last_at, last_day, days, total)
   select ${KEY}, user_id_hash, first_at, last_at, last_day, 1, total
   from {records :rows ${KEY_COLUMNS}, user_id_hash text, first_at bigint, last_at bigint, last_day bigint, total bigint} as added
   where true
   on conflict (${KEY}) do update set
     days = migration_client.days + case when excluded.last_day > migration_client.last_day then 1 else 0 end,
     last_day = case when excluded.last_day > migration_client.last_day then excluded.last_day else migration_client.last_day end,
     last_at = case when excluded.last_at > migration_client.last_at then excluded.last_at else migration_client.last_at end,
     total = migration_client.total + excluded.total`,
  { affects: 'none' },
);
/** Returns those of the given keys that have a row. */
export const knownClients = statement<{ rows: string }, ClientKeyRow>(
  'migrationClients.known',
  `select ${KEY.split(', ')
    .map((column) => `migration_client.${column}`)
    .join(', ')}
   from {records :rows ${KEY_COLUMNS}} as given join migration_client on migration_client.account_name = given.account_name
     and migration_client.agent = given.agent and migration_client.address = given.address
     and migration_client.operation = given.operation and migration_client.protocol = given.protocol`,
);
export const countClients = statement<Nothing, { total: bigint }>(
  'migrationClients.count',
  'select count(*) as total from migration_client',
);
/** Counts the rows of the given accounts. */
export const countOfAccounts = statement<{ rows: string }, { account_name: string; total: bigint }>(
  'migrationClients.countOfAccounts',
  `select given.account_name, count(*) as total
   from {records :rows account_name text} as given
     join migration_client on migration_client.account_name = given.account_name
   group by given.account_name`,
);
/** Returns those of the given hashes of user_ids that an account has. */
export const knownUserIds = statement<{ rows: string }, { hash: string }>(
  'migrationClients.knownUserIds',
  `select hash from {records :rows hash text} as given join credential on credential.user_id_hash = given.hash`,
);

export interface ClientRow {
  account_name: string;
  agent: string;
  address: string;
  /** Null if no account has the user_id. */
  username: string | null;
  first_at: bigint;
  last_at: bigint;
  days: bigint;
  total: bigint;
}
export interface ClientPosition {
  name: string;
  agent: string;
  address: string;
}
const OWNER = `left join credential on credential.user_id_hash = client.user_id_hash
     left join account_directory on account_directory.account_id = credential.account_id`;
/** A page of clients. An empty `username` means every account. */
export const clientsAfter = statement<ClientPosition & { username: string; before: number; limit: number }, ClientRow>(
  'migrationClients.after',
  `select account_name, agent, client.address, max(username) as username, min(first_at) as first_at,
     max(last_at) as last_at, max(days) as days, cast(sum(total) as bigint) as total
   from migration_client as client ${OWNER}
   where (account_name, agent, client.address) > (:name, :agent, :address)
     and (cast(:username as text) = '' or username = :username)
   group by account_name, agent, client.address having max(last_at) < :before
   order by account_name, agent, client.address {limit :limit}`,
);
export interface ClientCallRow extends ClientKeyRow {
  last_at: bigint;
  days: bigint;
  total: bigint;
}
/** The calls of one client. */
export const callsOfClient = statement<ClientPosition & { limit: number }, ClientCallRow>(
  'migrationClients.calls',
  `select ${KEY}, last_at, days, total from migration_client
   where account_name = :name and agent = :agent and address = :address
   order by operation, protocol {limit :limit}`,
);
/** `unknown` counts user_ids that no account has, seen since `since`. */
export const summary = statement<
  { since: number; silentBefore: number },
  { clients: bigint; silent: bigint; unknown: bigint; first_at: bigint | null; last_at: bigint | null }
>(
  'migrationClients.summary',
  `select count(*) as clients, cast(coalesce(sum(case when last_at < :silentBefore then 1 else 0 end), 0) as bigint) as silent,
     count(distinct case when hash is not null and customer is null and last_at >= :since then account_name end) as unknown,
     min(first_at) as first_at, max(last_at) as last_at
   from (select account_name, max(migration_client.user_id_hash) as hash, max(credential.account_id) as customer,
       min(first_at) as first_at, max(last_at) as last_at
     from migration_client left join credential on credential.user_id_hash = migration_client.user_id_hash
     group by account_name, agent, address) as counted`,
);

export const countClientsBefore = statement<{ before: number }, { total: bigint }>(
  'migrationClients.countBefore',
  'select count(*) as total from migration_client where last_at < :before',
);
export const deleteClientsBefore = statement<{ before: number; limit: number }>(
  'migrationClients.deleteBefore',
  `delete from migration_client where (${KEY}) in
     (select ${KEY} from migration_client where last_at < :before order by last_at {limit :limit})`,
  { affects: 'none' },
);
export const deleteClientsAt = statement<{ address: string }>(
  'migrationClients.deleteAt',
  'delete from migration_client where address = :address',
  { affects: 'none' },
);
/** Runs before the account is removed, because its user_ids find the rows. */
export const deleteClientsOf = statement<{ account: AccountKey }>(
  'migrationClients.deleteOf',
  `delete from migration_client where user_id_hash in
     (select user_id_hash from credential where account_id = :account)`,
  { affects: 'none' },
);
export const deleteUnknownClients = statement<Nothing>(
  'migrationClients.deleteUnknown',
  `delete from migration_client where user_id_hash is not null and not exists
     (select 1 from credential where credential.user_id_hash = migration_client.user_id_hash)`,
  {
    affects: 'none',
    distributed: {
      text: `delete from migration_client where user_id_hash in
        (select client.user_id_hash from migration_client as client
           left join credential on credential.user_id_hash = client.user_id_hash where credential.account_id is null)`,
    },
  },
);
