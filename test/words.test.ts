import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';

/** Rules of the language in code and documents: the field's words, and short sentences. */

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const SELF = 'test/words.test.ts';
const filesOf = (...patterns: string[]): string[] => globSync(patterns, { cwd: ROOT }).sort();
const textOf = (file: string): string => readFileSync(join(ROOT, file), 'utf8');

describe('words', () => {
  /** Names of the former dialect, and the words of the field that replaced them. */
  const REPLACED: Readonly<Record<string, string>> = {
    Arrival: 'ParsedRequest',
    LastWords: 'RawErrorResponse',
    noRoom: 'tooManyConnections',
    longHead: 'headTooLarge',
    patience: 'timeoutTicks',
    '#came': '#onData',
    '#goOn': '#readNext',
    '#handedOver': '#onResponseWritten',
    '#isCut': '#bodyIncomplete',
    unpack: 'decompress',
    createAsking: 'createAskPrimary',
    tellFirst: 'tellPrimary',
    serveGathered: 'serveAggregatedMetrics',
    bury: 'addToRetired',
    withoutValues: 'redact',
    '[Ss]urroundings': 'AppDependencies',
    complaining: 'logFailures',
    seldom: 'atMostOncePerMinute',
    inEveryForm: 'inEveryProtocol',
    timeless: 'cacheable',
    whatOf: 'operationHint',
    KnownTags: 'StartTagCache',
    createFigures: 'createTotals',
    Stock: 'MessageTotals',
    createGuard: 'createAdmission',
    createAuthority: 'createRateLimiter',
    createMemory: 'createRecentMap',
    'neighbourhoods?': 'customerNetwork',
    lookAround: 'pollOtherProcesses',
    changesCallers: 'invalidatesIdentities',
    '(?:all|first|run)Now': 'allSync, getSync, runSync',
    moveLog: 'checkpoint',
    hasCompany: 'isShared',
    oneStatement: 'single',
    createTimed: 'createObserved',
    UNHURRIED: 'NO_TIMEOUTS',
    whenThereIsTime: 'waitForReadBudget',
  };

  test('no file uses a name of the former dialect', () => {
    const files = filesOf('{src,test,bench,tools,docs}/**/*.{ts,md}', '*.md').filter((file) => file !== SELF);
    const patterns = Object.entries(REPLACED).map(
      ([name, better]) => [new RegExp(`(?<![\\w#-])${name}(?![\\w-])`), better] as const,
    );
    const found = files.flatMap((file) =>
      textOf(file)
        .split('\n')
        .flatMap((line, index) =>
          patterns
            .filter(([pattern]) => pattern.test(line))
            .map(([pattern, better]) => `${file}:${index + 1}: ${pattern.exec(line)?.[0]}: use ${better}`),
        ),
    );
    assert.deepEqual(found, []);
  });
});

interface Passage {
  readonly line: number;
  readonly text: string;
}

/** The comments of a TypeScript file. Lines of `//` that follow one another are one comment. */
function commentsOf(text: string): Passage[] {
  const found: { line: number; end: number; text: string }[] = [];
  for (const match of text.matchAll(/^[ \t]*\/\*\*?([\s\S]*?)\*\/|^[ \t]*\/\/(.*)$|[;,{})\]] \/\/ (.*)$/gm)) {
    const line = text.slice(0, match.index).split('\n').length;
    const content = (match[1] ?? match[2] ?? match[3] ?? '').replace(/^[ \t]*\*/gm, '');
    const last = found.at(-1);
    if (match[2] !== undefined && last?.end === line - 1) {
      last.text += `\n${content}`;
      last.end = line;
    } else {
      found.push({ line, end: match[2] === undefined ? -1 : line, text: content });
    }
  }
  return found;
}

/** Paragraphs and list items of a Markdown file, without code, tables and headings. */
function paragraphsOf(text: string): Passage[] {
  const found: { line: number; text: string }[] = [];
  let isCode = false;
  let isOpen = false;
  for (const [index, line] of text.split('\n').entries()) {
    const isFence = /^\s*(?:```|~~~)/.test(line);
    if (isFence) isCode = !isCode;
    const isText = !isFence && !isCode && line.trim() !== '' && !/^\s*\||^#/.test(line);
    const isItem = /^\s*(?:[-*]|\d+\.)\s/.test(line);
    if (isText && isOpen && !isItem) (found.at(-1) as { text: string }).text += ` ${line.trim()}`;
    else if (isText) found.push({ line: index + 1, text: line.replace(/^\s*(?:[-*]|\d+\.)\s+/, '') });
    isOpen = isText;
  }
  return found;
}

/** Splits at full stops; the abbreviations have none that ends a sentence. Drawings are no sentences. */
const sentencesOf = (text: string): string[] =>
  text
    .replaceAll(/^.*[─│┌┐└┘▲▼►◄].*$/gm, '')
    .replaceAll('**', '')
    .replaceAll(/\b(e\.g|i\.e)\. /g, '$1 ')
    .split(/(?<=[.!?])\s+/)
    .map((sentence) => sentence.trim());

const wordsIn = (sentence: string): number => sentence.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length;

describe('sentences', () => {
  const WORDS_MAX = 20;

  const longSentences = (file: string, passages: Passage[]): string[] =>
    passages.flatMap(({ line, text }) =>
      sentencesOf(text)
        .filter((sentence) => wordsIn(sentence) > WORDS_MAX)
        .map((sentence) => `${file}:${line}: ${wordsIn(sentence)} words: ${sentence.replaceAll(/\s+/g, ' ')}`),
    );

  test('the rule finds a long sentence in a comment and in a paragraph, and counts words only', () => {
    const words = (count: number) => `${'word '.repeat(count - 1)}end.`;
    const comment = `/**\n * Short one. ${words(21)}\n */\nconst a = 1; // ${words(20)}\n// ${words(11)}\n`;
    assert.deepEqual(longSentences('a.ts', commentsOf(comment)), [`a.ts:1: 21 words: ${words(21)}`]);
    const split = `// ${'word '.repeat(11)}\n// ${words(10)}\n`;
    assert.equal(longSentences('a.ts', commentsOf(split)).length, 1);
    const markdown = `# ${words(30)}\n\n- ${words(20)}\n- ${words(12)}\n  ${words(9)} ${words(21)}\n\n\`\`\`\n${words(40)}\n\`\`\`\n`;
    assert.deepEqual(longSentences('README.md', paragraphsOf(markdown)), [`README.md:4: 21 words: ${words(21)}`]);
    assert.deepEqual(longSentences('README.md', paragraphsOf(`| ${words(30)} |\n`)), []);
  });

  test(`no sentence in a comment of the program has more than ${WORDS_MAX} words`, () => {
    const ours = filesOf('{src,bench,tools}/**/*.ts').filter((file) => file !== 'src/asmx/pages/csharp.ts'); // programs for others
    assert.deepEqual(
      ours.flatMap((file) => longSentences(file, commentsOf(textOf(file)))),
      [],
    );
  });

  test(`no sentence in a document has more than ${WORDS_MAX} words`, () => {
    const documents = filesOf('docs/*.md', 'bench/*.md', '*.md');
    assert.deepEqual(
      documents.flatMap((file) => longSentences(file, paragraphsOf(textOf(file)))),
      [],
    );
  });
});
