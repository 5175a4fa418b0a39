import { createAccounts } from '../domain/accounts/accounts.ts';
import { createLedger } from '../domain/accounts/ledger.ts';
import { createBlacklist } from '../domain/contacts/blacklist.ts';
import { createContacts } from '../domain/contacts/contacts.ts';
import { createTemplates } from '../domain/contacts/templates.ts';
import { createReceived } from '../domain/messages/received.ts';
import { createScheduled } from '../domain/messages/scheduled.ts';
import { createSent } from '../domain/messages/sent.ts';
import { createPersons } from '../domain/privacy/persons.ts';
import { createRetention } from '../domain/privacy/retention.ts';
import { createRouting } from '../domain/receiving/routes.ts';
import { createUnrouted } from '../domain/receiving/unrouted.ts';
import { createCancellation } from '../domain/sending/cancel.ts';
import { createOptOuts } from '../domain/sending/opt-out.ts';
import type { AccountKey } from '../store/database.ts';
import type { Services } from './action.ts';

/**
 * The domain on the database that an action works with: inside of its transaction, where it has
 * one.
 */
export function domainOf({ database, now, defaultRegion, extensions }: Services) {
  const accounts = createAccounts(database, now, defaultRegion);
  const region = (account: AccountKey) => accounts.region(account);
  return {
    region,
    contacts: createContacts(database, region),
    templates: createTemplates(database),
    blacklist: { ...createOptOuts(database, now, region), ...createBlacklist(database, region) },
    // Actions never empty a whole inbox, so nothing has to be purged.
    received: createReceived(database, now, { wake() {} }),
    sent: createSent(database, now),
    scheduled: createScheduled(database, now),
    cancellation: createCancellation(database, now),
    ledger: createLedger(database, now),
    retention: createRetention(database, now, extensions),
    persons: createPersons(database, now, defaultRegion),
    routing: createRouting(database, now),
    unrouted: createUnrouted(database, now, defaultRegion),
  };
}
