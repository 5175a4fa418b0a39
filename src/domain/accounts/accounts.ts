import { BoundedMap } from '../../base/bounded-map.ts';
import { networkList } from '../../base/networks.ts';
import { conflict, denied, notFound, Problem } from '../../base/problem.ts';
import { randomId } from '../../base/random.ts';
import { isRegion, regionOf } from '../../sms/numbers.ts';
import type { AccountKey, Caller, Database, Queries } from '../../store/database.ts';
import { type AccountValues, accountColumns } from './account-columns.sql.ts';
import * as sql from './accounts.sql.ts';
import { hashUserId, newUserId, USER_ID_LENGTH_MAX } from './credentials.ts';

/** The columns of an account: see store/statements/account-columns.ts. */
export type Account = AccountValues;

export interface Credential {
  readonly hash: string;
  readonly createdAt: number;
  readonly revokedAt: number | null;
}

export { type AccountKey, type Caller, isRegion };

/** Compiled lists of networks by their text. Many accounts have the same list. */
const NETWORK_LISTS_MAX = 1_000;
const networkLists = new BoundedMap<string, (address: string) => boolean>(NETWORK_LISTS_MAX);

function isIn(networks: string, address: string): boolean {
  let contains = networkLists.get(networks);
  if (!contains) {
    contains = networkList(networks.split(','));
    networkLists.set(networks, contains);
  }
  return contains(address);
}

/** No user_id has this hash. */
const NOBODY = '';

/** Where a call comes from. */
export interface CallOrigin {
  /** The client's IP address. */
  readonly client: string;
  /** Calls of one poll batch share one look at the writes of other processes. */
  readonly pollId?: number | undefined;
  /** The operation, where it deletes: the audit names it. */
  readonly deletes?: string | undefined;
}

export type Accounts = ReturnType<typeof createAccounts>;

export function createAccounts(database: Database, now: () => number, defaultRegion: string | null) {
  return {
    ...createCallers(database, now),

    async profile(account: AccountKey): Promise<Account> {
      const row = await database.first(sql.account, { account });
      if (!row) throw denied(); // deleted after it was identified
      return toAccount(row);
    },

    /**
     * The region for local numbers: the account's own, else that of its numbers, else the setting.
     */
    async region(account: AccountKey): Promise<string | null> {
      return effectiveRegion(await this.profile(account), defaultRegion);
    },

    async add(account: Account): Promise<{ userId: string }> {
      const userId = newUserId();
      await database.transaction(null, (queries) =>
        addAccount(queries, account, [{ hash: hashUserId(userId), createdAt: now(), revokedAt: null }]),
      );
      return { userId };
    },

    /** Lists the wanted accounts by username, page by page. */
    async *list(isWanted: (id: bigint) => boolean = () => true): AsyncGenerator<Account> {
      for await (const row of allAccounts(database)) if (isWanted(row.account_id)) yield toAccount(row);
    },
  };
}

/** Who calls, by user_id: identified, confirmed, and whether the account is still the same. */
function createCallers(database: Database, now: () => number) {
  function identify(userId: string | null, { client, pollId }: CallOrigin): Caller | Promise<Caller> {
    const plausible = userId !== null && userId !== '' && userId.length <= USER_ID_LENGTH_MAX;
    const hash = hashUserId(plausible ? userId : '-');
    const found = database.identify(plausible ? hash : NOBODY, (networks) => isIn(networks, client), pollId);
    return found instanceof Promise ? found.then(known) : known(found);
  }

  return {
    /**
     * Identifies the caller by its user_id, does the work, and confirms the identity before the
     * result is returned.
     * Unknown, empty, too long, revoked and disabled user_ids all end in `denied`, after the same
     * work.
     * PostgreSQL identifies with the first statement. An unknown caller gets `denied`, never a
     * value or a bad argument.
     * With `admit`, the identity is confirmed before `admit` counts the call and before any work.
     */
    async asCaller<T>(
      userId: string | null,
      origin: CallOrigin,
      work: (account: Caller) => T | Promise<T>,
      admit?: (account: Caller) => void | Promise<void>,
    ): Promise<{ value: T; account: Caller }> {
      const identified = identify(userId, origin);
      const account = identified instanceof Promise ? await identified : identified;
      const { deletes: action, client: address } = origin;
      if (action !== undefined) account.deletion = { action, at: now(), address };
      try {
        if (admit) {
          await database.confirm(account);
          await admit(account);
        }
        const value = await work(account);
        const confirming = database.confirm(account);
        if (confirming) await confirming;
        return { value, account };
      } catch (thrown) {
        if (thrown instanceof Problem && thrown.kind === 'bad-argument') await database.confirm(account);
        throw thrown;
      }
    },

    /**
     * Whether the account has the version that it had when the caller was identified. Without
     * `pollOthers`, SQLite counts writes of other processes as of the last poll.
     */
    isUnchanged({ id, version }: Caller, pollOthers: boolean, pollId?: number): boolean | Promise<boolean> {
      if (id === undefined || version === undefined) return false;
      const current = database.version(id, pollOthers, pollId);
      return current instanceof Promise ? current.then((answer) => answer === version) : current === version;
    },
  };
}

function known(account: Caller | undefined): Caller {
  if (account === undefined) throw denied();
  return account;
}

export async function accountNamed(queries: Queries, username: string): Promise<sql.AccountRow> {
  const row = await queries.first(sql.accountByName, { username });
  if (!row) throw notFound(`account with the username ${username}`);
  return row;
}

const PAGE = 500;

/** Lists all accounts by username, page by page. */
export async function* allAccounts(queries: Queries): AsyncGenerator<sql.AccountRow> {
  for (let after = ''; ; ) {
    const rows = await queries.all(sql.accountsAfter, { after, limit: PAGE });
    yield* rows;
    if (rows.length < PAGE) return;
    after = (rows.at(-1) as sql.AccountRow).username;
  }
}

const USERNAME_LENGTH_MAX = 200;

export function checkUsername(username: string): void {
  if (username === '' || username.length > USERNAME_LENGTH_MAX || /\p{Cc}/u.test(username)) {
    throw new Problem(
      'bad-argument',
      `a username has 1 to ${USERNAME_LENGTH_MAX} characters, and no control characters`,
    );
  }
}

export const effectiveRegion = (
  account: Pick<Account, 'region' | 'mobile' | 'tel'>,
  defaultRegion: string | null,
): string | null => account.region ?? regionOf(account.mobile) ?? regionOf(account.tel) ?? defaultRegion;

/** Creates the account and its credentials inside the caller's transaction. */
export async function addAccount(queries: Queries, account: Account, credentials: Credential[]): Promise<bigint> {
  checkUsername(account.username);
  if (await queries.first(sql.accountByName, { username: account.username })) {
    throw conflict(`username: there is already an account with the username ${account.username}`);
  }
  // A random id, so that several machines need no common counter. It has 62 bits, so it is
  // positive.
  const id = randomId();
  await queries.run(sql.addAccount, { account: id, ...account });
  await addCredentials(queries, id, credentials);
  return id;
}

/** Adds the missing credentials. Existing ones do not change: a revoked one stays revoked. */
export async function addCredentials(
  queries: Queries,
  account: bigint,
  credentials: readonly Credential[],
): Promise<void> {
  for (const { hash, createdAt, revokedAt } of credentials) {
    const owner = (await queries.first(sql.credentialOwner, { hash }))?.account_id;
    if (owner === account) continue;
    if (owner !== undefined) throw conflict('userID: another account has this user_id');
    await queries.run(sql.addCredential, { account, hash, createdAt, revokedAt });
  }
}

export const toAccount = (row: sql.AccountRow): Account => accountColumns.read(row);

export const toCredential = (row: sql.CredentialRow): Credential => ({
  hash: row.user_id_hash,
  createdAt: Number(row.created_at),
  revokedAt: row.revoked_at === null ? null : Number(row.revoked_at),
});
