import type { HttpBindings } from '@hono/node-server';
import { type Context, Hono } from 'hono';
import type { Console } from '../console/app.ts';
import type { Api, ApiReply } from '../operator/api.ts';
import { referencePage } from '../operator/reference.ts';
import { Problem } from '../problem.ts';
import { firstPage, page, protection } from './page.ts';

/** What the web listener serves: the operator's API, its reference, and health. */
export interface WebParts {
  readonly api: Api;
  readonly console: Console;
  /** `ready`, or what keeps it from serving. */
  readonly healthState: () => Promise<string>;
  /** The network address of a client, seen through trusted proxies. */
  readonly clientOf: (bindings: HttpBindings) => string;
  /** `https://host` as the client sees it, through trusted proxies. */
  readonly baseOf: (bindings: HttpBindings) => string;
  readonly requestIdOf: (given: string | undefined) => string;
  /** Answers a carrier; undefined where there is no such connector. */
  readonly carriers: (name: string, request: Request) => Promise<Response | undefined>;
  /** Called for an error that nothing expected. Never with a body. */
  readonly failed: (thrown: unknown) => void;
}

type Environment = { Bindings: HttpBindings };
type Call = Context<Environment>;

const API = '/operator/v1';

export function createWebApp(parts: WebParts): Hono<Environment> {
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
  app.get('/operator/', (call) => {
    const main = referencePage(new URL(call.req.url).origin);
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

function consoleAnswer({ console, clientOf, baseOf, requestIdOf }: WebParts, { req, env }: Call): Promise<Response> {
  const id = requestIdOf(req.header('x-request-id'));
  const body = (bytesMax: number) => bodyOf(req.raw, bytesMax);
  return console({ request: req.raw, body, client: clientOf(env), base: baseOf(env), id });
}

async function answer({ api, clientOf, requestIdOf }: WebParts, call: Call): Promise<Response> {
  const { pathname, search } = new URL(call.req.url);
  const id = requestIdOf(call.req.header('x-request-id'));
  const reply = await api({
    method: call.req.method,
    path: pathname.slice(API.length),
    query: search.slice(1),
    header: (name) => call.req.header(name) ?? null,
    body: (bytesMax) => bodyOf(call.req.raw, bytesMax),
    client: clientOf(call.env),
    id,
  });
  return responseOf(reply, id);
}

/** A receipt or a message is short, and a carrier may send some hundred at once. */
const CARRIER_BODY_BYTES_MAX = 1_048_576;

/** The connector gets the whole body, which has a limit. Its answer is sent as it is. */
async function answerCarrier({ carriers, failed }: WebParts, call: Call, name: string): Promise<Response> {
  try {
    const { method, url, headers } = call.req.raw;
    const body = await bodyOf(call.req.raw, CARRIER_BODY_BYTES_MAX);
    const hasBody = method !== 'GET' && method !== 'HEAD';
    const request = new Request(url, { method, headers, ...(hasBody && { body: Buffer.from(body) }) });
    return (await carriers(name, request)) ?? plain(404, 'There is nothing here.');
  } catch (thrown) {
    const kind = thrown instanceof Problem ? thrown.kind : 'internal';
    if (kind === 'too-large') return plain(413, 'The body is too large.');
    if (kind === 'unsupported-media') return plain(415, 'The body is to be sent without Content-Encoding.');
    failed(thrown);
    const status = kind === 'unavailable' ? 503 : 500;
    const answered = plain(status, status === 503 ? 'The database is not available.' : 'Internal error.');
    if (status === 503) answered.headers.set('Retry-After', '5');
    return answered;
  }
}

function responseOf({ status, headers, body }: ApiReply, id: string): Response {
  const fields = { ...headers, 'X-Request-Id': id, 'X-Content-Type-Options': 'nosniff' };
  return new Response(typeof body === 'string' ? body : ReadableStream.from(encoded(body)), {
    status,
    headers: fields,
  });
}

async function* encoded(pieces: AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  for await (const piece of pieces) yield encoder.encode(piece);
}

/** All of it, or Problem `too-large` as soon as that is known. */
async function bodyOf(request: Request, bytesMax: number): Promise<Uint8Array> {
  const tooLarge = () => new Problem('too-large', `The body has more than ${bytesMax} bytes.`);
  if (Number(request.headers.get('content-length') ?? 0) > bytesMax) throw tooLarge();
  if (!request.body) return new Uint8Array();
  if (request.headers.has('content-encoding')) {
    throw new Problem('unsupported-media', 'The body is to be sent without Content-Encoding.');
  }
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of request.body) {
    length += chunk.length;
    if (length > bytesMax) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
