import { readFields } from '../base/form-fields.ts';
import { networkList } from '../base/networks.ts';
import { methodNotAllowed, Problem, toProblem } from '../base/problem.ts';
import { anyTokenExists, type Bearer, bearerOf, tokenUsed } from '../domain/access/tokens.ts';
import {
  claimKey,
  createKeyLimits,
  releaseKey,
  type StoredAnswer,
  storeAnswer,
} from '../domain/accounts/idempotency.ts';
import type { Action, Services } from './action.ts';
import { actions } from './actions/all.ts';
import type { Actor, Scope } from './actor.ts';
import { createEntityTags } from './entity-tag.ts';
import { fingerprintOf, keyName, readKey, seal, unseal } from './idempotency.ts';
import { type RawInput, readInput, refused } from './input.ts';
import { readJson } from './json-body.ts';
import { createPathRouter } from './path-router.ts';
import { type Begin, checkScope, type Finish, isChange, type Performed, perform } from './perform.ts';
import { problemJson } from './problem-json.ts';

/** The JSON API: a request of HTTP as plain data, and its answer. */
export interface ApiRequest {
  readonly method: string;
  /** The path below /operator/v1, as it was sent. */
  readonly path: string;
  /** Without the question mark. */
  readonly query: string;
  readonly header: (name: string) => string | null;
  /** Reads the whole body. Throws Problem `too-large` beyond the limit. */
  readonly body: (bytesMax: number) => Promise<Uint8Array>;
  /** Throws Problem `too-many` if too many bytes already wait for clients to take them. */
  readonly stream: (pieces: AsyncIterable<string>) => ReadableStream;
  /** Called when the token is known to be valid. */
  readonly admitted?: () => void;
  readonly client: string;
  readonly id: string;
}

export interface ApiReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | ReadableStream;
}

export interface ApiSettings {
  readonly services: Services;
  readonly bodyBytesMax: number;
  /** Throws Problem `too-many`. */
  readonly admitClient: (client: string) => void | Promise<void>;
  /** The rate limit of an address: so many requests in so many seconds. */
  readonly ratePolicy?: { readonly burst: number; readonly seconds: number };
  /** Resolves when a request without a valid token may be answered. */
  readonly authenticationFailed: (client: string) => Promise<void>;
  /** Called for an invalid token and for a missing scope, for the log and the metrics. */
  readonly refused?: (reason: 'token' | 'scope', client: string) => void;
  /** Called for internal errors and for a database that does not answer, for the log. */
  readonly report: (problem: Problem, requestId: string) => void;
}

const entityTags = createEntityTags(actions);

export type Api = (request: ApiRequest) => Promise<ApiReply>;

const NOT_FOUND = () => new Problem('not-found', 'There is nothing at this path.');

/** Throws Problem where no action has the method and the path. */
export function createActionRouter(among: readonly Action[]) {
  const routeOf = createPathRouter(
    among.flatMap((action) =>
      [action.path, ...(action.formerly ? [action.formerly.path] : [])].map((path) => ({
        action,
        method: action.method,
        path: path.replace(/\{(\w+)\}/g, ':$1'),
      })),
    ),
  );
  return (method: string, path: string) => {
    const found = routeOf(method, path);
    if (found.route) return { action: found.route.action, params: found.params };
    throw found.allowed.length === 0 ? NOT_FOUND() : methodNotAllowed(found.allowed);
  };
}

/** Made once for the program, because it takes 1 ms and holds no state. */
const routeAction = createActionRouter(actions);

interface Keyed {
  readonly name: string;
  readonly secret: string;
  readonly fingerprint: string;
  readonly token: bigint;
}

export function createApi(settings: ApiSettings): Api {
  const { services, report } = settings;
  const { database } = services;
  const keyLimits = createKeyLimits(database, services.now);

  async function answer(request: ApiRequest): Promise<ApiReply> {
    await settings.admitClient(request.client);
    const { bearer, secret } = await authenticate(request);
    request.admitted?.();
    const { action, params } = routeAction(request.method, request.path);
    const actor = actorOf(bearer, request.client);
    checkScope(action, actor); // before the body is read
    const bytes = await request.body(action.upload?.bytesMax ?? settings.bodyBytesMax);
    const raw = rawInput(action, params, request, bytes);
    const key = action.method === 'POST' ? readKey(request.header('idempotency-key')) : null;
    const begin = preconditionOf(request, action, actor);
    // Nothing is stored for a dry run or a wrong input, because repeating it does no harm.
    if (key === null || !isChange(action, readInput(action, raw)))
      return replyOf(action, request, raw, await perform(services, action, raw, actor, undefined, begin));
    const name = keyName(bearer.id, request.path, key);
    const fingerprint = fingerprintOf(request.query, bytes);
    const keyed = { name, secret, fingerprint, token: bearer.id };
    return performOnce(action, raw, actor, request, keyed);
  }

  /**
   * Answers a request with an Idempotency-Key: with the stored answer, or with the first answer,
   * which is stored in the transaction of the change.
   */
  async function performOnce(
    action: Action,
    raw: RawInput,
    actor: Actor,
    request: ApiRequest,
    { name, secret, fingerprint, token }: Keyed,
  ): Promise<ApiReply> {
    const claimed = await claimKey(database, name, fingerprint, services.now(), token);
    if (!('claim' in claimed)) return replay(claimed, secret, name);
    let bytes = 0;
    const sealed = (status: number, headers: object, body: string): StoredAnswer => {
      const answer = seal(JSON.stringify({ headers, body }), secret, name);
      bytes = answer.length;
      return { status, answer };
    };
    const finish: Finish = async (inside, performed) => {
      const { status, headers, body } = replyOf(action, request, raw, performed);
      await storeAnswer(inside, claimed, sealed(status, headers, body as string));
    };
    try {
      await keyLimits.admit(token);
      return replyOf(action, request, raw, await perform(services, action, raw, actor, finish));
    } catch (thrown) {
      const problem = toProblem(thrown, request.id);
      const { status, headers, body } = problemJson(problem);
      // A refusal is not stored if a repetition may succeed, or if a field was wrong: the client
      // may correct the field and use the same key.
      if (status >= 500 || status === 429 || problem.details.errors) await releaseKey(database, claimed);
      else await storeAnswer(database, claimed, sealed(status, headers, body));
      throw problem;
    } finally {
      if (bytes > 0) await keyLimits.stored(token, bytes).catch(() => {}); // the next key tries again
    }
  }

  /** Reads the token from the database each time, so a revocation counts from the next request. */
  async function authenticate({ header, client }: ApiRequest): Promise<{ bearer: Bearer; secret: string }> {
    const { now } = services;
    const [, secret = ''] = /^Bearer +([\w-]+) *$/i.exec(header('authorization') ?? '') ?? [];
    const bearer = await bearerOf(database, secret, now());
    if (!bearer || !isAdmitted(bearer, client)) {
      if (!(await anyTokenExists(database))) throw NOT_FOUND();
      await settings.authenticationFailed(client);
      throw new Problem('denied', 'The request needs a valid bearer token.');
    }
    await tokenUsed(database, bearer, now());
    return { bearer, secret };
  }

  const { ratePolicy } = settings;
  const policy = ratePolicy && { 'RateLimit-Policy': `"address";q=${ratePolicy.burst};w=${ratePolicy.seconds}` };
  return async (request) => {
    try {
      const reply = await answer(request);
      return { ...reply, headers: { ...reply.headers, ...policy }, body: request.method === 'HEAD' ? '' : reply.body };
    } catch (thrown) {
      const problem = toProblem(thrown, request.id);
      if (problem.kind === 'internal' || problem.kind === 'unavailable') report(problem, request.id);
      if (problem.kind === 'denied') settings.refused?.('token', request.client);
      if (problem.kind === 'forbidden') settings.refused?.('scope', request.client);
      const { status, headers, body } = problemJson(problem);
      return {
        status,
        headers: { ...headers, ...policy, ...rateLimitOf(problem, policy), 'Cache-Control': 'no-store' },
        body: request.method === 'HEAD' ? '' : body,
      };
    }
  };
}

/** What is left of the limit, where nothing is (draft-ietf-httpapi-ratelimit-headers). */
function rateLimitOf({ kind, details }: Problem, policy: object | undefined): Readonly<Record<string, string>> {
  if (policy === undefined || kind !== 'too-many') return {};
  return { RateLimit: `"address";r=0;t=${details.retryAfterSeconds ?? 1}` };
}

/** The networks that an account allows apply to its tokens too. */
function isAdmitted({ account }: Bearer, client: string): boolean {
  if (!account || account.networks === null) return true;
  return networkList(account.networks.split(','))(client);
}

const actorOf = (bearer: Bearer, address: string): Actor => ({
  kind: bearer.kind,
  name: bearer.name,
  tokenId: bearer.id,
  address,
  scopes: bearer.scopes as readonly Scope[],
  expiresAt: bearer.expiresAt,
  account: bearer.account,
});

function replay({ status, answer }: StoredAnswer, secret: string, name: string): ApiReply {
  const { headers, body } = JSON.parse(unseal(answer, secret, name)) as Pick<ApiReply, 'headers' | 'body'>;
  return { status, headers: { ...headers, 'Idempotent-Replayed': 'true' }, body };
}

/** Compares the object with the If-Match field; undefined if the request has no such field. */
function preconditionOf(request: ApiRequest, action: Action, actor: Actor): Begin | undefined {
  const ifMatch = request.header('if-match');
  if (ifMatch === null) return undefined;
  if (!entityTags.has(action)) {
    throw refused([
      { pointer: 'If-Match', detail: 'what is at this path has no ETag, or is not changed by this method' },
    ]);
  }
  return (services, { params }) => entityTags.check(action, ifMatch, { services, params, actor });
}

/** The path of what was created: RFC 9110 §15.3.2. */
function locationOf({ location }: Action, { params }: RawInput, { status, output }: Performed): string | null {
  if (location === undefined || status !== 201) return null;
  const fields = { ...(output as Record<string, unknown>), ...params };
  return `/operator/v1${location.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(String(fields[name])))}`;
}

function replyOf(action: Action, request: ApiRequest, raw: RawInput, performed: Performed): ApiReply {
  const { status, output, stream } = performed;
  const location = locationOf(action, raw, performed);
  const tag = entityTags.tagOf(action, output);
  const headers = { 'Cache-Control': 'no-store', ...(location && { Location: location }), ...(tag && { ETag: tag }) };
  if (stream && action.download) {
    const disposition = `attachment; filename="${action.download.fileName}"`;
    const type = { 'Content-Type': action.download.mediaType, 'Content-Disposition': disposition };
    return { status, headers: { ...headers, ...type }, body: request.stream(stream) };
  }
  const next = action.position === null ? null : (output as { next: string | null }).next;
  const link = next === null ? {} : { Link: `<${nextPage(request, next)}>; rel="next"` };
  return {
    status,
    headers: { ...headers, 'Content-Type': 'application/json', ...link },
    body: JSON.stringify(output),
  };
}

function nextPage({ path, query }: ApiRequest, next: string): string {
  const parameters = new URLSearchParams(queryFields(query));
  parameters.set('after', next);
  return `/operator/v1${path}?${parameters}`;
}

const QUERY_FIELDS_MAX = 100;

function queryFields(query: string): [string, string][] {
  const fields = readFields(query, QUERY_FIELDS_MAX);
  if (!fields) throw new Problem('too-large', `A query has at most ${QUERY_FIELDS_MAX} fields.`);
  return fields;
}

function rawInput(action: Action, params: RawInput['params'], request: ApiRequest, bytes: Uint8Array): RawInput {
  const query: Record<string, string> = {};
  const twice: string[] = [];
  for (const [name, value] of queryFields(request.query)) {
    if (Object.hasOwn(query, name)) twice.push(name);
    Object.defineProperty(query, name, { value, enumerable: true, configurable: true });
  }
  if (twice.length > 0) {
    throw refused(twice.map((name) => ({ pointer: `?${name.slice(0, 100)}`, detail: 'this was given twice' })));
  }
  const raw = { params, query, body: undefined, upload: new Uint8Array() };
  const type = (request.header('content-type') ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
  if (action.upload) {
    if (type !== action.upload.mediaType) throw unsupported(action.upload.mediaType);
    return { ...raw, upload: bytes };
  }
  if (bytes.length > 0 && !isJson(type, action)) throw unsupported('application/json');
  if (action.body) return { ...raw, body: bytes.length === 0 ? {} : readJson(bytes) };
  if (bytes.length > 0 && !isEmptyObject(readJson(bytes))) {
    throw refused([{ pointer: '#', detail: 'this request takes no body' }]);
  }
  return raw;
}

const isJson = (type: string, { method }: Action): boolean =>
  type === 'application/json' || (method === 'PATCH' && type === 'application/merge-patch+json');

const unsupported = (expected: string) => new Problem('unsupported-media', `The body must have the type ${expected}.`);

const isEmptyObject = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length === 0;
