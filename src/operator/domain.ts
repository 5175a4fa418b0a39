import { createAccounts } from '../domain/accounts/accounts.ts';
import { createLedger } from '../domain/accounts/ledger.ts';
import { createBlacklist } from '../domain/contacts/blacklist.ts';
import { createContacts } from '../domain/contacts/contacts.ts';
import { createTemplates } from '../domain/contacts/templates.ts';
import { createDrafts } from '../domain/messages/drafts.ts';
import { createReceived } from '../domain/messages/received.ts';
import { createScheduled } from '../domain/messages/scheduled.ts';
import { createSent } from '../domain/messages/sent.ts';
import { createPersons } from '../domain/privacy/persons.ts';
import { createRetention } from '../domain/privacy/retention.ts';
import { createRouting } from '../domain/receiving/routes.ts';
import { createUnrouted } from '../domain/receiving/unrouted.ts';
import { createConversations } from '../domain/search/conversations.ts';
import { createSearchEverywhere } from '../domain/search/everywhere.ts';
import { createSearch } from '../domain/search/search.ts';
import { createCancellation } from '../domain/sending/cancel.ts';
import { createOptOuts } from '../domain/sending/opt-out.ts';
import type { AccountKey } from '../store/caller.ts';
import type { Services } from './action.ts';

/**
 * The services of the domain, on the database of an action, which is inside of the transaction of a
 * change. A service is built only when it is asked for, because most actions use just one.
 */
export class Domain {
  readonly #services: Services;
  readonly region: (account: AccountKey) => Promise<string | null>;

  constructor(services: Services) {
    const { database, now, defaultRegion } = services;
    this.#services = services;
    this.region = (account) => createAccounts(database, now, defaultRegion).region(account);
  }

  get contacts() {
    const { database } = this.#services;
    return createContacts(database, this.region);
  }

  get templates() {
    const { database } = this.#services;
    return createTemplates(database);
  }

  get blacklist() {
    const { database, now } = this.#services;
    return { ...createOptOuts(database, now, this.region), ...createBlacklist(database, this.region) };
  }

  get received() {
    const { database, now } = this.#services;
    // Actions never empty a whole inbox, so nothing has to be purged.
    return createReceived(database, now, { wake() {} });
  }

  get sent() {
    const { database, now } = this.#services;
    return createSent(database, now);
  }

  get drafts() {
    const { database, now } = this.#services;
    return createDrafts(database, now);
  }

  get scheduled() {
    const { database, now } = this.#services;
    return createScheduled(database, now);
  }

  get search() {
    const { database } = this.#services;
    return createSearch(database, this.region);
  }

  get searchEverywhere() {
    const { database, defaultRegion } = this.#services;
    return createSearchEverywhere(database, this.region, defaultRegion);
  }

  get conversations() {
    const { database } = this.#services;
    return createConversations(database, this.region);
  }

  get cancellation() {
    const { database, now } = this.#services;
    return createCancellation(database, now);
  }

  get ledger() {
    const { database, now } = this.#services;
    return createLedger(database, now);
  }

  get retention() {
    const { database, now, extensions } = this.#services;
    return createRetention(database, now, extensions);
  }

  get persons() {
    const { database, now, defaultRegion } = this.#services;
    return createPersons(database, now, defaultRegion);
  }

  get routing() {
    const { database, now } = this.#services;
    return createRouting(database, now);
  }

  get unrouted() {
    const { database, now, defaultRegion } = this.#services;
    return createUnrouted(database, now, defaultRegion);
  }
}

export const domainOf = (services: Services): Domain => new Domain(services);
