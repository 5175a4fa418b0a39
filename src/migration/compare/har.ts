import { readFileSync, statSync } from 'node:fs';
import { Problem } from '../../base/problem.ts';
import { readCall } from '../old-server/call-reader.ts';
import type { Observed } from './recorder.ts';
import { fieldsOf } from './redaction.ts';

/**
 * Reads HAR 1.2 as Fiddler, mitmproxy and Chromium write it. Each has its own habits: a byte order
 * mark, bodies in Base64, forms as parameters only, or pseudo-fields of HTTP/2.
 */
interface Named {
  readonly name?: unknown;
  readonly value?: unknown;
}
interface HarEntry {
  readonly startedDateTime?: unknown;
  readonly time?: unknown;
  readonly request?: {
    readonly method?: unknown;
    readonly url?: unknown;
    readonly headers?: readonly Named[];
    readonly postData?: { readonly text?: unknown; readonly encoding?: unknown; readonly params?: readonly Named[] };
  };
  readonly response?: {
    readonly status?: unknown;
    readonly headers?: readonly Named[];
    readonly content?: { readonly text?: unknown; readonly encoding?: unknown };
  };
}

export interface HarExchanges {
  readonly exchanges: Observed[];
  readonly entries: number;
  /** The number of entries for other services, or without an answer. */
  readonly skipped: number;
}

// The whole file is in memory while it is read.
const FILE_BYTES_MAX = 256 * 1_048_576;
const ENTRIES_MAX = 1_000_000;

export function readHar(path: string): HarExchanges {
  const { size } = statSync(path);
  if (size > FILE_BYTES_MAX) {
    throw new Problem('too-large', `${path}: more than ${FILE_BYTES_MAX} bytes. Save the session in parts.`);
  }
  return parseHar(readFileSync(path, 'utf8'), path);
}

export function parseHar(text: string, name: string): HarExchanges {
  const entries = entriesOf(text, name);
  const exchanges = entries.flatMap((entry) => exchangeOf(entry) ?? []);
  return { exchanges, entries: entries.length, skipped: entries.length - exchanges.length };
}

function entriesOf(text: string, name: string): readonly HarEntry[] {
  const wrong = (why: string) => new Problem('bad-argument', `${name}: ${why}`);
  let file: { log?: { entries?: unknown } };
  try {
    file = JSON.parse(text.replace(/^\ufeff/, ''));
  } catch {
    throw wrong('expected a HAR file, and this is no JSON');
  }
  const entries = file?.log?.entries;
  if (!Array.isArray(entries)) throw wrong('expected a HAR file with log.entries');
  if (entries.length > ENTRIES_MAX) throw wrong(`more than ${ENTRIES_MAX} entries`);
  return entries.filter((entry) => typeof entry === 'object' && entry !== null);
}

const OURS = /\/api\/+(?:account|inbox|sent|compose)\.asmx(?:[/?]|$)/i;

function exchangeOf({ startedDateTime, time, request, response }: HarEntry): Observed | null {
  const url = typeof request?.url === 'string' ? URL.parse(request.url) : null;
  const status = Number(response?.status);
  if (!url || !request || !response || !(status >= 100 && status <= 599)) return null;
  const target = url.pathname + url.search;
  if (!OURS.test(url.pathname)) return null;
  const method = String(request.method ?? '').toUpperCase();
  const rawHeaders = rawOf(request.headers);
  const body = requestBody(request.postData);
  const call = readCall({ method, target, headers: fieldsOf(rawHeaders), body });
  const at = Date.parse(String(startedDateTime));
  const ms = Number(time);
  return {
    at: Number.isNaN(at) ? 0 : at,
    userId: call?.userId ?? null,
    group: call?.group ?? null,
    operation: call?.operation ?? null,
    protocol: call?.protocol ?? null,
    request: { method, target, rawHeaders, body },
    old: {
      status,
      rawHeaders: rawOf(response.headers),
      body: answerBody(response.content),
      ms: Number.isFinite(ms) && ms >= 0 ? ms : 0,
    },
    ours: null,
    outcome: 'recorded',
    knownDifferences: [],
  };
}

/** Leaves out the encoding, because bodies in a HAR are decompressed, and HTTP/2 pseudo-fields. */
function rawOf(headers: readonly Named[] | undefined): string[] {
  if (!Array.isArray(headers)) return [];
  return headers.flatMap(({ name, value }) => {
    if (typeof name !== 'string' || name.startsWith(':') || /^content-encoding$/i.test(name)) return [];
    return [name, String(value ?? '')];
  });
}

type PostData = NonNullable<NonNullable<HarEntry['request']>['postData']>;

function requestBody(postData: PostData | undefined): Uint8Array {
  if (!postData) return new Uint8Array();
  if (typeof postData.text === 'string' && postData.text !== '') return bytesOf(postData.text, postData.encoding);
  // The tool has written only the decoded parameters.
  const pairs = Array.isArray(postData.params) ? postData.params : [];
  const fields = pairs.map(({ name, value }): [string, string] => [String(name ?? ''), String(value ?? '')]);
  return Buffer.from(new URLSearchParams(fields).toString());
}

/** Returns undefined if the tool did not save the content. */
function answerBody(content: { readonly text?: unknown; readonly encoding?: unknown } | undefined) {
  return typeof content?.text === 'string' ? bytesOf(content.text, content.encoding) : undefined;
}

const bytesOf = (text: string, encoding: unknown): Uint8Array =>
  Buffer.from(text, encoding === 'base64' ? 'base64' : 'utf8');
