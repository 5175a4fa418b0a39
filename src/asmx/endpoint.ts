import type { Clock } from '../base/clock.ts';
import { type Handler, isWhole, type Reply, type Request } from '../base/exchange.ts';
import { type Problem, type ProblemKind, toProblem } from '../base/problem.ts';
import { randomUuid } from '../base/random.ts';
import { utf8Bytes } from '../base/utf8.ts';
import type { DateContext } from './contract/dates.ts';
import type { Contract } from './contract/types.ts';
import { type Dialect, NO_DIALECT } from './dialect/dialect.ts';
import { createPages, type PageSettings, type Pages } from './pages/pages.ts';
import {
  type Call,
  type Message,
  type Protocol,
  type ProtocolName,
  plainProblem,
  type WireLimits,
} from './protocols/protocol.ts';
import type { CachedResponse, ResponseCache } from './response-cache.ts';
import { createRoutes, inferFromPath, isForDocument, NO_ROUTE, protocolOf, type Route } from './routes.ts';

/** The contract over HTTP: every request gets a reply, whatever goes wrong. */
export interface EndpointSettings {
  readonly contract: Contract;
  readonly namespace: string;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly dates: () => DateContext;
  readonly limits: WireLimits;
  /** How answers are written; without it, as Columba writes them. */
  readonly dialect?: Dialect;
  readonly operations: (
    call: Call,
    origin: Pick<Request, 'client' | 'holdBack' | 'pollId'>,
  ) => Promise<OperationResult>;
  /** Throws Problem `too-many`, now or later, if the client or the account may not call now. */
  readonly admitClient?: (client: string) => void | Promise<void>;
  /** Admits an account whose response is cached. For other calls the operations admit it. */
  readonly admitCachedAccount?: (account: unknown) => void | Promise<void>;
  /**
   * Called before a body is decompressed (without `bytes`) and before it is parsed.
   * Throws Problem `too-many`.
   */
  readonly admitReading?: (client: string, bytes?: number) => void;
  /** Called when the body turned out to be a call of an account. */
  readonly readingSucceeded?: (client: string, bytes: number) => void;
  /** The id of an account: the bytes that wait to be sent to one account's clients are bounded. */
  readonly receiverOf?: (account: unknown) => bigint | undefined;
  /** Throws a Problem where no room is left for a streamed reply. */
  readonly admitPieces?: (receiver: bigint | undefined) => void;
  /** Without it, every response is made anew. */
  readonly responseCache?: ResponseCache;
  readonly pages?: PageSettings;
  /** Called for every problem that the client did not cause, with the call if it was decoded. */
  readonly report: (problem: Problem, reference: string, request: Request, call: Call | undefined) => void;
  /** Called for every answered request: for logs, metrics and tests. */
  readonly observe?: (exchange: Exchange) => void;
}

export interface OperationResult {
  readonly value: unknown;
  readonly account: unknown;
}

/** A request with its reply. */
export interface Exchange {
  readonly request: Request;
  readonly reply: Reply;
  readonly kind: 'ok' | ProblemKind;
  readonly protocol: ProtocolName | undefined;
  readonly group: string | undefined;
  readonly operation: string | undefined;
  readonly account: unknown;
  /** Absent where the response came from the cache. */
  readonly call?: Call | undefined;
  /** The time until the reply, or its first piece, was ready to be sent. */
  readonly durationMs: number;
}

export function createEndpoint(settings: EndpointSettings): Handler {
  const { contract, namespace, dates, limits, dialect = NO_DIALECT } = settings;
  const pages = createPages(contract, namespace, dialect, settings.pages);
  const routeOf = createRoutes(contract, { namespace, dates, limits, dialect });
  return (request) => {
    const handling = new RequestHandling(request, settings, pages, routeOf);
    try {
      return handling.start();
    } catch (thrown) {
      return handling.fail(thrown);
    }
  };
}

/** What is known of a call: all of it, or the names only. */
type Outcome = Partial<Pick<Exchange, 'protocol' | 'group' | 'operation' | 'account' | 'call'>>;

const NO_BYTES = new Uint8Array();

/**
 * One request on its way to its reply. Each step calls the next: start, receive, answer, perform.
 * A step waits only where it must, so a cached response is sent in the turn of its request.
 */
class RequestHandling {
  readonly #request: Request;
  readonly #settings: EndpointSettings;
  readonly #pages: Pages;
  readonly #routeOf: (path: string) => Route;
  readonly #startedAt: number;
  #route = NO_ROUTE;
  /** The protocol that could parse the request, even if its call could not be decoded. */
  #protocol: ProtocolName | undefined;
  #outcome: Outcome | undefined;
  #encodeProblem: (problem: Problem) => Reply = plainProblem;

  constructor(request: Request, settings: EndpointSettings, pages: Pages, routeOf: (path: string) => Route) {
    this.#request = request;
    this.#settings = settings;
    this.#pages = pages;
    this.#routeOf = routeOf;
    this.#startedAt = settings.observe ? settings.clock.monotonic() : 0;
  }

  start(): Reply | Promise<Reply> {
    const request = this.#request;
    if (request.refused) throw request.refused;
    this.#route = this.#routeOf(request.path);
    const { group } = this.#route;
    if (!group) return this.#observed(this.#pages.outside(request), 'ok');
    if (isForDocument(this.#route, request)) return this.#observed(this.#pages.group(group.name, request), 'ok');
    const admitting = this.#settings.admitClient?.(request.client);
    return admitting ? this.#after(admitting, () => this.#receive()) : this.#receive();
  }

  #receive(): Reply | Promise<Reply> {
    const request = this.#request;
    const { group, operationPath } = this.#route;
    if (!group) throw new Error('A call has a group');
    const protocol = protocolOf(group, operationPath, request.method);
    this.#encodeProblem = (problem) => protocol.encodeProblem(problem, request);
    if (request.headers['content-encoding'] !== undefined) this.#settings.admitReading?.(request.client);
    const body = request.method === 'GET' ? NO_BYTES : request.body();
    return body instanceof Promise
      ? this.#after(body, (bytes) => this.#answer(protocol, bytes))
      : this.#answer(protocol, body);
  }

  #answer(protocol: Protocol, body: Uint8Array): Reply | Promise<Reply> {
    const found = this.#settings.responseCache?.find(this.#request, body);
    return found instanceof Promise
      ? this.#after(found, (cached) => this.#answerWith(cached, protocol, body))
      : this.#answerWith(found, protocol, body);
  }

  #answerWith(cached: CachedResponse | undefined, protocol: Protocol, body: Uint8Array): Reply | Promise<Reply> {
    if (cached) return this.#answerFromCache(cached);
    this.#settings.admitReading?.(this.#request.client, body.length);
    return this.#perform(protocol.receive(this.#request, this.#route.operationPath ?? '', body), body);
  }

  #answerFromCache(cached: CachedResponse): Reply | Promise<Reply> {
    const admitting = this.#settings.admitCachedAccount?.(cached.account);
    if (admitting) return this.#after(admitting, () => this.#observed(cached.reply, 'ok', cached));
    return this.#observed(cached.reply, 'ok', cached);
  }

  async #perform(message: Message, body: Uint8Array): Promise<Reply> {
    const request = this.#request;
    const { protocol } = message;
    this.#encodeProblem = message.encodeProblem;
    this.#protocol = protocol;
    try {
      const call = message.decode();
      const { group, operation } = call;
      this.#outcome = { protocol, group, operation, call };
      const { value, account } = await this.#settings.operations(call, request);
      this.#settings.readingSucceeded?.(request.client, body.length);
      const reply = this.#withReports(message, inBytes(message.encode(call, value)), call, account);
      if (!isWhole(reply.body)) this.#settings.admitPieces?.(reply.receiver);
      this.#settings.responseCache?.store(request, body, { protocol, group, operation, account, reply });
      return this.#observed(reply, 'ok', { protocol, group, operation, account, call });
    } catch (thrown) {
      return this.fail(thrown);
    }
  }

  fail(thrown: unknown): Reply {
    const reference = randomUuid();
    const problem = toProblem(thrown, reference);
    if (problem.kind === 'internal' || problem.kind === 'unavailable') {
      this.#settings.report(problem, reference, this.#request, this.#outcome?.call);
    }
    const reply = this.#pages.refusal(this.#encodeProblem(problem), this.#request);
    return this.#observed(reply, problem.kind, this.#outcome);
  }

  #after<T>(ready: Promise<T>, next: (value: T) => Reply | Promise<Reply>): Promise<Reply> {
    return ready.then(next).catch((thrown) => this.fail(thrown));
  }

  /** The problem of a later piece is only logged; that of the first is sent to the client too. */
  #withReports(message: Message, reply: Reply, call: Call, account: unknown): Reply {
    const { body } = reply;
    if (isWhole(body)) return reply;
    const { report, receiverOf } = this.#settings;
    const reference = randomUuid();
    return {
      ...reply,
      receiver: receiverOf?.(account),
      body: reporting(body, (thrown) => report(toProblem(thrown, reference), reference, this.#request, call)),
      failed: (thrown) => message.encodeProblem(toProblem(thrown, reference)),
    };
  }

  #observed(reply: Reply, kind: Exchange['kind'], outcome?: Outcome): Reply {
    const { observe, clock } = this.#settings;
    if (!observe) return reply;
    const request = this.#request;
    const known: Outcome = outcome ?? inferFromPath(this.#route, request.method, this.#protocol);
    const { protocol, group, operation, account, call } = known;
    const durationMs = clock.monotonic() - this.#startedAt;
    observe({ request, reply, kind, protocol, group, operation, account, call, durationMs });
    return reply;
  }
}

/** Encodes the body once, for both the cache and the socket. */
const inBytes = (reply: Reply): Reply =>
  typeof reply.body === 'string' ? { ...reply, body: utf8Bytes(reply.body) } : reply;

async function* reporting(
  pieces: AsyncIterable<string | Uint8Array>,
  report: (thrown: unknown) => void,
): AsyncGenerator<string | Uint8Array> {
  try {
    yield* pieces;
  } catch (thrown) {
    report(thrown);
    throw thrown;
  }
}
