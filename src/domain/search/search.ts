import { createPauses } from '../../base/event-loop.ts';
import type { AccountKey } from '../../store/caller.ts';
import { cursorBefore, FIRST, LAST, LAST_ID } from '../../store/cursor.ts';
import type { Database, Queries } from '../../store/database.ts';
import { elementsOf } from '../../store/json.ts';
import { receivedAmong } from '../messages/received.ts';
import { sentAmong } from '../messages/sent.ts';
import { createIndexer, type RegionOf } from './indexer.ts';
import {
  foundContacts,
  foundReceived,
  foundScheduled,
  foundSent,
  foundSentWith,
  PAUSE_AFTER_MS,
  type WantedSent,
} from './of-kind.ts';
import { type Lists, listsOf } from './query.ts';
import * as sql from './search.sql.ts';
import { folded, type Kind, RECEIVED, SCHEDULED, SENT } from './tokens.ts';

/** Finds people and messages of an account by its index, at the same cost for old and new ones. */
export interface FoundMessage {
  readonly kind: 'received' | 'sent' | 'scheduled';
  readonly id: bigint;
  readonly at: number;
  readonly number: string | null;
  readonly text: string | null;
  readonly reference: string | null;
  /** The delivery status of a sent message. */
  readonly status: string | null;
  /** Of a sent message with the status DELETED. */
  readonly isDeletedByCarrier?: true;
  /** Whether a received message is unread. */
  readonly isUnread: boolean;
}

/** A position in the results, which are ordered by time, newest first. */
export interface Position {
  readonly at: number;
  readonly kind: number;
  readonly id: bigint;
}
export const START: Position = { at: LAST.at, kind: 9, id: LAST.id };

export interface FoundMessages {
  readonly messages: readonly FoundMessage[];
  /** Where the next page begins; null if there is no more. */
  readonly next: Position | null;
  /** Whether the search stopped at its limit, before it had a page of results. */
  readonly isCut: boolean;
  /** Whether the text begins more words than are read, so that some messages are not found. */
  readonly isTooShort: boolean;
}

export interface FoundContact {
  readonly id: bigint;
  readonly name: string;
  readonly number: string | null;
}

export const PAGE = 25;
/** How many messages that have the rarest word are looked at for the other words: about 3 ms. */
const LOOKED_AT_MAX = 250;
const CONTACTS_MAX = 20;

export type Search = ReturnType<typeof createSearch>;

export function createSearch(database: Database, regionOf: RegionOf) {
  const indexer = createIndexer(database, regionOf);
  return {
    /** Returns false if a part of the account is not in the index yet. */
    isComplete: (account: AccountKey): Promise<boolean> => indexer.catchUp(account),

    /** Messages with these words, this number, this reference or this id, newest first. */
    async messages(account: AccountKey, text: string, after: Position = START): Promise<FoundMessages> {
      const lists = await listsOf(database, account, text, await regionOf(account));
      if (!lists) return { messages: [], next: null, isCut: false, isTooShort: false };
      return { ...(await page(database, account, lists, after)), isTooShort: lists.isTooShort };
    },

    /** Contacts by first name, surname, both, or number, in the order of their names. */
    async contacts(account: AccountKey, text: string): Promise<FoundContact[]> {
      const { read } = await foundContacts(database, account, text, await regionOf(account));
      const { rows } = await read('oldest', FIRST, LOOKED_AT_MAX);
      return rows
        .map(({ id, name, surname, mobile }) => ({
          id,
          name: `${name ?? ''} ${surname ?? ''}`.trim(),
          number: mobile,
        }))
        .sort((one, other) => (folded(one.name) < folded(other.name) ? -1 : 1))
        .slice(0, CONTACTS_MAX);
    },

    /** Messages of one kind, and whole contacts: lists that are read in pages. */
    received: async (account: AccountKey, text: string) =>
      foundReceived(database, account, text, await regionOf(account)),
    sent: async (account: AccountKey, text: string) => foundSent(database, account, text, await regionOf(account)),
    scheduled: async (account: AccountKey, text: string) =>
      foundScheduled(database, account, text, await regionOf(account)),
    contactsWith: async (account: AccountKey, text: string) =>
      foundContacts(database, account, text, await regionOf(account)),
    /** Sent messages that have this reference and go to this number. */
    sentWith: async (account: AccountKey, wanted: WantedSent) =>
      foundSentWith(database, account, wanted, await regionOf(account)),
  };
}

/** Reads the list, newest first, until a page is full or the limit is reached. */
async function page(
  database: Database,
  account: AccountKey,
  { tokens, isWanted, isExact }: Lists,
  after: Position,
): Promise<Omit<FoundMessages, 'isTooShort'>> {
  const limit = isExact ? PAGE + 1 : LOOKED_AT_MAX;
  const positions = await newestOf(database, account, tokens, after, limit);
  const isEnd = positions.length < limit;
  const found = await load(database, account, positions);
  const messages: FoundMessage[] = [];
  for (const [index, position] of positions.entries()) {
    const message = found.get(keyOf(position));
    if (!message || !isWanted(message)) continue;
    if (messages.length === PAGE) return { messages, next: positions[index - 1] ?? null, isCut: false };
    messages.push(message);
  }
  return { messages, next: isEnd ? null : (positions.at(-1) ?? null), isCut: !isEnd && messages.length < PAGE };
}

/** The last entry of each kind before a position. */
export function boundsOf(after: Position) {
  const last = (kind: Kind) => {
    if (kind === after.kind) return cursorBefore(after.at, after.id);
    return kind < after.kind ? { at: after.at, id: LAST_ID } : { at: after.at - 1, id: LAST_ID };
  };
  const [received, sent, scheduled] = [last(RECEIVED), last(SENT), last(SCHEDULED)];
  return {
    receivedAt: received.at,
    receivedId: received.id,
    sentAt: sent.at,
    sentId: sent.id,
    scheduledAt: scheduled.at,
    scheduledId: scheduled.id,
  };
}

const byTime = (one: Position, other: Position): number =>
  other.at - one.at || other.kind - one.kind || Number(other.id - one.id);

async function newestOf(
  queries: Queries,
  account: AccountKey,
  tokens: readonly string[],
  after: Position,
  limit: number,
): Promise<readonly Position[]> {
  const pause = createPauses(PAUSE_AFTER_MS);
  let newest: readonly Position[] = [];
  for (const token of tokens) {
    await pause();
    const rows = await queries.all(sql.entriesBefore, { account, token, ...boundsOf(after), limit });
    const found = rows.map(({ at, kind, item_id: id }) => ({ at: Number(at), kind: Number(kind), id }));
    const merged = new Map([...newest, ...found].map((position) => [keyOf(position), position]));
    newest = [...merged.values()].sort(byTime).slice(0, limit);
  }
  return newest;
}

export const keyOf = ({ kind, id }: Pick<Position, 'kind' | 'id'>): string => `${kind}/${id}`;

/** The messages at these positions that exist now, in the current generation of the inbox. */
export async function load(
  queries: Queries,
  account: AccountKey,
  positions: readonly Position[],
): Promise<Map<string, FoundMessage>> {
  const idsOf = (kind: Kind) => positions.flatMap((each) => (each.kind === kind ? [each.id] : []));
  const found = new Map<string, FoundMessage>();
  const [received, sent, scheduled] = [idsOf(RECEIVED), idsOf(SENT), idsOf(SCHEDULED)];
  for (const each of received.length > 0 ? await receivedAmong(queries, account, received) : []) {
    const { id, receivedAt, sender, text, read } = each;
    const common = { id, at: receivedAt, number: sender, text, reference: null, status: null };
    found.set(keyOf({ kind: RECEIVED, id }), { kind: 'received', ...common, isUnread: !read });
  }
  for (const each of sent.length > 0 ? await sentAmong(queries, account, sent) : []) {
    const { id, sentAt, recipient, text, reference, status, isDeletedByCarrier } = each;
    const common = { id, at: sentAt, number: recipient, text, reference, status };
    const deleted = isDeletedByCarrier ? { isDeletedByCarrier } : {};
    found.set(keyOf({ kind: SENT, id }), { kind: 'sent', ...common, ...deleted, isUnread: false });
  }
  const ids = elementsOf(scheduled);
  for (const row of scheduled.length > 0 ? await queries.all(sql.documentsAmong[SCHEDULED], { account, ids }) : []) {
    const { item_id: id, at, number, text, reference } = row;
    const common = { id, at: Number(at), number, text, reference, status: null };
    found.set(keyOf({ kind: SCHEDULED, id }), { kind: 'scheduled', ...common, isUnread: false });
  }
  return found;
}
