import { defineColumns, type RowOf, type ValuesOf } from '../../store/columns.ts';

/**
 * Every column of an account except its id. Migrations create them. Types and SQL follow from this
 * list.
 */
const ACCOUNT_FIELDS = {
  username: 'text',
  passwordHash: 'text?',
  contactName: 'text?',
  contactSurname: 'text?',
  company: 'text?',
  email: 'text?',
  tel: 'text?',
  fax: 'text?',
  mobile: 'text?',
  address: 'text?',
  /** The region for local numbers. */
  region: 'text?',
  credits: 'long',
  usedCredits: 'long',
  priority: 'number',
  tag: 'number',
  createdAt: 'number',
  lastLoginAt: 'number?',
  disabledAt: 'number?',
  /** Addresses and networks from which the account may be used, separated by commas. Null: all. */
  allowedNetworks: 'text?',
  /** Texts that put their sender on the blacklist, with commas. Null for none. */
  stopWords: 'text?',
  /** Texts that take their sender off the blacklist, and texts that ask for help. */
  startWords: 'text?',
  helpWords: 'text?',
  /** The languages whose lists of such words count too, with commas. Null for none. */
  wordLanguages: 'text?',
  /** Texts that answer STOP and HELP. Null for no answer. */
  stopAnswer: 'text?',
  helpAnswer: 'text?',
  /** The zone of the quiet hours. Null for UTC. */
  timeZone: 'text?',
  /** Hours in which nothing is sent: `22:00-06:00`. */
  quietHours: 'text?',
  /** What becomes of a message whose submission is unsure. Null for the default. */
  unsurePolicy: 'text?',
  /** The connector that carries its messages. Null for the default one. */
  connector: 'text?',
  /** Below so many free credits, an event tells it. Null for never. */
  lowCredits: 'long?',
} as const;

/** Columns that describe an account and do not change its use. */
export const DETAILS = [
  'contactName',
  'contactSurname',
  'company',
  'email',
  'tel',
  'fax',
  'mobile',
  'address',
  'region',
] as const satisfies readonly (keyof typeof ACCOUNT_FIELDS)[];

/** An account in the program. Instants are milliseconds. A text that was never given is null. */
export type AccountValues = ValuesOf<typeof ACCOUNT_FIELDS>;
export type AccountRow = RowOf<typeof ACCOUNT_FIELDS> & { account_id: bigint };
export type AccountDetails = Pick<AccountValues, (typeof DETAILS)[number]>;

export const accountColumns = defineColumns(ACCOUNT_FIELDS);

/**
 * True for every account. A statement that reads a whole table says so by this, and PostgreSQL
 * reads along the key: its other way is switched off, see postgres/pool.ts.
 */
export const EVERY_ACCOUNT = 'account_id >= 0';

/**
 * The account that a user_id names, where it may call. It is no join: with few accounts, PostgreSQL
 * reads all of them for it, and keeps that plan when they have become many.
 */
export const CALLER = `select account_id, allowed_networks from account
  where account_id = (select account_id from credential where user_id_hash = :hash and revoked_at is null)
    and disabled_at is null`;
