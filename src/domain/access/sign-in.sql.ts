import { defineColumns, type RowOf } from '../../store/columns.ts';
import { statement } from '../../store/statement.ts';

/** Links, sessions, second factors and wrong passwords of the console. */
type Owned = { owner: string; operator: bigint | null; accountId: bigint | null };
type ByOwner = { owner: string };
const none = { affects: 'none' } as const;

/** Deletes all rows of an owner from a table. */
const deleteOf = (name: string, table: string) =>
  statement<ByOwner>(`signIn.${name}`, `delete from ${table} where owner = :owner`, none);
/** Deletes a batch of the oldest rows of a table whose time is over. */
const deleteOld = (name: string, table: string, key: string, time: string) =>
  statement<{ before: number; limit: number }>(
    `signIn.${name}`,
    `delete from ${table} where ${key} in
     (select ${key} from ${table} where ${time} < :before order by ${time} {limit :limit})`,
    none,
  );

export const setAccountPassword = statement<{ account: bigint; passwordHash: string | null }>(
  'signIn.setAccountPassword',
  'update account set password_hash = :passwordHash where account_id = :account',
);
/** Profile shows this time to clients of the contract. */
export const accountSignedIn = statement<{ account: bigint; at: number }>(
  'signIn.accountSignedIn',
  'update account set last_login_at = :at where account_id = :account',
);

export const addLink = statement<Owned & { hash: string; expiresAt: number }>(
  'signIn.addLink',
  `insert into sign_in_link (link_hash, owner, operator_id, account_id, expires_at)
   values (:hash, :owner, :operator, :accountId, :expiresAt)`,
  none,
);
export interface LinkRow {
  operator_id: bigint | null;
  account_id: bigint | null;
  expires_at: bigint;
}
export const linkByHash = statement<{ hash: string }, LinkRow>(
  'signIn.linkByHash',
  'select operator_id, account_id, expires_at from sign_in_link where link_hash = :hash',
);
/** A link is used by the one request that deletes it. */
export const deleteLink = statement<{ hash: string }>(
  'signIn.deleteLink',
  'delete from sign_in_link where link_hash = :hash',
  none,
);
export const deleteLinksOf = deleteOf('deleteLinksOf', 'sign_in_link');
export const deleteOldLinks = deleteOld('deleteOldLinks', 'sign_in_link', 'link_hash', 'expires_at');

const sessionFields = {
  id: 'long',
  operatorId: 'long?',
  accountId: 'long?',
  awaitsCode: 'flag',
  createdAt: 'instant',
  seenAt: 'instant',
  expiresAt: 'instant',
  address: 'text',
  agent: 'text',
} as const;
const SESSION_ID = { id: 'session_id' } as const;
export type SessionRow = RowOf<typeof sessionFields, typeof SESSION_ID>;
export const sessionColumns = defineColumns(sessionFields, SESSION_ID);
const columnsOfSession = sessionColumns.namesOf('session');
export interface FoundSessionRow extends SessionRow {
  operator_name: string | null;
  operator_disabled_at: bigint | null;
  username: string | null;
  account_disabled_at: bigint | null;
  allowed_networks: string | null;
}
export const addSession = statement<
  Owned & {
    hash: string;
    id: bigint;
    awaitsCode: number;
    createdAt: number;
    expiresAt: number;
    address: string;
    agent: string;
  }
>(
  'signIn.addSession',
  `insert into session (session_hash, owner, operator_id, account_id, session_id, awaits_code, created_at, seen_at,
     expires_at, address, agent)
   values (:hash, :owner, :operator, :accountId, :id, :awaitsCode, :createdAt, :createdAt, :expiresAt, :address, :agent)`,
  none,
);
/** Reads a session together with its owner, who may be disabled by now. */
export const sessionByHash = statement<{ hash: string }, FoundSessionRow>(
  'signIn.sessionByHash',
  `select ${columnsOfSession}, operator.name as operator_name, operator.disabled_at as operator_disabled_at,
     username, account_directory.disabled_at as account_disabled_at, allowed_networks
   from session left join operator on operator.operator_id = session.operator_id
     left join account_directory on account_directory.account_id = session.account_id
   where session_hash = :hash`,
);
export const sessionsOf = statement<ByOwner & { limit: number }, SessionRow>(
  'signIn.sessionsOf',
  `select ${columnsOfSession} from session where owner = :owner order by created_at desc, session_id desc {limit :limit}`,
);
export const sessionSeen = statement<{ hash: string; seenAt: number }>(
  'signIn.sessionSeen',
  'update session set seen_at = :seenAt where session_hash = :hash and seen_at < :seenAt',
  none,
);
export const deleteSessionOf = statement<ByOwner & { id: bigint }>(
  'signIn.deleteSessionOf',
  'delete from session where owner = :owner and session_id = :id',
  none,
);
/** Deletes all sessions but one. No session has the id 0. */
export const deleteSessionsOf = statement<ByOwner & { keep: bigint }>(
  'signIn.deleteSessionsOf',
  'delete from session where owner = :owner and session_id <> :keep',
  none,
);
export const deleteAllSessions = statement<Record<string, never>>(
  'signIn.deleteAllSessions',
  "delete from session where session_hash >= ''",
  { affects: 'none' },
);
export const deleteAllLinks = statement<Record<string, never>>(
  'signIn.deleteAllLinks',
  "delete from sign_in_link where link_hash >= ''",
  { affects: 'none' },
);
export const deleteOldSessions = deleteOld('deleteOldSessions', 'session', 'session_hash', 'expires_at');

export interface FactorRow {
  secret: string;
  confirmed_at: bigint | null;
  last_step: bigint;
}
export const factorOf = statement<ByOwner, FactorRow>(
  'signIn.factorOf',
  'select secret, confirmed_at, last_step from second_factor where owner = :owner',
);
export const setFactor = statement<Owned & { secret: string }>(
  'signIn.setFactor',
  `insert into second_factor (owner, operator_id, account_id, secret, last_step)
   values (:owner, :operator, :accountId, :secret, 0)
   on conflict (owner) do update set secret = :secret, confirmed_at = null, last_step = 0
   where second_factor.confirmed_at is null`,
  none,
);
/** A code is valid once, because its step must be later than the last one. */
export const factorUsed = statement<ByOwner & { step: number; confirmedAt: number }>(
  'signIn.factorUsed',
  `update second_factor set last_step = :step, confirmed_at = coalesce(confirmed_at, :confirmedAt)
   where owner = :owner and last_step < :step`,
  none,
);
export const deleteFactor = deleteOf('deleteFactor', 'second_factor');
export const addRecoveryCode = statement<Owned & { hash: string }>(
  'signIn.addRecoveryCode',
  `insert into recovery_code (owner, operator_id, account_id, code_hash) values (:owner, :operator, :accountId, :hash)`,
  none,
);
export const useRecoveryCode = statement<ByOwner & { hash: string }>(
  'signIn.useRecoveryCode',
  'delete from recovery_code where owner = :owner and code_hash = :hash',
  none,
);
export const deleteRecoveryCodes = deleteOf('deleteRecoveryCodes', 'recovery_code');
export const countRecoveryCodes = statement<ByOwner, { total: bigint }>(
  'signIn.countRecoveryCodes',
  'select count(*) as total from recovery_code where owner = :owner',
);

export const failuresOf = statement<{ hash: string }, { failures: bigint; failed_at: bigint }>(
  'signIn.failuresOf',
  'select failures, failed_at from sign_in_failure where key_hash = :hash',
);
/** Failures before `since` are forgotten. */
export const addFailure = statement<{ hash: string; at: number; since: number }>(
  'signIn.addFailure',
  `insert into sign_in_failure (key_hash, failures, failed_at) values (:hash, 1, :at)
   on conflict (key_hash) do update set
     failures = case when sign_in_failure.failed_at < :since then 1 else sign_in_failure.failures + 1 end,
     failed_at = :at`,
  none,
);
export const clearFailures = statement<{ hash: string }>(
  'signIn.clearFailures',
  'delete from sign_in_failure where key_hash = :hash',
  none,
);
export const deleteOldFailures = deleteOld('deleteOldFailures', 'sign_in_failure', 'key_hash', 'failed_at');
