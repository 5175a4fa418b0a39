import type { AccountKey } from '../../store/caller.ts';
import { statement } from '../../store/statement.ts';

/** Rules of clients, and the history of stages: see schema/migration-tables.ts. */

export interface ClientRuleRow {
  name: string;
  account_id: bigint | null;
  username: string | null;
  network: string;
  header: string;
  header_value: string;
  stage: string;
  changed_at: bigint;
}
export const clientRules = statement<{ limit: number }, ClientRuleRow>(
  'migrationRules.all',
  `select name, migration_client_rule.account_id, username, network, header, header_value, stage, changed_at
   from migration_client_rule left join account_directory on account_directory.account_id = migration_client_rule.account_id
   order by name {limit :limit}`,
);
export const putClientRule = statement<{
  name: string;
  customer: bigint | null;
  network: string;
  header: string;
  headerValue: string;
  stage: string;
  at: number;
}>(
  'migrationRules.put',
  `insert into migration_client_rule (name, account_id, network, header, header_value, stage, changed_at)
   values (:name, :customer, :network, :header, :headerValue, :stage, :at)
   on conflict (name) do update set account_id = excluded.account_id, network = excluded.network,
     header = excluded.header, header_value = excluded.header_value, stage = excluded.stage, changed_at = excluded.changed_at`,
  { affects: 'none' },
);
export const removeClientRule = statement<{ name: string }>(
  'migrationRules.remove',
  'delete from migration_client_rule where name = :name',
  { affects: 'none' },
);

export interface StageChangeRow {
  changed_at: bigint;
  stage: string;
  changed_by: string;
}
export const addStageChange = statement<{ account: AccountKey; stage: string; by: string; at: number }>(
  'migrationRules.addStageChange',
  `insert into migration_stage_change (account_id, changed_at, stage, changed_by) values (:account, :at, :stage, :by)
   on conflict (account_id, changed_at) do update set stage = excluded.stage, changed_by = excluded.changed_by`,
  { affects: 'none' },
);
/** The changes of an account's stage, oldest first. */
export const stageChanges = statement<{ account: AccountKey; limit: number }, StageChangeRow>(
  'migrationRules.stageChanges',
  `select changed_at, stage, changed_by from migration_stage_change where account_id = :account
   order by changed_at {limit :limit}`,
);
export const addDefaultChange = statement<{ stage: string; by: string; at: number }>(
  'migrationRules.addDefaultChange',
  `insert into migration_default_change (changed_at, stage, changed_by) values (:at, :stage, :by)
   on conflict (changed_at) do update set stage = excluded.stage, changed_by = excluded.changed_by`,
  { affects: 'none' },
);
export const defaultChanges = statement<{ limit: number }, StageChangeRow>(
  'migrationRules.defaultChanges',
  'select changed_at, stage, changed_by from migration_default_change order by changed_at {limit :limit}',
);

export interface MovingRow {
  account_id: bigint;
  username: string;
  stage: string | null;
  stage_at: bigint | null;
}
/** All accounts, with their own stage if they have one. */
export const stagesOfAll = statement<{ after: string; limit: number }, MovingRow>(
  'migrationRules.stagesOfAll',
  `select account_directory.account_id, username, stage, migration_stage.changed_at as stage_at
   from account_directory left join migration_stage on migration_stage.account_id = account_directory.account_id
   where username > :after order by username {limit :limit}`,
);
export const stageOfName = statement<{ username: string }, MovingRow>(
  'migrationRules.stageOfName',
  `select account_directory.account_id, username, stage, migration_stage.changed_at as stage_at
   from account_directory left join migration_stage on migration_stage.account_id = account_directory.account_id
   where username = :username`,
);
/** Counts scheduled messages that are not active. */
export const heldScheduled = statement<{ account: AccountKey }, { total: bigint }>(
  'migrationRules.heldScheduled',
  `select count(*) as total from scheduled where account_id = :account and not exists
     (select 1 from dispatch where dispatch.account_id = :account and dispatch.message_id = scheduled.message_id)`,
);
export const servers = statement<{ limit: number }, { url: string; tested_at: bigint }>(
  'migrationRules.servers',
  'select url, tested_at from migrated_server order by url {limit :limit}',
);
