import type { AccountKey } from '../../store/caller.ts';
import { defineColumns, type RowOf, type ValuesOf } from '../../store/columns.ts';
import { statement } from '../../store/statement.ts';

/** The user_ids of accounts, and when each was last used. */
type One = { account: AccountKey };

const CREDENTIAL_FIELDS = { hash: 'text', createdAt: 'instant', revokedAt: 'instant?' } as const;
const HASH = { hash: 'user_id_hash' } as const;

export type Credential = ValuesOf<typeof CREDENTIAL_FIELDS>;
type CredentialRow = RowOf<typeof CREDENTIAL_FIELDS, typeof HASH>;
export const credentialColumns = defineColumns(CREDENTIAL_FIELDS, HASH);

export const credentials = statement<One, CredentialRow>(
  'userIds.credentials',
  `select ${credentialColumns.names} from credential where account_id = :account order by created_at, user_id_hash`,
);
export const credentialOwner = statement<{ hash: string }, { account_id: bigint }>(
  'userIds.credentialOwner',
  'select account_id from credential where user_id_hash = :hash',
);
/** Triggers do this where user_ids are on the node of their account. */
const renewVersion = statement<{ account: bigint }>('userIds.renewVersion', 'select version_of(:account)');
const distributed = { everywhere: [renewVersion] };
export const addCredential = statement<{ account: bigint } & Credential>(
  'userIds.addCredential',
  `insert into credential (account_id, ${credentialColumns.names}) values (:account, ${credentialColumns.parameters})`,
  { distributed },
);
/** Revokes the credentials of an account whose hash starts with `prefix` and is not `keep`. */
export const revokeCredentials = statement<{ account: bigint; prefix: string; keep: string; revokedAt: number }>(
  'userIds.revokeCredentials',
  `update credential set revoked_at = :revokedAt
   where account_id = :account and user_id_hash like :prefix || '%' and user_id_hash <> :keep and revoked_at is null`,
  { distributed },
);
export const revokeUserId = statement<{ account: bigint; hash: string; revokedAt: number }>(
  'userIds.revoke',
  `update credential set revoked_at = :revokedAt
   where account_id = :account and user_id_hash = :hash and revoked_at is null`,
  { distributed },
);

const USED_FIELDS = { ...CREDENTIAL_FIELDS, lastUsedAt: 'instant?' } as const;
const USED_NAMES = { ...HASH, lastUsedAt: 'used_at' } as const;

/** `lastUsedAt` is exact to a day. */
export type UserId = ValuesOf<typeof USED_FIELDS>;
type UserIdRow = RowOf<typeof USED_FIELDS, typeof USED_NAMES>;
export const userIdColumns = defineColumns(USED_FIELDS, USED_NAMES);

const select = `select credential.user_id_hash, created_at, revoked_at, used_at
   from credential left join user_id_use on user_id_use.account_id = credential.account_id
     and user_id_use.user_id_hash = credential.user_id_hash
   where credential.account_id = :account`;

/** The contract does not show the use of a user_id, so cached answers stay valid. */
export const userIdUsed = statement<{ account: bigint; hash: string; usedAt: number }>(
  'userIds.used',
  `insert into user_id_use (account_id, user_id_hash, used_at) values (:account, :hash, :usedAt)
   on conflict (account_id, user_id_hash) do update set used_at = :usedAt`,
  { affects: 'none' },
);
export const userIds = statement<{ account: bigint; afterAt: number; afterHash: string; limit: number }, UserIdRow>(
  'userIds.after',
  `${select} and (created_at, credential.user_id_hash) > (:afterAt, :afterHash)
   order by created_at, credential.user_id_hash {limit :limit}`,
);
export const userIdByPrefix = statement<{ account: bigint; prefix: string }, UserIdRow>(
  'userIds.byPrefix',
  `${select} and credential.user_id_hash like :prefix || '%' order by credential.user_id_hash`,
);
