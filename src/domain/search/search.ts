import { hasDigit, numberEnd, sameNumber } from '../../sms/numbers.ts';
import type { AccountKey } from '../../store/caller.ts';
import { type Cursor, LAST } from '../../store/cursor.ts';
import type { Database, Queries } from '../../store/database.ts';
import { elementsOf } from '../../store/json.ts';
import { receivedAmong } from '../messages/received.ts';
import { type SentMessage, sentAmong } from '../messages/sent.ts';
import { createIndexer, type RegionOf } from './indexer.ts';
import * as sql from './search.sql.ts';
import {
  CONTACT,
  contactToken,
  folded,
  idToken,
  type Kind,
  numberToken,
  RECEIVED,
  referenceToken,
  SCHEDULED,
  SENT,
  wordsOf,
} from './tokens.ts';

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
}

export interface FoundContact {
  readonly id: bigint;
  readonly name: string;
  readonly number: string | null;
}

export const PAGE = 25;
/** How many messages that have the rarest word are looked at for the other words: about 3 ms. */
const LOOKED_AT_MAX = 250;
/** A beginning of a word stands for at most so many words, in their alphabetical order. */
const WORDS_OF_BEGINNING_MAX = 20;
const WORDS_MAX = 8;
const COUNTED_MAX = 500;
const CONTACTS_MAX = 20;
/** Sorts after everything that continues a word. */
const END = '\u{10ffff}';

export type Search = ReturnType<typeof createSearch>;

export function createSearch(database: Database, regionOf: RegionOf) {
  const indexer = createIndexer(database, regionOf);
  return {
    /** Returns false if a part of the account is not in the index yet. */
    isComplete: (account: AccountKey): Promise<boolean> => indexer.catchUp(account),

    /** Messages with these words, this number, this reference or this id, newest first. */
    async messages(account: AccountKey, text: string, after: Position = START): Promise<FoundMessages> {
      const lists = await listsOf(database, account, text, await regionOf(account));
      if (!lists) return { messages: [], next: null, isCut: false };
      return page(database, account, lists, after);
    },

    /**
     * Sent messages that have this reference and go to this number, from a position on. `last` is
     * the last position that was looked at; null at the end.
     */
    async sentWith(account: AccountKey, wanted: WantedSent, order: 'newest' | 'oldest', from: Cursor, limit: number) {
      const { tokens, isWanted } = await sentTest(database, account, wanted, await regionOf(account));
      const statement = order === 'newest' ? sql.sentEntriesDown : sql.sentEntriesUp;
      const entries: Cursor[] = [];
      for (const token of tokens) {
        const rows = await database.all(statement, { account, token, ...from, limit });
        entries.push(...rows.map(({ at, item_id }) => ({ at: Number(at), id: item_id })));
      }
      const sign = order === 'newest' ? 1 : -1;
      const found = entries.sort((one, other) => sign * byTime(ofSent(one), ofSent(other))).slice(0, limit);
      const messages = await sentAmong(database, account, [...new Set(found.map(({ id }) => id))]);
      const byId = new Map(messages.map((message) => [message.id, message]));
      const rows = [...new Set(found.map(({ id }) => id))].flatMap((id) => byId.get(id) ?? []).filter(isWanted);
      return { rows, last: found.length < limit ? null : (found.at(-1) ?? null) };
    },

    /** Contacts by first name, surname, both, or number, in the order of their names. */
    async contacts(account: AccountKey, text: string): Promise<FoundContact[]> {
      const found = await contactsOf(database, account, text.trim(), await regionOf(account));
      return found.sort((one, other) => (folded(one.name) < folded(other.name) ? -1 : 1)).slice(0, CONTACTS_MAX);
    },
  };
}

export interface WantedSent {
  readonly reference: string | undefined;
  /** A number in any notation. */
  readonly recipient: string | undefined;
}

const ofSent = ({ at, id }: Cursor): Position => ({ at, id, kind: SENT });

/** A reference is the same if it is so written; a number, in whatever notation. */
export function isWantedSent({ reference, recipient }: WantedSent, region: string | null) {
  const number = recipient === undefined ? undefined : numberTest(recipient, region);
  return (message: Pick<SentMessage, 'reference' | 'recipient'>): boolean =>
    (reference === undefined || message.reference === reference) &&
    (number === undefined || number.matches(message.recipient));
}

async function sentTest(queries: Queries, account: AccountKey, wanted: WantedSent, region: string | null) {
  const { reference, recipient = '' } = wanted;
  const tokens =
    reference === undefined
      ? await tokensFromAll(queries, account, numberTest(recipient, region).tokens)
      : [referenceToken(reference)];
  return { tokens: [...new Set(tokens)], isWanted: isWantedSent(wanted, region) };
}

/** Whether a text may be a phone number, or its last four digits. */
const NUMBER = /^[\s+\d().\-/\u00a0\u2010-\u2015]{4,40}$/;
export const isNumber = (text: string): boolean => NUMBER.test(text.trim()) && text.replace(/\D/g, '').length >= 4;
const NUMBER_DIGITS = 6;

/** A message is wanted if each list has it. A list is a few tokens, of which one is enough. */
interface Lists {
  /** The list with the fewest messages, which is read. */
  readonly tokens: readonly string[];
  readonly isWanted: (message: FoundMessage) => boolean;
  /** Whether every message of the list is wanted, so that none has to be looked at. */
  readonly isExact: boolean;
}

async function listsOf(
  queries: Queries,
  account: AccountKey,
  text: string,
  region: string | null,
): Promise<Lists | null> {
  const trimmed = text.trim();
  const exact = await exactTokens(queries, account, trimmed, region);
  const words = [...wordsOf(trimmed)].slice(0, WORDS_MAX);
  const byWord = new Map<string, string[]>();
  for (const word of words) byWord.set(word, await tokensFrom(queries, account, word));
  const rarest = await rarestOf(queries, account, [...byWord.values()]);
  if (exact.tokens.length === 0 && rarest === undefined) return null;
  return {
    tokens: [...new Set([...exact.tokens, ...(rarest ?? [])])],
    isWanted: (message) => exact.isWanted(message) || holdsWords(message, words),
    isExact: words.length === 1 && exact.tokens.every((token) => !token.startsWith('#')),
  };
}

/** A number in any notation, the last digits of one, a reference or an id. */
async function exactTokens(queries: Queries, account: AccountKey, text: string, region: string | null) {
  const tokens: string[] = [];
  const tests: ((message: FoundMessage) => boolean)[] = [];
  if (text === '') return { tokens, isWanted: () => false };
  if (isNumber(text)) {
    const number = numberTest(text, region);
    tokens.push(...(await tokensFromAll(queries, account, number.tokens)));
    tests.push((message) => number.matches(message.number));
  }
  if (/^\d{1,19}$/.test(text)) {
    tokens.push(idToken(BigInt(text)));
    tests.push(({ id }) => id === BigInt(text));
  }
  const reference = referenceToken(text);
  tokens.push(reference);
  tests.push((message) => message.reference !== null && referenceToken(message.reference) === reference);
  return { tokens, isWanted: (message: FoundMessage) => tests.some((test) => test(message)) };
}

/** Finds a number in any notation by its last 6 digits, or by the last 4 or 5 of them. */
function numberTest(text: string, region: string | null) {
  const digits = text.replace(/\D/g, '');
  if (digits.length < NUMBER_DIGITS) {
    const matches = (number: string | null) => number !== null && numberEnd(number).endsWith(digits);
    return { tokens: [numberToken(digits)], matches };
  }
  const same = sameNumber(text, region);
  // Parsing a number takes 20 times as long as comparing its last digits.
  const matches = (number: string | null) =>
    number !== null && same.ends.includes(numberEnd(number)) && same.matches(number);
  return { tokens: same.ends.map(numberToken), matches };
}

const tokensFromAll = async (queries: Queries, account: AccountKey, beginnings: readonly string[]) => {
  const tokens: string[] = [];
  for (const each of beginnings) tokens.push(...(await tokensFrom(queries, account, each)));
  return tokens;
};

/** The tokens that begin so, in their order, the beginning itself first. */
async function tokensFrom(queries: Queries, account: AccountKey, beginning: string): Promise<string[]> {
  const tokens = [beginning];
  for (let after = beginning; tokens.length < WORDS_OF_BEGINNING_MAX; ) {
    const next = await queries.first(sql.nextToken, { account, after, to: beginning + END });
    if (!next) break;
    tokens.push(next.token);
    after = next.token;
  }
  return tokens;
}

async function rarestOf(
  queries: Queries,
  account: AccountKey,
  lists: readonly (readonly string[])[],
): Promise<readonly string[] | undefined> {
  if (lists.length < 2) return lists[0];
  let rarest: { tokens: readonly string[]; total: number } | undefined;
  for (const tokens of lists) {
    let total = 0;
    for (const token of tokens) {
      if (total >= COUNTED_MAX) break;
      const limit = COUNTED_MAX - total;
      total += Number((await queries.first(sql.countEntries, { account, token, limit }))?.total ?? 0n);
    }
    if (!rarest || total < rarest.total) rarest = { tokens, total };
  }
  return rarest?.tokens;
}

const holdsWords = ({ text, number, reference }: FoundMessage, words: readonly string[]): boolean =>
  words.length > 0 && hasWords([text, reference, number !== null && hasDigit(number) ? null : number], words);

/** Whether each word is the beginning of a word of the texts. */
function hasWords(texts: readonly (string | null)[], words: readonly string[]): boolean {
  const own = texts.flatMap((text) => [...wordsOf(text)]);
  return words.every((word) => own.some((each) => each.startsWith(word)));
}

/** Reads the list, newest first, until a page is full or the limit is reached. */
async function page(
  database: Database,
  account: AccountKey,
  { tokens, isWanted, isExact }: Lists,
  after: Position,
): Promise<FoundMessages> {
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

const byTime = (one: Position, other: Position): number =>
  other.at - one.at || other.kind - one.kind || Number(other.id - one.id);

async function newestOf(
  queries: Queries,
  account: AccountKey,
  tokens: readonly string[],
  after: Position,
  limit: number,
): Promise<Position[]> {
  const merged = new Map<string, Position>();
  for (const token of tokens) {
    const rows = await queries.all(sql.entriesBefore, { account, token, ...after, limit });
    for (const row of rows) {
      const position = { at: Number(row.at), kind: Number(row.kind), id: row.item_id };
      merged.set(keyOf(position), position);
    }
  }
  return [...merged.values()].sort(byTime).slice(0, limit);
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
    const { id, sentAt, recipient, text, reference, status } = each;
    const common = { id, at: sentAt, number: recipient, text, reference, status };
    found.set(keyOf({ kind: SENT, id }), { kind: 'sent', ...common, isUnread: false });
  }
  const ids = elementsOf(scheduled);
  for (const row of scheduled.length > 0 ? await queries.all(sql.documentsAmong[SCHEDULED], { account, ids }) : []) {
    const { item_id: id, at, number, text, reference } = row;
    const common = { id, at: Number(at), number, text, reference, status: null };
    found.set(keyOf({ kind: SCHEDULED, id }), { kind: 'scheduled', ...common, isUnread: false });
  }
  return found;
}

/** Contacts of whose names each word is a beginning, or that have the number. */
async function contactsOf(
  queries: Queries,
  account: AccountKey,
  text: string,
  region: string | null,
): Promise<FoundContact[]> {
  const words = [...wordsOf(text)].slice(0, WORDS_MAX);
  const number = isNumber(text) ? numberTest(text, region) : null;
  const lists: string[][] = [];
  if (number) lists.push(await tokensFromAll(queries, account, number.tokens.map(contactToken)));
  else for (const word of words) lists.push(await tokensFrom(queries, account, contactToken(word)));
  const rarest = await rarestOf(queries, account, lists);
  const positions = rarest ? await newestOf(queries, account, rarest, START, LOOKED_AT_MAX) : [];
  if (positions.length === 0) return [];
  const ids = elementsOf(positions.map(({ id }) => id));
  const rows = await queries.all(sql.documentsAmong[CONTACT], { account, ids });
  const isWanted = (row: sql.DocumentRow) => (number ? number.matches(row.number) : hasWords([row.text], words));
  return rows
    .filter(isWanted)
    .map(({ item_id, text: name, number: mobile }) => ({ id: item_id, name: (name ?? '').trim(), number: mobile }));
}
