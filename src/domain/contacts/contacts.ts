import { badField, notFound } from '../../base/problem.ts';
import { hasDigit, numberEnd, type SameNumber, sameNumber, writtenKey } from '../../sms/numbers.ts';
import type { AccountKey } from '../../store/caller.ts';
import { EVERYTHING, FIRST_ID, LAST_ID, pages } from '../../store/cursor.ts';
import type { Database, Queries, TransactionQueries } from '../../store/database.ts';
import { elementsOf, recordsOf } from '../../store/json.ts';
import { takeIds } from '../accounts/ids.ts';
import { checkOperatorsNumber } from './blacklist.ts';
import * as sql from './contacts.sql.ts';
import { createGroups, isGroup } from './groups.ts';

export type Contact = sql.ContactValues;
/** What an operator gives for a contact. */
export interface ContactFields {
  readonly name: string | null;
  readonly surname: string | null;
  readonly mobile: string;
  readonly groupId: bigint | null;
  readonly note: string | null;
}
/** If no note is given, a contact keeps the one that it has. */
export type ContactChange = Omit<ContactFields, 'note'> & { readonly note: string | null | undefined };
export interface ContactFilter {
  readonly group: bigint | undefined;
  readonly q: string | undefined;
  readonly mobile: string | undefined;
}

export const CONTACT_TEXT_LENGTH_MAX = 200;
const PAGE = 1_000;

export type Contacts = ReturnType<typeof createContacts>;

type RegionOfAccount = (account: AccountKey) => Promise<string | null>;

export function createContacts(database: Database, regionOfAccount: RegionOfAccount) {
  return {
    /** Lists contacts by id. Both lists start after the contact `after`. */
    async all(account: AccountKey, limit: number, after?: Contact): Promise<Contact[]> {
      if (after?.id === LAST_ID) return [];
      return (await database.all(sql.contacts, { account, from: fromOf(after), limit })).map(toContact);
    },

    async ofGroup(account: AccountKey, group: bigint, limit: number, after?: Contact): Promise<Contact[]> {
      if (after?.id === LAST_ID) return [];
      const rows = await database.all(sql.contactsOfGroup, { account, group, from: fromOf(after), limit });
      return rows.map(toContact);
    },

    ...createContactList(database, regionOfAccount),
    ...createNumberSearch(database, regionOfAccount),
    ...createContactChanges(database),
    ...createGroups(database),
  };
}

/**
 * The largest number of rows that one page scans. If few rows pass the filter, pages are short
 * although more follow.
 */
const LOOKED_AT_MAX = 20_000;
/** Contacts are counted up to this number. */
export const COUNTED_CONTACTS_MAX = 100_000;

/** Contacts that pass a filter, and single ones. */
function createContactList(database: Database, regionOfAccount: RegionOfAccount) {
  /** Lists contacts by id, after the id `after`. `next` is null on the last page. */
  async function list(account: AccountKey, filter: ContactFilter, limit: number, after: bigint | null) {
    const items: Contact[] = [];
    const isWanted = await filterOf(filter, () => regionOfAccount(account));
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
        ? await database.all(sql.contacts, { account, from, limit })
        : await database.all(sql.contactsOfGroup, { account, group, from, limit });
    return rows.map(toContact);
  }

  return {
    list,

    /** Counts up to COUNTED_CONTACTS_MAX. */
    async count(account: AccountKey): Promise<number> {
      return Number((await database.first(sql.count, { account, limit: COUNTED_CONTACTS_MAX }))?.total ?? 0n);
    },

    contact: async (account: AccountKey, id: bigint): Promise<Contact> => contactOf(database, account, id),
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

/** Contacts by their number. */
function createNumberSearch(database: Database, regionOfAccount: RegionOfAccount) {
  /** The matching contact with the lowest id, among those whose number has this ending. */
  async function firstMatch(
    account: AccountKey,
    end: string,
    matches: (mobile: string | null) => boolean,
  ): Promise<Contact | null> {
    const page = (from: bigint) => database.all(sql.contactsByEnd, { account, end, from, limit: CANDIDATES });
    for await (const rows of pages(CANDIDATES, page, ({ contact_id }) => contact_id)) {
      const found = rows.find(({ mobile }) => matches(mobile));
      if (found) return toContact(found);
    }
    return null;
  }

  /** Parsing a number takes 20 times as long as finding rows by its ending, so few are parsed. */
  function bestOf(number: string, region: string | null, rows: readonly sql.ContactRow[]): Contact | null {
    if (rows.length === 0) return null;
    const { matches } = sameNumber(number, region);
    const [first] = rows
      .filter(({ mobile }) => matches(mobile))
      .sort((one, other) => (one.contact_id < other.contact_id ? -1 : 1));
    return first ? toContact(first) : null;
  }

  return {
    /** The contact whose trimmed number is exactly this. The lowest id wins. */
    async withExactNumber(account: AccountKey, number: string): Promise<Contact | null> {
      const exact = number.trim();
      const found = await firstMatch(account, numberEnd(number), (mobile) => mobile?.trim() === exact);
      if (found || !/^ \d/.test(number)) return found;
      // A plus sign that was not percent-encoded in a query arrives as a space.
      return firstMatch(account, numberEnd(number), (mobile) => mobile?.trim() === `+${exact}`);
    },

    /** The contact with this number in any notation. The lowest id wins. */
    async withSameNumber(account: AccountKey, number: string): Promise<Contact | null> {
      if (!hasDigit(number)) return null;
      const { ends, matches } = sameNumber(number, await regionOfAccount(account));
      let first: Contact | null = null;
      for (const end of ends) {
        const found = await firstMatch(account, end, matches);
        if (found && (!first || found.id < first.id)) first = found;
      }
      return first;
    },

    /** Does the same for all numbers of a page with one statement. */
    async withSameNumbers(account: AccountKey, numbers: readonly string[]): Promise<Map<string, Contact>> {
      const found = new Map<string, Contact>();
      const sought = numbers.filter(hasDigit);
      // Looking for 50 numbers takes 150 µs, and many accounts have no contacts at all.
      if (sought.length === 0 || !(await database.first(sql.anyContact, { account }))) return found;
      const endOf = new Map(sought.map((number) => [number, numberEnd(number)]));
      const ends = recordsOf([...new Set(endOf.values())].map((end) => [end]));
      const rows = await database.all(sql.contactsByEnds, { account, ends, limit: NAMED_MAX });
      // Asked once: reading the account for each of 50 numbers was a tenth of a page.
      const region = rows.length === 0 ? null : await regionOfAccount(account);
      const byEnd = Map.groupBy(rows, ({ mobile }) => numberEnd(mobile ?? ''));
      for (const [number, end] of endOf) {
        const contact = isShort(number)
          ? await this.withSameNumber(account, number)
          : bestOf(number, region, byEnd.get(end) ?? []);
        if (contact) found.set(number, contact);
      }
      return found;
    },
  };
}

/** Changes of one contact, and of several at once. */
function createContactChanges(database: Database) {
  /** Changes all of the contacts, or none if `count` does not find each of them. */
  async function changeAll(
    account: AccountKey,
    given: readonly bigint[],
    count: (queries: Queries, ids: string) => Promise<{ total: bigint } | undefined>,
    change: (queries: Queries, ids: string) => Promise<unknown>,
  ): Promise<boolean> {
    const ids = [...new Set(given)];
    const text = `[${ids.join()}]`;
    return database.transaction(account, async (queries) => {
      const found = await count(queries, text);
      if (found?.total !== BigInt(ids.length)) return false;
      await change(queries, text);
      return true;
    });
  }

  return {
    add: (account: AccountKey, fields: ContactFields): Promise<Contact> =>
      database.transaction(account, async (queries) => {
        await checkFields(queries, account, fields);
        const id = await takeIds(queries, account, 'contact');
        await queries.run(sql.addContact, stored(account, { id, ...fields }));
        return { id, ...fields };
      }),

    change: (account: AccountKey, id: bigint, given: ContactChange): Promise<Contact> =>
      database.transaction(account, async (queries) => {
        const { note } = await contactOf(queries, account, id);
        const fields = { ...given, note: given.note === undefined ? note : given.note };
        await checkFields(queries, account, fields);
        await queries.run(sql.setContact, stored(account, { id, ...fields }));
        return { id, ...fields };
      }),

    delete: (account: AccountKey, id: bigint): Promise<void> =>
      database.transaction(account, async (queries) => {
        if ((await queries.run(sql.deleteContacts, { account, ids: `[${id}]` })) === 0)
          throw notFound('contact with this id');
      }),

    /**
     * Removes the contacts from the group and keeps them. Returns false, and changes nothing,
     * unless all of them are in it.
     */
    removeFromGroup: (account: AccountKey, contacts: readonly bigint[], group: bigint): Promise<boolean> =>
      changeAll(
        account,
        contacts,
        (queries, ids) => queries.first(sql.countContactsInGroup, { account, ids, group }),
        (queries, ids) => queries.run(sql.setGroup, { account, ids, group: null }),
      ),

    moveToGroup: (account: AccountKey, contacts: readonly bigint[], group: bigint): Promise<boolean> =>
      changeAll(
        account,
        contacts,
        async (queries, ids) =>
          (await isGroup(queries, account, group)) ? queries.first(sql.countContacts, { account, ids }) : undefined,
        (queries, ids) => queries.run(sql.setGroup, { account, ids, group }),
      ),

    deleteAll: (account: AccountKey, contacts: readonly bigint[]): Promise<boolean> =>
      changeAll(
        account,
        contacts,
        (queries, ids) => queries.first(sql.countContacts, { account, ids }),
        (queries, ids) => queries.run(sql.deleteContacts, { account, ids }),
      ),
  };
}

/** The most candidates for the numbers of a page. */
const NAMED_MAX = 1_000;
/** The ending of a short number may include what precedes its digits: see sms/numbers.ts. */
const isShort = (number: string): boolean => number.replace(/\D/g, '').length <= 8;

// Of a million contacts, one or two have the same last 6 digits.
const CANDIDATES = 100;

const fromOf = (after: Contact | undefined): bigint => (after ? after.id + 1n : FIRST_ID);

const toContact = sql.contactColumns.read;

export async function contactsAmong(queries: Queries, account: AccountKey, ids: readonly bigint[]): Promise<Contact[]> {
  return (await queries.all(sql.contactsAmong, { account, ids: elementsOf(ids) })).map(toContact);
}

/** A contact with its key, the form of the number by which it is found. */
export type KeyedContact = Contact & { readonly key: string | null };
export const withKey = (contact: Contact): KeyedContact => ({
  ...contact,
  key: contact.mobile === null ? null : writtenKey(contact.mobile),
});
const stored = (account: AccountKey, contact: Contact): sql.StoredContact => ({ account, ...withKey(contact) });

async function checkFields(
  queries: Queries,
  account: AccountKey,
  { mobile, groupId }: Pick<ContactFields, 'mobile' | 'groupId'>,
): Promise<void> {
  checkMobile(mobile);
  if (groupId !== null && !(await isGroup(queries, account, groupId))) {
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

async function contactOf(queries: Queries, account: AccountKey, id: bigint): Promise<Contact> {
  const row = await queries.first(sql.contact, { account, id });
  if (!row) throw notFound('contact with this id');
  return toContact(row);
}

/** All contacts, for an export. */
export const allContacts = async (queries: Queries, account: bigint): Promise<Contact[]> =>
  (await queries.all(sql.contacts, { account, ...EVERYTHING })).map(toContact);

/** All contacts by id, in pages. */
export async function* contactPages(queries: Queries, account: AccountKey): AsyncGenerator<Contact[]> {
  const page = (from: bigint) => queries.all(sql.contacts, { account, from, limit: PAGE });
  for await (const rows of pages(PAGE, page, ({ contact_id }) => contact_id)) yield rows.map(toContact);
}

/** Candidates for numbers, in pages: the contacts whose number has one of these endings. */
export async function* contactsEnding(
  queries: Queries,
  account: AccountKey,
  ends: Iterable<string>,
): AsyncGenerator<Contact[]> {
  for (const end of ends) {
    const page = (from: bigint) => queries.all(sql.contactsByEnd, { account, end, from, limit: PAGE });
    for await (const rows of pages(PAGE, page, ({ contact_id }) => contact_id)) yield rows.map(toContact);
  }
}

/** The contacts with this number in any notation. */
export async function contactsWithNumber(queries: Queries, account: AccountKey, same: SameNumber): Promise<Contact[]> {
  const found: Contact[] = [];
  // Parsing a number takes 20 times as long as comparing its last digits.
  const isSame = ({ mobile }: Contact): boolean =>
    mobile !== null && same.ends.includes(numberEnd(mobile)) && same.matches(mobile);
  for await (const page of contactsEnding(queries, account, same.ends)) found.push(...page.filter(isSame));
  return found;
}

/** Adds imported contacts with their ids. */
export const addContacts = (
  queries: TransactionQueries,
  account: AccountKey,
  contacts: readonly KeyedContact[],
): Promise<void> =>
  queries.runAll(
    sql.addContact,
    contacts.map((contact) => ({ account, ...contact })),
  );
/** Adds the contacts, and changes those that exist. */
export const putContacts = (
  queries: TransactionQueries,
  account: AccountKey,
  contacts: readonly KeyedContact[],
): Promise<void> =>
  queries.runAll(
    sql.putContact,
    contacts.map((contact) => ({ account, ...contact })),
  );
export const setContact = (queries: Queries, account: AccountKey, contact: Contact): Promise<number> =>
  queries.run(sql.setContact, stored(account, contact));
export const deleteContacts = (queries: Queries, account: AccountKey, ids: readonly bigint[]): Promise<number> =>
  queries.run(sql.deleteContacts, { account, ids: elementsOf(ids) });
