import { hash } from 'node:crypto';
import { readFields } from '../base/form-fields.ts';
import { type Html, html } from '../base/html.ts';
import { Problem, toProblem } from '../base/problem.ts';
import { utf8Bytes } from '../base/utf8.ts';
import type { Session } from '../domain/access/sessions.ts';
import { createSignIn } from '../domain/access/sign-in.ts';
import { accountId, accountRecord } from '../domain/accounts/accounts.ts';
import { addAuditEntry } from '../domain/accounts/audit.ts';
import type { Services } from '../operator/action.ts';
import { domainOf } from '../operator/domain.ts';
import { createPathRouter, decode, type Found, type NotFound } from '../operator/path-router.ts';
import { STATUS } from '../operator/problem-json.ts';
import { createSignInPages, type Guest } from './access/sign-in.ts';
import { createActing } from './acting.ts';
import { NO_FORM, readForm, type SentForm } from './form.ts';
import { assets, frameAround, framed, protection, type Viewer } from './frame.ts';
import { problemNote } from './lists.ts';
import type { PageRequest, Route, View } from './page-request.ts';
import { type ContractLoad, checkLoad, createPageSemaphore } from './page-semaphore.ts';
import { head } from './parts.ts';
import { customerRoutes, operatorRoutes } from './screens.ts';
import { isOwnRequest, readCookie, siteOf } from './session.ts';
import { frameTexts as texts } from './texts.ts';

/** The console: pages for customers and for operators, below /console. */
export interface ConsoleRequest {
  readonly request: Request;
  /**
   * Reads the whole body; throws Problem `too-large` beyond the limit. The body of somebody without
   * a session is dropped first when room is needed.
   */
  readonly body: (bytesMax: number, isKnown: boolean) => Promise<Uint8Array>;
  /** Throws Problem `too-many` if too many bytes already wait for clients to take them. */
  readonly stream: (pieces: AsyncIterable<string>) => ReadableStream;
  /** Called when the session is known to be valid. */
  readonly admitted?: () => void;
  /** The address of the client, as trusted proxies report it. */
  readonly client: string;
  /** `https://host` as the client sees it. */
  readonly base: string;
  readonly id: string;
}
export type Console = (given: ConsoleRequest) => Promise<Response>;

export interface ConsoleSettings {
  readonly services: Services;
  /** Throws Problem `too-many`. */
  readonly admitClient: (client: string) => void | Promise<void>;
  /** Called for internal errors and for a database that does not answer, for the log. */
  readonly report: (problem: Problem, requestId: string) => void;
  /** Calls of the contract come first. The default is `free`, if other processes serve them. */
  readonly contractLoad?: ContractLoad;
  /** Called for each wrong password, code or link, with the address that it came from. */
  readonly signInRefused?: (address: string) => void;
}

const ROOT = '/console';
const FORM_BYTES_MAX = 256 * 1_024;
const NOT_FOUND = () => new Problem('not-found', texts.problems.notFound);

export function createConsole(settings: ConsoleSettings): Console {
  const { services, admitClient, report, contractLoad = () => 'free' } = settings;
  const signIn = createSignIn(services.database, { ...services, refused: settings.signInRefused });
  const domain = domainOf(services);
  const routeOf = createScreenRoutes();
  const guestPages = createSignInPages(signIn);
  const whenAdmitted = createPageSemaphore({ contractLoad, sleep: services.sleep });

  async function answer(given: ConsoleRequest): Promise<Response> {
    const { request, client } = given;
    const url = new URL(request.url);
    const asset = assets.get(url.pathname);
    if (asset) return assetResponse(asset);
    checkLoad(contractLoad);
    await admitClient(client);
    const header = (name: string) => request.headers.get(name);
    const site = siteOf(given.base);
    checkMethod(request.method, () => isOwnRequest(header, site));
    const path = url.pathname === ROOT ? `${ROOT}/` : url.pathname;
    const cookie = site.isUsable ? readCookie(header('cookie'), site) : null;
    const session = cookie === null ? null : await signIn.sessionOf(cookie, client);
    if (session) given.admitted?.();
    const origin = { address: client, agent: header('user-agent') ?? '' };
    const sent = sentForm(given, session !== null);
    const guest: Guest = {
      request,
      sent,
      path,
      query: queryOf(url),
      site,
      origin,
      session,
      hasEnded: cookie !== null && session === null,
    };
    const guestView = await guestPages(guest);
    if (guestView) return responseOf(guestView, null, given);
    return whenAdmitted(() => respond(given, session as Session, guest));
  }

  async function respond(given: ConsoleRequest, session: Session, guest: Guest) {
    const { client, request } = given;
    const { sent, path, query, site, origin } = guest;
    const { route, params, base, username } = routeOf(request.method, path.slice(ROOT.length), session);
    const isOperator = session.owner.kind === 'operator';
    const account = username === null ? null : await accountOf(services, username);
    const form = request.method === 'POST' ? await readForm(sent, route.bytesMax ?? FORM_BYTES_MAX) : NO_FORM;
    const pageRequest: PageRequest = {
      session,
      isOperator,
      base,
      account: account ?? { id: 0n, username: '' },
      zone: account?.zone ?? 'UTC',
      now: services.now(),
      path,
      params,
      query,
      form,
      services,
      domain,
      act: createActing(services, session.owner, client),
      signIn,
      origin,
      site,
      signal: request.signal,
    };
    if (isOperator && account && !query.has('part')) await noteView(pageRequest, route.path);
    const viewed = isOperator && account ? { username: account.username, base } : null;
    const view = await shown(route, pageRequest);
    const isFramed = view.kind === 'page' || view.kind === 'progress';
    const unread = account && isFramed ? await domain.received.countUnread(account.id) : null;
    const { zone, now } = pageRequest;
    const { name: signedInAs } = session.owner;
    const name = (isOperator ? null : account?.company) ?? signedInAs;
    const viewer: Viewer = { name, signedInAs, isOperator, viewed, zone, now, unread };
    return responseOf(view, viewer, given);
  }

  return async (given) => {
    try {
      return await answer(given);
    } catch (thrown) {
      const problem = toProblem(thrown, given.id);
      if (isReported(problem)) report(problem, given.id);
      return responseOf(problemView(problem), null, given);
    }
  };
}

const sentForm = ({ request, body }: ConsoleRequest, isKnown: boolean): SentForm => ({
  contentType: request.headers.get('content-type') ?? '',
  body: (bytesMax) => body(bytesMax, isKnown),
});

function checkMethod(method: string, isOwn: () => boolean): void {
  if (method === 'GET' || method === 'HEAD') return;
  if (method !== 'POST') throw new Problem('method', 'This takes GET and POST only.');
  if (!isOwn()) throw new Problem('forbidden', texts.problems.crossSite);
}

const QUERY_FIELDS_MAX = 200;

/** Counts the fields before they are parsed, which `searchParams` of a URL does not do. */
function queryOf({ search }: URL): URLSearchParams {
  const fields = readFields(search.slice(1), QUERY_FIELDS_MAX);
  if (!fields) throw new Problem('too-large', `A query has at most ${QUERY_FIELDS_MAX} fields.`);
  return new URLSearchParams(fields);
}

/** Customers see their own account; operators see the service, and accounts by their name. */
function createScreenRoutes() {
  const ofCustomer = createPathRouter(customerRoutes);
  const ofOperator = createPathRouter(operatorRoutes);
  return (method: string, path: string, { owner }: Session) => {
    const chosen = (found: Found<Route> | NotFound, base: string, username: string | null) => {
      if (found.route) return { ...found, base, username };
      throw found.allowed.length === 0 ? NOT_FOUND() : new Problem('method', 'This page does not accept this method.');
    };
    if (owner.kind === 'account') return chosen(ofCustomer(method, path), ROOT, owner.name);
    const own = ofOperator(method, path);
    const [, name = '', rest] = /^\/accounts\/([^/]+)(\/.*)$/.exec(path) ?? [];
    if (!own.route && rest !== undefined && decode(name) !== '') {
      return chosen(ofCustomer(method, rest), `${ROOT}/accounts/${encodeURIComponent(decode(name))}`, decode(name));
    }
    return chosen(own, ROOT, null);
  };
}

async function accountOf({ database }: Services, username: string) {
  const { timeZone, company } = await accountRecord(database, username);
  return { id: await accountId(database, username), username, zone: timeZone ?? 'UTC', company };
}

/** Shows the mistakes of a person inside the frame. */
const shown = (route: Route, pageRequest: PageRequest): Promise<View> =>
  route.show(pageRequest).catch((thrown) => {
    const problem = toProblem(thrown, '');
    if (isReported(problem) || pageRequest.query.has('part')) throw thrown;
    return problemView(isOfAddress(problem, pageRequest) ? NOT_FOUND() : problem);
  });

/**
 * Whether the mistake is an impossible id in the path, not in a form: then there is no such page.
 */
const isOfAddress = ({ details: { errors = [] } }: Problem, { params }: PageRequest): boolean =>
  errors.length > 0 && errors.every(({ pointer }) => Object.hasOwn(params, pointer.replace(/^\{(\w+)\}$/, '$1')));

/** Looking at an account as an operator is audited, as changes are. */
const noteView = ({ session, account, origin, services: { database, now } }: PageRequest, screen: string) =>
  addAuditEntry(database, {
    at: now(),
    actorKind: 'console operator',
    actorName: session.owner.name,
    tokenId: null,
    address: origin.address,
    action: 'account view',
    account: account.username,
    target: `${account.username}${screen}`,
    fields: [],
  });

const isReported = ({ kind }: Problem): boolean => kind === 'internal' || kind === 'unavailable';

function problemView(problem: Problem): View {
  const { kind, details } = problem;
  const main = html`${head(texts.problems.title)}${problemNote(problem)}
<p>${kind === 'not-found' ? '' : texts.problems.again} <a href="/console/">${texts.problems.toStart}</a></p>`;
  const retryAfter = details.retryAfterSeconds;
  const view = { kind: 'page', title: texts.problems.title, main, status: STATUS[kind] } as const;
  return retryAfter === undefined ? view : { ...view, retryAfter };
}

const assetResponse = ({ text, type }: { text: string; type: string }): Response =>
  new Response(text, {
    headers: { 'Content-Type': type, 'Cache-Control': 'public, max-age=31536000, immutable', ...protection },
  });

function responseOf(view: View, viewer: Viewer | null, { request, stream }: ConsoleRequest): Response {
  const headers: Record<string, string> = { 'Cache-Control': 'no-store', ...protection };
  if ('retryAfter' in view && view.retryAfter !== undefined) headers['Retry-After'] = String(view.retryAfter);
  if ('cookie' in view && view.cookie !== undefined) headers['Set-Cookie'] = view.cookie;
  const isHead = request.method === 'HEAD';
  switch (view.kind) {
    case 'redirect':
      return new Response(null, { status: 303, headers: { ...headers, Location: view.to } });
    case 'fragment': {
      const body = utf8Bytes(view.html.html);
      const etag = `"${hash('sha256', body).slice(0, 32)}"`;
      const fields = { ...headers, ETag: etag, 'Content-Type': 'text/html; charset=utf-8' };
      if (request.headers.get('if-none-match') === etag) return new Response(null, { status: 304, headers: fields });
      return new Response(isHead ? null : body, { headers: fields });
    }
    case 'events':
      headers['Content-Type'] = 'text/event-stream';
      headers['X-Accel-Buffering'] = 'no'; // nginx would hold the events back
      return new Response(isHead ? null : stream(view.events), { headers });
    case 'download':
      headers['Content-Type'] = 'text/csv; charset=utf-8';
      headers['Content-Disposition'] = `attachment; filename="${view.fileName}"`;
      return new Response(isHead ? null : stream(view.text), { headers });
    case 'progress': {
      headers['Content-Type'] = 'text/html; charset=utf-8';
      const around = frameAround({ title: view.title, viewer, current: '' });
      return new Response(stream(progress(around, view.pieces)), { headers });
    }
    case 'page': {
      headers['Content-Type'] = 'text/html; charset=utf-8';
      if (view.cacheControl) headers['Cache-Control'] = view.cacheControl;
      const { title, main, current = '', layout } = view;
      const body = framed({ title, main, viewer, current, ...(layout === undefined ? {} : { layout }) });
      return new Response(isHead ? null : utf8Bytes(body), { status: view.status ?? 200, headers });
    }
  }
}

async function* progress([before, after]: readonly [string, string], pieces: AsyncIterable<Html>) {
  yield before;
  for await (const piece of pieces) yield piece.html;
  yield after;
}
