import { z } from 'zod';
import { ANSWER_LENGTH_MAX, isStopWord } from '../domain/receiving/stop-words.ts';
import { isWordLanguage, WORD_LANGUAGES } from '../domain/receiving/word-lists.ts';

/** Schemas of the words of an account and of the answers to them. */

const stopWord = z.string().max(50).refine(isStopWord, 'expected one word, without punctuation');

/** A list in JSON, and a text with commas in the account. */
const words = <S extends z.ZodType<string, string>>(word: S, description: string) =>
  z
    .codec(z.array(word).max(20), z.string().nullable(), {
      decode: (list) => list.join() || null,
      encode: (list) => (list?.split(',') ?? []) as z.output<S>[],
    })
    .describe(description);
const stopWords = words(
  stopWord,
  'A received message that consists of one of these words puts its sender on the blacklist, and cancels the messages that wait for the sender.',
);
const startWords = words(
  stopWord,
  'Words that take their sender off the blacklist, in addition to START and UNSTOP, which count if the account has STOP words.',
);
const helpWords = words(stopWord, 'Words that get the answer `helpAnswer`, in addition to HELP.');
const wordLanguages = words(
  z.string().refine(isWordLanguage, `expected some of ${WORD_LANGUAGES.join(', ')}`),
  `Languages whose lists of STOP, START and HELP words count too: ${WORD_LANGUAGES.join(', ')}.`,
);
const answer = (word: string) =>
  z
    .string()
    .min(1)
    .max(ANSWER_LENGTH_MAX)
    .regex(/\S/, 'expected a text')
    .nullable()
    .describe(
      `The answer to ${word}, sent at most once in 24 hours to the same person. It costs credits, and is sent although the person is on the blacklist.`,
    );
const stopAnswer = answer('a STOP word');
const helpAnswer = answer('a HELP word');

export const shownWords = { stopWords, startWords, helpWords, wordLanguages, stopAnswer, helpAnswer };
/** A field that is left out stays as it is, and null clears a field. */
export const changedWords = {
  stopWords: stopWords.nullable().optional(),
  startWords: startWords.nullable().optional(),
  helpWords: helpWords.nullable().optional(),
  wordLanguages: wordLanguages.nullable().optional(),
  stopAnswer: stopAnswer.optional(),
  helpAnswer: helpAnswer.optional(),
};
