import { Problem } from '../problem.ts';
import { folded, trimmed } from './routing.ts';

/**
 * STOP words of an account: a received message with nothing but one of them puts its sender on the
 * blacklist. They are kept as one text, with commas; null for none.
 */
const WORDS_MAX = 20;
const WORD_LENGTH_MAX = 50;
const WORD = /^[^\s,\p{P}\p{Cc}]+$/u;

export const isStopWord = (word: string): boolean => word.length <= WORD_LENGTH_MAX && WORD.test(word);

export function checkStopWords(words: string): void {
  const list = words.split(',');
  if (list.length > WORDS_MAX || !list.every(isStopWord)) {
    throw new Problem(
      'bad-argument',
      `expected at most ${WORDS_MAX} words with commas between them, each of at most ${WORD_LENGTH_MAX} characters`,
    );
  }
}

/** The whole text, or all that follows the keyword of its route, is one of the words. */
export function isStop(text: string, keyword: string | null, stopWords: string | null): boolean {
  if (stopWords === null) return false;
  const words = stopWords.split(',').map(folded);
  const said = folded(trimmed(text));
  const start = keyword === null ? null : folded(keyword);
  const behind = start !== null && said.startsWith(start) ? trimmed(said.slice(start.length)) : null;
  return words.includes(said) || (behind !== null && words.includes(behind));
}
