import { conflict, denied, notFound, Problem } from '../../base/problem.ts';
import { randomId } from '../../base/random.ts';
import { regionOf } from '../../sms/numbers.ts';
import type { AccountKey } from '../../store/caller.ts';
import { pick } from '../../store/columns.ts';
import type { Database, Queries, TransactionQueries } from '../../store/database.ts';
import * as sql from './accounts.sql.ts';
import { createCallers } from './callers.ts';
import { hashUserId, newUserId } from './credentials.ts';
import { addCredentials, type Credential } from './user-ids.ts';

/** The columns of an account: see accounts.sql.ts. */
export type Account = sql.AccountValues;
export interface StoredAccount extends Account {
  readonly id: bigint;
}

/** An account without any values. */
export const EMPTY_ACCOUNT: Account = sql.accountColumns.empty;
/** Every field with its kind, in the order of import and export. */
export const ACCOUNT_FIELDS = sql.accountColumns.fields;

export const unknownOutcomePolicies = ['never-twice', 'submit-again'] as const;
export type UnknownOutcomePolicy = (typeof unknownOutcomePolicies)[number];

/** An account with all fields that an operator may see and set. */
export interface AccountRecord extends Omit<StoredAccount, 'passwordHash' | 'unknownOutcomePolicy'> {
  readonly hasPassword: boolean;
  /** What happens to a message whose submission has an unknown outcome. */
  readonly unknownOutcomePolicy: UnknownOutcomePolicy;
}
/** The fields that an operator may change. */
export type AccountChange = Partial<Pick<AccountRecord, sql.Setting>>;

export interface NewAccount extends AccountChange {
  readonly username: string;
  readonly passwordHash: string | null;
  readonly credits: bigint;
}

export type Accounts = ReturnType<typeof createAccounts>;

export function createAccounts(database: Database, now: () => number, defaultRegion: string | null) {
  return {
    ...createCallers(database, now),

    async profile(account: AccountKey): Promise<Account> {
      const row = await database.first(sql.account, { account });
      if (!row) throw denied(); // deleted after it was identified
      return sql.accountColumns.read(row);
    },

    /**
     * The region of local numbers: the account's own, else that of its numbers, else the default.
     */
    async region(account: AccountKey): Promise<string | null> {
      return effectiveRegion(await this.profile(account), defaultRegion);
    },

    /** Lists the wanted accounts by username, page by page. */
    async *list(isWanted: (id: bigint) => boolean = () => true): AsyncGenerator<Account> {
      for await (const account of allAccounts(database)) if (isWanted(account.id)) yield account;
    },
  };
}

export const effectiveRegion = (
  account: Pick<Account, 'region' | 'mobile' | 'tel'>,
  defaultRegion: string | null,
): string | null => account.region ?? regionOf(account.mobile) ?? regionOf(account.tel) ?? defaultRegion;

const stored = (row: sql.AccountRow): StoredAccount => ({ id: row.account_id, ...sql.accountColumns.read(row) });

export async function findAccount(queries: Queries, account: AccountKey): Promise<StoredAccount | null> {
  const row = await queries.first(sql.account, { account });
  return row ? stored(row) : null;
}

export async function findAccountNamed(queries: Queries, username: string): Promise<StoredAccount | null> {
  const row = await queries.first(sql.accountByName, { username });
  return row ? stored(row) : null;
}

export async function accountNamed(queries: Queries, username: string): Promise<StoredAccount> {
  const account = await findAccountNamed(queries, username);
  if (!account) throw notFound(`account with the username ${username}`);
  return account;
}

export const accountId = async (queries: Queries, username: string): Promise<bigint> =>
  (await accountNamed(queries, username)).id;

const PAGE = 500;

/** Lists all accounts by username, page by page. */
export async function* allAccounts(queries: Queries): AsyncGenerator<StoredAccount> {
  for (let after = ''; ; ) {
    const rows = await queries.all(sql.accountsAfter, { after, limit: PAGE });
    yield* rows.map(stored);
    if (rows.length < PAGE) return;
    after = (rows.at(-1) as sql.AccountRow).username;
  }
}

export const accountRecord = async (database: Database, username: string): Promise<AccountRecord> =>
  toRecord(await accountNamed(database, username));

// One page reads at most this many slices, however few accounts pass the filter.
const SLICES_MAX = 20;

export interface AccountPage {
  readonly items: AccountRecord[];
  /** The username after which the next page starts; null on the last page. */
  readonly next: string | null;
}

/**
 * Lists accounts that pass the filter, ordered by username. A page may have fewer than `limit`
 * accounts although more follow.
 */
export async function accountRecords(
  database: Database,
  { after, limit, isWanted }: { after: string; limit: number; isWanted: (record: AccountRecord) => boolean },
): Promise<AccountPage> {
  const items: AccountRecord[] = [];
  let from = after;
  for (let slice = 0; slice < SLICES_MAX; slice++) {
    const rows = await database.all(sql.accountsAfter, { after: from, limit: PAGE });
    for (const row of rows) {
      from = row.username;
      const record = toRecord(stored(row));
      if (!isWanted(record)) continue;
      if (items.length === limit) return { items, next: items.at(-1)?.username ?? null };
      items.push(record);
    }
    if (rows.length < PAGE) return { items, next: null };
  }
  return { items, next: from };
}

function toRecord({ passwordHash, unknownOutcomePolicy, ...account }: StoredAccount): AccountRecord {
  return {
    ...account,
    hasPassword: passwordHash !== null,
    unknownOutcomePolicy: unknownOutcomePolicies.find((policy) => policy === unknownOutcomePolicy) ?? 'never-twice',
  };
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

/** Creates the account and its credentials inside the caller's transaction. */
export async function addAccount(
  queries: Queries,
  account: Account,
  credentials: readonly Credential[],
): Promise<bigint> {
  checkUsername(account.username);
  if (await queries.first(sql.accountByName, { username: account.username })) {
    throw conflict(`username: there is already an account with the username ${account.username}`);
  }
  // The id is random, so that several machines need no common counter.
  const id = randomId();
  await queries.run(sql.addAccount, { ...account, account: id });
  await addCredentials(queries, id, credentials);
  return id;
}

/** Creates an account and its first user_id. */
export async function createAccount(database: Database, given: NewAccount, now: number): Promise<{ userId: string }> {
  const userId = newUserId();
  const account = { ...EMPTY_ACCOUNT, ...given, createdAt: now };
  const credential = { hash: hashUserId(userId), createdAt: now, revokedAt: null };
  await database.transaction(null, (queries) => addAccount(queries, account, [credential]));
  return { userId };
}

/** Changes the given fields and no others. */
export async function changeAccount(
  database: Database,
  account: bigint,
  username: string,
  change: AccountChange,
): Promise<AccountRecord> {
  return database.transaction(account, async (queries) => {
    const found = await accountToChange(queries, account, username);
    // A policy that was never set stays null, because an export would show it otherwise.
    const changed = { ...found, ...change };
    await queries.run(sql.setSettings, { account, ...pick(changed, sql.SETTINGS) });
    return toRecord(changed);
  });
}

async function accountToChange(queries: Queries, account: bigint, username: string): Promise<StoredAccount> {
  const found = await accountNamed(queries, username);
  if (found.id !== account) throw notFound(`account with the username ${username}`);
  return found;
}

/**
 * Called by setAccountEnabled of domain/access, which ends the sessions of the account too. The
 * transaction locks the account before anything is written: see addToDirectory in accounts.sql.ts.
 */
export const setDisabledAt = (database: Database, account: bigint, disabledAt: number | null): Promise<number> =>
  database.transaction(account, (queries) => queries.run(sql.setDisabledAt, { account, disabledAt }));

/** Messages of a disabled account would wait, and be sent when it is enabled long after. */
export function requireEnabled({ disabledAt }: Pick<AccountRecord, 'disabledAt'>): void {
  if (disabledAt !== null) throw conflict('The account is disabled. Enable it first.');
}

/** Replaces the details that are given. Null leaves a detail as it is. */
export const setDetails = (queries: Queries, account: bigint, details: Account): Promise<number> =>
  queries.run(sql.setDetails, { ...details, account });

/**
 * Makes what Profile shows equal to `profile`, absent values included, and sets the password of an
 * account that has none. Nothing is written if nothing differs, because every write invalidates
 * cached answers.
 */
export async function setProfile(queries: Queries, account: bigint, profile: Account): Promise<void> {
  const here = await findAccount(queries, account);
  if (!here || sql.PROFILE.some((field) => here[field] !== profile[field])) {
    await queries.run(sql.setProfile, { account, ...pick(profile, sql.PROFILE) });
  }
  if (profile.passwordHash !== null && here?.passwordHash === null) {
    await queries.run(sql.setPassword, { account, passwordHash: profile.passwordHash });
  }
}

/** For a transaction of several accounts: from here on no other call moves this one's credits. */
export const lockAccount = (queries: TransactionQueries, account: bigint): Promise<number> =>
  queries.run(sql.lockAccount, { account });

/** The number of rows of each kind that were deleted with an account. */
export interface RemovedAccount {
  readonly userIds: number;
  readonly groups: number;
  readonly contacts: number;
  readonly templates: number;
  readonly blacklisted: number;
  readonly inbox: number;
  readonly sent: number;
  readonly scheduled: number;
  readonly credits: bigint;
}

/** Removes the rows of a table without a foreign key, before the account is removed. */
export type AccountRemoval = (queries: TransactionQueries, account: bigint) => Promise<unknown>;

/**
 * Deletes a disabled account. An enabled account is refused, so that no mistake deletes one in use.
 */
export async function removeAccount(
  database: Database,
  account: bigint,
  username: string,
  removals: readonly AccountRemoval[],
): Promise<RemovedAccount> {
  return database.transaction(account, async (queries) => {
    const { disabledAt, credits } = await accountToChange(queries, account, username);
    if (disabledAt === null) throw conflict('The account is in use. Disable it first.');
    const owned = await queries.first(sql.ownedByAccount, { account });
    if (!owned) throw new Error('the count returned no row');
    for (const remove of removals) await remove(queries, account);
    await queries.run(sql.removeAccount, { account });
    return {
      userIds: Number(owned.user_ids),
      groups: Number(owned.contact_groups),
      contacts: Number(owned.contacts),
      templates: Number(owned.templates),
      blacklisted: Number(owned.blacklisted),
      inbox: Number(owned.received),
      sent: Number(owned.sent),
      scheduled: Number(owned.scheduled),
      credits,
    };
  });
}
