import type { AccountKey } from '../../store/caller.ts';
import { defineColumns, type RowOf } from '../../store/columns.ts';
import { statement } from '../../store/statement.ts';

/** Bearer tokens of the operator's API, each with the name of its account. */
const fields = {
  id: 'long',
  kind: 'text',
  name: 'text',
  username: 'text?',
  /** Separated by commas. */
  scopes: 'text',
  createdAt: 'instant',
  expiresAt: 'instant?',
  lastUsedAt: 'instant?',
  revokedAt: 'instant?',
} as const;
const TOKEN_ID = { id: 'token_id' } as const;
export type TokenRow = RowOf<typeof fields, typeof TOKEN_ID>;
export const tokenColumns = defineColumns(fields, TOKEN_ID);
const columns = tokenColumns.names;
const source = 'operator_token left join account_directory on account_directory.account_id = operator_token.account_id';

export interface BearerRow extends TokenRow {
  account_id: bigint | null;
  disabled_at: bigint | null;
  allowed_networks: string | null;
}
export const tokenByHash = statement<{ hash: string }, BearerRow>(
  'tokens.byHash',
  `select ${columns}, operator_token.account_id, disabled_at, allowed_networks from ${source} where token_hash = :hash`,
);
export const anyToken = statement<Record<string, never>, { token_id: bigint }>(
  'tokens.any',
  'select token_id from operator_token limit 1',
);
export const tokenById = statement<{ token: bigint }, TokenRow>(
  'tokens.byId',
  `select ${columns} from ${source} where token_id = :token`,
);
export const tokensAfter = statement<{ afterAt: number; afterId: bigint; limit: number }, TokenRow>(
  'tokens.after',
  `select ${columns} from ${source} where (operator_token.created_at, token_id) > (:afterAt, :afterId)
   order by operator_token.created_at, token_id {limit :limit}`,
);
export const tokensOfAccount = statement<{ account: AccountKey; limit: number }, TokenRow>(
  'tokens.ofAccount',
  `select ${columns} from ${source} where operator_token.account_id = :account
   order by operator_token.created_at desc, token_id {limit :limit}`,
);
export const tokenOfAccount = statement<{ account: AccountKey; token: bigint }, TokenRow>(
  'tokens.oneOfAccount',
  `select ${columns} from ${source} where token_id = :token and operator_token.account_id = :account`,
);
export const addToken = statement<{
  token: bigint;
  hash: string;
  kind: string;
  name: string;
  account: bigint | null;
  scopes: string;
  createdAt: number;
  expiresAt: number | null;
}>(
  'tokens.add',
  `insert into operator_token (token_id, token_hash, kind, name, account_id, scopes, created_at, expires_at)
   values (:token, :hash, :kind, :name, :account, :scopes, :createdAt, :expiresAt)`,
  { affects: 'none' },
);
export const revokeToken = statement<{ token: bigint; revokedAt: number }>(
  'tokens.revoke',
  'update operator_token set revoked_at = :revokedAt where token_id = :token and revoked_at is null',
  { affects: 'none' },
);
/** Written at most once a minute, because each write costs a commit. */
export const tokenUsed = statement<{ token: bigint; usedAt: number; before: number }>(
  'tokens.used',
  `update operator_token set last_used_at = :usedAt
   where token_id = :token and (last_used_at is null or last_used_at < :before)`,
  { affects: 'none' },
);
