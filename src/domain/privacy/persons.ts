import { Problem } from '../../base/problem.ts';
import { NO_PROGRESS, type Progress } from '../../base/progress.ts';
import { e164, numberEnd, type SameNumber, sameNumber } from '../../sms/numbers.ts';
import { pages } from '../../store/cursor.ts';
import type { Database, Queries, TransactionQueries } from '../../store/database.ts';
import { accountNamed, allAccounts, effectiveRegion, lockAccount, type StoredAccount } from '../accounts/accounts.ts';
import { balancesOf, eraseWords, movementsWhere, releaseHeld } from '../accounts/ledger.ts';
import { entriesNamed, entriesOf, eraseEntries } from '../contacts/blacklist.ts';
import { type Contact, contactsWithNumber, deleteContacts } from '../contacts/contacts.ts';
import { findErasedEntry } from '../contacts/erased-number.ts';
import { eraseDrafts } from '../messages/drafts.ts';
import { deleteReceivedAmong, type InboxMessage, receivedOf } from '../messages/received.ts';
import { deleteScheduledAmong, type ScheduledMessage, scheduledFor, scheduledOf } from '../messages/scheduled.ts';
import { deleteSentAmong, type SentMessage, sentOf } from '../messages/sent.ts';
import { forgetSender } from '../outbound/senders.ts';
import type { WholeMessage } from '../receiving/incoming.ts';
import { eraseUnrouted, findUnrouted, type UnroutedOfPerson } from '../receiving/unrouted.ts';
import { indexChanges } from '../search/indexer.ts';
import { eraseWaiting, heldByWaitingOf, queuedFor } from '../sending/cancel.ts';
import * as sql from './persons.sql.ts';

/** Finds, exports and erases a person, known by a phone number, in all accounts or in one. */
export interface PersonCounts {
  accounts: number;
  contacts: number;
  inbox: number;
  sent: number;
  scheduled: number;
  /** Credits held for messages that wait, scheduled or due, which are released. */
  creditsReturned: bigint;
  /** Blacklist entries that become a hash: nothing is sent to a number that nobody can read. */
  blacklist: number;
  /** Movements whose reason or reference named the number. They stay without these texts. */
  movements: number;
  /** Incoming messages that no account has: without a route, or with parts missing. */
  unrouted: number;
  /** Accounts whose profile has the number. The profile stays: change or delete the account. */
  profiles: number;
}

export interface PersonOfAccount {
  readonly username: string;
  readonly contacts: readonly Contact[];
  readonly inbox: readonly InboxMessage[];
  readonly sent: readonly SentMessage[];
  readonly scheduled: readonly ScheduledMessage[];
  readonly blacklist: readonly { number: string; evidence: string | null; blockedAt: number }[];
  /** Whether the number was erased, and a hash keeps it on the blacklist. */
  readonly erasedFromBlacklist: boolean;
  /** Whether the account's own profile has the number. */
  readonly profile: boolean;
  /** The number of messages and contacts beyond the first 10,000 of each kind. */
  readonly leftOut: number;
}

interface Found {
  readonly account: StoredAccount;
  readonly region: string | null;
  readonly contacts: readonly Contact[];
  readonly received: readonly bigint[];
  readonly sent: readonly bigint[];
  /** Messages that the account has deleted, and that are still in the queue. */
  readonly queued: readonly bigint[];
  readonly scheduled: readonly bigint[];
  readonly entries: readonly string[];
  readonly movements: readonly bigint[];
  readonly profile: boolean;
}

const PAGE = 1_000;
/** The number of accounts between two reports of progress. */
const TOLD_EVERY = 100;
/** The largest number of each kind in an export, which is built in memory. */
const EXPORTED_MAX = 10_000;

export function createPersons(database: Database, now: () => number, defaultRegion: string | null) {
  async function* found(queries: Queries, number: string, username: string | null): AsyncGenerator<Found> {
    const accounts = username === null ? allAccounts(queries) : [await accountNamed(queries, username)];
    for await (const account of accounts) {
      const region = effectiveRegion(account, defaultRegion);
      yield await findIn(queries, account, region, sameNumber(number, region));
    }
  }
  /** Messages without an account are searched only when all accounts are. */
  const unroutedOf = async (queries: Queries, number: string, username: string | null): Promise<UnroutedOfPerson> =>
    username === null
      ? findUnrouted(queries, sameNumber(number, defaultRegion))
      : { unrouted: [], held: [], messages: [] };

  return {
    count: (number: string, username: string | null): Promise<PersonCounts> => {
      checkPerson(number, username);
      return database.snapshot(async (queries) => {
        const counts = nothing();
        for await (const each of found(queries, number, username)) {
          add(counts, each);
          for (const id of each.scheduled) counts.creditsReturned += await heldFor(queries, each.account.id, id);
          counts.creditsReturned += await heldByWaiting(queries, each);
        }
        addUnrouted(counts, await unroutedOf(queries, number, username));
        return counts;
      });
    },

    /** Returns only accounts that have data of the person. */
    export: (number: string, username: string | null): Promise<PersonOfAccount[]> => {
      checkPerson(number, username);
      return database.snapshot(async (queries) => {
        const accounts: PersonOfAccount[] = [];
        for await (const each of found(queries, number, username)) {
          const erased = await findErasedEntry(queries, each.account.id, number, each.region);
          const isThere = !isEmpty(each) || each.profile || erased !== undefined;
          if (isThere) accounts.push(await read(queries, each, erased !== undefined));
        }
        return accounts;
      });
    },

    exportUnrouted: (number: string, username: string | null): Promise<readonly WholeMessage[]> => {
      checkPerson(number, username);
      return database.snapshot(async (queries) => (await unroutedOf(queries, number, username)).messages);
    },

    /** Erases all data of the person in one transaction. */
    erase: (number: string, username: string | null, progress = NO_PROGRESS): Promise<PersonCounts> => {
      checkPerson(number, username);
      return database.transaction(null, async (queries) => {
        const counts = nothing();
        // An account may know the sender of a number whose messages it has deleted. Somebody may
        // have written a message to the number that is not sent yet.
        const forget = async ({ account, region }: Found) => {
          await forgetSender(queries, account.id, e164(number, region) ?? number);
          const isSame = isNumber(sameNumber(number, region));
          await eraseDrafts(queries, account.id, (content) => quotes(content, isSame));
        };
        for (const each of await withData(found(queries, number, username), progress, forget)) {
          add(counts, each);
          if (!isEmpty(each)) counts.creditsReturned += await eraseFrom(queries, each, number, now());
        }
        const unrouted = await unroutedOf(queries, number, username);
        addUnrouted(counts, unrouted);
        await eraseUnrouted(queries, unrouted);
        return counts;
      });
    },
  };
}

async function withData(
  accounts: AsyncIterable<Found>,
  progress: Progress,
  visit: (each: Found) => Promise<unknown>,
): Promise<Found[]> {
  const all: Found[] = [];
  let searched = 0;
  for await (const each of accounts) {
    await visit(each);
    if (!isEmpty(each) || each.profile) all.push(each);
    searched += 1;
    if (searched % TOLD_EVERY === 0) progress('searched', searched, null);
  }
  return all;
}

/** A local number names another person in each country, so it is refused without an account. */
function checkPerson(number: string, username: string | null): void {
  if (!/\d.*\d.*\d/.test(number)) throw refusal('expected a phone number');
  if (username === null && !/^\s*\+/.test(number)) {
    throw refusal('write it in international form, such as +27825550201, or name the account');
  }
}

const refusal = (detail: string): Problem =>
  new Problem('bad-argument', `number: ${detail}`, { errors: [{ pointer: '{number}', detail }] });

const nothing = (): PersonCounts => ({
  accounts: 0,
  contacts: 0,
  inbox: 0,
  sent: 0,
  scheduled: 0,
  creditsReturned: 0n,
  blacklist: 0,
  movements: 0,
  unrouted: 0,
  profiles: 0,
});

const isEmpty = ({ contacts, received, sent, queued, scheduled, entries, movements }: Found): boolean =>
  [contacts, received, sent, queued, scheduled, entries, movements].every(({ length }) => length === 0);

function add(counts: PersonCounts, found: Found): void {
  if (!isEmpty(found)) counts.accounts += 1;
  counts.contacts += found.contacts.length;
  counts.inbox += found.received.length;
  counts.sent += found.sent.length;
  counts.scheduled += found.scheduled.length;
  counts.blacklist += found.entries.length;
  counts.movements += found.movements.length;
  counts.profiles += found.profile ? 1 : 0;
}

function addUnrouted(counts: PersonCounts, { unrouted, held }: UnroutedOfPerson): void {
  counts.unrouted += unrouted.length + held.length;
}

/** Reads all messages of the account, because they have no index by number. */
async function findIn(
  queries: Queries,
  stored: StoredAccount,
  region: string | null,
  same: SameNumber,
): Promise<Found> {
  const account = stored.id;
  const isSame = isNumber(same);
  const contacts = await contactsWithNumber(queries, account, same);
  const scheduled: bigint[] = [];
  for await (const page of scheduledFor(queries, account, { ...same, matches: isSame })) scheduled.push(...page);
  const senders = (from: bigint) => queries.all(sql.senders, { account, from, limit: PAGE });
  const recipients = (from: bigint) => queries.all(sql.recipients, { account, from, limit: PAGE });
  const sent = await idsOf(
    recipients,
    ({ message_id }) => message_id,
    ({ recipient }) => isSame(recipient),
  );
  const listed = new Set(sent);
  return {
    account: stored,
    region,
    contacts,
    scheduled,
    sent,
    queued: (await queuedFor(queries, account, isSame)).filter((id) => !listed.has(id)),
    received: await idsOf(
      senders,
      ({ message_id }) => message_id,
      ({ sender }) => isSame(sender),
    ),
    entries: await entriesOf(queries, account, same),
    movements: await movementsWhere(queries, account, (text) => quotes(text, isSame)),
    profile: [stored.mobile, stored.tel, stored.fax].some(isSame),
  };
}

/** Parsing a number takes 20 times as long as comparing its last digits. */
const isNumber =
  (same: SameNumber) =>
  (text: string | null): boolean =>
    text !== null && same.ends.includes(numberEnd(text)) && same.matches(text);

/** Whether a text is the number, or contains it between other words. */
const quotes = (text: string | null, isSame: (part: string) => boolean): boolean =>
  text !== null && (isSame(text) || (text.match(/\+?\d[\d ().-]{4,24}\d/g) ?? []).some(isSame));

async function idsOf<R>(
  page: (from: bigint) => Promise<R[]>,
  idOf: (row: R) => bigint,
  isWanted: (row: R) => boolean,
): Promise<bigint[]> {
  const ids: bigint[] = [];
  for await (const rows of pages(PAGE, page, idOf)) ids.push(...rows.filter(isWanted).map(idOf));
  return ids;
}

async function heldFor(queries: Queries, account: bigint, id: bigint): Promise<bigint> {
  return (await scheduledOf(queries, account, id))?.heldParts ?? 0n;
}

async function heldByWaiting(queries: Queries, { account, sent, queued }: Found): Promise<bigint> {
  const ids = [...sent, ...queued];
  let held = 0n;
  for (let start = 0; start < ids.length; start += PAGE) {
    held += await heldByWaitingOf(queries, account.id, ids.slice(start, start + PAGE));
  }
  return held;
}

/** Returns the released credits. */
async function eraseFrom(queries: TransactionQueries, found: Found, number: string, at: number): Promise<bigint> {
  const { contacts, received, sent, queued, scheduled, entries, movements, region } = found;
  const account = found.account.id;
  await lockAccount(queries, account);
  const each = async (all: readonly bigint[], erase: (ids: readonly bigint[]) => Promise<unknown>) => {
    for (let start = 0; start < all.length; start += PAGE) await erase(all.slice(start, start + PAGE));
  };
  const contactIds = contacts.map(({ id }) => id);
  await each(contactIds, (ids) => deleteContacts(queries, account, ids));
  await each(received, (ids) => deleteReceivedAmong(queries, account, ids));
  const { free } = await balancesOf(queries, account);
  await each(sent, async (ids) => {
    await eraseWaiting({ queries, account, at }, ids);
    await deleteSentAmong(queries, account, ids);
  });
  await each(queued, (ids) => eraseWaiting({ queries, account, at }, ids));
  await each(movements, (ids) => eraseWords(queries, account, ids));
  await eraseEntries(queries, account, number, region, entries);
  let returned = (await balancesOf(queries, account)).free - free;
  await each(scheduled, async (ids) => {
    const cancelled = await deleteScheduledAmong(queries, account, ids);
    returned += await releaseHeld({ queries, account, at }, cancelled, 'person erased');
  });
  // The notes about what the index has to forget contain the texts, so they go with the person.
  while ((await indexChanges(queries, account, async () => region, PAGE)) > 0);
  return returned;
}

async function read(queries: Queries, found: Found, erasedFromBlacklist: boolean): Promise<PersonOfAccount> {
  const account = found.account.id;
  const inbox: InboxMessage[] = [];
  for (const id of exported(found.received)) {
    const message = await receivedOf(queries, account, id);
    if (message) inbox.push(message);
  }
  const sent: SentMessage[] = [];
  for (const id of exported(found.sent)) {
    const message = await sentOf(queries, account, id);
    if (message) sent.push(message);
  }
  const scheduled: ScheduledMessage[] = [];
  for (const id of exported(found.scheduled)) {
    const record = await scheduledOf(queries, account, id);
    if (!record) continue;
    const { heldParts, notAfter, ...message } = record;
    scheduled.push(message);
  }
  const blacklist = (await entriesNamed(queries, account, found.entries)).map(({ number, sample, blockedAt }) => ({
    number,
    evidence: sample,
    blockedAt,
  }));
  const lists = [found.contacts, found.received, found.sent, found.scheduled];
  return {
    username: found.account.username,
    contacts: exported(found.contacts),
    inbox,
    sent,
    scheduled,
    blacklist,
    erasedFromBlacklist,
    profile: found.profile,
    leftOut: lists.reduce((sum, { length }) => sum + Math.max(0, length - EXPORTED_MAX), 0),
  };
}

const exported = <T>(list: readonly T[]): readonly T[] => list.slice(0, EXPORTED_MAX);
