import type { AccountKey } from '../../store/caller.ts';
import { below } from '../../store/cursor.ts';
import type { Database } from '../../store/database.ts';
import { createOrderedMessages } from '../messages/ordered-lists.ts';
import * as contactSql from './contacts.sql.ts';
import type { Contact } from './contacts.ts';
import * as groupSql from './groups.sql.ts';
import type { ContactGroup } from './groups.ts';
import * as templateSql from './templates.sql.ts';
import type { Template } from './templates.ts';

/**
 * Lists in the orders of old servers, for dialects. Every list starts after the entry `after`.
 */
export type OrderedLists = ReturnType<typeof createOrderedLists>;

export const createOrderedLists = (database: Database) => ({
  ...createOrderedMessages(database),
  ...createOrderedContacts(database),
});

function createOrderedContacts(database: Database) {
  return {
    async contactsDown(account: AccountKey, limit: number, after?: Contact): Promise<Contact[]> {
      const to = below(after?.id);
      if (to === null) return [];
      return (await database.all(contactSql.contactsDown, { account, to, limit })).map(contactSql.contactColumns.read);
    },
    async contactsOfGroupDown(account: AccountKey, group: bigint, limit: number, after?: Contact): Promise<Contact[]> {
      const to = below(after?.id);
      if (to === null) return [];
      return (await database.all(contactSql.contactsOfGroupDown, { account, group, to, limit })).map(
        contactSql.contactColumns.read,
      );
    },
    async groupsDown(account: AccountKey, limit: number, after?: ContactGroup): Promise<ContactGroup[]> {
      const to = below(after && BigInt(after.id));
      if (to === null) return [];
      return (await database.all(groupSql.groupsDown, { account, to, limit })).map(groupSql.groupColumns.read);
    },
    async templatesDown(account: AccountKey, limit: number, after?: Template): Promise<Template[]> {
      const to = below(after?.position);
      if (to === null) return [];
      return database.all(templateSql.templatesDown, { account, to, limit });
    },
  };
}
