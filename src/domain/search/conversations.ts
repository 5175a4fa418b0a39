import { endsOfAll, numberEnd, numberKey, sameNumber } from '../../sms/numbers.ts';
import type { AccountKey } from '../../store/caller.ts';
import { type Cursor, cursorBefore, FIRST_ID, LAST } from '../../store/cursor.ts';
import type { Database, Queries } from '../../store/database.ts';
import { textsOf } from '../../store/json.ts';
import {
  receivedCounts,
  type UnreadSender,
  unreadBySender,
  unreadSenders,
  unreadSendersUp,
} from '../messages/received.ts';
import { conversationNumber, type RegionOf } from './indexer.ts';
import * as sql from './search.sql.ts';
import { boundsOf, type FoundMessage, keyOf, load, type Position, START } from './search.ts';
import { numberToken, RECEIVED, SCHEDULED } from './tokens.ts';

/** Messages by the number that they are from or to. */
export interface Conversation {
  /** The number in the form in which numbers are compared: E.164 if it can be read. */
  readonly number: string;
  readonly lastAt: number;
  /** Null if it was deleted a moment ago. */
  readonly last: FoundMessage | null;
  readonly unread: number;
}
export interface ConversationPosition {
  readonly at: number;
  readonly number: string;
}
export interface Conversations {
  readonly conversations: readonly Conversation[];
  readonly next: ConversationPosition | null;
  /** Whether it stopped at its limit, before it had a page of unread ones or reached the end. */
  readonly isCut: boolean;
}
export interface LastMessage {
  readonly at: number;
  readonly isFailed: boolean;
}
/**
 * unanswered: the last message was received. failed: the last message may have reached nobody.
 * unread: some message is unread; these are in the order of their newest unread message.
 */
export type ShownConversations = 'all' | 'unread' | 'unanswered' | 'failed';
export interface Thread {
  /** The newest messages before the position, oldest first. */
  readonly messages: readonly FoundMessage[];
  /** Scheduled messages to the number, the latest first, if the newest messages were asked for. */
  readonly scheduled: readonly FoundMessage[];
  /** Where earlier messages are; null if these are all. */
  readonly earlier: Position | null;
}

const FIRST_PAGE: ConversationPosition = { at: LAST.at, number: '' };
/** The newest unread messages are counted by their sender; one row takes 2 µs. */
const UNREAD_COUNTED_MAX = 1_000;
/** Numbers that end in the same 6 digits are read too, so a page may take several reads. */
const READS_MAX = 20;
/**
 * A page of unread conversations looks at so many unread messages, in two reads, because the first
 * one mostly is enough.
 */
const LOOKED_AT = [100, 900] as const;
export const LOOKED_AT_MAX = LOOKED_AT[0] + LOOKED_AT[1];
/**
 * Earlier pages have the conversations with unread messages from the position up. So many of them
 * are looked at, the ones next to it; where there are more, a conversation may come twice. It took
 * 2.4 to 9 ms of CPU on a busy machine, and all messages of a thousand senders took seconds.
 */
const LOOKED_AT_UP_MAX = 2_000;

const STATEMENTS = {
  all: sql.conversationsBefore,
  unanswered: sql.unansweredBefore,
  failed: sql.failedBefore,
} as const;

export function createConversations(database: Database, regionOf: RegionOf) {
  return {
    /** The conversations with the newest messages first, all of them or some. */
    async list(
      account: AccountKey,
      limit: number,
      after: ConversationPosition | undefined = undefined,
      shown: ShownConversations = 'all',
    ): Promise<Conversations> {
      const region = await regionOf(account);
      if (shown === 'unread') return unreadOf(database, account, region, limit, after);
      const before = after ?? FIRST_PAGE;
      const rows = await database.all(STATEMENTS[shown], { account, ...before, limit: limit + 1 });
      const page = rows.slice(0, limit);
      const last = page.at(-1);
      return {
        conversations: await conversationsOf(database, account, region, page),
        next: rows.length > limit && last ? { at: Number(last.last_at), number: last.number } : null,
        isCut: false,
      };
    },

    /** Messages from and to one number, in any notation. */
    async thread(account: AccountKey, number: string, limit: number, before: Position = START): Promise<Thread> {
      const region = await regionOf(account);
      const same = sameNumber(number, region);
      // Parsing a number takes 20 times as long as comparing its last digits.
      const isSame = (other: string | null) =>
        other !== null && (other === number || (same.ends.includes(numberEnd(other)) && same.matches(other)));
      const messages: FoundMessage[] = [];
      const scheduled: FoundMessage[] = [];
      let position: Position | null = before;
      for (let reads = 0; position !== null && messages.length <= limit && reads < READS_MAX; reads += 1) {
        const entries = await entriesOf(database, account, same.ends.map(numberToken), position, limit + 1);
        const found = await load(database, account, entries);
        for (const entry of entries) {
          const message = found.get(keyOf(entry));
          if (message && isSame(message.number)) (message.kind === 'scheduled' ? scheduled : messages).push(message);
        }
        position = entries.length > limit ? (entries.at(-1) ?? null) : null;
      }
      const shown = messages.slice(0, limit);
      const oldest = shown.at(-1);
      const rest = messages.length > limit && oldest ? placeOf(oldest) : position;
      return { messages: shown.reverse(), scheduled, earlier: rest };
    },

    /** When the last message from or to each of the numbers was, and whether it reached nobody. */
    async lastOf(account: AccountKey, numbers: readonly string[]): Promise<ReadonlyMap<string, LastMessage>> {
      const region = await regionOf(account);
      const keys = new Map(numbers.map((number) => [number, conversationNumber(number, region) ?? '']));
      const rows = await amongOf(database, account, [...new Set(keys.values())]);
      const byKey = new Map(rows.map((row) => [row.number, row]));
      const found = new Map<string, LastMessage>();
      for (const [number, key] of keys) {
        const row = byKey.get(key);
        if (row) found.set(number, { at: Number(row.last_at), isFailed: row.is_failed === 1n });
      }
      return found;
    },

    /** The number as the list of conversations has it. */
    keyOf: async (account: AccountKey, number: string): Promise<string> => numberKey(number, await regionOf(account)),

    /** Unread messages of one number, of which at most 1,000 are looked at. */
    async unreadIds(account: AccountKey, number: string): Promise<bigint[]> {
      const region = await regionOf(account);
      const { ends, matches } = sameNumber(number, region);
      const unread = await unreadSenders(database, account, UNREAD_COUNTED_MAX);
      const isSame = (sender: string | null) =>
        sender !== null && (sender === number || (ends.includes(numberEnd(sender)) && matches(sender)));
      return unread.filter(({ sender }) => isSame(sender)).map(({ id }) => id);
    },
  };
}

async function conversationsOf(
  database: Database,
  account: AccountKey,
  region: string | null,
  rows: readonly sql.ConversationRow[],
): Promise<Conversation[]> {
  const positions = rows.map(positionOf);
  const found = await load(database, account, positions);
  const numbers = rows.map(({ number }) => number);
  const unread = await unreadBy(database, account, region, numbers);
  return rows.map((row, index) => ({
    number: row.number,
    lastAt: Number(row.last_at),
    last: found.get(keyOf(positions[index] as Position)) ?? null,
    unread: unread.get(row.number) ?? 0,
  }));
}

/**
 * Conversations with unread messages. Unread messages have an index of their own, and each leads to
 * its conversation. A position here is that of an unread message, with its id as the number.
 */
async function unreadOf(
  database: Database,
  account: AccountKey,
  region: string | null,
  limit: number,
  after: ConversationPosition | undefined,
): Promise<Conversations> {
  const start = after && { at: after.at, id: idOf(after.number) };
  const { numbers, next, isCut } = await unreadNumbers(database, account, region, limit, start);
  const known = new Map((await amongOf(database, account, [...numbers.keys()])).map((row) => [row.number, row]));
  // A message that is not indexed yet is the last one that is known of its conversation.
  const rows = [...numbers].map(
    ([number, { at, id }]) =>
      known.get(number) ?? { number, last_at: BigInt(at), last_kind: BigInt(RECEIVED), last_id: id, is_failed: 0n },
  );
  const conversations = await conversationsOf(database, account, region, rows);
  return {
    conversations: conversations.map((each) => ({ ...each, unread: Math.max(each.unread, 1) })),
    next: next && { at: next.at, number: next.id.toString() },
    isCut,
  };
}

const amongOf = (queries: Queries, account: AccountKey, numbers: readonly string[]): Promise<sql.ConversationRow[]> =>
  queries.all(sql.conversationsAmong, { account, numbers: textsOf(numbers) });

const idOf = (text: string): bigint => (/^-?\d{1,19}$/.test(text) ? BigInt.asIntN(64, BigInt(text)) : FIRST_ID);

interface UnreadNumbers {
  /** Numbers that no earlier page has, each with its newest unread message. */
  readonly numbers: ReadonlyMap<string, Cursor>;
  readonly next: Cursor | null;
  readonly isCut: boolean;
}

/** Looks at the unread messages below a position, newest first, until the page is full. */
async function unreadNumbers(
  database: Database,
  account: AccountKey,
  region: string | null,
  limit: number,
  start: Cursor | undefined,
): Promise<UnreadNumbers> {
  const numbers = new Map<string, Cursor>();
  let last = start;
  const senders = start ? await unreadSendersUp(database, account, LOOKED_AT_UP_MAX, start) : new Set<string>();
  for (const count of LOOKED_AT) {
    const messages = await unreadSenders(database, account, count, last && cursorBefore(last.at, last.id));
    const earlier = numbersOf(senders, messages, region);
    for (const { id, sender, receivedAt: at } of messages) {
      const number = conversationNumber(sender, region);
      if (number !== null && !numbers.has(number) && !earlier.has(number)) {
        if (numbers.size === limit) return { numbers, next: last ?? null, isCut: false };
        numbers.set(number, { at, id });
      }
      last = { at, id };
    }
    if (messages.length < count) return { numbers, next: null, isCut: false };
  }
  return { numbers, next: last ?? null, isCut: true };
}

/** Which numbers of these messages the senders have. Parsed are only senders that end alike. */
function numbersOf(
  senders: ReadonlySet<string>,
  messages: readonly UnreadSender[],
  region: string | null,
): ReadonlySet<string> {
  if (senders.size === 0) return senders;
  const numbers = messages.flatMap(({ sender }) => conversationNumber(sender, region) ?? []);
  const ends = endsOfAll(numbers, region);
  const alike = [...senders].filter((sender) => ends.has(numberEnd(sender)));
  return new Set(alike.flatMap((sender) => conversationNumber(sender, region) ?? []));
}

const KINDS = { received: 1, sent: 2, scheduled: SCHEDULED } as const;
const placeOf = ({ at, kind, id }: FoundMessage): Position => ({ at, kind: KINDS[kind], id });
const positionOf = ({ last_at, last_kind, last_id }: sql.ConversationRow): Position => ({
  at: Number(last_at),
  kind: Number(last_kind),
  id: last_id,
});

async function entriesOf(
  queries: Queries,
  account: AccountKey,
  tokens: readonly string[],
  before: Position,
  limit: number,
): Promise<Position[]> {
  const all: Position[] = [];
  for (const token of tokens) {
    const rows = await queries.all(sql.entriesBefore, { account, token, ...boundsOf(before), limit });
    all.push(...rows.map(({ at, kind, item_id }) => ({ at: Number(at), kind: Number(kind), id: item_id })));
  }
  return all
    .sort((one, other) => other.at - one.at || other.kind - one.kind || Number(other.id - one.id))
    .slice(0, limit);
}

/** Counts the unread messages of these numbers, among the newest 1,000. */
async function unreadBy(
  queries: Queries,
  account: AccountKey,
  region: string | null,
  numbers: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  if ((await receivedCounts(queries, account)).unread === 0n) return counts;
  const wanted = new Set(numbers);
  const ends = new Set(numbers.map(numberEnd));
  for (const [sender, total] of await unreadBySender(queries, account, UNREAD_COUNTED_MAX)) {
    if (sender === null) continue;
    // Parsing a number takes 20 times as long as comparing its last digits.
    if (!wanted.has(sender) && !ends.has(numberEnd(sender))) continue;
    const key = wanted.has(sender) ? sender : numberKey(sender, region);
    counts.set(key, (counts.get(key) ?? 0) + total);
  }
  return counts;
}
