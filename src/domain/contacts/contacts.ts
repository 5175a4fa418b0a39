import { hasDigit, numberEnd, sameNumber } from '../../sms/numbers.ts';
import { FIRST_ID, LAST_ID, pages } from '../../store/cursor.ts';
import type { AccountKey, Database, Queries } from '../../store/database.ts';
import { recordsOf } from '../../store/json.ts';
import * as sql from './contacts.sql.ts';

export interface Contact {
  readonly id: bigint;
  readonly name: string | null;
  readonly surname: string | null;
  readonly mobile: string | null;
  readonly groupId: bigint | null;
}
export interface ContactGroup {
  readonly id: number;
  readonly name: string | null;
  readonly total: number;
}

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

    /** Lists groups by id, after the group `after`. */
    async groups(account: AccountKey, limit: number, after?: ContactGroup): Promise<ContactGroup[]> {
      const from = after ? BigInt(after.id) + 1n : FIRST_ID;
      const rows = await database.all(sql.groups, { account, from, limit });
      return rows.map(toGroup);
    },

    ...createNumberSearch(database, regionOfAccount),
    ...createContactChanges(database),
  };
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

  /** Reading a number takes 20 times as long as a look for its end, so most are never read. */
  async function bestOf(account: AccountKey, number: string, rows: readonly sql.ContactRow[]): Promise<Contact | null> {
    if (rows.length === 0) return null;
    const { matches } = sameNumber(number, await regionOfAccount(account));
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

    /** The same for the numbers of a page, by one statement. What has no contact is not in it. */
    async withSameNumbers(account: AccountKey, numbers: readonly string[]): Promise<Map<string, Contact>> {
      const found = new Map<string, Contact>();
      const sought = numbers.filter(hasDigit);
      // 50 numbers take 150 µs, and many accounts have no contacts at all.
      if (sought.length === 0 || !(await database.first(sql.anyContact, { account }))) return found;
      const endOf = new Map(sought.map((number) => [number, numberEnd(number)]));
      const ends = recordsOf([...new Set(endOf.values())].map((end) => [end]));
      const rows = await database.all(sql.contactsByEnds, { account, ends, limit: NAMED_MAX });
      const byEnd = Map.groupBy(rows, ({ mobile }) => numberEnd(mobile ?? ''));
      for (const [number, end] of endOf) {
        const contact = isShort(number)
          ? await this.withSameNumber(account, number)
          : await bestOf(account, number, byEnd.get(end) ?? []);
        if (contact) found.set(number, contact);
      }
      return found;
    },
  };
}

/** Changes of several contacts at once. */
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
          (await queries.first(sql.group, { account, group })) && queries.first(sql.countContacts, { account, ids }),
        (queries, ids) => queries.run(sql.setGroup, { account, ids, group }),
      ),

    delete: (account: AccountKey, contacts: readonly bigint[]): Promise<boolean> =>
      changeAll(
        account,
        contacts,
        (queries, ids) => queries.first(sql.countContacts, { account, ids }),
        (queries, ids) => queries.run(sql.deleteContacts, { account, ids }),
      ),
  };
}

/** Candidates for the numbers of a page. */
const NAMED_MAX = 1_000;
/** The end of a short number may contain what stands before it, see sms/numbers.ts. */
const isShort = (number: string): boolean => number.replace(/\D/g, '').length <= 8;

// Of a million contacts, one or two have the same last 6 digits.
const CANDIDATES = 100;

const fromOf = (after: Contact | undefined): bigint => (after ? after.id + 1n : FIRST_ID);

export const toContact = (row: sql.ContactRow): Contact => ({
  id: row.contact_id,
  name: row.name,
  surname: row.surname,
  mobile: row.mobile,
  groupId: row.group_id,
});

export const toGroup = (row: sql.GroupRow): ContactGroup => ({
  id: Number(row.group_id),
  name: row.name,
  total: Number(row.total),
});
