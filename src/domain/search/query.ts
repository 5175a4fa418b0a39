import { hasDigit, numberEnd, sameNumber } from '../../sms/numbers.ts';
import type { AccountKey } from '../../store/caller.ts';
import type { Queries } from '../../store/database.ts';
import * as sql from './search.sql.ts';
import {
  CONTACT,
  contactToken,
  idToken,
  type Kind,
  numberToken,
  RECEIVED,
  referenceToken,
  SCHEDULED,
  wordsOf,
} from './tokens.ts';

/** How the search reads a text: which lists of the index, and a test of what they have. */

/** A beginning of a word stands for at most so many words, in their alphabetical order. */
const WORDS_OF_BEGINNING_MAX = 20;
/** The last four digits of a number have 10 fifth digits before them, and 100 sixth ones. */
const ENDS_OF_NUMBER_MAX = 111;
const WORDS_MAX = 8;
const COUNTED_MAX = 500;
/** Sorts after everything that continues a word. */
const END = '\u{10ffff}';

/** Whether a text may be a phone number, or its last four digits. */
const NUMBER = /^[\s+\d().\-/\u00a0\u2010-\u2015]{4,40}$/;
export const isNumber = (text: string): boolean => NUMBER.test(text.trim()) && text.replace(/\D/g, '').length >= 4;
const NUMBER_DIGITS = 6;

/** The fields of a message or a contact by which it is found. */
export interface Searched {
  readonly id: bigint;
  readonly number: string | null;
  readonly text: string | null;
  readonly reference: string | null;
}

/** A message is wanted if each list has it. A list is a few tokens, of which one is enough. */
export interface Lists {
  /** The list with the fewest messages, which is read. */
  readonly tokens: readonly string[];
  readonly isWanted: (message: Searched) => boolean;
  /** Whether every message of the list is wanted, so that none has to be looked at. */
  readonly isExact: boolean;
  /** Whether the text begins more words than are read, so that some messages are not found. */
  readonly isTooShort: boolean;
}

/** The first and the last of the kinds that are searched. */
export type Kinds = readonly [Kind, Kind];
const MESSAGES: Kinds = [RECEIVED, SCHEDULED];

/** Null if nothing can have this text. */
export async function listsOf(
  queries: Queries,
  account: AccountKey,
  text: string,
  region: string | null,
  kinds: Kinds = MESSAGES,
): Promise<Lists | null> {
  const trimmed = text.trim();
  if (kinds[0] === CONTACT) return listsOfContacts(queries, account, trimmed, region);
  const exact = await exactTokens(queries, account, trimmed, region);
  const words = [...wordsOf(trimmed)].slice(0, WORDS_MAX);
  const lists: Tokens[] = [];
  for (const word of words) lists.push(await tokensFrom(queries, account, word));
  const rarest = await rarestOf(queries, account, lists, kinds);
  if (exact.tokens.length === 0 && rarest === undefined) return null;
  return {
    tokens: [...new Set([...exact.tokens, ...(rarest?.tokens ?? [])])],
    isWanted: (message) => exact.isWanted(message) || holdsWords(message, words),
    isExact: words.length === 1 && exact.tokens.every((token) => !token.startsWith('#')),
    isTooShort: rarest?.isTooShort ?? false,
  };
}

/** Contacts of whose names each word is a beginning, or that have the number. */
async function listsOfContacts(
  queries: Queries,
  account: AccountKey,
  text: string,
  region: string | null,
): Promise<Lists | null> {
  if (isNumber(text)) {
    const number = numberTest(text, region);
    const tokens = await tokensFromAll(queries, account, number.tokens.map(contactToken));
    return { tokens, isWanted: (contact) => number.matches(contact.number), isExact: false, isTooShort: false };
  }
  const words = [...wordsOf(text)].slice(0, WORDS_MAX);
  const lists: Tokens[] = [];
  for (const word of words) lists.push(await tokensFrom(queries, account, contactToken(word)));
  const rarest = await rarestOf(queries, account, lists, [CONTACT, CONTACT]);
  return rarest
    ? { ...rarest, isWanted: (contact) => hasWords([contact.text], words), isExact: words.length === 1 }
    : null;
}

/** A number in any notation, the last digits of one, a reference or an id. */
async function exactTokens(queries: Queries, account: AccountKey, text: string, region: string | null) {
  const tokens: string[] = [];
  const tests: ((message: Searched) => boolean)[] = [];
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
  return { tokens, isWanted: (message: Searched) => tests.some((test) => test(message)) };
}

/** Finds a number in any notation by its last 6 digits, or by the last 4 or 5 of them. */
export function numberTest(text: string, region: string | null) {
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

/** All ends of numbers that begin so. */
export const tokensFromAll = async (queries: Queries, account: AccountKey, beginnings: readonly string[]) => {
  const tokens: string[] = [];
  for (const each of beginnings) tokens.push(...(await tokensFrom(queries, account, each, ENDS_OF_NUMBER_MAX)).tokens);
  return tokens;
};

type Tokens = Pick<Lists, 'tokens' | 'isTooShort'>;

/** The tokens that begin so, in their order, the beginning itself first. */
async function tokensFrom(
  queries: Queries,
  account: AccountKey,
  beginning: string,
  max = WORDS_OF_BEGINNING_MAX,
): Promise<Tokens> {
  const tokens = [beginning];
  for (let after = beginning; ; ) {
    const next = await queries.first(sql.nextToken, { account, after, to: beginning + END });
    if (!next) return { tokens, isTooShort: false };
    if (tokens.length === max) return { tokens, isTooShort: true };
    tokens.push(next.token);
    after = next.token;
  }
}

/** The list with the fewest messages. One that is whole is better than one that is not. */
async function rarestOf(
  queries: Queries,
  account: AccountKey,
  given: readonly Tokens[],
  [first, last]: Kinds,
): Promise<Tokens | undefined> {
  const whole = given.filter(({ isTooShort }) => !isTooShort);
  const lists = whole.length > 0 ? whole : given;
  if (lists.length < 2) return lists[0];
  let rarest: { list: Tokens; total: number } | undefined;
  for (const list of lists) {
    let total = 0;
    for (const token of list.tokens) {
      if (total >= COUNTED_MAX) break;
      const limit = COUNTED_MAX - total;
      total += Number((await queries.first(sql.countEntries, { account, token, first, last, limit }))?.total ?? 0n);
    }
    if (!rarest || total < rarest.total) rarest = { list, total };
  }
  return rarest?.list;
}

const holdsWords = ({ text, number, reference }: Searched, words: readonly string[]): boolean =>
  words.length > 0 && hasWords([text, reference, number !== null && hasDigit(number) ? null : number], words);

/** Whether each word is the beginning of a word of the texts. */
function hasWords(texts: readonly (string | null)[], words: readonly string[]): boolean {
  const own = texts.flatMap((text) => [...wordsOf(text)]);
  return words.every((word) => own.some((each) => each.startsWith(word)));
}
