import { hasDigit, numberEnd } from '../../sms/numbers.ts';

/**
 * What texts are found by. Words are compared without case and accents, so that `müller`, `Muller`
 * and `MÜLLER` are one word. Scripts without blanks between words are indexed by their characters.
 */

/** What the index knows about a message or a contact. */
export interface Indexed {
  readonly kind: Kind;
  readonly id: bigint;
  readonly at: number;
  readonly number: string | null;
  readonly text: string | null;
  readonly reference: string | null;
  /** Whether it is a sent message that may have reached nobody. */
  readonly isFailed: boolean;
}

export const RECEIVED = 1;
export const SENT = 2;
export const SCHEDULED = 3;
export const CONTACT = 4;
export type Kind = typeof RECEIVED | typeof SENT | typeof SCHEDULED | typeof CONTACT;

/** A longer word is found by its first characters. */
const WORD_LENGTH_MAX = 32;
/** The longest text that can be sent has about 500 words. */
const WORDS_MAX = 1_000;

const MARKS = /\p{M}/gu;
const WORD =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]|[\p{L}\p{N}](?:(?![\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}])[\p{L}\p{N}])*/gu;
/**
 * ASCII, and dashes, quotes, pound, euro and emoji, which are in no word. Any other text takes
 * about 10 µs more.
 */
const PLAIN = /^[\x20-\x7e\n\r\t£€\u2013-\u2026\u{1f300}-\u{1f6ff}\u{1f900}-\u{1f9ff}]*$/u;
const ASCII_WORD = /[a-z0-9]+/g;

/** Letters that have no decomposition into a letter and a mark. */
const LETTERS: Readonly<Record<string, string>> = {
  ß: 'ss',
  ø: 'o',
  đ: 'd',
  ł: 'l',
  æ: 'ae',
  œ: 'oe',
  ı: 'i',
  þ: 'th',
  ð: 'd',
};
const OTHER_LETTERS = new RegExp(`[${Object.keys(LETTERS).join('')}]`, 'g');

/** A text as it is compared: without case, accents and compatibility forms. */
export const folded = (text: string): string =>
  PLAIN.test(text)
    ? text.toLowerCase()
    : text
        .normalize('NFKD')
        .replace(MARKS, '')
        .toLowerCase()
        .replace(OTHER_LETTERS, (letter) => LETTERS[letter] ?? letter);

/** The different words of a text, each at most 32 characters long. */
export function wordsOf(text: string | null): Set<string> {
  const words = new Set<string>();
  if (text === null || text === '') return words;
  const plain = folded(text);
  for (const [word] of plain.matchAll(PLAIN.test(plain) ? ASCII_WORD : WORD)) {
    words.add(word.length > WORD_LENGTH_MAX ? [...word].slice(0, WORD_LENGTH_MAX).join('') : word);
    if (words.size === WORDS_MAX) break;
  }
  return words;
}

/** The last digits of a number backwards, so that its last four digits are a beginning. */
export const numberToken = (end: string): string => `#${[...folded(end)].reverse().join('')}`;
export const referenceToken = (reference: string): string =>
  `!${[...folded(reference.trim())].slice(0, 2 * WORD_LENGTH_MAX).join('')}`;
export const idToken = (id: bigint): string => `$${id}`;
/** Contacts are listed apart from messages, so their words are other tokens. */
export const contactToken = (word: string): string => `@${word}`;

/** Everything by which an item is found. */
export function tokensOf({ kind, id, number, text, reference }: Indexed): Set<string> {
  if (kind === CONTACT) {
    const end = number === null || number === '' ? [] : [numberToken(numberEnd(number))];
    return new Set([...wordsOf(text), ...end].map(contactToken));
  }
  const tokens = wordsOf(text);
  tokens.add(idToken(id));
  if (number !== null && number !== '') {
    tokens.add(numberToken(numberEnd(number)));
    if (!hasDigit(number)) for (const word of wordsOf(number)) tokens.add(word);
  }
  if (reference !== null && reference !== '') {
    tokens.add(referenceToken(reference));
    for (const word of wordsOf(reference)) tokens.add(word);
  }
  return tokens;
}
