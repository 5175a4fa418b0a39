import { createHash, timingSafeEqual } from 'node:crypto';
import { BoundedMap } from '../../base/bounded-map.ts';
import { fieldBytes, splitFields } from '../../base/form-fields.ts';
import { Problem } from '../../base/problem.ts';
import { readAddress, readPart } from '../../sms/user-data.ts';
import type { CarrierEvents } from '../connector.ts';
import { TEXT_MAX } from '../submissions.ts';
import type { KannelDependencies } from './config.ts';
import { readText } from './incoming.ts';
import { type ReadReceipt, readReceipt, readUnixTime } from './receipts.ts';

/**
 * Answers the callbacks of smsbox: receipts (`…/SECRET/dlr`) and messages from phones
 * (`…/SECRET/mo`). smsbox accepts only 200 and 202; it repeats the callback after any other answer.
 */

/** A message of 255 UCS-2 parts has 34,170 octets. */
const BODY_BYTES_MAX = 64 * 1024;
const QUERY_LENGTH_MAX = 16 * 1024;
const FIELDS_MAX = 100;
const PROBES_MAX = 1_000;
/** Ids and addresses, which are short. Two ids that differ only beyond TEXT_MAX would be equal. */
const SHORT = ['id', 'f', 'from', 'to'];
/** An id in a dlr-url that begins with this belongs to `columba check`, not to an attempt. */
const PROBE_PREFIX = 'probe-';

export interface CallbackParts extends KannelDependencies {
  readonly name: string;
  readonly secret: string;
  readonly events: () => CarrierEvents | null;
  /** Returns true if the receipt only says why a submission was refused. */
  readonly explainsRefusal: (attemptId: string, receipt: ReadReceipt) => Promise<boolean>;
}

export function createCallbacks(parts: CallbackParts): (request: Request) => Promise<Response> {
  const probes = new BoundedMap<string, true>(PROBES_MAX);

  async function answer(request: Request): Promise<Response> {
    const { pathname, search } = new URL(request.url);
    const [given = '', action = ''] = pathname.split('/').slice(-2);
    if (!isEqual(given, parts.secret)) throw new Problem('denied', 'the secret in the path is wrong');
    if (request.method !== 'GET' && request.method !== 'POST') return reply(405, 'GET and POST only.');
    if (search.length > QUERY_LENGTH_MAX) return reply(414, 'The query is too long.');
    const query = readQuery(search);
    if (query === null) return reply(400, `The query has more than ${FIELDS_MAX} fields.`);
    const long = SHORT.find((name) => (query.get(name)?.length ?? 0) > TEXT_MAX);
    if (long !== undefined) return reply(400, `The parameter ${long} has more than ${TEXT_MAX} bytes.`);
    if (action === 'probe') return reply(200, probes.has(textOf(query, 'id')) ? 'seen' : 'not seen');
    const events = parts.events();
    if (action === 'dlr' && isProbe(query)) {
      probes.set(textOf(query, 'id'), true);
      return reply(200, '');
    }
    if (action === 'dlr') return receipt(parts, query, events);
    if (action === 'mo') return incoming(parts, request, query, events);
    return reply(404, 'There is nothing here.');
  }

  return async (request) => {
    try {
      return await answer(request);
    } catch (error) {
      if (error instanceof Problem && error.kind === 'denied') throw error;
      parts.log.warn({ connector: parts.name, err: error }, 'kannel: a callback failed; smsbox will repeat it');
      return reply(503, 'Not stored. Try again.');
    }
  };
}

async function receipt(parts: CallbackParts, query: Query, events: CarrierEvents | null): Promise<Response> {
  const id = textOf(query, 'id');
  const read = readReceipt(Number(textOf(query, 'd')), textOf(query, 'a'));
  if (read === null || id === '') {
    // smsbox would repeat a refused receipt for as long as it is configured to, in vain.
    parts.log.warn({ connector: parts.name }, 'kannel: a receipt without id or kind');
    return reply(200, '');
  }
  if (await parts.explainsRefusal(id, read)) return reply(200, '');
  if (events === null) return reply(503, 'The connector is not started.');
  await events.receipt({
    connector: parts.name,
    attemptId: id,
    gatewayId: textOf(query, 'f'),
    status: read.status,
    at: readUnixTime(textOf(query, 't'), parts.now()),
    detail: read.detail,
  });
  return reply(200, '');
}

async function incoming(
  parts: CallbackParts,
  request: Request,
  query: Query,
  events: CarrierEvents | null,
): Promise<Response> {
  if (!query.has('from') || !query.has('to')) {
    parts.log.warn({ connector: parts.name }, 'kannel: a message without from or to; see the post-url');
    return reply(400, 'The parameters from and to are missing.');
  }
  const body = request.method === 'GET' ? (query.get('text') ?? Buffer.alloc(0)) : await bodyOf(request);
  if (body === null) return reply(413, `A message has at most ${BODY_BYTES_MAX} octets.`);
  if (events === null) return reply(503, 'The connector is not started.');
  const coding = textOf(query, 'coding');
  await events.incoming({
    connector: parts.name,
    gatewayId: textOf(query, 'id'),
    sender: readAddress(textOf(query, 'from')),
    destination: readAddress(textOf(query, 'to')),
    text: readText({
      coding: coding === '' ? null : Number(coding),
      charset: textOf(query, 'charset') || null,
      body,
    }),
    receivedAt: readUnixTime(textOf(query, 'at'), parts.now()),
    part: readPart(query.get('udh') ?? null),
  });
  return reply(200, '');
}

export const probeId = (random: string): string => `${PROBE_PREFIX}${random}`;
const isProbe = (query: Query): boolean => textOf(query, 'id').startsWith(PROBE_PREFIX);

const reply = (status: number, text: string): Response =>
  new Response(text, { status, headers: { 'Content-Type': 'text/plain; charset=utf-8', 'Cache-Control': 'no-store' } });

/** Compares in the same time for every wrong secret. */
function isEqual(given: string, secret: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text, 'utf8').digest();
  return timingSafeEqual(digest(given), digest(secret));
}

type Query = ReadonlyMap<string, Buffer>;

/** Reads values as octets, because texts need not be UTF-8. Returns null for too many fields. */
function readQuery(search: string): Query | null {
  const pairs = splitFields(search.slice(1), FIELDS_MAX);
  return pairs && new Map(pairs.map(([name, value]) => [fieldBytes(name).toString('utf8'), fieldBytes(value)]));
}

const textOf = (query: Query, name: string): string => query.get(name)?.toString('utf8') ?? '';

/** Returns null if the body is too long. */
async function bodyOf(request: Request): Promise<Buffer | null> {
  if (Number(request.headers.get('content-length') ?? 0) > BODY_BYTES_MAX) return null;
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of request.body ?? []) {
    length += chunk.length;
    if (length > BODY_BYTES_MAX) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, length);
}
