import type { AccountKey } from '../../store/caller.ts';
import { defineColumns, type RowOf } from '../../store/columns.ts';
import { EVERY_ACCOUNT, statement } from '../../store/statement.ts';

/** Stages, counts, examples, acceptances, and writes for the old server. */

type Nothing = Record<string, never>;

export interface StageRow {
  stage: string;
  changed_at: bigint;
}
export interface AccountStageRow extends StageRow {
  account_id: bigint;
  username: string;
}
/** Finds the account and its stage by the hash of a valid user_id. */
export const stageOfUserId = statement<{ hash: string }, { account_id: bigint; stage: string | null }>(
  'migrationTraffic.stageOfUserId',
  `select credential.account_id, stage from credential
     left join migration_stage on migration_stage.account_id = credential.account_id
   where user_id_hash = :hash and revoked_at is null`,
);
export const stageOf = statement<{ account: AccountKey }, StageRow>(
  'migrationTraffic.stageOf',
  'select stage, changed_at from migration_stage where account_id = :account',
);
export const stagesAfter = statement<{ after: string; limit: number }, AccountStageRow>(
  'migrationTraffic.stagesAfter',
  `select migration_stage.account_id, username, stage, changed_at
   from migration_stage join account_directory on account_directory.account_id = migration_stage.account_id
   where username > :after order by username {limit :limit}`,
);
export const anyLeading = statement<Nothing, { account_id: bigint }>(
  'migrationTraffic.anyLeading',
  `select account_id from migration_stage where stage in ('lead', 'alone') limit 1`,
);
export const setStage = statement<{ account: AccountKey; stage: string; at: number }>(
  'migrationTraffic.setStage',
  `insert into migration_stage (account_id, stage, changed_at) values (:account, :stage, :at)
   on conflict (account_id) do update set stage = excluded.stage, changed_at = excluded.changed_at`,
  { affects: 'none' },
);

export interface StateRow {
  value: string;
  changed_at: bigint;
}
export const stateOf = statement<{ name: string }, StateRow>(
  'migrationTraffic.stateOf',
  'select value, changed_at from migration_state where name = :name',
);
export const setState = statement<{ name: string; value: string; at: number }>(
  'migrationTraffic.setState',
  `insert into migration_state (name, value, changed_at) values (:name, :value, :at)
   on conflict (name) do update set value = excluded.value, changed_at = excluded.changed_at`,
  { affects: 'none' },
);
/** Finds one state with a value among those whose names are from `from` to `before`. */
export const anyState = statement<{ from: string; before: string }, { name: string }>(
  'migrationTraffic.anyState',
  "select name from migration_state where name >= :from and name < :before and value <> '' order by name {limit 1}",
);
/** Sets a state that has no value yet. */
export const addState = statement<{ name: string; value: string; at: number }>(
  'migrationTraffic.addState',
  `insert into migration_state (name, value, changed_at) values (:name, :value, :at)
   on conflict (name) do nothing`,
  { affects: 'none' },
);

/** Adds rows of one day; those of several nodes add up. */
export const addCounts = statement<{ rows: string }>(
  'migrationTraffic.addCounts',
  `insert into migration_count (day, operation, protocol, name, total)
   select day, operation, protocol, name, total
   from {records :rows day bigint, operation text, protocol text, name text, total bigint} as added
   where true
   on conflict (day, operation, protocol, name) do update set total = migration_count.total + excluded.total`,
  { affects: 'none' },
);
export interface CountRow {
  operation: string;
  protocol: string;
  name: string;
  total: bigint;
}
export const countsSince = statement<{ day: number }, CountRow>(
  'migrationTraffic.countsSince',
  `select operation, protocol, name, cast(sum(total) as bigint) as total from migration_count where day >= :day
   group by operation, protocol, name order by operation, protocol, name`,
);
export const countsNamed = statement<{ name: string; limit: number }, CountRow>(
  'migrationTraffic.countsNamed',
  `select operation, protocol, name, cast(sum(total) as bigint) as total from migration_count where name = :name
   group by operation, protocol, name order by operation, protocol {limit :limit}`,
);
export const deleteCountsBefore = statement<{ day: number }>(
  'migrationTraffic.deleteCountsBefore',
  'delete from migration_count where day < :day',
  { affects: 'none' },
);

export interface ExampleRow {
  operation: string;
  protocol: string;
  name: string;
  example: string;
  at: bigint;
}
export const putExamples = statement<{ rows: string }>(
  'migrationTraffic.putExamples',
  `insert into migration_example (operation, protocol, name, slot, example, at)
   select operation, protocol, name, slot, example, at
   from {records :rows operation text, protocol text, name text, slot bigint, example text, at bigint} as added
   where true
   on conflict (operation, protocol, name, slot) do update set example = excluded.example, at = excluded.at`,
  { affects: 'none' },
);
/** There are at most 3 examples for each operation, protocol and name. */
export const examplesSince = statement<{ at: number; limit: number }, ExampleRow>(
  'migrationTraffic.examplesSince',
  `select operation, protocol, name, example, at from migration_example where at >= :at
   order by operation, protocol, name, slot {limit :limit}`,
);
export const deleteExamplesBefore = statement<{ at: number }>(
  'migrationTraffic.deleteExamplesBefore',
  'delete from migration_example where at < :at',
  { affects: 'none' },
);

export interface AcceptanceRow {
  operation: string;
  accepted_by: string;
  accepted_at: bigint;
  reason: string;
}
export const acceptances = statement<Nothing, AcceptanceRow>(
  'migrationTraffic.acceptances',
  'select operation, accepted_by, accepted_at, reason from migration_acceptance order by operation',
);
export const accept = statement<{ operation: string; by: string; at: number; reason: string }>(
  'migrationTraffic.accept',
  `insert into migration_acceptance (operation, accepted_by, accepted_at, reason) values (:operation, :by, :at, :reason)
   on conflict (operation) do update
     set accepted_by = excluded.accepted_by, accepted_at = excluded.accepted_at, reason = excluded.reason`,
  { affects: 'none' },
);
export const withdrawAcceptance = statement<{ operation: string }>(
  'migrationTraffic.withdrawAcceptance',
  'delete from migration_acceptance where operation = :operation',
  { affects: 'none' },
);

const writeFields = {
  account: 'long',
  id: 'long',
  operation: 'text',
  state: 'text',
  sealed: 'text',
  createdAt: 'instant',
  attempts: 'number',
} as const;
const WRITE_KEY = { account: 'account_id', id: 'write_id' } as const;
export type WriteRow = RowOf<typeof writeFields, typeof WRITE_KEY>;
export const writeColumns = defineColumns(writeFields, WRITE_KEY);
export const addWrite = statement<{
  account: AccountKey;
  write: bigint;
  operation: string;
  state: string;
  keyName: string;
  sealed: string;
  at: number;
  dueAt: number;
}>(
  'migrationTraffic.addWrite',
  `insert into migration_write (account_id, write_id, operation, state, key_name, sealed, created_at, due_at, attempts)
   values (:account, :write, :operation, :state, :keyName, :sealed, :at, :dueAt, 0)`,
  { affects: 'none' },
);
/** Columba has done the write, so the old server has to get it now. */
export const setWriteDue = statement<{ account: AccountKey; write: bigint; dueAt: number }>(
  'migrationTraffic.setWriteDue',
  `update migration_write set state = 'due', due_at = :dueAt where account_id = :account and write_id = :write`,
  { affects: 'none' },
);
/** The old server has done the write, so Columba has to get it now. */
export const setWriteBehind = statement<{ account: AccountKey; write: bigint; dueAt: number }>(
  'migrationTraffic.setWriteBehind',
  `update migration_write set state = 'behind', due_at = :dueAt where account_id = :account and write_id = :write`,
  { affects: 'none' },
);
/** Claims a write for one of several proxies; for the others it is not due then. */
export const claimWrite = statement<{ account: AccountKey; write: bigint; now: number; until: number }>(
  'migrationTraffic.claimWrite',
  `update migration_write set due_at = :until
   where account_id = :account and write_id = :write and due_at <= :now`,
  { affects: 'none' },
);
/** Renews the claim of a process that still works on the write. */
export const extendClaim = statement<{ account: AccountKey; write: bigint; until: number }>(
  'migrationTraffic.extendClaim',
  'update migration_write set due_at = :until where account_id = :account and write_id = :write',
  { affects: 'none' },
);
/** Accounts with writes that Columba still has to get, for one key; they may be repeated. */
export const behindAccounts = statement<{ keyName: string; former: string; limit: number }, { account_id: bigint }>(
  'migrationTraffic.behindAccounts',
  `select account_id from migration_write where key_name in (:keyName, :former) and state in ('behind', 'asked')
   order by due_at {limit :limit}`,
);
export const removeWrite = statement<{ account: AccountKey; write: bigint }>(
  'migrationTraffic.removeWrite',
  'delete from migration_write where account_id = :account and write_id = :write',
  { affects: 'none' },
);
export const postponeWrite = statement<{ account: AccountKey; write: bigint; dueAt: number }>(
  'migrationTraffic.postponeWrite',
  `update migration_write set due_at = :dueAt, attempts = attempts + 1
   where account_id = :account and write_id = :write`,
  { affects: 'none' },
);
/** Accounts with writes that are due, for one key; they may be repeated. */
export const dueWriteAccounts = statement<
  { keyName: string; former: string; now: number; limit: number },
  { account_id: bigint }
>(
  'migrationTraffic.dueWriteAccounts',
  `select account_id from migration_write where key_name in (:keyName, :former) and due_at <= :now
   order by due_at {limit :limit}`,
);
/** The writes of an account, oldest first, in the order in which the old server gets them. */
export const writesOf = statement<{ account: AccountKey; limit: number }, WriteRow>(
  'migrationTraffic.writesOf',
  `select ${writeColumns.names} from migration_write
   where account_id = :account order by write_id {limit :limit}`,
);
/** The writes that the old server has done or was asked for. */
export const writesForColumba = statement<{ account: AccountKey; limit: number }, WriteRow>(
  'migrationTraffic.writesForColumba',
  `select ${writeColumns.names} from migration_write
   where account_id = :account and state in ('behind', 'asked') order by write_id {limit :limit}`,
);
export const lastWrite = statement<{ account: AccountKey }, { write_id: bigint | null }>(
  'migrationTraffic.lastWrite',
  'select max(write_id) as write_id from migration_write where account_id = :account',
);
/** `total` and `oldest` count all writes; `waiting` and `due` those for the old server. */
export interface WriteCountsRow {
  total: bigint;
  oldest: bigint | null;
  waiting: bigint;
  due: bigint;
}
export const countWritesOf = statement<{ account: AccountKey }, WriteCountsRow>(
  'migrationTraffic.countWritesOf',
  `select count(*) as total, min(created_at) as oldest,
     cast(coalesce(sum(case when state in ('begun', 'due') then 1 else 0 end), 0) as bigint) as waiting,
     cast(coalesce(sum(case when state = 'due' then 1 else 0 end), 0) as bigint) as due
   from migration_write where account_id = :account`,
);
export const countWrites = statement<Nothing, { total: bigint; oldest: bigint | null }>(
  'migrationTraffic.countWrites',
  `select count(*) as total, min(created_at) as oldest from migration_write where ${EVERY_ACCOUNT}`,
);
