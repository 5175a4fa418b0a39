import { badField, notFound } from '../../base/problem.ts';
import { numberEnd, sameNumber, writtenKey } from '../../sms/numbers.ts';
import { FIRST_ID, LAST_ID, pages } from '../../store/cursor.ts';
import type { AccountKey, Database, Queries } from '../../store/database.ts';
import { takeIds } from '../accounts/ids.ts';
import { checkOperatorsNumber } from './blacklist.ts';
import * as sql from './contact-records.sql.ts';
import * as listSql from './contacts.sql.ts';
import { type Contact, type ContactGroup, toContact, toGroup } from './contacts.ts';

/** Contacts and groups for the operator: create, change and delete single ones. */
export interface ContactFields {
  readonly name: string | null;
  readonly surname: string | null;
  readonly mobile: string;
  readonly groupId: bigint | null;
}
export interface ContactFilter {
  readonly group: bigint | undefined;
  readonly q: string | undefined;
  readonly mobile: string | undefined;
}

export const CONTACT_TEXT_LENGTH_MAX = 200;

/**
 * The largest number of rows that one page scans. A filter that few rows pass gets short pages,
 * each with a next one.
 */
const LOOKED_AT_MAX = 20_000;
const PAGE = 1_000;
/** The largest number that is counted for a page. */
export const COUNTED_CONTACTS_MAX = 100_000;

export function createContactRecords(database: Database, region: (account: AccountKey) => Promise<string | null>) {
  /** Lists contacts by id, after the id `after`. `next` is null on the last page. */
  async function list(account: AccountKey, filter: ContactFilter, limit: number, after: bigint | null) {
    const items: Contact[] = [];
    const isWanted = await filterOf(filter, () => region(account));
    let from = after === null ? FIRST_ID : after + 1n;
    if (after === LAST_ID) return { items, next: null };
    for (let lookedAt = 0; lookedAt < LOOKED_AT_MAX; ) {
      const size = Math.min(PAGE, filter.q === undefined && filter.mobile === undefined ? limit + 1 : PAGE);
      const rows = await rowsFrom(account, filter.group, from, size);
      for (const contact of rows) {
        if (!isWanted(contact)) continue;
        if (items.length === limit) return { items, next: items.at(-1)?.id ?? null };
        items.push(contact);
      }
      const last = rows.at(-1);
      if (rows.length < size || !last || last.id === LAST_ID) return { items, next: null };
      from = last.id + 1n;
      lookedAt += rows.length;
    }
    return { items, next: from - 1n };
  }

  async function rowsFrom(account: AccountKey, group: bigint | undefined, from: bigint, limit: number) {
    const rows =
      group === undefined
        ? await database.all(listSql.contacts, { account, from, limit })
        : await database.all(listSql.contactsOfGroup, { account, group, from, limit });
    return rows.map(toContact);
  }

  return {
    list,

    /** At most COUNTED_CONTACTS_MAX. */
    async count(account: AccountKey): Promise<number> {
      return Number((await database.first(sql.count, { account, limit: COUNTED_CONTACTS_MAX }))?.total ?? 0n);
    },

    contact: async (account: AccountKey, id: bigint): Promise<Contact> => contactOf(database, account, id),

    add: (account: AccountKey, fields: ContactFields): Promise<Contact> =>
      database.transaction(account, async (queries) => {
        await checkFields(queries, account, fields);
        const id = await takeIds(queries, account, 'contact');
        await queries.run(listSql.addContact, { account, id, ...stored(fields) });
        return { id, ...fields };
      }),

    change: (account: AccountKey, id: bigint, fields: ContactFields): Promise<Contact> =>
      database.transaction(account, async (queries) => {
        await contactOf(queries, account, id);
        await checkFields(queries, account, fields);
        await queries.run(sql.setContact, { account, id, ...stored(fields) });
        return { id, ...fields };
      }),

    delete: (account: AccountKey, id: bigint): Promise<void> =>
      database.transaction(account, async (queries) => {
        if ((await queries.run(listSql.deleteContacts, { account, ids: `[${id}]` })) === 0)
          throw notFound('contact with this id');
      }),

    ...createGroupRecords(database),
  };
}

async function filterOf(
  { q, mobile }: ContactFilter,
  region: () => Promise<string | null>,
): Promise<(contact: Contact) => boolean> {
  const part = q?.toLowerCase();
  const holds = ({ name, surname, mobile: number }: Contact) =>
    part === undefined || [name, surname, number].some((text) => text?.toLowerCase().includes(part));
  if (mobile === undefined) return holds;
  const { ends, matches } = sameNumber(mobile, await region());
  // Parsing a number takes 20 times as long as comparing its last digits.
  return (contact) =>
    contact.mobile !== null && ends.includes(numberEnd(contact.mobile)) && matches(contact.mobile) && holds(contact);
}

/** The groups of contacts. */
function createGroupRecords(database: Database) {
  return {
    async groups(account: AccountKey, limit: number, after: bigint | null): Promise<ContactGroup[]> {
      if (after === LAST_ID) return [];
      const from = after === null ? FIRST_ID : after + 1n;
      return (await database.all(listSql.groups, { account, from, limit })).map(toGroup);
    },

    /** The names of groups that have a name. */
    async groupNames(account: AccountKey): Promise<Map<bigint, string>> {
      const names = new Map<bigint, string>();
      const page = (from: bigint) => database.all(sql.groupNames, { account, from, limit: PAGE });
      for await (const rows of pages(PAGE, page, ({ group_id }) => group_id)) {
        for (const { group_id, name } of rows) if (name !== null) names.set(group_id, name);
      }
      return names;
    },

    group: (account: AccountKey, group: bigint): Promise<ContactGroup> => groupOf(database, account, group),

    addGroup: (account: AccountKey, name: string): Promise<ContactGroup> =>
      database.transaction(account, async (queries) => {
        await checkName(queries, account, name, null);
        return { id: Number(await addGroup(queries, account, name)), name, total: 0 };
      }),

    renameGroup: (account: AccountKey, group: bigint, name: string): Promise<ContactGroup> =>
      database.transaction(account, async (queries) => {
        const found = await groupOf(queries, account, group);
        await checkName(queries, account, name, group);
        await queries.run(sql.setGroupName, { account, group, name });
        return { ...found, name };
      }),

    /** Deletes the group and keeps its contacts. Returns the number of its contacts. */
    deleteGroup: (account: AccountKey, group: bigint): Promise<number> =>
      database.transaction(account, async (queries) => {
        const { total } = await groupOf(queries, account, group);
        await queries.run(sql.emptyGroup, { account, group });
        await queries.run(sql.deleteGroup, { account, group });
        return total;
      }),
  };
}

export async function addGroup(queries: Queries, account: AccountKey, name: string): Promise<bigint> {
  const group = await takeIds(queries, account, 'group');
  await queries.run(listSql.addGroup, { account, group, name });
  return group;
}

/** The groups of an account by name. If two have one name, the older one counts. */
export async function groupsByName(queries: Queries, account: AccountKey): Promise<Map<string, bigint>> {
  const byName = new Map<string, bigint>();
  const page = (from: bigint) => queries.all(sql.groupNames, { account, from, limit: PAGE });
  for await (const rows of pages(PAGE, page, ({ group_id }) => group_id)) {
    for (const { group_id, name } of rows) if (name !== null && !byName.has(name)) byName.set(name, group_id);
  }
  return byName;
}

export const stored = ({ name, surname, mobile, groupId }: ContactFields) => ({
  name,
  surname,
  mobile,
  key: writtenKey(mobile),
  group: groupId,
});

async function checkFields(queries: Queries, account: AccountKey, { mobile, groupId }: ContactFields): Promise<void> {
  checkMobile(mobile);
  if (groupId !== null && !(await queries.first(listSql.group, { account, group: groupId }))) {
    throw badField('groupId', 'there is no group with this id');
  }
}

function checkMobile(mobile: string): void {
  try {
    checkOperatorsNumber(mobile);
  } catch (thrown) {
    throw badField('mobile', (thrown as Error).message);
  }
}

/** Names are unique, because a file names groups by them. */
async function checkName(queries: Queries, account: AccountKey, name: string, own: bigint | null): Promise<void> {
  const other = (await groupsByName(queries, account)).get(name);
  if (other !== undefined && other !== own) throw badField('name', 'another group has this name');
}

async function contactOf(queries: Queries, account: AccountKey, id: bigint): Promise<Contact> {
  const row = await queries.first(sql.contact, { account, id });
  if (!row) throw notFound('contact with this id');
  return toContact(row);
}

async function groupOf(queries: Queries, account: AccountKey, group: bigint): Promise<ContactGroup> {
  const row = await queries.first(sql.group, { account, group });
  if (!row) throw notFound('group with this id');
  return toGroup(row);
}
