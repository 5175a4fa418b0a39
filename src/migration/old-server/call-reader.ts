import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib';
import { contract } from '../../asmx/contract/contract.ts';
import { decodeXml, latin1 } from '../../asmx/protocols/encoding.ts';
import { parseMediaType } from '../../asmx/protocols/media-type.ts';
import { percentDecode, queryDecoder } from '../../asmx/protocols/percent-encoding.ts';
import type { ProtocolName } from '../../asmx/protocols/protocol.ts';
import { SOAP11, SOAP12 } from '../../asmx/protocols/soap-version.ts';
import type { XmlLimits } from '../../asmx/xml/limits.ts';
import { readXml } from '../../asmx/xml/reader.ts';
import { operationOf } from './answer.ts';

/**
 * Reads the names and the texts of a call as they were sent. It is more lenient than the endpoint:
 * it ignores the namespace and wrong arguments.
 */
export interface SeenCall {
  readonly group: string;
  readonly operation: string;
  readonly protocol: ProtocolName;
  readonly changes: boolean;
  /** Null if the call has none. */
  readonly userId: string | null;
  /** The texts of the call by name; a list has several. */
  readonly texts: Readonly<Record<string, readonly string[]>>;
}

export interface SeenRequest {
  readonly method: string;
  /** Path and query, as sent. */
  readonly target: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Uint8Array;
}

const LIMITS: XmlLimits = {
  xmlDepthMax: 32,
  xmlElementsMax: 10_000,
  xmlAttributesMax: 100,
  nameLengthMax: 200,
  textLengthMax: 1_048_576,
};
const BODY_BYTES_MAX = 4 * 1_048_576;
const PAIRS_MAX = 10_000;
const GROUP_PATH = /\/api\/+([a-z]+)\.asmx(?:\/([^/?]*))?$/i;

/** Returns null if the request is no call of the contract or cannot be read. */
export function readCall(request: SeenRequest): SeenCall | null {
  const [path = '', query = ''] = splitTarget(request.target);
  const match = GROUP_PATH.exec(path);
  const group = match?.[1]?.toLowerCase() ?? '';
  if (!Object.hasOwn(contract, group)) return null;
  try {
    if (match?.[2] === undefined) return request.method === 'POST' ? readSoap(group, request) : null;
    const operation = percentDecode(match[2], null, false);
    if (request.method === 'GET') return named(group, operation, 'get', readPairs(query));
    if (request.method !== 'POST') return null;
    return named(group, operation, 'post', readPairs(latin1(plainBody(request))));
  } catch {
    return null;
  }
}

/** The element of the operation begins within this many bytes. */
const BEGINNING_BYTES = 16_384;
const FIRST_IN_BODY = /<(?:[\w.-]+:)?Body(?:\s[^<>]*)?>\s*<(?:[\w.-]+:)?(\w+)/;

/** The names of a call whose body is too long to be read; `body` is its beginning. */
export function nameCall(request: SeenRequest): Pick<SeenCall, 'group' | 'operation' | 'protocol'> | null {
  const match = GROUP_PATH.exec(splitTarget(request.target)[0]);
  const group = match?.[1]?.toLowerCase() ?? '';
  const isNamed = match?.[2] !== undefined;
  const type = String(request.headers['content-type'] ?? '');
  const start = Buffer.from(request.body.subarray(0, BEGINNING_BYTES)).toString('latin1');
  const operation = (isNamed ? match?.[2] : FIRST_IN_BODY.exec(start)?.[1]) ?? '';
  const protocol = isNamed ? 'post' : /^application\/soap\+xml/i.test(type) ? 'soap12' : 'soap11';
  return request.method === 'POST' && operationOf(group, operation) ? { group, operation, protocol } : null;
}

const ANY_SERVICE = /\/([a-z]\w{0,63})\.asmx(?:\/(\w{1,64}))?$/i;

/**
 * The name of a call that the contract lacks: an operation or a whole service of the old server.
 * Null for calls of the contract, for documents, and for requests without a readable name.
 */
export function unknownCall(request: SeenRequest): Omit<SeenCall, 'changes' | 'texts'> | null {
  const { method, target, headers } = request;
  const [, service = '', named] = ANY_SERVICE.exec(splitTarget(target)[0]) ?? [];
  if (service === '' || (method !== 'POST' && (method !== 'GET' || named === undefined))) return null;
  const isSoap12 = /^application\/soap\+xml/i.test(String(headers['content-type'] ?? ''));
  const soap = isSoap12 ? 'soap12' : 'soap11';
  const protocol = named === undefined ? soap : method === 'GET' ? 'get' : 'post';
  const operation = named ?? FIRST_IN_BODY.exec(beginningText(request))?.[1]?.slice(0, 64) ?? actionOf(headers);
  const group = service.toLowerCase();
  if (operation === undefined || operationOf(group, operation)) return null;
  return { group, operation, protocol, userId: userIdOf(request, protocol) };
}

/** A recording lacks the body of such a call, but SOAP 1.1 names the operation in a header too. */
const actionOf = (headers: SeenRequest['headers']): string | undefined =>
  /[/#:](\w{1,64})"?\s*$/.exec(String(headers.soapaction ?? ''))?.[1];

function userIdOf(request: SeenRequest, protocol: ProtocolName): string | null {
  try {
    if (protocol === 'get') return readPairs(splitTarget(request.target)[1]).user_id?.[0] ?? null;
    if (protocol === 'post') return readPairs(latin1(plainBody(request))).user_id?.[0] ?? null;
    return readEnvelope(request)?.texts.user_id?.[0] ?? null;
  } catch {
    return null;
  }
}

function beginningText(request: SeenRequest): string {
  try {
    return Buffer.from(plainBody(request).subarray(0, BEGINNING_BYTES)).toString('latin1');
  } catch {
    return '';
  }
}

export const splitTarget = (target: string): [path: string, query: string] => {
  const mark = target.indexOf('?');
  return mark < 0 ? [target, ''] : [target.slice(0, mark), target.slice(mark + 1)];
};

function named(
  group: string,
  operation: string,
  protocol: ProtocolName,
  texts: Readonly<Record<string, string[]>>,
): SeenCall | null {
  const row = operationOf(group, operation);
  if (!row) return null;
  const userId = texts.user_id?.[0] ?? null;
  return { group, operation, protocol, changes: row.changes, userId, texts };
}

interface Texts {
  readonly texts: Record<string, string[]>;
}

/** Names become lower case, because ASMX ignores case. */
function readPairs(text: string): Record<string, string[]> {
  const texts: Record<string, string[]> = Object.create(null);
  const decode = queryDecoder(text);
  for (const pair of text.split('&', PAIRS_MAX)) {
    const equals = pair.indexOf('=');
    if (equals < 0) continue;
    const name = percentDecode(pair.slice(0, equals), decode, true).toLowerCase();
    texts[name] ??= [];
    texts[name].push(percentDecode(pair.slice(equals + 1), decode, true));
  }
  return texts;
}

function readSoap(group: string, request: SeenRequest): SeenCall | null {
  const found = readEnvelope(request);
  return found && named(group, found.operation, found.protocol, found.texts);
}

function readEnvelope(request: SeenRequest): (Pick<SeenCall, 'operation' | 'protocol'> & Texts) | null {
  const field = request.headers['content-type'];
  const { charset } = parseMediaType(Array.isArray(field) ? field[0] : field).parameters;
  const root = readXml(decodeXml(plainBody(request), charset), LIMITS);
  const version = [SOAP11, SOAP12].find(({ uri }) => uri === root.uri);
  const element = root.children.find(({ local }) => local === 'Body')?.children[0];
  if (!version || !element) return null;
  const texts: Record<string, string[]> = Object.create(null);
  for (const { local, text, children } of element.children) {
    texts[local] ??= [];
    texts[local].push(...(children.length > 0 ? children.map((item) => item.text) : [text]));
  }
  return { operation: element.local, protocol: version.protocol, texts };
}

/** Decodes the Content-Encoding. Throws if it is unknown, or the body is invalid or too large. */
export function plainBody({ headers, body }: Pick<SeenRequest, 'headers' | 'body'>): Uint8Array {
  const field = headers['content-encoding'];
  const coding = (Array.isArray(field) ? field.join(',') : (field ?? '')).trim().toLowerCase();
  const limit = { maxOutputLength: BODY_BYTES_MAX };
  if (coding === 'gzip' || coding === 'x-gzip') return gunzipSync(body, limit);
  if (coding === 'deflate') return inflateSync(body, limit);
  if (coding === 'br') return brotliDecompressSync(body, limit);
  if (coding === '' || coding === 'identity') return body;
  throw new Error(`unknown Content-Encoding`);
}
