import type { AccountKey } from './caller.ts';
import type { DeletionValues } from './deletion.ts';
import { statement } from './statement.ts';

/**
 * The statements that the engines themselves run: who calls, which version the account has, and
 * the audit entry of a delete.
 */

/**
 * The account that a user_id names, if the call is allowed. It is not written as a join, because
 * with few accounts PostgreSQL would read all of them, and would keep that plan when there are
 * many.
 */
export const CALLER = `select account_id, allowed_networks from account_directory
  where account_id = (select account_id from credential where user_id_hash = :hash and revoked_at is null)
    and disabled_at is null`;

export interface IdentityRow {
  account_id: bigint;
  allowed_networks: string | null;
  /** Undefined on a distributed database. */
  version?: bigint;
}
export const identify = statement<{ hash: string }, IdentityRow>(
  'accounts.identify',
  `select account_id, allowed_networks,
     (select version from tally where tally.account_id = caller.account_id) as version
   from (${CALLER}) as caller`,
  // The node that is asked knows who calls. The version is on the node of the account.
  { distributed: { text: `${CALLER}` } },
);
/**
 * For a distributed database: whether the node of the account admits the caller, and the version of
 * the account at the same moment. The commit of a change, such as a revoked user_id, reaches each
 * node on its own. So another node may still admit the caller when the account has its new version,
 * and answers that were cached with this version would be given for ever.
 */
export const admitted = statement<{ account: AccountKey; hash: string }, Omit<Required<IdentityRow>, 'account_id'>>(
  'accounts.admitted',
  `select version, allowed_networks from tally, account_directory
   where tally.account_id = :account and account_directory.account_id = :account and disabled_at is null
     and exists (select 1 from credential
       where user_id_hash = :hash and credential.account_id = :account and revoked_at is null)`,
);
/** See schema/account-version.ts. */
export const version = statement<{ account: AccountKey }, { version: bigint }>(
  'accounts.version',
  'select version from tally where account_id = :account',
);
/** The audit entry of a delete through the contract. The account is the actor. */
export const addDeletion = statement<DeletionValues & { account: AccountKey }>(
  'audit.addDeletion',
  `insert into audit (audit_id, at, actor_kind, actor_name, token_id, address, action, account, target, fields)
   select cast(:auditId as bigint), cast(:auditAt as bigint), 'contract', username, null,
     cast(:auditAddress as text), cast(:auditAction as text), username, cast(:auditTarget as text), ''
   from account_directory where account_id = :account`,
  { affects: 'none' },
);
