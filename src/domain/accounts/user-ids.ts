import { conflict, notFound, Problem } from '../../base/problem.ts';
import { FIRST_AT } from '../../store/cursor.ts';
import type { Database, Queries } from '../../store/database.ts';
import { hashUserId, newUserId } from './credentials.ts';
import * as sql from './user-ids.sql.ts';

/** The user_ids of an account, as hashes: which there are, and when each was last used. */
export type Credential = sql.Credential;
export type UserId = sql.UserId;

/** The account that has this user_id, even if it is revoked. */
export const accountOfUserId = async (queries: Queries, hash: string): Promise<bigint | null> =>
  (await queries.first(sql.credentialOwner, { hash }))?.account_id ?? null;

export const credentialsOf = async (queries: Queries, account: bigint): Promise<Credential[]> =>
  (await queries.all(sql.credentials, { account })).map(sql.credentialColumns.read);

/** Adds the missing credentials. Existing credentials do not change, even if they are revoked. */
export async function addCredentials(
  queries: Queries,
  account: bigint,
  credentials: readonly Credential[],
): Promise<void> {
  for (const credential of credentials) {
    const owner = await accountOfUserId(queries, credential.hash);
    if (owner === account) continue;
    if (owner !== null) throw conflict('userID: another account has this user_id');
    await queries.run(sql.addCredential, { account, ...credential });
  }
}

/** Lists user_ids, the oldest first. */
export async function userIdsOf(
  database: Database,
  account: bigint,
  { after, limit }: { after: readonly [at: number, hash: string] | null; limit: number },
): Promise<UserId[]> {
  const [afterAt, afterHash] = after ?? [FIRST_AT, ''];
  return (await database.all(sql.userIds, { account, afterAt, afterHash, limit })).map(sql.userIdColumns.read);
}

/**
 * Adds a new user_id, or one that the account had on another system. The earlier user_ids stay
 * valid, unless `revokeOthers` is set.
 */
export async function addUserId(
  database: Database,
  account: bigint,
  given: { readonly userId: string | undefined; readonly revokeOthers: boolean },
  now: number,
): Promise<{ userId: string; added: UserId; revoked: number }> {
  const userId = given.userId ?? newUserId();
  const hash = hashUserId(userId);
  return database.transaction(account, async (queries) => {
    if ((await accountOfUserId(queries, hash)) !== null) {
      throw conflict('userId: this user_id exists already. Choose another.');
    }
    await queries.run(sql.addCredential, { account, hash, createdAt: now, revokedAt: null });
    const revoked = given.revokeOthers
      ? await queries.run(sql.revokeCredentials, { account, prefix: '', keep: hash, revokedAt: now })
      : 0;
    return { userId, added: { hash, createdAt: now, revokedAt: null, lastUsedAt: null }, revoked };
  });
}

/** Revokes the user_id whose hash starts with the prefix. Revoking it again is no error. */
export async function revokeUserId(database: Database, account: bigint, prefix: string, now: number): Promise<UserId> {
  return database.transaction(account, async (queries) => {
    const [found, another] = await queries.all(sql.userIdByPrefix, { account, prefix });
    if (!found) throw notFound('user_id of this account whose hash starts with this');
    if (another) throw new Problem('bad-argument', 'hash: several user_ids start with this. Give more characters.');
    await queries.run(sql.revokeUserId, { account, hash: found.user_id_hash, revokedAt: now });
    const userId = sql.userIdColumns.read(found);
    return { ...userId, revokedAt: userId.revokedAt ?? now };
  });
}
