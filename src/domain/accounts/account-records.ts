import { conflict, notFound, Problem } from '../../base/problem.ts';
import { forgetClientsOf } from '../../migration/stages/clients.ts';
import { FIRST_AT } from '../../store/cursor.ts';
import type { Database } from '../../store/transactions.ts';
import { endAccess } from '../access/sessions.ts';
import * as sql from './account-records.sql.ts';
import * as accountSql from './accounts.sql.ts';
import { type Account, addAccount, toAccount } from './accounts.ts';
import { hashUserId, newUserId } from './credentials.ts';

/** An account with all fields that an operator may see and set. */
export interface AccountRecord extends Omit<Account, 'passwordHash' | 'unsurePolicy'> {
  readonly id: bigint;
  readonly hasPassword: boolean;
  /** What happens to a message whose submission is unsure. */
  readonly unsurePolicy: UnsurePolicy;
}
export const unsurePolicies = ['never-twice', 'submit-again'] as const;
export type UnsurePolicy = (typeof unsurePolicies)[number];

/** The fields that an operator may change. */
export type AccountChange = Partial<
  Pick<
    AccountRecord,
    | 'contactName'
    | 'contactSurname'
    | 'company'
    | 'email'
    | 'tel'
    | 'fax'
    | 'mobile'
    | 'address'
    | 'region'
    | 'priority'
    | 'tag'
    | 'allowedNetworks'
    | 'timeZone'
    | 'quietHours'
    | 'unsurePolicy'
    | 'connector'
    | 'lowCredits'
    | 'stopWords'
    | 'startWords'
    | 'helpWords'
    | 'wordLanguages'
    | 'stopAnswer'
    | 'helpAnswer'
  >
>;

export interface NewAccount extends AccountChange {
  readonly username: string;
  readonly passwordHash: string | null;
  readonly credits: bigint;
}

export interface UserId {
  readonly hash: string;
  readonly createdAt: number;
  readonly revokedAt: number | null;
  /** Exact to a day. */
  readonly lastUsedAt: number | null;
}

export async function accountRecord(database: Database, username: string): Promise<AccountRecord> {
  const row = await database.first(sql.recordByName, { username });
  if (!row) throw notFound(`account with the username ${username}`);
  return toRecord(row);
}

/** The id of an account, by its name. */
export async function accountId(database: Database, username: string): Promise<bigint> {
  const row = await database.first(accountSql.accountByName, { username });
  if (!row) throw notFound(`account with the username ${username}`);
  return row.account_id;
}

const SLICE = 500;
// One page reads at most so many slices, however few accounts pass the filter.
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
    const rows = await database.all(sql.recordsAfter, { after: from, limit: SLICE });
    for (const row of rows) {
      from = row.username;
      const record = toRecord(row);
      if (!isWanted(record)) continue;
      if (items.length === limit) return { items, next: items.at(-1)?.username ?? null };
      items.push(record);
    }
    if (rows.length < SLICE) return { items, next: null };
  }
  return { items, next: from };
}

/** Creates an account and its first user_id. */
export async function addRecord(database: Database, given: NewAccount, now: number): Promise<{ userId: string }> {
  const userId = newUserId();
  const { username, passwordHash, credits, ...change } = given;
  await database.transaction(null, async (queries) => {
    const account: Account = {
      ...EMPTY,
      username,
      passwordHash,
      credits,
      createdAt: now,
    };
    const id = await addAccount(queries, account, [{ hash: hashUserId(userId), createdAt: now, revokedAt: null }]);
    await queries.run(sql.changeRecord, { account: id, ...SETTABLE, ...change });
  });
  return { userId };
}

const SETTABLE = {
  contactName: null,
  contactSurname: null,
  company: null,
  email: null,
  tel: null,
  fax: null,
  mobile: null,
  address: null,
  region: null,
  priority: 0,
  tag: 0,
  allowedNetworks: null,
  timeZone: null,
  quietHours: null,
  unsurePolicy: null,
  connector: null,
  lowCredits: null,
  stopWords: null,
  startWords: null,
  helpWords: null,
  wordLanguages: null,
  stopAnswer: null,
  helpAnswer: null,
};
const EMPTY = {
  ...SETTABLE,
  usedCredits: 0n,
  lastLoginAt: null,
  disabledAt: null,
};

/** Changes the given fields and no others. */
export async function changeRecord(
  database: Database,
  account: bigint,
  username: string,
  change: AccountChange,
): Promise<AccountRecord> {
  return database.transaction(account, async (queries) => {
    const row = await queries.first(sql.recordByName, { username });
    if (row?.account_id !== account) throw notFound(`account with the username ${username}`);
    const record = { ...toRecord(row), ...change };
    // A policy that was never set stays so: an export would tell it otherwise.
    const unsurePolicy = change.unsurePolicy ?? row.unsure_policy;
    await queries.run(sql.changeRecord, { ...settingsOf(record), unsurePolicy, account });
    return record;
  });
}

/** A disabled account has no session and no link of its holder any more. */
export async function setEnabled(
  database: Database,
  account: bigint,
  username: string,
  disabledAt: number | null,
): Promise<AccountRecord> {
  await database.run(sql.setDisabledAt, { account, disabledAt });
  if (disabledAt !== null) await endAccess(database, { kind: 'account', id: account });
  return accountRecord(database, username);
}

/** Messages of a disabled account would wait, and go out long after, when it is enabled again. */
export function requireEnabled({ disabledAt }: Pick<AccountRecord, 'disabledAt'>): void {
  if (disabledAt !== null) throw conflict('The account is disabled. Enable it first.');
}

const settingsOf = ({ contactName, contactSurname, company, email, tel, fax, mobile, ...others }: AccountRecord) => {
  const { address, region, priority, tag, allowedNetworks, timeZone, quietHours, unsurePolicy, connector } = others;
  const person = { contactName, contactSurname, company, email, tel, fax, mobile, address };
  const { stopWords, startWords, helpWords, wordLanguages, stopAnswer, helpAnswer, lowCredits } = others;
  const words = { stopWords, startWords, helpWords, wordLanguages, stopAnswer, helpAnswer };
  const sending = { timeZone, quietHours, unsurePolicy, connector, lowCredits };
  return { ...person, region, priority, tag, allowedNetworks, ...sending, ...words };
};

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

/**
 * Deletes a disabled account. An enabled one is refused, so that a mistake deletes no account in
 * use.
 */
export async function removeRecord(database: Database, account: bigint, username: string): Promise<RemovedAccount> {
  return database.transaction(account, async (queries) => {
    const row = await queries.first(sql.recordByName, { username });
    if (row?.account_id !== account) throw notFound(`account with the username ${username}`);
    if (row.disabled_at === null) throw conflict('The account is in use. Disable it first.');
    const owned = await queries.first(sql.ownedByAccount, { account });
    if (!owned) throw new Error('counting gave no row');
    await forgetClientsOf(queries, account);
    await queries.run(sql.removeRecord, { account });
    return {
      userIds: Number(owned.user_ids),
      groups: Number(owned.contact_groups),
      contacts: Number(owned.contacts),
      templates: Number(owned.templates),
      blacklisted: Number(owned.blacklisted),
      inbox: Number(owned.received),
      sent: Number(owned.sent),
      scheduled: Number(owned.scheduled),
      credits: row.credits,
    };
  });
}

/** Lists user_ids, the oldest first. */
export async function userIdsOf(
  database: Database,
  account: bigint,
  { after, limit }: { after: readonly [at: number, hash: string] | null; limit: number },
): Promise<UserId[]> {
  const [afterAt, afterHash] = after ?? [FIRST_AT, ''];
  return (await database.all(sql.userIds, { account, afterAt, afterHash, limit })).map(toUserId);
}

/**
 * Adds a user_id: a new one, or one that the account had on another system. The earlier ones stay
 * valid, unless they are to be revoked.
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
    if (await queries.first(accountSql.credentialOwner, { hash })) {
      throw conflict('userId: this user_id is known already. Choose another.');
    }
    await queries.run(accountSql.addCredential, { account, hash, createdAt: now, revokedAt: null });
    const revoked = given.revokeOthers
      ? await queries.run(accountSql.revokeCredentials, { account, prefix: '', keep: hash, revokedAt: now })
      : 0;
    return { userId, added: { hash, createdAt: now, revokedAt: null, lastUsedAt: null }, revoked };
  });
}

/** Revokes the user_id whose hash starts with the prefix. Revoking it again is no error. */
export async function revokeUserId(database: Database, account: bigint, prefix: string, now: number): Promise<UserId> {
  return database.transaction(account, async (queries) => {
    const [found, another] = await queries.all(sql.userIdByPrefix, { account, prefix });
    if (!found) throw notFound('user_id of this account whose hash starts so');
    if (another) throw new Problem('bad-argument', 'hash: several user_ids start so. Give more of its characters.');
    await queries.run(sql.revokeUserId, { account, hash: found.user_id_hash, revokedAt: now });
    return { ...toUserId(found), revokedAt: found.revoked_at === null ? now : Number(found.revoked_at) };
  });
}

const toUserId = (row: sql.UserIdRow): UserId => ({
  hash: row.user_id_hash,
  createdAt: Number(row.created_at),
  revokedAt: row.revoked_at === null ? null : Number(row.revoked_at),
  lastUsedAt: row.used_at === null ? null : Number(row.used_at),
});

function toRecord(row: accountSql.AccountRow): AccountRecord {
  const { passwordHash, ...account } = toAccount(row);
  return {
    ...account,
    id: row.account_id,
    hasPassword: passwordHash !== null,
    unsurePolicy: unsurePolicies.find((policy) => policy === row.unsure_policy) ?? 'never-twice',
  };
}
