import { contract } from '../../src/asmx/contract/contract.ts';
import { NO_DIALECT } from '../../src/asmx/dialect/dialect.ts';
import { listRules } from '../../src/asmx/dialect/list-orders.ts';
import { createEndpoint } from '../../src/asmx/endpoint.ts';
import { createOperations, type Operations } from '../../src/asmx/operations/handlers.ts';
import { ResponseCache } from '../../src/asmx/response-cache.ts';
import type { Clock } from '../../src/base/clock.ts';
import type { Request as Call, Handler } from '../../src/base/exchange.ts';
import type { Problem } from '../../src/base/problem.ts';
import { createCarrierEvents } from '../../src/carriers/carrier-events.ts';
import type { CarrierEvents, Connector } from '../../src/carriers/connector.ts';
import { createGateway } from '../../src/carriers/gateway.ts';
import { type Config, readConfig } from '../../src/config/settings.ts';
import { type Console, createConsole } from '../../src/console/app.ts';
import { createAdmission } from '../../src/domain/access/admission.ts';
import { createRateLimiter } from '../../src/domain/access/rate-limiter.ts';
import { createSignIn, type SignIn } from '../../src/domain/access/sign-in.ts';
import { heldReceipts } from '../../src/domain/sending/receipts.ts';
import { createEventDeliverer } from '../../src/domain/webhooks/deliverer.ts';
import type { SendEvent } from '../../src/domain/webhooks/sender.ts';
import { createApi } from '../../src/operator/api.ts';
import { servicesOf } from '../../src/serve/compose/operator.ts';
import { createServices, type Services } from '../../src/serve/compose/services.ts';
import type { Log } from '../../src/serve/telemetry/log.ts';
import { accountIdOf, type Caller } from '../../src/store/caller.ts';
import { TIMES } from './times.ts';

/** One process of the service, made of the parts that a real one has. Nothing listens: it is called. */
export interface SimulatedNode {
  /** A request to the operator's API. */
  api(method: string, path: string, options?: ApiOptions): Promise<{ status: number; body: unknown }>;
  /** A call of the contract by GET. */
  call(
    group: string,
    operation: string,
    fields: Readonly<Record<string, string>>,
  ): Promise<{ status: number; text: string }>;
  /** A form of the console, as a browser without a script sends it. */
  browse(
    path: string,
    cookie: string | undefined,
    fields: Readonly<Record<string, string>>,
  ): Promise<{ status: number; cookie: string | undefined }>;
  readonly carrierEvents: CarrierEvents;
  readonly signIn: SignIn;
  readonly services: Services;
}
export interface ApiOptions {
  readonly token: string;
  readonly body?: unknown;
  readonly idempotencyKey?: string;
}

export interface NodeParts {
  readonly databaseUrl: string;
  readonly clock: Clock;
  readonly connector: (name: string) => Connector;
  readonly send: SendEvent;
  /** What the service would write into its log. */
  readonly failed: (thrown: unknown, what: string) => void;
}

const REGION = 'ZA';
const SITE = 'https://simulated.example';
const NEVER_ABORTED = new AbortController().signal;

/** Read once for all processes of a world, because that takes half a millisecond. */
let lastConfig: { readonly databaseUrl: string; readonly config: Config } | undefined;
function configOf(databaseUrl: string): Config {
  if (lastConfig?.databaseUrl !== databaseUrl) {
    lastConfig = { databaseUrl, config: readConfig({ COLUMBA_DATABASE: databaseUrl, COLUMBA_REGION: REGION }) };
  }
  return lastConfig.config;
}

export async function startNode({ databaseUrl, clock, connector, send, failed }: NodeParts): Promise<SimulatedNode> {
  const config = configOf(databaseUrl);
  const services = await createServices(config, { clock, log: logOf(failed) });
  const { database } = services;
  const carrierEvents = createCarrierEvents(database, clock.now, REGION);
  const gateway = createGateway({
    database,
    clock,
    events: carrierEvents,
    onGatewayIds: heldReceipts,
    defaultRegion: REGION,
    ofFile: [],
    settings: TIMES,
    failed: (thrown) => failed(thrown, 'messages could not be sent'),
    create: connector,
  });
  const deliverer = createEventDeliverer({
    database,
    clock,
    send,
    failed: (thrown) => failed(thrown, 'events could not be delivered'),
  });
  const ofActions = servicesOf(services, config, clock, gateway.wake);
  const api = createApi({
    services: ofActions,
    bodyBytesMax: config.bodyBytesMax,
    admitClient: () => {},
    authenticationFailed: async () => {},
    report: (problem) => failed(causeOf(problem), 'a request to the API failed'),
  });
  const call = createCalls(config, services, clock, failed);
  let pages: Console | undefined; // few nodes live until somebody opens one
  services.purge.wake();
  services.retentionRuns.start();
  deliverer.start();
  services.maintenanceRuns.start();
  await gateway.start();

  return {
    services,
    carrierEvents,
    signIn: createSignIn(database, clock),
    call,
    async browse(path, cookie, fields) {
      pages ??= createConsole({
        services: ofActions,
        admitClient: () => {},
        report: (problem) => failed(causeOf(problem), 'a page failed'),
      });
      const body = Buffer.from(new URLSearchParams(fields).toString());
      const headers = new Headers({
        'content-type': 'application/x-www-form-urlencoded',
        'sec-fetch-site': 'same-origin',
        ...(cookie !== undefined && { cookie }),
      });
      const { status, headers: answered } = await pages({
        request: { method: 'POST', url: SITE + path, headers, signal: NEVER_ABORTED } as unknown as Request,
        body: async () => body,
        stream: () => {
          throw new Error('the simulator downloads nothing');
        },
        client: '192.0.2.1',
        base: SITE,
        id: 'simulated',
      });
      return { status, cookie: answered.getSetCookie()[0]?.split(';')[0] };
    },
    async api(method, path, { token, body, idempotencyKey } = { token: '' }) {
      const fields: Record<string, string | undefined> = {
        authorization: `Bearer ${token}`,
        'content-type': body === undefined ? undefined : 'application/json',
        'idempotency-key': idempotencyKey,
      };
      const [pathname = '', query = ''] = path.split('?', 2);
      const reply = await api({
        method,
        path: pathname,
        query,
        header: (name) => fields[name] ?? null,
        body: async () => Buffer.from(body === undefined ? '' : JSON.stringify(body)),
        stream: () => {
          throw new Error('the simulator downloads nothing');
        },
        client: '192.0.2.1',
        id: 'simulated',
      });
      return { status: reply.status, body: reply.body === '' ? null : JSON.parse(reply.body as string) };
    },
  };
}

const causeOf = (problem: Problem): unknown => (problem.kind === 'internal' ? problem.details.cause : problem);

const logOf = (failed: NodeParts['failed']): Log => {
  const silent = () => {};
  const note = (fields: unknown, what?: string) => failed((fields as { err?: unknown } | undefined)?.err, what ?? '');
  return { info: silent, debug: silent, trace: silent, warn: note, error: note, fatal: note } as unknown as Log;
};

/** What the one endpoint needs to know of the node that a request is for. */
interface Serving {
  readonly operations: Operations;
  readonly cache: ResponseCache;
  readonly clock: Clock;
  readonly failed: NodeParts['failed'];
}
type RequestOf = Call & { readonly serving: Serving };

/**
 * The endpoint is compiled once for all nodes, because that takes 5 ms and holds no state. The
 * operations and the cache of answers are the node's own.
 */
let endpoint: Handler | undefined;
let datesOf: Serving | undefined;

const compiledEndpoint = (config: Config): Handler =>
  createEndpoint({
    contract,
    namespace: config.namespace,
    clock: { monotonic: () => 0 },
    dates: () => ({ now: datesOf?.clock.now() ?? 0, zone: config.timeZone }),
    limits: config,
    operations: (call, request) => (request as RequestOf).serving.operations(call, request),
    receiverOf: accountIdOf,
    responseCache: {
      find: (request: RequestOf, body: Uint8Array) => request.serving.cache.find(request, body),
      store: (request: RequestOf, ...rest: [never, never]) => request.serving.cache.store(request, ...rest),
    } as unknown as ResponseCache,
    report: (problem, _reference, request) => (request as RequestOf).serving.failed(causeOf(problem), 'a call failed'),
  });

function createCalls(
  config: Config,
  services: Services,
  clock: Clock,
  failed: NodeParts['failed'],
): SimulatedNode['call'] {
  const admission = createAdmission({
    rateLimiter: createRateLimiter(clock.now),
    now: clock.now,
    sleep: clock.sleep,
    accountRate: { perSecond: 0, burst: 0 },
    addressRate: { perSecond: 0, burst: 0 },
    unlimited: [],
  });
  const { listLimit, listItemsMax } = config;
  const operations = createOperations({
    ...services,
    admission,
    lists: listRules(NO_DIALECT),
    listLimit,
    listItemsMax,
  });
  const { accounts } = services;
  const cache = new ResponseCache({
    contract,
    bytesMax: config.responseCacheBytesMax,
    isUnchanged: (account, pollOthers, pollId) => accounts.isUnchanged(account as Caller, pollOthers, pollId),
  });
  const serving: Serving = { operations, cache, clock, failed };
  endpoint ??= compiledEndpoint(config);
  const handle = endpoint;
  return async (group, operation, fields) => {
    datesOf = serving;
    const request: RequestOf = {
      serving,
      method: 'GET',
      path: `/api/${group}.asmx/${operation}`,
      query: new URLSearchParams(fields).toString(),
      headers: { host: 'simulated' },
      base: 'http://simulated',
      client: '192.0.2.1',
      body: () => new Uint8Array(),
    };
    const { status, body } = await handle(request);
    let text = '';
    if (typeof body === 'string') text = body;
    else if (body instanceof Uint8Array) text = Buffer.from(body).toString('utf8');
    else
      for await (const piece of body) text += typeof piece === 'string' ? piece : Buffer.from(piece).toString('utf8');
    return { status, text };
  };
}
