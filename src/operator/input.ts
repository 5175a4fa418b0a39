import { hash } from 'node:crypto';
import { z } from 'zod';
import { type FieldError, Problem } from '../base/problem.ts';
import type { Action, Input, Page } from './action.ts';
import { queryInteger } from './schemas.ts';

/**
 * The input of an action as it was sent. `readInput` checks it against the schemas of the action
 * and reports every mistake at once.
 */
export interface RawInput {
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, unknown>>;
  readonly body: unknown;
  readonly upload: Uint8Array;
}

const LIMIT_DEFAULT = 100;
const LIMIT_MAX = 500;
const ERRORS_MAX = 100;
const NAME_LENGTH_MAX = 100;

/** The query parameters of every list, which say how far it is read. */
export const pageQuery = {
  limit: queryInteger(1, LIMIT_MAX).default(LIMIT_DEFAULT).describe(`Items of a page, 1 to ${LIMIT_MAX}.`),
  after: z.string().max(2_000).optional().describe('The `next` of the previous page.'),
};
const pageSchema = z.strictObject(pageQuery);

export function readInput(action: Action, given: RawInput): Input {
  const errors: FieldError[] = [];
  const raw = withNewNames(action, given, errors);
  const read = (schema: z.ZodType, value: unknown, pointer: (path: PropertyKey[]) => string): unknown => {
    const result = schema.safeParse(value);
    if (!result.success) errors.push(...result.error.issues.flatMap((issue) => fieldErrors(issue, pointer)));
    return result.data;
  };
  const params = read(action.params, raw.params, ([name]) => `{${String(name)}}`) as Input['params'];
  const { limit, after, ...filters } = raw.query;
  const isList = action.position !== null;
  const query = read(action.query, isList ? filters : raw.query, ([name]) => `?${shortName(name)}`);
  const paged = isList
    ? (read(pageSchema, onlyDefined({ limit, after }), ([name]) => `?${String(name)}`) as z.output<typeof pageSchema>)
    : undefined;
  const body = action.body && read(action.body, raw.body, bodyPointer);
  errors.push(...halvesIn(raw.body, []));
  let page: Page<unknown> | undefined;
  if (paged) {
    const position = readCursor(action, given, paged.after);
    if (position === undefined) errors.push({ pointer: '?after', detail: 'this is not a cursor of this list' });
    page = { limit: paged.limit, after: position };
  }
  if (errors.length > 0) throw refused(errors);
  const input = { params, query: query as Input['query'], body, upload: raw.upload };
  return page ? { ...input, page } : input;
}

/** This version still takes the former names of fields, and the next one does not. */
function withNewNames({ formerFields }: Action, raw: RawInput, errors: FieldError[]): RawInput {
  if (!formerFields) return raw;
  const renamed = (fields: unknown, pointer: (name: string) => string): unknown => {
    if (typeof fields !== 'object' || fields === null || Array.isArray(fields)) return fields;
    const found: [string, unknown][] = [];
    for (const [name, value] of Object.entries(fields)) {
      const present = Object.hasOwn(formerFields, name) ? (formerFields[name] as string) : name;
      if (present !== name && Object.hasOwn(fields, present)) {
        const detail = `this is the former name of ${present}, which is given too; remove it`;
        errors.push({ pointer: pointer(name), detail });
      } else found.push([present, value]);
    }
    return Object.fromEntries(found);
  };
  return {
    ...raw,
    query: renamed(raw.query, (name) => `?${name}`) as RawInput['query'],
    body: renamed(raw.body, (name) => `#/${name}`),
  };
}

const bodyPointer = (path: readonly PropertyKey[]): string => `#${path.map((name) => `/${escaped(name)}`).join('')}`;

/** Finds halves of surrogate pairs: neither database stores them, they would become U+FFFD. */
function halvesIn(value: unknown, path: readonly PropertyKey[]): FieldError[] {
  if (typeof value === 'string' && !value.isWellFormed()) {
    return [{ pointer: bodyPointer(path), detail: 'expected a text without halves of surrogate pairs' }];
  }
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, each]) => halvesIn(each, [...path, name]));
}

/** All wrong fields in one Problem. */
export function refused(errors: readonly FieldError[]): Problem {
  const shown = errors.slice(0, ERRORS_MAX);
  const [first] = shown as [FieldError];
  const message = shown.length === 1 ? `${first.pointer}: ${first.detail}` : `${errors.length} fields are wrong.`;
  return new Problem('bad-argument', message, { errors: shown });
}

const onlyDefined = (fields: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));

/** Shortens a name that the client chose. */
const shortName = (name: PropertyKey | undefined): string => {
  const text = String(name ?? '').replace(/\p{Cc}/gu, '\ufffd');
  return text.length > NAME_LENGTH_MAX ? `${text.slice(0, NAME_LENGTH_MAX)}…` : text;
};

/** RFC 6901 §3. */
const escaped = (name: PropertyKey): string => shortName(name).replaceAll('~', '~0').replaceAll('/', '~1');

type Issue = z.core.$ZodIssue;

function fieldErrors(issue: Issue, pointer: (path: PropertyKey[]) => string): FieldError[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys
      .slice(0, ERRORS_MAX)
      .map((key) => ({ pointer: pointer([...issue.path, key]), detail: 'there is no such field' }));
  }
  return [{ pointer: pointer([...issue.path]), detail: issue.message }];
}

/** Identifies the list of a cursor by the action, the parameters of the path and the filters. */
function listName(action: Action, { params, query }: Pick<RawInput, 'params' | 'query'>): string {
  const filters = Object.entries(query).filter(([name]) => name !== 'limit' && name !== 'after');
  const sorted = filters.sort(([one], [other]) => (one < other ? -1 : 1));
  return hash('sha256', JSON.stringify([action.name, Object.entries(params), sorted])).slice(0, 16);
}

export function writeCursor(action: Action, raw: Pick<RawInput, 'params' | 'query'>, position: unknown): string {
  const written = z.encode(action.position as z.ZodType, position);
  return Buffer.from(JSON.stringify([listName(action, raw), written])).toString('base64url');
}

/** Returns null without a cursor, and undefined for a cursor of another list. */
function readCursor(action: Action, raw: RawInput, cursor: string | undefined): unknown {
  if (cursor === undefined) return null;
  try {
    const [name, written] = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8')) as unknown[];
    if (name !== listName(action, raw)) return undefined;
    const position = (action.position as z.ZodType).safeParse(written);
    return position.success ? position.data : undefined;
  } catch {
    return undefined;
  }
}
