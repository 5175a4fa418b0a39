import { targetOf } from '../../store/deletion.ts';
import { type AccountKey, statement } from '../../store/statement.ts';

/** Contacts, their groups, message templates and blocked numbers. */
export interface ContactRow {
  contact_id: bigint;
  name: string | null;
  surname: string | null;
  mobile: string | null;
  group_id: bigint | null;
}
export interface GroupRow {
  group_id: bigint;
  name: string | null;
  total: bigint;
}
export interface BlockedRow {
  number: string;
  sample: string | null;
  blocked_at: bigint;
}
type One = { account: AccountKey };
/** `ids` is a JSON array of numbers. */
type Ids = { account: AccountKey; ids: string };

const columns = 'select contact_id, name, surname, mobile, group_id from contact';
const contact = `${columns} where account_id = :account`;

type Page = { account: AccountKey; from: bigint; limit: number };

/** In pages: the ids from `from` up. */
export const contacts = statement<Page, ContactRow>(
  'contacts.contacts',
  `${contact} and contact_id >= :from order by contact_id {limit :limit}`,
);
export const contactsOfGroup = statement<Page & { group: bigint }, ContactRow>(
  'contacts.contactsOfGroup',
  `${contact} and {rare group_id = :group} and contact_id >= :from order by contact_id {limit :limit}`,
);
/** Orders of dialects, in pages: the ids from `to` down. */
type DownPage = { account: AccountKey; to: bigint; limit: number };
export const contactsDown = statement<DownPage, ContactRow>(
  'contacts.contactsDown',
  `${contact} and contact_id <= :to order by contact_id desc {limit :limit}`,
);
export const contactsOfGroupDown = statement<DownPage & { group: bigint }, ContactRow>(
  'contacts.contactsOfGroupDown',
  `${contact} and {rare group_id = :group} and contact_id <= :to order by contact_id desc {limit :limit}`,
);
/** Those whose number ends so: candidates, which the domain compares. */
export const contactsByEnd = statement<Page & { end: string }, ContactRow>(
  'contacts.contactsByEnd',
  `${columns} {using contact_by_number_end}
   where account_id = :account and {ending number_key} = :end and contact_id >= :from order by contact_id {limit :limit}`,
);
export const anyContact = statement<{ account: AccountKey }, { contact_id: bigint }>(
  'contacts.anyContact',
  'select contact_id from contact where account_id = :account order by contact_id {limit 1}',
);
/** The same as contactsByEnd for several endings at once. `ends`: a record each. */
export const contactsByEnds = statement<{ account: AccountKey; ends: string; limit: number }, ContactRow>(
  'contacts.contactsByEnds',
  `${columns} {using contact_by_number_end}
   where account_id = :account and {ending number_key} in (select number_end from {records :ends number_end text} as given)
   {limit :limit}`,
);
const groupWithTotal = `select group_id, name,
     (select count(*) from contact
      where contact.account_id = contact_group.account_id and contact.group_id = contact_group.group_id) as total
   from contact_group where account_id = :account`;
export const groups = statement<Page, GroupRow>(
  'contacts.groups',
  `${groupWithTotal} and group_id >= :from order by group_id {limit :limit}`,
);
export const groupsDown = statement<DownPage, GroupRow>(
  'contacts.groupsDown',
  `${groupWithTotal} and group_id <= :to order by group_id desc {limit :limit}`,
);
export const group = statement<{ account: AccountKey; group: bigint }, { group_id: bigint }>(
  'contacts.group',
  'select group_id from contact_group where account_id = :account and group_id = :group',
);
export const countContacts = statement<Ids, { total: bigint }>(
  'contacts.countContacts',
  'select count(*) as total from contact where account_id = :account and contact_id {among :ids}',
);
/** By `coalesce` no index has the group: PostgreSQL 15 would read the whole group. */
export const countContactsInGroup = statement<Ids & { group: bigint }, { total: bigint }>(
  'contacts.countContactsInGroup',
  `select count(*) as total from contact
   where account_id = :account and coalesce(group_id, 0) = :group and contact_id {among :ids}`,
);
export const setGroup = statement<Ids & { group: bigint | null }>(
  'contacts.setGroup',
  'update contact set group_id = :group where account_id = :account and contact_id {among :ids}',
);
export const deleteContacts = statement<Ids>(
  'contacts.deleteContacts',
  'delete from contact where account_id = :account and contact_id {among :ids}',
  { deletes: ({ ids }) => targetOf(ids) },
);
type NewGroup = { account: AccountKey; group: bigint; name: string | null };
const insertGroup = 'insert into contact_group (account_id, group_id, name) values (:account, :group, :name)';

export const addGroup = statement<NewGroup>('contacts.addGroup', insertGroup);
/** Adds a group, or changes the one with this id. */
export const putGroup = statement<NewGroup>(
  'contacts.putGroup',
  `${insertGroup} on conflict (account_id, group_id) do update set name = excluded.name`,
);
interface NewContact {
  account: AccountKey;
  id: bigint;
  name: string | null;
  surname: string | null;
  mobile: string | null;
  key: string | null;
  group: bigint | null;
}
const insertContact = `insert into contact (account_id, contact_id, name, surname, mobile, number_key, group_id)
   values (:account, :id, :name, :surname, :mobile, :key, :group)`;

export const addContact = statement<NewContact>('contacts.addContact', insertContact);
/** Adds a contact, or changes the one with this id. */
export const putContact = statement<NewContact>(
  'contacts.putContact',
  `${insertContact} on conflict (account_id, contact_id) do update set name = excluded.name, surname = excluded.surname,
     mobile = excluded.mobile, number_key = excluded.number_key, group_id = excluded.group_id`,
);

/** In pages: the positions from `from` up. */
export const templates = statement<Page, { position: bigint; text: string }>(
  'contacts.templates',
  'select position, text from template where account_id = :account and position >= :from order by position {limit :limit}',
);
/** The positions from `to` down. */
export const templatesDown = statement<DownPage, { position: bigint; text: string }>(
  'contacts.templatesDown',
  'select position, text from template where account_id = :account and position <= :to order by position desc {limit :limit}',
);
export const templatePosition = statement<{ account: AccountKey; hash: string }, { position: bigint }>(
  'contacts.templatePosition',
  'select position from template where account_id = :account and text_hash = :hash',
);
export const templateHashes = statement<One, { text_hash: string }>(
  'contacts.templateHashes',
  'select text_hash from template where account_id = :account',
);
/** How many there are, and how many of them have this text. */
export const countTemplates = statement<{ account: AccountKey; hash: string }, { total: bigint; same: bigint }>(
  'contacts.countTemplates',
  `select count(*) as total, count(case when text_hash = :hash then 1 end) as same
   from template where account_id = :account`,
);
export const addTemplate = statement<{ account: AccountKey; position: bigint; hash: string; text: string }>(
  'contacts.addTemplate',
  'insert into template (account_id, position, text_hash, text) values (:account, :position, :hash, :text)',
);
export const deleteTemplate = statement<{ account: AccountKey; hash: string }>(
  'contacts.deleteTemplate',
  'delete from template where account_id = :account and text_hash = :hash',
  { deletes: () => '1 template' },
);

export const deleteTemplateAt = statement<{ account: AccountKey; position: bigint }>(
  'contacts.deleteTemplateAt',
  'delete from template where account_id = :account and position = :position',
);

export const blocked = statement<One, BlockedRow>(
  'contacts.blocked',
  'select number, sample, blocked_at from blocked_number where account_id = :account order by blocked_at, number',
);
/** Those that end so, in pages: the numbers after `after`. */
export const blockedByEnd = statement<
  { account: AccountKey; end: string; after: string; limit: number },
  { number: string }
>(
  'contacts.blockedByEnd',
  `select number from blocked_number {using blocked_by_number_end}
   where account_id = :account and {ending number_key} = :end and number > :after order by number {limit :limit}`,
);
const insertBlocked = `insert into blocked_number (account_id, number, number_key, sample, blocked_at)
   values (:account, :number, :key, :sample, :blockedAt)`;
type Blocking = { account: AccountKey; number: string; key: string; sample: string | null; blockedAt: number };

export const addBlocked = statement<Blocking>('contacts.addBlocked', insertBlocked);
