import { readFileSync, statSync } from 'node:fs';
import { z } from 'zod';
import { Problem } from '../../base/problem.ts';
import { contract } from '../contract/contract.ts';
import { COLUMN_TYPES, type DateForm, type Dialect } from './dialect.ts';
import { checkDialect, type DialectMistake } from './dialect-check.ts';

/** The file of a dialect: JSON of the type Dialect. */

// A dialect of every entry has less than 20 KB.
const BYTES_MAX = 1_048_576;
const NAMES_MAX = 200;

/** A name that XML takes without a prefix. */
const xmlName = z
  .string()
  .max(NAMES_MAX)
  .regex(/^[\p{L}_][\p{L}\p{M}\p{N}._-]*$/u, 'expected a name of XML, with _x0020_ for a space');
/** A word has no control characters, because XML 1.0 cannot write most of them. */
const word = z
  .string()
  .min(1, 'expected a word')
  .max(NAMES_MAX)
  .regex(/^[^\p{Cc}\ufffe\uffff\ud800-\udfff]+$/u, 'expected a word without control characters');
const operations = Object.entries(contract).flatMap(([group, rows]) =>
  Object.keys(rows).map((name) => `${group}.${name}`),
);
const operation = z.string().refine((name) => operations.includes(name), {
  error: 'there is no such operation; expected a name such as sent.FetchSentDS',
});

const timeZone = z.string().refine(isTimeZone, {
  error: 'expected a time zone such as Africa/Johannesburg or +02:00',
});
const dates = z.strictObject({
  zone: z.enum(['Z', 'offset', 'none']).default('Z'),
  timeZone: timeZone.optional(),
  fractionDigits: z.union([z.literal('trimmed'), z.int().min(0).max(7)], 'expected 0 to 7, or "trimmed"').optional(),
});
const names = { name: xmlName.optional(), table: xmlName.optional() };

const column = z.strictObject({
  name: xmlName,
  type: z.enum(COLUMN_TYPES),
  from: z.string().optional(),
  constant: z
    .string()
    .max(2_000)
    .regex(/^[^\p{Cc}\ufffe\uffff\ud800-\udfff]*$/u, 'expected a text without control characters')
    .optional(),
});

const booleanWords = z.union([word, z.array(word).min(1).max(100)]);

const file = z.strictObject({
  namespace: z
    .string()
    .max(2_000)
    .regex(/^[a-z][a-z0-9+.-]*:[\w.~:/?@!$'()*+,;=%#-]+$/i, 'expected a URI such as http://sms.example/api')
    .optional(),
  dataSet: z.strictObject({ ...names, dates: dates.optional() }).optional(),
  dataSets: z.record(operation, z.strictObject(names)).optional(),
  columns: z.record(operation, z.array(column).min(1).max(NAMES_MAX)).optional(),
  statusWords: z.record(z.string(), z.union([word, z.array(word).min(1).max(100)])).optional(),
  booleanWords: z.strictObject({ true: booleanWords.optional(), false: booleanWords.optional() }).optional(),
  dates: dates.optional(),
  groupId: z.enum(['absent', 'empty', 'zero']).optional(),
  emptyStrings: z.enum(['absent', 'empty']).optional(),
  orders: z.record(operation, z.string()).optional(),
  caps: z.record(operation, z.int().min(1).max(1_000_000)).optional(),
  readReturnsReadOnly: z.boolean().optional(),
  errorStatus: z.enum(['asmx', 'http']).optional(),
  faultCode: z.enum(['server', 'client']).optional(),
  missing: z.array(operation).max(operations.length).optional(),
  evidence: z.record(z.string().max(NAMES_MAX), z.int().min(0)).optional(),
  answered: z.array(z.string().max(NAMES_MAX)).max(NAMES_MAX).optional(),
});

/**
 * The dialect of a file, with the time zone of the settings where it names none. Throws Problem
 * `bad-argument`, which names the file, every wrong entry and what is expected there.
 */
export function readDialectFile(path: string, defaultZone: string): Dialect {
  const fault = (reason: string) => new Problem('bad-argument', `${path}: ${reason}`);
  let content: unknown;
  try {
    if (statSync(path).size > BYTES_MAX) throw fault(`a dialect has at most ${BYTES_MAX} bytes`);
    content = JSON.parse(readFileSync(path, 'utf8'));
  } catch (thrown) {
    if (thrown instanceof Problem) throw thrown;
    const { code, message } = thrown as NodeJS.ErrnoException;
    throw fault(code ? `the dialect cannot be read (${code})` : `the dialect is not JSON (${message})`);
  }
  try {
    return withTimeZone(parseDialect(content), defaultZone);
  } catch (thrown) {
    throw thrown instanceof Problem ? fault(thrown.message) : thrown;
  }
}

/** Throws Problem `bad-argument` with every mistake. */
export function parseDialect(content: unknown): Dialect {
  const parsed = file.safeParse(content, { error: sentenceOf });
  const mistakes = parsed.success ? checkDialect(parsed.data as Dialect) : parsed.error.issues.flatMap(mistakesOf);
  if (mistakes.length > 0) {
    const told = mistakes.slice(0, MISTAKES_TOLD).map(({ entry, reason }) => `${entry}: ${reason}`);
    const others = mistakes.length - told.length;
    throw new Problem('bad-argument', [...told, ...(others > 0 ? [`and ${others} more`] : [])].join('; '));
  }
  return parsed.data as Dialect;
}

const MISTAKES_TOLD = 20;

type Issue = z.core.$ZodIssue;

function mistakesOf(issue: Issue): DialectMistake[] {
  const entry = pathOf(issue.path);
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({ entry: pathOf([...issue.path, key]), reason: UNKNOWN_ENTRY }));
  }
  if (issue.code === 'invalid_key') return [{ entry, reason: issue.issues[0]?.message ?? issue.message }];
  return [{ entry, reason: issue.message }];
}

const TYPES: Readonly<Record<string, string>> = {
  string: 'a text',
  array: 'a list',
  object: 'an object',
  record: 'an object',
  boolean: 'true or false',
  int: 'a whole number',
  number: 'a number',
};

/** The sentence for a mistake whose schema has no sentence of its own. */
function sentenceOf(issue: z.core.$ZodRawIssue): string {
  if (issue.code === 'invalid_type') return `expected ${TYPES[String(issue.expected)] ?? String(issue.expected)}`;
  if (issue.code === 'too_big') return `expected at most ${issue.maximum}${unitOf(issue.origin)}`;
  if (issue.code === 'too_small') return `expected at least ${issue.minimum}${unitOf(issue.origin)}`;
  if (issue.code === 'invalid_value') return `expected one of ${issue.values.map(String).join(', ')}`;
  if (issue.code === 'invalid_union') return 'expected a word, or a list of words';
  return 'this is not as docs/DIALECT.md describes it';
}
const unitOf = (origin: string): string => (origin === 'string' ? ' characters' : origin === 'array' ? ' items' : '');

const UNKNOWN_ENTRY = 'there is no such entry; docs/DIALECT.md has the names';

/** Writes a path as columns.sent.FetchSentDS[2].from. */
const pathOf = (path: readonly PropertyKey[]): string =>
  path
    .map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`))
    .join('')
    .replace(/^\./, '') || 'the dialect';

function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

/** Returns the dialect with a time zone in every form of dates. */
export function withTimeZone(dialect: Dialect, defaultZone: string): Dialect {
  const complete = (form: DateForm): DateForm => ({ timeZone: dialect.dates?.timeZone ?? defaultZone, ...form });
  const { dates: ofRecords, dataSet } = dialect;
  return {
    ...dialect,
    ...(ofRecords && { dates: complete(ofRecords) }),
    ...(dataSet?.dates && { dataSet: { ...dataSet, dates: complete(dataSet.dates) } }),
  };
}

/** Entries whose parts (by operation, by status, by value) are merged one by one. */
const PARTED = ['dataSets', 'columns', 'statusWords', 'booleanWords', 'orders', 'caps'] as const;

/**
 * Completes a dialect with what was learned since. What a person or a probe has written stays;
 * `disputed` names the entries for which the recordings show something else.
 */
export function completed(written: Dialect, learned: Dialect): { dialect: Dialect; disputed: readonly string[] } {
  const disputed: string[] = [];
  const merged = (one: object | undefined, other: object | undefined, path: string): object => {
    for (const [name, value] of Object.entries(one ?? {})) {
      const seen = (other as Readonly<Record<string, unknown>> | undefined)?.[name];
      const isParted = (PARTED as readonly string[]).includes(name);
      if (seen === undefined || isParted || name === 'evidence') continue;
      if (JSON.stringify(seen) !== JSON.stringify(value)) disputed.push(path + name);
    }
    return { ...other, ...one };
  };
  const parts = PARTED.flatMap((name) => {
    const whole = merged(written[name], learned[name], `${name}.`);
    return Object.keys(whole).length > 0 ? [[name, whole] as const] : [];
  });
  const { evidence } = learned;
  const dialect = { ...merged(written, learned, ''), ...Object.fromEntries(parts), ...(evidence && { evidence }) };
  return { dialect: dialect as Dialect, disputed };
}
