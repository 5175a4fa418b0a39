import type { HttpBindings } from '@hono/node-server';
import { type Context, Hono } from 'hono';
import { Problem } from '../base/problem.ts';
import type { Console } from '../console/app.ts';
import { createUnsent, type Unsent } from '../http/unsent-bytes.ts';
import type { Api } from '../operator/api.ts';
import { createReference } from '../operator/reference.ts';
import { firstPage, page, protection } from './page.ts';
import { createReceiving, type Receiving } from './receiving.ts';

/** The operator's API and its reference, the console, carriers' callbacks, and health. */
export interface WebParts {
  readonly api: Api;
  readonly console: Console;
  /** `ready`, or the reason why the process cannot serve. */
  readonly healthState: () => Promise<string>;
  /** The network address of a client, seen through trusted proxies. */
  readonly clientOf: (bindings: HttpBindings) => string;
  /** `https://host` as the client sees it, through trusted proxies. */
  readonly baseOf: (bindings: HttpBindings) => string;
  readonly requestIdOf: (given: string | undefined) => string;
  /** For all request bodies that are being received. */
  readonly receivingBytesMax: number;
  /** For all streamed answers that clients have not read yet. */
  readonly unsentBytesMax: number;
  /** Answers the callback of a carrier. */
  readonly carriers: (name: string, request: Request, client: string) => Promise<Response>;
  /** Called for an unexpected error, never with the body of a request. */
  readonly failed: (thrown: unknown, what: string) => void;
}

interface WebBindings extends HttpBindings {
  /** Call it when the client has shown a valid token, session or secret of a carrier. */
  readonly admitted: () => void;
}

type Environment = { Bindings: WebBindings };
type Call = Context<Environment>;

/** What all requests share: the bytes that come in and those that go out. */
interface Web extends WebParts {
  readonly receiving: Receiving;
  readonly unsent: Unsent;
}

const API = '/operator/v1';

export function createWebApp(given: WebParts): Hono<Environment> {
  const { receivingBytesMax, unsentBytesMax } = given;
  const parts: Web = { ...given, receiving: createReceiving(receivingBytesMax), unsent: createUnsent(unsentBytesMax) };
  const app = new Hono<Environment>();
  app.get('/health/live', () => plain(200, 'live'));
  app.get('/health/ready', async () => {
    const state = await parts.healthState();
    return plain(state === 'ready' ? 200 : 503, state);
  });
  app.all(`${API}/*`, (call) => answer(parts, call));
  app.all('/carriers/:name', (call) => answerCarrier(parts, call, call.req.param('name')));
  app.all('/carriers/:name/*', (call) => answerCarrier(parts, call, call.req.param('name')));
  const console = (call: Call) => consoleAnswer(parts, call);
  app.all('/console', console);
  app.all('/console/*', console);
  app.get('/operator', (call) => call.redirect('/operator/', 308));
  const reference = createReference();
  app.get('/operator/', async (call) => {
    const main = await reference(parts.baseOf(call.env));
    return document(page({ title: 'The operator’s API', trail: [['Columba', '/'], ['API']], main }));
  });
  app.get('/', () => document(firstPage()));
  app.notFound(() => plain(404, 'There is nothing here.'));
  app.onError(() => plain(500, 'Internal error.'));
  return app;
}

const document = (text: string): Response =>
  new Response(text, {
    headers: { 'Content-Type': 'text/html; charset=utf-8', 'Cache-Control': 'no-cache', ...protection },
  });

const plain = (status: number, text: string): Response =>
  new Response(`${text}\n`, {
    status,
    headers: { 'Content-Type': 'text/plain; charset=utf-8', 'Cache-Control': 'no-store', ...protection },
  });

function consoleAnswer({ console, ...web }: Web, { req, env }: Call): Promise<Response> {
  const client = web.clientOf(env);
  return console({
    request: req.raw,
    body: (bytesMax, isKnown) => web.receiving.read(env, { client, bytesMax, sender: isKnown ? 'known' : 'stranger' }),
    stream: (pieces) => streamOf(web, env, pieces),
    admitted: env.admitted,
    client,
    base: web.baseOf(env),
    id: web.requestIdOf(req.header('x-request-id')),
  });
}

async function answer({ api, ...web }: Web, call: Call): Promise<Response> {
  const { pathname, search } = new URL(call.req.url);
  const id = web.requestIdOf(call.req.header('x-request-id'));
  const client = web.clientOf(call.env);
  const reply = await api({
    method: call.req.method,
    path: pathname.slice(API.length),
    query: search.slice(1),
    header: (name) => call.req.header(name) ?? null,
    body: (bytesMax) => web.receiving.read(call.env, { client, bytesMax, sender: 'known' }),
    stream: (pieces) => streamOf(web, call.env, pieces),
    admitted: call.env.admitted,
    client,
    id,
  });
  const headers = { ...reply.headers, 'X-Request-Id': id, 'X-Content-Type-Options': 'nosniff' };
  return new Response(reply.body, { status: reply.status, headers });
}

/**
 * Pieces of text as bytes. Throws Problem `too-many` if clients have left too many bytes unread.
 */
function streamOf(
  { unsent, clientOf, failed }: Pick<Web, 'unsent' | 'clientOf' | 'failed'>,
  env: HttpBindings,
  pieces: AsyncIterable<string>,
): ReadableStream {
  const holding = unsent.hold(clientOf(env), false);
  env.outgoing.once('close', holding.release);
  const stop = (thrown: unknown) => {
    if (!(thrown instanceof Problem) || thrown.kind === 'internal') failed(thrown, 'a download ended early');
    env.outgoing.destroy(); // the client must see that the answer is incomplete
  };
  return ReadableStream.from(encoded(pieces, stop));
}

/** A receipt or a message is short, but a carrier may send some hundred at once. */
const CARRIER_BODY_BYTES_MAX = 1_048_576;

/**
 * The body is received only when the connector reads it, after it has checked the path and the
 * header fields. Its answer is sent as it is.
 */
async function answerCarrier(web: Web, call: Call, name: string): Promise<Response> {
  const { carriers, failed, clientOf, receiving } = web;
  const wanted = { client: clientOf(call.env), bytesMax: CARRIER_BODY_BYTES_MAX, sender: 'carrier' } as const;
  try {
    const { method, url, headers } = call.req.raw;
    const hasBody = method !== 'GET' && method !== 'HEAD';
    const body = () => lazily(() => receiving.read(call.env, wanted));
    const request = new Request(url, { method, headers, ...(hasBody && { body: body(), duplex: 'half' }) });
    const answered = await carriers(name, request, wanted.client);
    if (answered.ok) call.env.admitted();
    return answered;
  } catch (thrown) {
    const kind = thrown instanceof Problem ? thrown.kind : 'internal';
    if (kind === 'too-large') return plain(413, 'The body is too large.');
    if (kind === 'too-many') return later(429, 'Too much data is being sent at the same time.', '1');
    if (kind === 'malformed') return plain(400, 'The body did not arrive completely.');
    if (kind === 'unsupported-media') return plain(415, 'Send the body without Content-Encoding.');
    failed(thrown, 'a callback of a carrier could not be answered');
    return kind === 'unavailable' ? later(503, 'The database is not available.', '5') : plain(500, 'Internal error.');
  }
}

function later(status: number, text: string, seconds: string): Response {
  const answered = plain(status, text);
  answered.headers.set('Retry-After', seconds);
  return answered;
}

/** A stream that calls `read` only when something reads from it. */
const lazily = (read: () => Promise<Uint8Array>): ReadableStream =>
  ReadableStream.from(
    (async function* () {
      yield await read();
    })(),
  );

async function* encoded(pieces: AsyncIterable<string>, failed: (thrown: unknown) => void): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  try {
    for await (const piece of pieces) yield encoder.encode(piece);
  } catch (thrown) {
    failed(thrown);
  }
}
