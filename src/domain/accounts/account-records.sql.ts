import { statement } from '../../store/statement.ts';
import { type AccountRow, accountColumns } from './account-columns.sql.ts';

/** Accounts for operators. */
type One = { account: bigint };

const columns = `account_id, ${accountColumns.names}`;

export const recordByName = statement<{ username: string }, AccountRow>(
  'accountRecords.byName',
  `select ${columns} from account where username = :username`,
);
export const recordsAfter = statement<{ after: string; limit: number }, AccountRow>(
  'accountRecords.after',
  `select ${columns} from account where username > :after order by username {limit :limit}`,
);
/** Changes all columns that an operator may change. */
export const changeRecord = statement<{
  account: bigint;
  contactName: string | null;
  contactSurname: string | null;
  company: string | null;
  email: string | null;
  tel: string | null;
  fax: string | null;
  mobile: string | null;
  address: string | null;
  region: string | null;
  priority: number;
  tag: number;
  allowedNetworks: string | null;
  timeZone: string | null;
  quietHours: string | null;
  unsurePolicy: string | null;
  connector: string | null;
  lowCredits: bigint | null;
  stopWords: string | null;
  startWords: string | null;
  helpWords: string | null;
  wordLanguages: string | null;
  stopAnswer: string | null;
  helpAnswer: string | null;
}>(
  'accountRecords.change',
  `update account set contact_name = :contactName, contact_surname = :contactSurname, company = :company, email = :email,
     tel = :tel, fax = :fax, mobile = :mobile, address = :address, region = :region, priority = :priority, tag = :tag,
     allowed_networks = :allowedNetworks, time_zone = :timeZone, quiet_hours = :quietHours,
     unsure_policy = :unsurePolicy, connector = :connector, stop_words = :stopWords, start_words = :startWords,
     help_words = :helpWords, word_languages = :wordLanguages, stop_answer = :stopAnswer, help_answer = :helpAnswer,
     low_credits = :lowCredits
   where account_id = :account`,
);
export const setDisabledAt = statement<{ account: bigint; disabledAt: number | null }>(
  'accountRecords.setDisabledAt',
  'update account set disabled_at = :disabledAt where account_id = :account',
);
export const removeRecord = statement<One>('accountRecords.remove', 'delete from account where account_id = :account');

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
  'accountRecords.owned',
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

export interface UserIdRow {
  user_id_hash: string;
  created_at: bigint;
  revoked_at: bigint | null;
  used_at: bigint | null;
}
const userIdSource = `credential left join user_id_use on user_id_use.account_id = credential.account_id
     and user_id_use.user_id_hash = credential.user_id_hash`;
/** The contract shows nothing of it, so no cached answer is void. */
export const userIdUsed = statement<{ account: bigint; hash: string; usedAt: number }>(
  'accountRecords.userIdUsed',
  `insert into user_id_use (account_id, user_id_hash, used_at) values (:account, :hash, :usedAt)
   on conflict (account_id, user_id_hash) do update set used_at = :usedAt`,
  { affects: 'none' },
);
export const userIds = statement<{ account: bigint; afterAt: number; afterHash: string; limit: number }, UserIdRow>(
  'accountRecords.userIds',
  `select credential.user_id_hash, created_at, revoked_at, used_at from ${userIdSource}
   where credential.account_id = :account and (created_at, credential.user_id_hash) > (:afterAt, :afterHash)
   order by created_at, credential.user_id_hash {limit :limit}`,
);
export const userIdByPrefix = statement<{ account: bigint; prefix: string }, UserIdRow>(
  'accountRecords.userIdByPrefix',
  `select credential.user_id_hash, created_at, revoked_at, used_at from ${userIdSource}
   where credential.account_id = :account and credential.user_id_hash like :prefix || '%' order by credential.user_id_hash`,
);
export const revokeUserId = statement<{ account: bigint; hash: string; revokedAt: number }>(
  'accountRecords.revokeUserId',
  `update credential set revoked_at = :revokedAt
   where account_id = :account and user_id_hash = :hash and revoked_at is null`,
);
