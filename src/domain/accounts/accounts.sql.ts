import { columnOf } from '../../store/columns.ts';
import { type AccountKey, statement } from '../../store/statement.ts';
import {
  type AccountDetails,
  type AccountRow,
  type AccountValues,
  accountColumns,
  CALLER,
  DETAILS,
} from './account-columns.sql.ts';

/** Accounts and their credentials. */
export type { AccountRow };
export interface CredentialRow {
  user_id_hash: string;
  created_at: bigint;
  revoked_at: bigint | null;
}
type One = { account: AccountKey };

// Columns are named, because a prepared `select *` fails in PostgreSQL after a migration adds a
// column.
const columns = `account_id, ${accountColumns.names}`;

export interface IdentityRow {
  account_id: bigint;
  allowed_networks: string | null;
  version: bigint;
}
export const identify = statement<{ hash: string }, IdentityRow>(
  'accounts.identify',
  `select account_id, allowed_networks,
     (select version from tally where tally.account_id = caller.account_id) as version
   from (${CALLER}) as caller`,
);
/** See schema/account-version.ts. */
export const version = statement<One, { version: bigint }>(
  'accounts.version',
  'select version from tally where account_id = :account',
);
export const account = statement<One, AccountRow>(
  'accounts.account',
  `select ${columns} from account where account_id = :account`,
);
export const accountByName = statement<{ username: string }, AccountRow>(
  'accounts.accountByName',
  `select ${columns} from account where username = :username`,
);
/** A page: usernames after `after`. */
export const accountsAfter = statement<{ after: string; limit: number }, AccountRow>(
  'accounts.accountsAfter',
  `select ${columns} from account where username > :after order by username {limit :limit}`,
);
export const addAccount = statement<{ account: bigint } & AccountValues>(
  'accounts.addAccount',
  `insert into account (${columns}) values (:account, ${accountColumns.parameters})`,
);
/** Replaces the given details. Null leaves a column as it is. */
export const setDetails = statement<{ account: AccountKey } & AccountDetails>(
  'accounts.setDetails',
  `update account set ${DETAILS.map((field) => `${columnOf(field)} = coalesce(:${field}, ${columnOf(field)})`).join(', ')}
   where account_id = :account`,
);

export const credentials = statement<One, CredentialRow>(
  'accounts.credentials',
  `select user_id_hash, created_at, revoked_at from credential where account_id = :account
   order by created_at, user_id_hash`,
);
export const credentialOwner = statement<{ hash: string }, { account_id: bigint }>(
  'accounts.credentialOwner',
  'select account_id from credential where user_id_hash = :hash',
);
export const addCredential = statement<{ account: bigint; hash: string; createdAt: number; revokedAt: number | null }>(
  'accounts.addCredential',
  `insert into credential (account_id, user_id_hash, created_at, revoked_at)
   values (:account, :hash, :createdAt, :revokedAt)`,
);
/** Revokes the credentials of an account whose hash starts with `prefix` and is not `keep`. */
export const revokeCredentials = statement<{ account: bigint; prefix: string; keep: string; revokedAt: number }>(
  'accounts.revokeCredentials',
  `update credential set revoked_at = :revokedAt
   where account_id = :account and user_id_hash like :prefix || '%' and user_id_hash <> :keep and revoked_at is null`,
);
