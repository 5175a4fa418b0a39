import { numberEnd, numberKey, sameNumber } from '../../sms/numbers.ts';
import type { AccountKey } from '../../store/caller.ts';
import { LAST } from '../../store/cursor.ts';
import type { Database, Queries } from '../../store/database.ts';
import { receivedCounts, unreadNewest } from '../messages/received.ts';
import type { RegionOf } from './indexer.ts';
import * as sql from './search.sql.ts';
import { type FoundMessage, keyOf, load, type Position, START } from './search.ts';
import { numberToken, SCHEDULED } from './tokens.ts';

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
  /** Whether it stopped at its limit, before it had a page of wanted ones or reached the end. */
  readonly isCut: boolean;
  /** Whether some messages that are unread for long are not counted. */
  readonly isUnreadCut: boolean;
}
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
/** A list of some of the conversations looks at so many, which takes about 15 ms. */
export const LOOKED_AT_MAX = 1_000;
const LOOKED_AT_ONCE = 200;

export function createConversations(database: Database, regionOf: RegionOf) {
  return {
    /** The conversations with the newest messages first, all of them or those that are wanted. */
    async list(
      account: AccountKey,
      limit: number,
      after: ConversationPosition = FIRST_PAGE,
      isWanted?: (conversation: Conversation) => boolean,
    ): Promise<Conversations> {
      if (isWanted) return wantedOf((from) => this.list(account, LOOKED_AT_ONCE, from), limit, after, isWanted);
      const rows = await database.all(sql.conversationsBefore, { account, ...after, limit: limit + 1 });
      const shown = rows.slice(0, limit);
      const positions = shown.map(positionOf);
      const found = await load(database, account, positions);
      const numbers = shown.map(({ number }) => number);
      const unread = await unreadBy(database, account, await regionOf(account), numbers);
      const last = shown.at(-1);
      return {
        conversations: shown.map((row, index) => ({
          number: row.number,
          lastAt: Number(row.last_at),
          last: found.get(keyOf(positions[index] as Position)) ?? null,
          unread: unread.counts.get(row.number) ?? 0,
        })),
        next: rows.length > limit && last ? { at: Number(last.last_at), number: last.number } : null,
        isCut: false,
        isUnreadCut: unread.isCut,
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

    /** The number as the list of conversations has it. */
    keyOf: async (account: AccountKey, number: string): Promise<string> => numberKey(number, await regionOf(account)),

    /** Unread messages of one number, of which at most 1,000 are looked at. */
    async unreadIds(account: AccountKey, number: string): Promise<bigint[]> {
      const region = await regionOf(account);
      const { ends, matches } = sameNumber(number, region);
      const unread = await unreadNewest(database, account, UNREAD_COUNTED_MAX);
      const isSame = (sender: string | null) =>
        sender !== null && (sender === number || (ends.includes(numberEnd(sender)) && matches(sender)));
      return unread.filter(({ sender }) => isSame(sender)).map(({ id }) => id);
    },
  };
}

async function wantedOf(
  read: (after: ConversationPosition) => Promise<Conversations>,
  limit: number,
  after: ConversationPosition,
  isWanted: (conversation: Conversation) => boolean,
): Promise<Conversations> {
  const found: Conversation[] = [];
  let position = after;
  for (let looked = 0; looked < LOOKED_AT_MAX; looked += LOOKED_AT_ONCE) {
    const { conversations, next, isUnreadCut } = await read(position);
    for (const each of conversations.filter(isWanted)) {
      const last = found.at(-1);
      if (found.length === limit && last) {
        const { lastAt: at, number } = last;
        return { conversations: found, next: { at, number }, isCut: false, isUnreadCut };
      }
      found.push(each);
    }
    if (next === null) return { conversations: found, next, isCut: false, isUnreadCut };
    position = next;
  }
  return { conversations: found, next: position, isCut: true, isUnreadCut: false };
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
    const rows = await queries.all(sql.entriesBefore, { account, token, ...before, limit });
    all.push(...rows.map(({ at, kind, item_id }) => ({ at: Number(at), kind: Number(kind), id: item_id })));
  }
  return all
    .sort((one, other) => other.at - one.at || other.kind - one.kind || Number(other.id - one.id))
    .slice(0, limit);
}

/** Counts the unread messages of these numbers. */
async function unreadBy(
  queries: Queries,
  account: AccountKey,
  region: string | null,
  numbers: readonly string[],
): Promise<{ counts: ReadonlyMap<string, number>; isCut: boolean }> {
  const counts = new Map<string, number>();
  const total = Number((await receivedCounts(queries, account)).unread);
  if (total === 0) return { counts, isCut: false };
  const wanted = new Set(numbers);
  const ends = new Set(numbers.map(numberEnd));
  for (const { sender } of await unreadNewest(queries, account, UNREAD_COUNTED_MAX)) {
    if (sender === null) continue;
    // Parsing a number takes 20 times as long as comparing its last digits.
    if (!wanted.has(sender) && !ends.has(numberEnd(sender))) continue;
    const key = wanted.has(sender) ? sender : numberKey(sender, region);
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return { counts, isCut: total > UNREAD_COUNTED_MAX };
}
