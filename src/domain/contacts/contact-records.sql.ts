import { type AccountKey, statement } from '../../store/statement.ts';
import type { ContactRow, GroupRow } from './contacts.sql.ts';

/** Single contacts and groups, for the operator. */
type Contact = { account: AccountKey; id: bigint };
type Group = { account: AccountKey; group: bigint };

export const contact = statement<Contact, ContactRow>(
  'contactRecords.contact',
  'select contact_id, name, surname, mobile, group_id from contact where account_id = :account and contact_id = :id',
);
/** Counts up to a limit: an account may have millions. */
export const count = statement<{ account: AccountKey; limit: number }, { total: bigint }>(
  'contactRecords.count',
  'select count(*) as total from (select 1 from contact where account_id = :account order by contact_id {limit :limit}) as counted',
);
export const setContact = statement<
  Contact & {
    name: string | null;
    surname: string | null;
    mobile: string | null;
    key: string | null;
    group: bigint | null;
  }
>(
  'contactRecords.setContact',
  `update contact set name = :name, surname = :surname, mobile = :mobile, number_key = :key, group_id = :group
   where account_id = :account and contact_id = :id`,
);
export const group = statement<Group, GroupRow>(
  'contactRecords.group',
  `select group_id, name,
     (select count(*) from contact
      where contact.account_id = contact_group.account_id and contact.group_id = contact_group.group_id) as total
   from contact_group where account_id = :account and group_id = :group`,
);
export const setGroupName = statement<Group & { name: string }>(
  'contactRecords.setGroupName',
  'update contact_group set name = :name where account_id = :account and group_id = :group',
);
/** Before the group goes: its contacts stay. */
export const emptyGroup = statement<Group>(
  'contactRecords.emptyGroup',
  'update contact set group_id = null where account_id = :account and group_id = :group',
);
export const deleteGroup = statement<Group>(
  'contactRecords.deleteGroup',
  'delete from contact_group where account_id = :account and group_id = :group',
);
/** In pages: the ids from `from` up, without counting their contacts. */
export const groupNames = statement<
  { account: AccountKey; from: bigint; limit: number },
  { group_id: bigint; name: string | null }
>(
  'contactRecords.groupNames',
  `select group_id, name from contact_group where account_id = :account and group_id >= :from
   order by group_id {limit :limit}`,
);
