import { Problem } from '../../base/problem.ts';
import { folded, trimmed } from './routes.ts';
import { COMMON_WORDS, isWordLanguage, WORD_LANGUAGES, WORD_LISTS, type WordList } from './word-lists.ts';

/**
 * The words of an account: a received message that consists of one of them puts its sender on the
 * blacklist (STOP), takes the sender off it (START) or gets an answer (HELP). Lists of words and
 * languages are stored as one text with commas; null for none.
 */
export interface ReplyWords {
  readonly stop_words: string | null;
  readonly start_words: string | null;
  readonly help_words: string | null;
  /** The languages whose lists count too. */
  readonly word_languages: string | null;
  readonly help_answer: string | null;
}

export type ReplyWord = 'stop' | 'start' | 'help';

const WORDS_MAX = 20;
const WORD_LENGTH_MAX = 50;
const WORD = /^[^\s,\p{P}\p{Cc}]+$/u;
/** The longest answer, which takes at most seven parts. */
export const ANSWER_LENGTH_MAX = 1_000;

export const isStopWord = (word: string): boolean => word.length <= WORD_LENGTH_MAX && WORD.test(word);

export function checkStopWords(words: string): void {
  const list = words.split(',');
  if (list.length > WORDS_MAX || !list.every(isStopWord)) {
    throw new Problem(
      'bad-argument',
      `expected at most ${WORDS_MAX} words separated by commas, each of at most ${WORD_LENGTH_MAX} characters`,
    );
  }
}

export function checkWordLanguages(languages: string): void {
  if (!languages.split(',').every(isWordLanguage)) {
    throw new Problem('bad-argument', `expected some of ${WORD_LANGUAGES.join(', ')}, separated by commas`);
  }
}

export function checkAnswer(text: string): void {
  if (text.trim() === '' || text.length > ANSWER_LENGTH_MAX) {
    throw new Problem('bad-argument', `expected a text of at most ${ANSWER_LENGTH_MAX} characters`);
  }
}

const NO_WORDS: ReplyWords = {
  stop_words: null,
  start_words: null,
  help_words: null,
  word_languages: null,
  help_answer: null,
};

/** Whether the text is one of these STOP words. */
export const isStop = (text: string, keyword: string | null, stopWords: string): boolean =>
  replyWordOf(text, keyword, { ...NO_WORDS, stop_words: stopWords }) === 'stop';

/**
 * Which kind of word the text is, either whole or after the keyword of its route; null for any
 * other text. A word of two kinds counts as STOP first, then as START. An account listens to START
 * if it listens to STOP, and to HELP if it has an answer to it.
 */
export function replyWordOf(text: string, keyword: string | null, words: ReplyWords): ReplyWord | null {
  const said = folded(trimmed(text));
  const start = keyword === null ? null : folded(keyword);
  const behind = start !== null && said.startsWith(start) ? trimmed(said.slice(start.length)) : null;
  const isOneOf = (list: readonly string[]): boolean =>
    list.includes(said) || (behind !== null && list.includes(behind));
  const listed = (kind: keyof WordList): string[] => languagesOf(words).flatMap((each) => [...WORD_LISTS[each][kind]]);
  const isListening = words.stop_words !== null || words.word_languages !== null;
  if (isOneOf([...own(words.stop_words), ...listed('stop')])) return 'stop';
  const common = isListening || words.start_words !== null ? COMMON_WORDS.start : [];
  if (isOneOf([...own(words.start_words), ...common, ...listed('start')])) return 'start';
  if (words.help_answer === null) return null;
  return isOneOf([...own(words.help_words), ...COMMON_WORDS.help, ...listed('help')]) ? 'help' : null;
}

const own = (words: string | null): string[] => words?.split(',').map(folded) ?? [];
const languagesOf = ({ word_languages }: ReplyWords) => word_languages?.split(',').filter(isWordLanguage) ?? [];
