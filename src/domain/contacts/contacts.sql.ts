import type { AccountKey } from '../../store/caller.ts';
import { defineColumns, type RowOf, type ValuesOf } from '../../store/columns.ts';
import { targetOf } from '../../store/deletion.ts';
import { statement } from '../../store/statement.ts';

/**
 * A new field needs a step in `store/schema/migrations.ts`. Besides this list it goes into
 * `putContact` and `setContact` below, and into `ContactFields` of contacts.ts. Other places, all
 * in src:
 *
 * - API and console: `operator/actions/contacts/contacts.ts`, whose schema persons.ts uses too, and
 *   `console/contacts/contacts.ts`
 * - archives: `transfer/account-json.ts`
 * - files of contacts: `transfer/contact-columns.ts`, `transfer/contact-csv.ts`,
 *   `domain/contacts/contact-import.ts`, `console/contacts/import.ts`
 * - texts with fields: `contactValues` in `sms/fields.ts`, `TEXT_FIELDS` in
 *   `console/messages/compose.ts`
 * - beside a conversation: `aboutPane` in `console/messages/conversation.ts`
 * - copies of an old server: `migration/old-server/old-profile.ts`,
 *   `migration/copy/account-copy.ts`, `migration/copy/check.ts`
 * - the search, if it is to find the field: the documents in `domain/search/search.sql.ts`, and the
 *   triggers in `store/schema/search.ts` and `store/schema/distributed.ts`, in a new migration
 */
const CONTACT_FIELDS = {
  id: 'long',
  name: 'text?',
  surname: 'text?',
  mobile: 'text?',
  groupId: 'long?',
  /** For people who look at the contact. The contract does not know it. */
  note: 'text?',
} as const;
const CONTACT_ID = { id: 'contact_id' } as const;

export type ContactValues = ValuesOf<typeof CONTACT_FIELDS>;
export type ContactRow = RowOf<typeof CONTACT_FIELDS, typeof CONTACT_ID>;
export const contactColumns = defineColumns(CONTACT_FIELDS, CONTACT_ID);

/** `ids` is a JSON array of numbers. */
type Ids = { account: AccountKey; ids: string };

const columns = `select ${contactColumns.names} from contact`;
const ofAccount = `${columns} where account_id = :account`;

type Page = { account: AccountKey; from: bigint; limit: number };

/** A page of the contacts whose ids start at `from`. */
export const contacts = statement<Page, ContactRow>(
  'contacts.contacts',
  `${ofAccount} and contact_id >= :from order by contact_id {limit :limit}`,
);
export const contactsOfGroup = statement<Page & { group: bigint }, ContactRow>(
  'contacts.contactsOfGroup',
  `${ofAccount} and {rare group_id = :group} and contact_id >= :from order by contact_id {limit :limit}`,
);
/** For the orders of dialects: a page of the ids from `to` down. */
type DownPage = { account: AccountKey; to: bigint; limit: number };
export const contactsDown = statement<DownPage, ContactRow>(
  'contacts.contactsDown',
  `${ofAccount} and contact_id <= :to order by contact_id desc {limit :limit}`,
);
export const contactsOfGroupDown = statement<DownPage & { group: bigint }, ContactRow>(
  'contacts.contactsOfGroupDown',
  `${ofAccount} and {rare group_id = :group} and contact_id <= :to order by contact_id desc {limit :limit}`,
);
/** Candidates whose number has this ending. The domain compares the whole numbers. */
export const contactsByEnd = statement<Page & { end: string }, ContactRow>(
  'contacts.contactsByEnd',
  `${columns} {using contact_by_number_end}
   where account_id = :account and {ending number_key} = :end and contact_id >= :from order by contact_id {limit :limit}`,
);
export const anyContact = statement<{ account: AccountKey }, { contact_id: bigint }>(
  'contacts.anyContact',
  'select contact_id from contact where account_id = :account order by contact_id {limit 1}',
);
/** Does the same for several endings at once. `ends` has one record for each ending. */
export const contactsByEnds = statement<{ account: AccountKey; ends: string; limit: number }, ContactRow>(
  'contacts.contactsByEnds',
  `${columns} {using contact_by_number_end}
   where account_id = :account and {ending number_key} in (select number_end from {records :ends number_end text} as given)
   {limit :limit}`,
);
export const contact = statement<{ account: AccountKey; id: bigint }, ContactRow>(
  'contacts.contact',
  `${ofAccount} and contact_id = :id`,
);
export const contactsAmong = statement<Ids, ContactRow>(
  'contacts.contactsAmong',
  `${ofAccount} and contact_id {among :ids}`,
);
/** Counts up to a limit, because an account may have millions of contacts. */
export const count = statement<{ account: AccountKey; limit: number }, { total: bigint }>(
  'contacts.count',
  'select count(*) as total from (select 1 from contact where account_id = :account order by contact_id {limit :limit}) as counted',
);
export const countContacts = statement<Ids, { total: bigint }>(
  'contacts.countContacts',
  'select count(*) as total from contact where account_id = :account and contact_id {among :ids}',
);
/** `coalesce` hides the group from the index, by which PostgreSQL 15 would read the whole group. */
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
/** `key` is the form of the number by which a contact is found. */
export type StoredContact = { account: AccountKey; key: string | null } & ContactValues;
const insert = `insert into contact (account_id, ${contactColumns.names}, number_key)
   values (:account, ${contactColumns.parameters}, :key)`;

export const addContact = statement<StoredContact>('contacts.addContact', insert);
/** Adds a contact, or changes the one with this id, which keeps its note if none is given. */
export const putContact = statement<StoredContact>(
  'contacts.putContact',
  `${insert} on conflict (account_id, contact_id) do update set name = excluded.name, surname = excluded.surname,
     mobile = excluded.mobile, number_key = excluded.number_key, group_id = excluded.group_id,
     note = coalesce(excluded.note, contact.note)`,
);
export const setContact = statement<StoredContact>(
  'contacts.setContact',
  `update contact set ${contactColumns.assignments(['name', 'surname', 'mobile', 'groupId', 'note'])}, number_key = :key
   where account_id = :account and contact_id = :id`,
);
