import { isUtf8 } from 'node:buffer';
import { plainBody } from '../old-server/call-reader.ts';
import type { RecordedAnswer, RecordedFields, RecordedMessage, RecordedRequest } from './recording.ts';

/**
 * Removes secrets from recordings. A user_id that was read is replaced wherever it occurs, in any
 * encoding. If none could be read, neither the query nor the bodies are recorded.
 */
export interface RawRequest {
  readonly method: string;
  readonly target: string;
  /** Names and values in turn, as node:http has them. */
  readonly rawHeaders: readonly string[];
  /** Undefined if the body was longer than what is kept. */
  readonly body: Uint8Array | undefined;
}

export interface RawAnswer {
  readonly status: number;
  readonly rawHeaders: readonly string[];
  readonly body: Uint8Array | undefined;
  readonly ms: number;
}

export interface Secret {
  readonly userId: string;
  /** The name that replaces the secret. */
  readonly name: string;
}

/** A secret of null means that no call could be read, so anything in it may be a secret. */
export function redactRequest(raw: RawRequest, secret: Secret | null): RecordedRequest {
  const [path = ''] = raw.target.split('?', 1);
  const replace = replacing(secret);
  return {
    method: raw.method,
    target: secret ? replace(raw.target) : isDocument(raw.target) ? raw.target : path,
    ...redactMessage(raw, secret, false),
  };
}

/** A WSDL, a discovery document or a page. */
const isDocument = (target: string): boolean => /\.asmx(?:\?(?:wsdl|disco|op=\w+))?$/i.test(target);

export function redactAnswer(raw: RawAnswer, secret: Secret | null, request: RawRequest): RecordedAnswer {
  const isOpen = isDocument(request.target) && (request.method === 'GET' || request.method === 'HEAD');
  return { status: raw.status, ms: raw.ms, ...redactMessage(raw, secret, isOpen) };
}

function redactMessage(
  raw: Pick<RawAnswer, 'rawHeaders' | 'body'>,
  secret: Secret | null,
  isOpen: boolean,
): RecordedMessage {
  const headers = redactFields(raw.rawHeaders, secret);
  const withhold = (withheld: 'too long' | 'not readable'): RecordedMessage => ({
    headers,
    body: '',
    encoding: 'utf8',
    withheld,
  });
  if (raw.body === undefined) return withhold('too long');
  if (raw.body.length === 0) return { headers, body: '', encoding: 'utf8' };
  if (!secret && !isOpen) return withhold('not readable');
  const bytes = decompressed(raw.rawHeaders, raw.body);
  if (!bytes || bytes.includes(0)) return withhold('not readable'); // UTF-16 cannot be searched
  const encoding = isUtf8(bytes) ? 'utf8' : 'latin1';
  const body = withoutPasswords(replacing(secret)(Buffer.from(bytes).toString(encoding)), secret);
  return { headers, body, encoding };
}

function decompressed(rawHeaders: readonly string[], body: Uint8Array): Uint8Array | undefined {
  try {
    return plainBody({ headers: fieldsOf(rawHeaders), body });
  } catch {
    return undefined;
  }
}

/** The last value of each field, with names in lower case. */
export function fieldsOf(rawHeaders: readonly string[]): Record<string, string> {
  const fields: Record<string, string> = Object.create(null);
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    fields[(rawHeaders[at] as string).toLowerCase()] = rawHeaders[at + 1] as string;
  }
  return fields;
}

// Credentials and sessions, which are never recorded. Fields that frame or compress the body are
// left out too, because they do not describe the recorded body.
const SECRET_FIELD = /^(?:(?:proxy-)?authorization|(?:set-)?cookie2?|x-api-key)$/i;
// The only fields that are recorded if no user_id is known: those that name programs and formats.
const OPEN_FIELD =
  /^(?:host|accept(?:-.*)?|user-agent|soapaction|content-type|date|server|cache-control|x-aspnet-version|x-powered-by|allow|vary)$/i;
const FRAMING_FIELD =
  /^(?:content-encoding|transfer-encoding|content-length|connection|keep-alive|expect|te|trailer)$/i;

function redactFields(rawHeaders: readonly string[], secret: Secret | null): RecordedFields {
  const replace = replacing(secret);
  const fields: [string, string][] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string;
    const value = rawHeaders[at + 1] as string;
    if (FRAMING_FIELD.test(name)) continue;
    const isKept = !SECRET_FIELD.test(name) && (secret !== null || OPEN_FIELD.test(name));
    fields.push([name, isKept ? replace(value) : '']);
  }
  return fields;
}

const unchanged = (text: string): string => text;

// A shorter user_id may be a part of other words, so it is replaced only as a named value.
const SEARCHED_LENGTH_MIN = 6;

/** Whether a pattern can find every occurrence of the user_id in any encoding. */
export const isSearchable = (userId: string): boolean => /^[!-~]{1,128}$/.test(userId);

function replacing(secret: Secret | null): (text: string) => string {
  if (!secret) return unchanged;
  const { userId, name } = secret;
  const isLong = userId.length >= SEARCHED_LENGTH_MIN;
  const pattern = isLong
    ? new RegExp([...userId].map(anyEncoding).join('(?:<!\\[CDATA\\[|\\]\\]>){0,9}'), 'giu')
    : undefined;
  return (text) => {
    const named = text.replace(USER_ID_PAIR, (_, start: string) => start + name);
    return pattern ? named.replace(pattern, name) : named;
  };
}

const ENTITIES: Readonly<Record<string, string>> = { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot', "'": 'apos' };

/** Matches a character as it is, percent-encoded, or as an XML reference. */
function anyEncoding(character: string): string {
  const code = character.codePointAt(0) as number;
  const hex = code.toString(16).padStart(2, '0');
  const bytes = [...Buffer.from(character)].map((byte) => `%(?:25)*${byte.toString(16).padStart(2, '0')}`).join('');
  const entity = ENTITIES[character];
  const plus = character === ' ' ? '|\\+' : '';
  const unit = code < 0x10000 ? `|%u${hex.padStart(4, '0')}` : '';
  return `(?:\\u{${hex}}|${bytes}${unit}|&#0*${code};|&#x0*${hex};${entity ? `|&${entity};` : ''}${plus})`;
}

const USER_ID_PAIR = /((?:^|[?&])user_id=)[^&#\s"]*/gi;
const PASSWORD_PAIR = /((?:^|[?&])password=)[^&#\s"]*/gi;
const elements = (name: string) =>
  new RegExp(`(<((?:[\\w.-]+:)?${name})(?:\\s[^<>]*)?>)[\\s\\S]*?(?=</\\2\\s*>)`, 'gi');
const PASSWORD_ELEMENT = elements('password');
const USER_ID_ELEMENT = elements('user_?id');

/** Removes values whose names say that they are secret, whatever the values are. */
const withoutPasswords = (text: string, secret: Secret | null): string =>
  text
    .replace(PASSWORD_ELEMENT, '$1')
    .replace(USER_ID_ELEMENT, (_, start: string) => start + (secret?.name ?? ''))
    .replace(PASSWORD_PAIR, '$1');
