import { randomUUID } from 'node:crypto';
import type { DateContext } from '../contract/dates.ts';
import type { Contract, Group } from '../contract/types.ts';
import { isWhole, type Reply, type Request } from '../exchange.ts';
import { Problem, type ProblemKind, toProblem } from '../problem.ts';
import { createPages, type PageSettings } from './pages/pages.ts';
import { disco, wsdl } from './pages/wsdl.ts';
import { createPairs } from './protocols/get-post.ts';
import {
  type Call,
  type Form,
  type FormName,
  type Message,
  plainProblem,
  type WireLimits,
  xmlReply,
} from './protocols/protocol.ts';
import { createSoap } from './protocols/soap.ts';
import type { CachedResponse, ResponseCache } from './response-cache.ts';

/** The contract on the wire: from a request to its reply, whatever happens in between. */
export interface EndpointSettings {
  readonly contract: Contract;
  readonly namespace: string;
  readonly dates: () => DateContext;
  readonly limits: WireLimits;
  readonly operations: (call: Call, client: string, holdBack: Request['holdBack']) => Promise<Outcome>;
  /** Whether a client, and then an account, may call now: throw Problem `too-many`, or do so later. */
  readonly admitClient?: (client: string) => void | Promise<void>;
  readonly admitAccount?: (account: unknown) => void | Promise<void>;
  /** Before a body is decompressed (without `bytes`) and before it is read: throws Problem `too-many`. */
  readonly admitReading?: (client: string, bytes?: number) => void;
  /** It was a call of an account. */
  readonly readingSucceeded?: (client: string, bytes: number) => void;
  /** The number of an account: what waits to be sent to one is bounded. */
  readonly ownerOf?: (account: unknown) => bigint | undefined;
  /** Without it, every response is made anew. */
  readonly responseCache?: ResponseCache;
  readonly pages?: PageSettings;
  /** Told of every problem that is not the client's doing, and of the call, where it was decoded. */
  readonly report: (problem: Problem, reference: string, request: Request, call: Call | undefined) => void;
  /** Told of every request that was answered: for tests, metrics, logs. */
  readonly observe?: (exchange: Exchange) => void;
}
export interface Outcome {
  readonly value: unknown;
  readonly account: unknown;
}
/** What became of a request. */
export interface Exchange {
  readonly request: Request;
  readonly reply: Reply;
  readonly kind: 'ok' | ProblemKind;
  readonly form: FormName | undefined;
  readonly group: string | undefined;
  readonly operation: string | undefined;
  readonly account: unknown;
  /** Absent where the response came from the cache. */
  readonly call?: Call | undefined;
  /** Until the answer was ready to be sent, or its first piece. */
  readonly durationMs: number;
}
/** At once, where nothing has to be waited for. */
export type Endpoint = (request: Request) => Reply | Promise<Reply>;

export function createEndpoint(settings: EndpointSettings): Endpoint {
  const { contract, namespace, responseCache } = settings;
  const pages = createPages(contract, namespace, settings.pages);
  const groups = new Map(Object.entries(contract).map(([name, group]) => [name, compileGroup(name, group, settings)]));
  const routes = new Map([...groups.values()].flatMap((group) => group.addresses.map((path) => [path, find(path)])));

  /** One request, from its arrival to its answer. */
  class Turn {
    readonly #request: Request;
    readonly #startedAt = settings.observe ? performance.now() : 0;
    #route = NOWHERE;
    /** Of a request that could be read as a call of that form, at least. */
    #form: FormName | undefined;
    #seen: Seen | undefined;
    #encodeProblem: (problem: Problem) => Reply = plainProblem;

    constructor(request: Request) {
      this.#request = request;
    }

    begin(): Reply | Promise<Reply> {
      const request = this.#request;
      if (request.refused) throw request.refused;
      this.#route = routes.get(request.path) ?? find(request.path);
      const { group, path } = this.#route;
      if (!group) return this.#tell(pages.outside(request), 'ok');
      if (path === undefined && isReading(request)) return this.#tell(describe(group, request), 'ok');
      const admitted = settings.admitClient?.(request.client);
      return admitted ? this.#after(admitted, () => this.#receive(group, path)) : this.#receive(group, path);
    }

    #receive(group: CompiledGroup, path: string | undefined): Reply | Promise<Reply> {
      const request = this.#request;
      const form = formOf(group, request.method, path !== undefined);
      this.#encodeProblem = (problem) => form.encodeProblem(problem, request);
      if (request.headers['content-encoding'] !== undefined) settings.admitReading?.(request.client);
      const body = request.method === 'GET' ? NO_BYTES : request.body();
      const answer = (bytes: Uint8Array) => this.#answer(form, path ?? '', bytes);
      return body instanceof Promise ? this.#after(body, answer) : answer(body);
    }

    #answer(form: Form, path: string, body: Uint8Array): Reply | Promise<Reply> {
      const cached = responseCache?.find(this.#request, body);
      if (cached) return this.#answerFromCache(cached);
      settings.admitReading?.(this.#request.client, body.length);
      return this.#perform(form.receive(this.#request, path, body), body);
    }

    #answerFromCache(cached: CachedResponse): Reply | Promise<Reply> {
      const admitted = settings.admitAccount?.(cached.account);
      if (admitted) return this.#after(admitted, () => this.#tell(cached.reply, 'ok', cached));
      return this.#tell(cached.reply, 'ok', cached);
    }

    #after<T>(ready: Promise<T>, go: (value: T) => Reply | Promise<Reply>): Promise<Reply> {
      return ready.then(go).catch((thrown) => this.fail(thrown));
    }

    async #perform(message: Message, body: Uint8Array): Promise<Reply> {
      this.#encodeProblem = message.encodeProblem;
      this.#form = message.form;
      try {
        const call = message.decode();
        const { group, operation } = call;
        this.#seen = { form: message.form, group, operation, call };
        const { client, holdBack } = this.#request;
        const { value, account } = await settings.operations(call, client, holdBack);
        settings.readingSucceeded?.(client, body.length);
        const reply = watched(message, message.encode(call, value), this.#request, call, account);
        const answered = { form: message.form, group, operation, account, reply };
        responseCache?.store(this.#request, body, answered);
        return this.#tell(reply, 'ok', { ...answered, call });
      } catch (thrown) {
        return this.fail(thrown);
      }
    }

    fail(thrown: unknown): Reply {
      const reference = randomUUID();
      const problem = toProblem(thrown, reference);
      if (problem.kind === 'internal' || problem.kind === 'unavailable') {
        settings.report(problem, reference, this.#request, this.#seen?.call);
      }
      return this.#tell(pages.refusal(this.#encodeProblem(problem), this.#request), problem.kind, this.#seen);
    }

    #tell(reply: Reply, kind: Exchange['kind'], seen?: Seen): Reply {
      if (!settings.observe) return reply;
      const request = this.#request;
      const { form, group, operation, account, call } = seen ?? guess(this.#route, request.method, this.#form);
      const durationMs = performance.now() - this.#startedAt;
      settings.observe({ request, reply, kind, form, group, operation, account, call, durationMs });
      return reply;
    }
  }

  return (request) => {
    const turn = new Turn(request);
    try {
      return turn.begin();
    } catch (thrown) {
      return turn.fail(thrown);
    }
  };

  /** What goes wrong while pieces are sent can be told to nobody but the log; before, to the client too. */
  function watched(message: Message, reply: Reply, request: Request, call: Call, account: unknown): Reply {
    const { body } = reply;
    if (isWhole(body)) return reply;
    const reference = randomUUID();
    return {
      ...{ ...reply, owner: settings.ownerOf?.(account) },
      body: reporting(body, (thrown) => settings.report(toProblem(thrown, reference), reference, request, call)),
      failed: (thrown) => message.encodeProblem(toProblem(thrown, reference)),
    };
  }

  function find(address: string): Route {
    const target = ADDRESS.exec(address);
    return { group: groups.get(target?.[1]?.toLowerCase() ?? ''), path: target?.[2] };
  }

  /** GET of the bare address: WSDL, discovery document or help page. */
  function describe(group: CompiledGroup, request: Request): Reply {
    const address = `${request.base}/api/${group.group}.asmx`;
    const names = request.query.split('&').map((pair) => pair.toLowerCase());
    if (names.includes('wsdl')) return xmlReply('text/xml; charset=utf-8', group.wsdl(address));
    if (names.includes('disco')) return xmlReply('text/xml; charset=utf-8', group.disco(address));
    if (names.some((name) => name.startsWith('wsdl='))) {
      throw new Problem('unknown-operation', 'XML Web service description was not found.');
    }
    if (names.some((name) => name.startsWith('schema='))) throw new Problem('unknown-operation', 'Schema not found.');
    return pages.group(group.group, request);
  }
}

type Seen = Partial<Exchange>;

/** What the address tells of a request that is no call, or none that could be read. */
function guess({ group, path }: Route, method: string, received: FormName | undefined): Seen {
  if (!group || path === undefined) return { group: group?.group, form: received };
  const form = received ?? (method === 'GET' ? 'get' : method === 'POST' ? 'post' : undefined);
  return { group: group.group, form, operation: group.operations.has(path) ? path : undefined };
}

const NO_BYTES = new Uint8Array();

// /api/<group>.asmx and what follows it. IIS did not mind the letter case of a file name.
const ADDRESS = /^\/api\/([a-z]+)\.asmx(?:\/(.*))?$/i;

const NOWHERE: Route = { group: undefined, path: undefined };

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

interface Route {
  readonly group: CompiledGroup | undefined;
  /** What follows the group's address. */
  readonly path: string | undefined;
}

const isReading = ({ method }: Request) => method === 'GET' || method === 'HEAD';

interface CompiledGroup {
  readonly group: string;
  /** Its own and those of its operations, as most clients write them. */
  readonly addresses: readonly string[];
  readonly operations: ReadonlySet<string>;
  readonly wsdl: (address: string) => string;
  readonly disco: (address: string) => string;
  readonly soap: Form;
  readonly get: Form;
  readonly post: Form;
}

function formOf({ soap, get, post }: CompiledGroup, method: string, namesOperation: boolean): Form {
  if (method === 'POST') return namesOperation ? post : soap;
  if (method === 'GET' && namesOperation) return get;
  const allowed = namesOperation ? 'GET, POST' : 'GET, HEAD, POST';
  throw new Problem('method', `This address takes ${allowed} only.`, { headers: { Allow: allowed } });
}

function compileGroup(name: string, group: Group, { namespace, dates, limits }: EndpointSettings): CompiledGroup {
  const settings = { groupName: name, group, namespace, dates, limits };
  const address = `/api/${name}.asmx`;
  return {
    group: name,
    addresses: [address, ...Object.keys(group).map((operation) => `${address}/${operation}`)],
    operations: new Set(Object.keys(group)),
    wsdl: wsdl(name, group, namespace),
    disco: disco(name, namespace),
    soap: createSoap(settings),
    get: createPairs('get', settings),
    post: createPairs('post', settings),
  };
}
