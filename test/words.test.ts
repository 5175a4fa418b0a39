import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';

/** A rule of the language in code and documents: the field's words. */

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
    createFigures: 'createMessageCounts',
    Stock: 'MessageCounts',
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
    whenThereIsTime: 'withinReadBudget',
    '(?:create|NO_|Hash)?(?:Pace|PACE|Slots)': 'createThrottle, NO_THROTTLE; createSemaphore, createOpenConnections',
  };

  test('no file uses a name of the former dialect', () => {
    const files = filesOf('{src,test,proof,bench,tools,docs}/**/*.{ts,md}', '*.md').filter((file) => file !== SELF);
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

  /** Words that users met in an earlier version, and where this version still accepts or lists them. */
  const FORMER =
    /unsure|undecided|\b(?:dis)?arm(?:s|ed|ing)?\b|\bfates?\b|\bupkeep\b|\bset(?:s|ting)? aside\b|\b(?:take|move)Slots\b|\btotalsOf\b/i;
  const ACCEPTING = [
    'src/config/settings.ts',
    'src/domain/accounts/events.ts',
    'src/operator/actions/{accounts/{account-fields,service},carriers/connectors,messages/sending}.ts',
    'src/serve/telemetry/sending-metrics.ts',
    'src/store/schema/{migrations,operator,sending}.ts',
    'src/store/schema/former-names.ts',
    'src/transfer/account-json.ts',
    'docs/{MONITORING,SETTINGS}.md',
  ];

  test('words of an earlier version stand only where this version still accepts them', () => {
    const files = filesOf('src/**/*.{ts,md}', 'docs/*.md', 'examples/**/*.{json,yaml,md}', 'README.md', 'SECURITY.md');
    const accepting = filesOf(...ACCEPTING);
    const allowed = [...accepting, 'examples/monitoring/dashboard.json', 'examples/monitoring/rules.yaml'];
    const found = files.filter((file) => !allowed.includes(file) && FORMER.test(textOf(file)));
    assert.deepEqual(found, []);
    assert.deepEqual(
      accepting.filter((file) => !FORMER.test(textOf(file))),
      [],
      'these need no exception any more',
    );
  });
});

describe('names of tests', () => {
  test('no name of a test begins with a verb or a pronoun whose subject is elsewhere', () => {
    const predicate =
      /^ *(?:(?:test|inBrowser|inConsole)\(|(?:testWith|inEveryProtocol)\([\w()]+, )['"`](?:am|is|are|was|were|has|have|does|do|can|it|its|they|them|these|those|says|shows|tells|takes|gives|keeps|refuses|returns|runs|works)\b/m;
    assert.deepEqual(
      filesOf('{test,proof}/**/*.test.ts').filter((file) => predicate.test(textOf(file))),
      [],
    );
  });
});
