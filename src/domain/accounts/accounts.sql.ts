import type { AccountKey } from '../../store/caller.ts';
import { defineColumns, type RowOf, type ValuesOf } from '../../store/columns.ts';
import { statement } from '../../store/statement.ts';

/**
 * Every column of an account except its id. The types, the SQL, import and export follow from this
 * list. A new column also needs a step in `store/schema/migrations.ts` and, if operators see or set
 * it, a field in `operator/actions/accounts/account-fields.ts`.
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
  createdAt: 'instant',
  lastLoginAt: 'instant?',
  disabledAt: 'instant?',
  /** Networks from which the account may be used, separated by commas. Null for everywhere. */
  allowedNetworks: 'text?',
  /** Texts that put their sender on the blacklist, separated by commas. Null for none. */
  stopWords: 'text?',
  /** Texts that take their sender off the blacklist, and texts that ask for help. */
  startWords: 'text?',
  helpWords: 'text?',
  /** The languages whose lists of these words count too, separated by commas. Null for none. */
  wordLanguages: 'text?',
  /** Texts that answer STOP and HELP. Null for no answer. */
  stopAnswer: 'text?',
  helpAnswer: 'text?',
  /** The zone of the quiet hours. Null for UTC. */
  timeZone: 'text?',
  /** Hours in which nothing is sent: `22:00-06:00`. */
  quietHours: 'text?',
  /** What becomes of a message whose submission has an unknown outcome. Null for the default. */
  unknownOutcomePolicy: 'text?',
  /** The connector that carries its messages. Null for the default one. */
  connector: 'text?',
  /** Fields that carriers demand of its messages, as a JSON text. Null for none. */
  carrierFields: 'text?',
  /** An event is emitted when the free credits fall below this number. Null for never. */
  lowCredits: 'long?',
} as const;

type Field = keyof typeof ACCOUNT_FIELDS;

/** Columns that an operator does not set directly: the service or a command of its own does. */
const OWN_WAY = [
  'username',
  'passwordHash',
  'credits',
  'usedCredits',
  'createdAt',
  'lastLoginAt',
  'disabledAt',
] as const satisfies readonly Field[];
export type Setting = Exclude<Field, (typeof OWN_WAY)[number]>;
/** All other columns, which an operator sets. */
export const SETTINGS = (Object.keys(ACCOUNT_FIELDS) as Field[]).filter(
  (field): field is Setting => !(OWN_WAY as readonly Field[]).includes(field),
);

/** Columns that describe an account and do not change its use. */
const DETAILS = [
  'contactName',
  'contactSurname',
  'company',
  'email',
  'tel',
  'fax',
  'mobile',
  'address',
  'region',
] as const satisfies readonly Field[];
/** With DETAILS without the region, what Profile shows besides the name and the credits. */
const SHOWN = ['priority', 'tag', 'createdAt', 'lastLoginAt'] as const satisfies readonly Field[];
export type ProfileField = Exclude<(typeof DETAILS)[number], 'region'> | (typeof SHOWN)[number];
export const PROFILE: readonly ProfileField[] = [...DETAILS.filter((field) => field !== 'region'), ...SHOWN];

/** An account in the program. A text that was never given is null. */
export type AccountValues = ValuesOf<typeof ACCOUNT_FIELDS>;
export type AccountRow = RowOf<typeof ACCOUNT_FIELDS> & { account_id: bigint };
type Details = Pick<AccountValues, (typeof DETAILS)[number]>;

export const accountColumns = defineColumns(ACCOUNT_FIELDS);

type One = { account: AccountKey };

// Columns are named, because a prepared `select *` fails in PostgreSQL after a migration adds a
// column.
const columns = `account_id, ${accountColumns.names}`;

export const account = statement<One, AccountRow>(
  'accounts.account',
  `select ${columns} from account where account_id = :account`,
);
const idByName = statement<{ username: string }, { account_id: bigint }>(
  'accounts.idByName',
  'select account_id from account_directory where username = :username',
);
export const accountByName = statement<{ username: string }, AccountRow>(
  'accounts.accountByName',
  `select ${columns} from account where username = :username`,
  { distributed: { found: idByName, text: `select ${columns} from account where account_id = :account` } },
);
/** A page of the accounts whose usernames follow `after`. */
export const accountsAfter = statement<{ after: string; limit: number }, AccountRow>(
  'accounts.accountsAfter',
  `select ${columns} from account where username > :after order by username {limit :limit}`,
);
/**
 * On a distributed database every node has the directory: see store/schema/distribution.ts. Whoever
 * writes to it, or to the user_ids, which every node has too, holds the lock of the account, unless
 * the account is new. Without the lock, one that has written to the directory would wait for the
 * account, and one that has locked the account for the directory.
 */
const addToDirectory = statement<
  { account: bigint } & Pick<AccountValues, 'username' | 'disabledAt' | 'allowedNetworks'>
>(
  'accounts.addToDirectory',
  `insert into account_directory (account_id, username, disabled_at, allowed_networks)
   values (:account, :username, :disabledAt, :allowedNetworks)`,
);
export const addAccount = statement<{ account: bigint } & AccountValues>(
  'accounts.addAccount',
  `insert into account (${columns}) values (:account, ${accountColumns.parameters})`,
  { distributed: { everywhere: [addToDirectory] } },
);
/** Replaces the given details. Null leaves a column as it is. */
export const setDetails = statement<One & Details>(
  'accounts.setDetails',
  `update account set ${DETAILS.map((field) => {
    const column = accountColumns.columnNamed(field);
    return `${column} = coalesce(:${field}, ${column})`;
  }).join(', ')}
   where account_id = :account`,
);
/** Null clears a column. */
export const setProfile = statement<One & Pick<AccountValues, ProfileField>>(
  'accounts.setProfile',
  `update account set ${accountColumns.assignments(PROFILE)} where account_id = :account`,
);
/** Sets the password of an account that has none yet. */
export const setPassword = statement<One & { passwordHash: string }>(
  'accounts.setPassword',
  'update account set password_hash = :passwordHash where account_id = :account and password_hash is null',
);
const setNetworks = statement<One & Pick<AccountValues, 'allowedNetworks'>>(
  'accounts.setNetworksInDirectory',
  `update account_directory set allowed_networks = :allowedNetworks
   where account_id = :account and allowed_networks is distinct from :allowedNetworks`,
);
export const setSettings = statement<One & Pick<AccountValues, Setting>>(
  'accounts.setSettings',
  `update account set ${accountColumns.assignments(SETTINGS)} where account_id = :account`,
  { distributed: { everywhere: [setNetworks] } },
);
const setDisabledInDirectory = statement<One & { disabledAt: number | null }>(
  'accounts.setDisabledInDirectory',
  'update account_directory set disabled_at = :disabledAt where account_id = :account',
);
export const setDisabledAt = statement<One & { disabledAt: number | null }>(
  'accounts.setDisabledAt',
  'update account set disabled_at = :disabledAt where account_id = :account',
  { distributed: { everywhere: [setDisabledInDirectory] } },
);
/** Tables without a foreign key to the account where it is on another node. */
const OWNED_ELSEWHERE = [
  'account_directory',
  'credential',
  'operator_token',
  'sign_in_link',
  'session',
  'second_factor',
  'recovery_code',
  'route',
  'webhook_delivery',
  'webhook',
  'migration_stage',
  'migration_client_rule',
] as const;
export const removeAccount = statement<One>('accounts.remove', 'delete from account where account_id = :account', {
  distributed: {
    everywhere: OWNED_ELSEWHERE.map((table) =>
      statement<One>(`accounts.removeFrom.${table}`, `delete from ${table} where account_id = :account`),
    ),
  },
});
/** Locks the account as its transactions do, so that no other call moves its credits. */
export const lockAccount = statement<One>('accounts.lock', 'update account set tag = tag where account_id = :account');

export interface OwnedRow {
  user_ids: bigint;
  contact_groups: bigint;
  contacts: bigint;
  templates: bigint;
  blacklisted: bigint;
  received: bigint;
  sent: bigint;
  scheduled: bigint;
}
/** Counts the rows that are deleted with an account. */
export const ownedByAccount = statement<One, OwnedRow>(
  'accounts.owned',
  `select
     (select count(*) from credential where account_id = :account) as user_ids,
     (select count(*) from contact_group where account_id = :account) as contact_groups,
     (select count(*) from contact where account_id = :account) as contacts,
     (select count(*) from template where account_id = :account) as templates,
     (select count(*) from blocked_number where account_id = :account) as blacklisted,
     (select count(*) from received where account_id = :account) as received,
     (select count(*) from sent where account_id = :account) as sent,
     (select count(*) from scheduled where account_id = :account) as scheduled`,
);
