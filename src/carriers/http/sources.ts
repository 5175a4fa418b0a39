import { readFields } from '../../base/form-fields.ts';
import type { Condition, Sources, When } from './form.ts';
import { type XmlElement, xmlText } from './xml.ts';

/** What an answer or a callback holds, and how a file reads values from it. */
export interface Readable {
  readonly status?: number;
  readonly header: (name: string) => string | undefined;
  readonly query?: Fields;
  readonly form?: Fields;
  readonly json?: unknown;
  readonly xml?: () => XmlElement | undefined;
  readonly body: Buffer;
  readonly attemptId?: string;
  readonly setting: (name: string) => string | undefined;
}
export type Fields = ReadonlyMap<string, string>;

/** The value of the first source that is there; an empty one is absent. */
export function textOf(sources: Sources | undefined, from: Readable): string | undefined {
  for (const source of listOf(sources)) {
    const text = asText(valueIn(source, from));
    if (text !== undefined && text !== '') return text;
  }
  return undefined;
}

const asText = (value: unknown): string | undefined =>
  typeof value === 'string'
    ? value
    : typeof value === 'number' || typeof value === 'boolean'
      ? String(value)
      : undefined;

export const listOf = (sources: Sources | undefined): readonly string[] =>
  sources === undefined ? [] : typeof sources === 'string' ? [sources] : sources;

function valueIn(source: string, from: Readable): unknown {
  const colon = source.indexOf(':');
  const kind = colon < 0 ? source : source.slice(0, colon);
  const name = source.slice(colon + 1);
  switch (kind) {
    case 'status':
      return from.status;
    case 'body':
      return from.body.toString('utf8');
    case 'between':
      return between(from.body.toString('utf8'), name);
    case 'attemptId':
      return from.attemptId;
    case 'header':
      return from.header(name);
    case 'json':
      return pointed(from.json, name);
    case 'xml': {
      const document = from.xml?.();
      return document && xmlText(document, name);
    }
    case 'form':
      return from.form?.get(name);
    case 'query':
      return from.query?.get(name);
    case 'setting':
      return from.setting(name);
    case 'literal':
      return name;
    default:
      return anyOf(name, from);
  }
}

/** The texts before and after a value in a body. */
const MARKS = /^(.+?)\.\.\.(.*)$/;

/** `<id>...</id>` in XML, or `ID: ...` in plain text, up to the end of the line. */
function between(body: string, marks: string): string | undefined {
  const [, before = '', after = ''] = MARKS.exec(marks) ?? [];
  const place = body.indexOf(before);
  if (place < 0) return undefined;
  const rest = body.slice(place + before.length);
  const length = after === '' ? rest.search(/[\r\n]|$/) : rest.indexOf(after);
  return length < 0 ? undefined : rest.slice(0, length).trim();
}

/** `any:/a,/b` is the first of several pointers; `any:name` a field wherever it is. */
function anyOf(name: string, from: Readable): unknown {
  if (!name.startsWith('/'))
    return from.query?.get(name) ?? from.form?.get(name) ?? pointed(from.json, `/${escaped(name)}`);
  for (const pointer of name.split(',')) {
    const value = pointed(from.json, pointer);
    if (value !== undefined && value !== null) return value;
  }
  return undefined;
}

const escaped = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1');

/** A JSON pointer (RFC 6901). */
export function pointed(json: unknown, pointer: string): unknown {
  let value = json;
  for (const step of pointer.split('/').slice(1)) {
    if (typeof value !== 'object' || value === null) return undefined;
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~');
    if (!Object.hasOwn(value, name)) return undefined;
    value = (value as Record<string, unknown>)[name];
  }
  return value;
}

export const fits = (when: When | undefined, from: Readable): boolean =>
  Object.entries(when ?? {}).every(([source, wanted]) => {
    const value = valueIn(source, from);
    return (Array.isArray(wanted) ? wanted : [wanted]).some((each) => holds(each, value, source));
  });

function holds(wanted: Condition, value: unknown, source: string): boolean {
  if (wanted === null) return value === undefined || value === null;
  const text = asText(value);
  if (typeof wanted !== 'object') {
    if (source === 'status' && CLASS.test(String(wanted))) return text?.[0] === String(wanted)[0];
    return text === String(wanted);
  }
  if ('present' in wanted) return wanted.present === !(value === undefined || value === null || value === '');
  return 'startsWith' in wanted
    ? text?.startsWith(wanted.startsWith) === true
    : text?.includes(wanted.contains) === true;
}

/** A class of statuses, such as 2xx. */
export const CLASS = /^[1-5]xx$/;

const LONG_INTEGER = /\d{16}/;

/** Undefined if it is not JSON. Integers beyond 2^53 are read as text, because ids are exact. */
export function jsonOf(body: Uint8Array): unknown {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(body);
    return LONG_INTEGER.test(text)
      ? JSON.parse(text, exact as (key: string, value: unknown) => unknown)
      : JSON.parse(text);
  } catch {
    return undefined;
  }
}

const exact = (_key: string, value: unknown, context?: { readonly source?: string }): unknown =>
  typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value)
    ? (context?.source ?? value)
    : value;

const FIELDS_MAX = 200;

/** Of several fields with a name the first counts. Undefined if there are too many. */
export function fieldsOf(text: string): Fields | undefined {
  const pairs = readFields(text, FIELDS_MAX);
  if (pairs === null) return undefined;
  const fields = new Map<string, string>();
  for (const [name, value] of pairs) if (!fields.has(name)) fields.set(name, value);
  return fields;
}
