import cluster from 'node:cluster';
import { createEndpoint, type EndpointSettings } from './asmx/endpoint.ts';
import type { PageSettings } from './asmx/pages/pages.ts';
import { ResponseCache } from './asmx/response-cache.ts';
import type { Config } from './config/settings.ts';
import { contract } from './contract/contract.ts';
import { type AccountKey, type Caller, createAccounts } from './domain/accounts.ts';
import { createGuard } from './domain/admission/admission.ts';
import { type Authority, createAuthority } from './domain/admission/rate-limiter.ts';
import { createArchive } from './domain/archive.ts';
import { createBlacklist } from './domain/blacklist.ts';
import { createContacts } from './domain/contacts.ts';
import { createInbox } from './domain/inbox.ts';
import { createOutbox } from './domain/outbox.ts';
import { createPurge } from './domain/purge.ts';
import { createTemplates } from './domain/templates.ts';
import { createFigures, readStatus } from './domain/totals.ts';
import type { Handler, Request } from './exchange.ts';
import { createOperations } from './operations/handlers.ts';
import { type HttpServer, listen } from './server/http/server.ts';
import { createHealth } from './server/process/health.ts';
import { type HealthThread, startBeating, startHealthThread, tellFirst } from './server/process/health-thread.ts';
import { createRouter, redirectTo, WEB_PREFIXES } from './server/router.ts';
import { describeError, textsOf } from './server/telemetry/error-redaction.ts';
import { createTrace, type Trace } from './server/telemetry/exchange-recorder.ts';
import type { Log } from './server/telemetry/log.ts';
import { createTelemetry, type TelemetryParts } from './server/telemetry/telemetry.ts';
import type { Database } from './store/database.ts';
import { createTimed } from './store/observed.ts';
import { openSqlite } from './store/sqlite/database.ts';
import { numberOf } from './store/statement.ts';

/** What the program takes from its surroundings; tests bring their own. */
export interface Surroundings {
  readonly now: () => number;
  readonly sleep: (ms: number) => Promise<void>;
  readonly log: Log;
  /** Told of every request, besides what the process itself tells about its work. */
  readonly observe?: NonNullable<EndpointSettings['observe']>;
  /** For a process that serves: where it tells about its work. */
  readonly telemetry?: Pick<TelemetryParts, 'output' | 'environment'>;
  /** What pages show: the program's version and, where it serves sample data, the user_id of that. */
  readonly pages?: PageSettings;
  /** The public URL of the web listener, without a slash at its end: /console redirects to it. */
  readonly webUrl?: string;
  /** Who counts for all processes together, where it is another one. */
  readonly authority?: Authority;
  /** Around the opened database: for tests that make it fail. */
  readonly database?: (opened: Database) => Database;
}

export type App = Awaited<ReturnType<typeof createApp>>;

/** Settings in, service out: the only place where the layers meet. */
export async function createApp(config: Config, surroundings: Surroundings) {
  const { now, sleep, log, observe, database: around, authority } = surroundings;
  let pollId: number | undefined;
  const checkpointsDied = (err: unknown) =>
    log.error({ err }, 'the thread that moves the write-ahead log died and is started again');
  const opened = await openDatabase(config, now, () => pollId, checkpointsDied);
  const untimed = around?.(opened) ?? opened;
  const figures = createFigures(untimed);
  const engine: 'sqlite' | 'postgres' = config.database.startsWith('sqlite:') ? 'sqlite' : 'postgres';
  let server: HttpServer | undefined;
  const telemetry =
    surroundings.telemetry &&
    (await createTelemetry(config, {
      ...{ ...surroundings.telemetry, log, isWorker: cluster.isWorker, stock: figures },
      sources: { engine, kept: () => responseCache.statistics, traffic: () => server?.traffic },
    }));
  const database = telemetry?.watch ? createTimed(untimed, engine, telemetry.watch) : untimed;
  let trace: Trace | undefined;
  /** Of calls that succeeded, for the trace. */
  const userIds = new WeakMap<Request, string>();
  const tell: NonNullable<Surroundings['observe']> = (exchange) => {
    const userId = exchange.call?.arguments.user_id;
    if (trace && exchange.kind === 'ok' && typeof userId === 'string') userIds.set(exchange.request, userId);
    observe?.(exchange);
    telemetry?.observe?.(exchange, numberOf(exchange.account));
  };
  const region = config.region || null;
  const accounts = createAccounts(database, now, region);
  const responseCache = new ResponseCache({
    contract,
    bytesMax: config.keptBytesMax,
    isUnchanged: (account, pollOthers) => accounts.isUnchanged(account as Caller, pollOthers),
    isBypassed: () => trace !== undefined, // it masks the user_id, which a cached response does not have
  });
  const regionOfAccount = (account: AccountKey) => accounts.region(account);
  const purge = createPurge(database, sleep, (err) =>
    log.warn({ err }, 'what emptied inboxes left could not be purged'),
  );
  const guard = createGuard({
    ...{ authority: authority ?? createAuthority(now), now, sleep },
    accountRate: { perSecond: config.accountRate, burst: config.accountBurst },
    addressRate: { perSecond: config.addressRate, burst: config.addressBurst },
    unlimited: config.addressUnlimited,
  });
  const operations = createOperations({
    accounts,
    contacts: createContacts(database, regionOfAccount),
    templates: createTemplates(database),
    blacklist: createBlacklist(database, now, regionOfAccount),
    inbox: createInbox(database, purge),
    outbox: createOutbox(database, now),
    guard,
    listLimit: config.listLimit,
    listItemsMax: config.listItemsMax,
  });
  const endpoint = createEndpoint({
    contract,
    namespace: config.namespace,
    dates: () => ({ now: now(), zone: config.timeZone }),
    limits: config,
    operations,
    admitClient: (client) => guard.admitClient(client),
    admitAccount: (account) => guard.admitAccount(account as Caller),
    admitReading: guard.admitReading,
    readingSucceeded: guard.readingSucceeded,
    ownerOf: numberOf,
    admitPieces: (owner) => server?.admitPieces(owner),
    responseCache,
    ...(surroundings.pages && { pages: surroundings.pages }),
    report: ({ message, kind, details }, reference, { id: request_id }, call) => {
      const err = describeError(details.cause, textsOf(call?.arguments));
      log.error({ err, kind, reference, request_id }, details.operator ?? message);
    },
    observe: tell,
  });
  const traced = telemetry?.around(endpoint) ?? endpoint;

  const health = createHealth(
    () => database.check(),
    (wait) => server?.holdBack(wait) ?? wait(),
  );
  let healthThread: HealthThread | undefined;
  let beating: ReturnType<typeof startBeating> | undefined;
  const { webUrl } = surroundings;
  const route = createRouter({
    paths: health.paths,
    prefixes: webUrl ? Object.fromEntries(WEB_PREFIXES.map((prefix) => [prefix, redirectTo(webUrl)])) : {},
    otherwise: traced,
  });
  const handle: Handler = (request) => {
    pollId = request.pollId;
    try {
      return route(request);
    } finally {
      pollId = undefined;
    }
  };

  /** On a port of its own, which workers leave to the first process. */
  async function startHealth(): Promise<void> {
    if (!cluster.isWorker) {
      healthThread = await startHealthThread(config, (err) => log.error({ err }, 'the thread for health died'));
      log.info({ health: healthThread.address }, 'serving health');
    }
    beating = startBeating(health.state, healthThread?.tell ?? tellFirst);
  }

  return {
    accounts,
    archive: createArchive(database),
    /** What the operator's side works with. */
    database,
    engine,
    guard,
    health,
    endpoint: traced,
    figures,
    status: () => readStatus(untimed),
    backup: (path: string) => database.backup(path),
    /** Starts to serve; the address it answers at. With a file to write exchanges to, if that is wanted. */
    async start(traceFile?: string): Promise<string> {
      const failed = (err: Error) => log.error({ err }, 'the trace could not be written');
      const userIdOf = (request: Request) => userIds.get(request);
      trace =
        traceFile === undefined ? undefined : createTrace({ file: traceFile, now, failed, userIdOf, words: names() });
      purge.wake(); // a process before this one may have left something
      await telemetry?.start();
      server = await listen(config, trace?.around(handle) ?? handle);
      if (config.healthPort > 0) await startHealth();
      return server.address;
    },
    /** Finishes what was accepted, then lets go of everything. */
    async stop(): Promise<void> {
      health.stopping();
      beating?.stopping();
      await server?.close();
      beating?.end();
      await healthThread?.close();
      await trace?.close();
      await telemetry?.stop();
      await purge.stop();
      await database.close();
    },
  };
}

/** Of groups, operations, parameters and results. */
function names(): string[] {
  const operations = Object.values(contract).flatMap((group) => Object.entries(group));
  const parameters = operations.flatMap(([, { parameters }]) => Object.keys(parameters));
  return [
    ...Object.keys(contract),
    ...operations.flatMap(([name]) => [name, `${name}Response`]),
    ...parameters,
    'string',
  ];
}

async function openDatabase(
  config: Config,
  now: () => number,
  ...sqlite: [burst: () => number | undefined, checkpointsDied: (thrown: unknown) => void]
): Promise<Database> {
  if (config.database.startsWith('sqlite:')) return openSqlite(config.database.slice('sqlite:'.length), now, ...sqlite);
  const { openPostgres } = await import('./store/postgres/database.ts'); // its driver is loaded only where it is used
  const { database: url, databaseConnections: connectionsMax, databaseTimeoutMs: timeoutMs } = config;
  const settingNames = {
    url: 'COLUMBA_DATABASE',
    timeoutMs: 'COLUMBA_DATABASE_TIMEOUT_MS',
    connectionsMax: 'COLUMBA_DATABASE_CONNECTIONS',
  };
  return openPostgres({ url, connectionsMax, timeoutMs, settingNames }, now);
}
