import { hash } from 'node:crypto';
import { notFound } from '../../base/problem.ts';
import { randomBytes, randomId } from '../../base/random.ts';
import type { Database } from '../../store/database.ts';
import * as sql from './tokens.sql.ts';

/** A bearer token. It is shown once and stored as SHA-256, which is enough for 256 random bits. */
export interface Token {
  readonly id: bigint;
  readonly kind: 'operator' | 'account';
  readonly name: string;
  /** The account of an account token. */
  readonly username: string | null;
  readonly scopes: readonly string[];
  readonly createdAt: number;
  readonly expiresAt: number | null;
  readonly lastUsedAt: number | null;
  readonly revokedAt: number | null;
}

/** A token that is valid now, with the account to which it is bound. */
export interface Bearer extends Token {
  readonly account: { readonly id: bigint; readonly username: string; readonly networks: string | null } | null;
}

const PREFIXES = { operator: 'colo_', account: 'cola_' };
const SECRET = /^col[oa]_[A-Za-z0-9_-]{43}$/;
const USED_EVERY_MS = 60_000;

export async function addToken(
  database: Database,
  given: { name: string; account: bigint | null; scopes: readonly string[]; expiresAt: number | null },
  now: number,
): Promise<{ token: Token; secret: string }> {
  const kind = given.account === null ? 'operator' : 'account';
  const secret = `${PREFIXES[kind]}${randomBytes(32).toString('base64url')}`;
  const id = randomId();
  const { name, account, scopes, expiresAt } = given;
  const parameters = { token: id, hash: hash('sha256', secret), kind, name, account, expiresAt };
  await database.run(sql.addToken, { ...parameters, scopes: scopes.join(), createdAt: now });
  return { token: await tokenWithId(database, id), secret };
}

async function tokenWithId(database: Database, token: bigint): Promise<Token> {
  const row = await database.first(sql.tokenById, { token });
  if (!row) throw notFound('token with this id');
  return toToken(row);
}

/** Lists tokens, the oldest first. */
export async function tokensAfter(
  database: Database,
  after: readonly [at: number, id: bigint] | null,
  limit: number,
): Promise<Token[]> {
  const [afterAt, afterId] = after ?? [-(2 ** 53 - 1), 0n];
  return (await database.all(sql.tokensAfter, { afterAt, afterId, limit })).map(toToken);
}

/** The newest tokens of an account, which rarely has more than a few. */
export const tokensOfAccount = async (database: Database, account: bigint, limit: number): Promise<Token[]> =>
  (await database.all(sql.tokensOfAccount, { account, limit })).map(toToken);

export async function revokeTokenOf(database: Database, account: bigint, id: bigint, now: number): Promise<Token> {
  if (!(await database.first(sql.tokenOfAccount, { account, token: id }))) throw notFound('token with this id');
  return revokeToken(database, id, now);
}

/** Revokes a token. Revoking it again is no error. */
export async function revokeToken(database: Database, id: bigint, now: number): Promise<Token> {
  await database.run(sql.revokeToken, { token: id, revokedAt: now });
  return tokenWithId(database, id);
}

/** Reads the database each time, so that every process sees a revocation at the next request. */
export async function bearerOf(database: Database, secret: string, now: number): Promise<Bearer | null> {
  const row = SECRET.test(secret) ? await database.first(sql.tokenByHash, { hash: hash('sha256', secret) }) : undefined;
  if (!row || row.revoked_at !== null || row.disabled_at !== null) return null;
  if (row.expires_at !== null && Number(row.expires_at) <= now) return null;
  const { account_id, username, allowed_networks } = row;
  const account =
    account_id === null || username === null ? null : { id: account_id, username, networks: allowed_networks };
  return { ...toToken(row), account };
}

export async function tokenUsed(database: Database, token: Token, now: number): Promise<void> {
  if (token.lastUsedAt !== null && token.lastUsedAt >= now - USED_EVERY_MS) return;
  await database.run(sql.tokenUsed, { token: token.id, usedAt: now, before: now - USED_EVERY_MS });
}

export const anyTokenExists = async (database: Database): Promise<boolean> =>
  (await database.first(sql.anyToken, {})) !== undefined;

function toToken(row: sql.TokenRow): Token {
  const { kind, scopes, ...values } = sql.tokenColumns.read(row);
  return {
    ...values,
    kind: kind === 'account' ? 'account' : 'operator',
    scopes: scopes === '' ? [] : scopes.split(','),
  };
}
