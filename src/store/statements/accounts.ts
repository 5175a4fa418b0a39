import { type AccountKey, statement } from '../statement.ts';

/** Accounts and the secrets that name them. */
export interface AccountRow {
  account_id: bigint;
  username: string;
  password_hash: string | null;
  contact_name: string | null;
  contact_surname: string | null;
  company: string | null;
  email: string | null;
  tel: string | null;
  fax: string | null;
  mobile: string | null;
  address: string | null;
  region: string | null;
  credits: bigint;
  used_credits: bigint;
  priority: bigint;
  tag: bigint;
  created_at: bigint;
  last_login_at: bigint | null;
  disabled_at: bigint | null;
  allowed_networks: string | null;
}
export interface CredentialRow {
  user_id_hash: string;
  created_at: bigint;
  revoked_at: bigint | null;
}
type One = { account: AccountKey };

// By name: a prepared `select *` breaks in PostgreSQL when a migration adds a column.
const columns = `account_id, username, password_hash, contact_name, contact_surname, company, email, tel, fax, mobile, address, region,
  credits, used_credits, priority, tag, created_at, last_login_at, disabled_at, allowed_networks`;

export const identify = statement<{ hash: string }, { account_id: bigint; allowed_networks: string | null }>(
  'accounts.identify',
  `select account.account_id, allowed_networks from credential join account on account.account_id = credential.account_id
   where user_id_hash = :hash and revoked_at is null and disabled_at is null`,
);
export const account = statement<One, AccountRow>(
  'accounts.account',
  `select ${columns} from account where account_id = :account`,
);
export const accountByName = statement<{ username: string }, AccountRow>(
  'accounts.accountByName',
  `select ${columns} from account where username = :username`,
);
/** In pages: the names after `after`. */
export const accountsAfter = statement<{ after: string; limit: number }, AccountRow>(
  'accounts.accountsAfter',
  `select ${columns} from account where username > :after order by username {limit :limit}`,
);
export const addAccount = statement<
  {
    account: bigint;
    username: string;
    passwordHash: string | null;
    contactName: string | null;
    contactSurname: string | null;
    company: string | null;
    email: string | null;
    tel: string | null;
    fax: string | null;
    mobile: string | null;
    address: string | null;
    region: string | null;
    credits: bigint;
    usedCredits: bigint;
    priority: number;
    tag: number;
    createdAt: number;
    lastLoginAt: number | null;
    disabledAt: number | null;
    allowedNetworks: string | null;
  },
  never
>(
  'accounts.addAccount',
  `insert into account (account_id, username, password_hash, contact_name, contact_surname, company, email, tel, fax,
     mobile, address, region, credits, used_credits, priority, tag, created_at, last_login_at, disabled_at, allowed_networks)
   values (:account, :username, :passwordHash, :contactName, :contactSurname, :company, :email, :tel, :fax,
     :mobile, :address, :region, :credits, :usedCredits, :priority, :tag, :createdAt, :lastLoginAt, :disabledAt, :allowedNetworks)`,
);
export const setDisabled = statement<{ account: bigint; disabledAt: number | null }>(
  'accounts.setDisabled',
  'update account set disabled_at = :disabledAt where account_id = :account',
  { invalidatesIdentities: true },
);
export const setAllowedNetworks = statement<{ account: bigint; networks: string | null }>(
  'accounts.setAllowedNetworks',
  'update account set allowed_networks = :networks where account_id = :account',
  { invalidatesIdentities: true },
);
/** Replaces the details that are given: null leaves a column as it is. */
export const setDetails = statement<{ account: AccountKey } & Record<Detail, string | null>>(
  'accounts.setDetails',
  `update account set contact_name = coalesce(:contactName, contact_name),
     contact_surname = coalesce(:contactSurname, contact_surname), company = coalesce(:company, company),
     email = coalesce(:email, email), tel = coalesce(:tel, tel), fax = coalesce(:fax, fax),
     mobile = coalesce(:mobile, mobile), address = coalesce(:address, address), region = coalesce(:region, region)
   where account_id = :account`,
);
type Detail = 'contactName' | 'contactSurname' | 'company' | 'email' | 'tel' | 'fax' | 'mobile' | 'address' | 'region';

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
/** All of an account's secrets whose hash starts with `prefix` and is not `keep`. */
export const revokeCredentials = statement<{ account: bigint; prefix: string; keep: string; revokedAt: number }>(
  'accounts.revokeCredentials',
  `update credential set revoked_at = :revokedAt
   where account_id = :account and user_id_hash like :prefix || '%' and user_id_hash <> :keep and revoked_at is null`,
  { invalidatesIdentities: true },
);
