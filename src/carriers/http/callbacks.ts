import { Problem } from '../../base/problem.ts';
import type { CarrierEvents } from '../connector.ts';
import { type ReadCallback, readCallback } from './callback-reading.ts';
import type { HttpConfig } from './config.ts';
import type { Callback, ProviderFile } from './form.ts';
import { type Keys, refusalBeforeBody, refusalOfSignature, type Signed } from './signatures.ts';

/**
 * Answers the provider: receipts and messages from phones. Nothing is read of a request that does
 * not prove that it comes from the provider, and nothing is acknowledged before it is on disk.
 */
export interface ProviderCallbackParts {
  readonly name: string;
  readonly file: ProviderFile;
  readonly config: HttpConfig;
  readonly now: () => number;
  readonly events: () => CarrierEvents | undefined;
  /** Called with what nothing of the file reads, for the operator. */
  readonly unread: (head: string, body: Uint8Array) => void;
}

const BODY_BYTES_MAX = 256 * 1024;
const QUERY_LENGTH_MAX = 16 * 1024;

export function createProviderCallbacks(parts: ProviderCallbackParts): (request: Request) => Promise<Response> {
  const { name, file, config, now } = parts;
  const keys: Keys = config;
  const publicUrl = (config.publicUrl ?? '').replace(/\/+$/, '');

  return async (request) => {
    const { pathname, search } = new URL(request.url);
    const header = (field: string) => request.headers.get(field) ?? undefined;
    const candidates = candidatesOf(file, pathname);
    const [first] = candidates;
    if (!first) throw new Problem('denied', 'the file of the provider has no such callback');
    const known = { header, url: `${publicUrl}${pathname}${search}`, now: now() };
    const early = refusalBeforeBody(first.check, known, keys, pathname.split('/').at(-2) ?? '');
    if (early !== null) throw new Problem('denied', early);
    const body = await bodyOf(request);
    const signed: Signed = { ...known, body };
    const refused = refusalOfSignature(first.check, signed, keys);
    if (refused !== null) throw new Problem('denied', refused);
    if (search.length > QUERY_LENGTH_MAX) return plain(414, 'The query is too long.');
    if (!candidates.some(({ methods }) => methods.includes(request.method as 'GET')))
      return plain(405, 'Wrong method.');
    const events = parts.events();
    if (!events) return plain(503, 'The connector is not started.', { 'Retry-After': '5' });
    const received = { method: request.method, header, query: search.slice(1), body };
    const context = { connector: name, now: now(), setting: (own: string) => config.settings[own] };
    const read = readCallback(candidates, received, context);
    const head = `${request.method} …/${first.path} ${search === '' ? '' : search}`;
    if (read === null) parts.unread(`${head}\nno callback of the file fits`, body);
    else for (const why of new Set(read.ignored)) parts.unread(`${head}\n${why}`, body);
    return read === null || (await stored(read, events))
      ? answerOf(first)
      : plain(503, 'Not stored. Try again.', RETRY);
  };
}

const RETRY = { 'Retry-After': '5' };

/** `…/SECRET/PATH` if the secret is in the path, else `…/PATH`. */
function candidatesOf({ callbacks }: ProviderFile, pathname: string): Callback[] {
  const [, , , ...steps] = pathname.split('/');
  return callbacks.filter(
    ({ path, check }) => steps.at(-1) === path && steps.length === (check.kind === 'secretPath' ? 2 : 1),
  );
}

/** False if the database does not take it now. All entries are tried, even if one fails. */
async function stored({ receipts, messages }: ReadCallback, events: CarrierEvents): Promise<boolean> {
  const told = [...receipts.map((each) => events.receipt(each)), ...messages.map((each) => events.incoming(each))];
  const failed = (await Promise.allSettled(told)).find((each) => each.status === 'rejected');
  if (!failed) return true;
  if (!(failed.reason instanceof Problem) || failed.reason.kind !== 'unavailable') throw failed.reason;
  return false;
}

/** A body that is too large is not read to its end, so its signature proves nothing. */
async function bodyOf(request: Request): Promise<Buffer> {
  const tooLarge = () => new Problem('denied', `the body has more than ${BODY_BYTES_MAX} bytes`);
  if (Number(request.headers.get('content-length') ?? 0) > BODY_BYTES_MAX) throw tooLarge();
  const body = await request.arrayBuffer().then(Buffer.from, (thrown) => {
    // A stranger must not learn from another answer that there is such a connector.
    throw thrown instanceof Problem && thrown.kind === 'too-large' ? tooLarge() : thrown;
  });
  if (body.length > BODY_BYTES_MAX) throw tooLarge();
  return body;
}

const answerOf = ({ answer: { status, type = 'text/plain; charset=utf-8', body } }: Callback): Response =>
  new Response(status === 204 ? null : (body ?? ''), {
    status,
    headers: { ...(status !== 204 && { 'Content-Type': type }), 'Cache-Control': 'no-store' },
  });

const plain = (status: number, text: string, fields: Readonly<Record<string, string>> = {}): Response =>
  new Response(text, {
    status,
    headers: { 'Content-Type': 'text/plain; charset=utf-8', 'Cache-Control': 'no-store', ...fields },
  });
