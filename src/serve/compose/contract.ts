import cluster from 'node:cluster';
import { contract } from '../../asmx/contract/contract.ts';
import { type Dialect, NO_DIALECT } from '../../asmx/dialect/dialect.ts';
import { listRules } from '../../asmx/dialect/list-orders.ts';
import { createEndpoint, type EndpointSettings } from '../../asmx/endpoint.ts';
import { createOperations } from '../../asmx/operations/handlers.ts';
import type { PageSettings } from '../../asmx/pages/pages.ts';
import { ResponseCache } from '../../asmx/response-cache.ts';
import type { Config } from '../../config/settings.ts';
import { createAdmission } from '../../domain/access/admission.ts';
import { createRateLimiter, type RateLimiter } from '../../domain/access/rate-limiter.ts';
import { createUserIdUse } from '../../domain/accounts/user-id-use.ts';
import { ANSWER_TIMEOUT_MS, createEventDeliverer } from '../../domain/webhooks/deliverer.ts';
import { createEventSender } from '../../domain/webhooks/sender.ts';
import { type HttpServer, listen } from '../../http/server.ts';
import { accountIdOf, type Caller } from '../../store/caller.ts';
import { createObserved } from '../../store/observed.ts';
import { createHealth } from '../health.ts';
import { createHealthReporting } from '../health-thread.ts';
import { createRecording } from '../recording.ts';
import { createRouter, webRedirects } from '../router.ts';
import { createCarrierOddities } from '../telemetry/carrier-oddities.ts';
import { createCredentialFailures } from '../telemetry/credential-failures.ts';
import { describeError, textsOf } from '../telemetry/error-redaction.ts';
import { createTelemetry, type Telemetry, type TelemetryParts } from '../telemetry/telemetry.ts';
import { createServices, type ServiceDependencies, type Services } from './services.ts';

type Observe = NonNullable<EndpointSettings['observe']>;

/** What the server needs from outside, which tests replace. */
export interface AppDependencies extends ServiceDependencies {
  /** Called for every request, in addition to log, metrics and spans. */
  readonly observe?: Observe;
  /** Where a serving process writes log lines and spans. */
  readonly telemetry?: Pick<TelemetryParts, 'output' | 'environment'>;
  /** The version that pages show and, in the demo, its user_id. */
  readonly pages?: PageSettings;
  /** Where the web listener is, such as http://127.0.0.1:8081; undefined while there is none. */
  readonly webAddress?: () => string | undefined | Promise<string | undefined>;
  /** The rate limiter of another process, which counts for all workers. */
  readonly rateLimiter?: RateLimiter;
}

export type App = Awaited<ReturnType<typeof createApp>>;

/**
 * The server of the contract on top of the services. Start: recorder, background work, telemetry,
 * contract port, health port. Stop: the contract port first, when accepted requests are answered;
 * the database last. Dispatchers are started by sending.ts.
 */
export async function createApp(config: Config, deps: AppDependencies) {
  const { log, clock, pages } = deps;
  const dialect = await readDialect(config);
  let server: HttpServer | undefined;
  let telemetry: Telemetry | undefined;
  const credentialFailures = createCredentialFailures(log, clock.now); // counts those of the web listener
  const oddities = createCarrierOddities();
  const counters = {
    responseCache: () => responseCache.statistics,
    webFailures: credentialFailures.counters,
    oddities: oddities.counters,
  };
  const services: Services = await createServices(config, deps, async (database, engine) => {
    telemetry =
      deps.telemetry &&
      (await createTelemetry(config, {
        ...deps.telemetry,
        messageCounts: () => services.messageCounts(),
        sendingCounts: () => services.sendingCounts(),
        backupLagMs: () => services.backupLagMs(),
        backupVerifiedAt: () => services.backupVerifiedAt(),
        sources: { engine, ...counters, traffic: () => server?.traffic },
        log,
        clock,
        isWorker: cluster.isWorker,
      }));
    const observer = telemetry?.observeStatement;
    return observer ? createObserved(database, engine, observer) : database;
  });
  const recording = createRecording({ now: clock.now, log });
  const responseCache = new ResponseCache({
    contract,
    bytesMax: config.responseCacheBytesMax,
    isUnchanged: (account, pollOthers, pollId) => services.accounts.isUnchanged(account as Caller, pollOthers, pollId),
    isBypassed: () => recording.recorder !== undefined, // a cached response has no user_id to mask
  });
  const admission = createAdmission({
    rateLimiter: deps.rateLimiter ?? createRateLimiter(clock.now),
    now: clock.now,
    sleep: clock.sleep,
    accountRate: { perSecond: config.accountRate, burst: config.accountBurst },
    addressRate: { perSecond: config.addressRate, burst: config.addressBurst },
    unlimited: config.addressUnlimited,
  });
  const background = createBackground(config, deps, services);
  const { listLimit, listItemsMax } = config;
  const zone = dialect.dates?.timeZone ?? config.timeZone;
  const untraced = createEndpoint({
    contract,
    namespace: dialect.namespace ?? config.namespace,
    clock,
    dates: () => ({ now: clock.now(), zone }),
    limits: config,
    dialect,
    operations: createOperations({ ...services, admission, lists: listRules(dialect), listLimit, listItemsMax }),
    admitClient: (client) => admission.admitClient(client),
    admitCachedAccount: (account) => admission.admitAccount(account as Caller),
    admitReading: admission.admitReading,
    readingSucceeded: admission.readingSucceeded,
    admitPieces: (receiver) => server?.admitPieces(receiver),
    receiverOf: accountIdOf,
    responseCache,
    ...(pages && { pages }),
    observe(exchange) {
      recording.observe(exchange);
      if (exchange.kind === 'ok') background.noteUse(exchange.account);
      deps.observe?.(exchange);
      telemetry?.observe?.(exchange, accountIdOf(exchange.account));
    },
    report({ message, kind, details }, reference, { id: request_id }, call) {
      const err = describeError(details.cause, textsOf(call?.arguments));
      log.error({ err, kind, reference, request_id }, details.operator ?? message);
    },
  });
  const endpoint = telemetry?.wrap(untraced) ?? untraced;
  const health = createHealth(
    () => services.database.check(),
    (wait) => server?.holdBack(wait) ?? wait(),
  );
  const healthPort = createHealthReporting(config, deps, health.state);
  const handle = createRouter({
    paths: health.paths,
    prefixes: webRedirects(config.webUrl, deps.webAddress, endpoint),
    otherwise: endpoint,
  });

  return {
    ...services,
    admission,
    health,
    endpoint,
    credentialFailures,
    oddities,
    /** Whether calls of the contract wait in this process. */
    contractLoad: () => server?.load ?? 'free',
    /** Bytes that this process has sent to clients of the contract. */
    bytesSent: () => server?.traffic.bytesSent ?? 0,
    /** Starts to serve and returns the URL. With a file, it records every exchange. */
    async start(recordFile?: string): Promise<string> {
      const handler = recording.start(recordFile, handle);
      background.start();
      await telemetry?.start();
      server = await listen(config, handler, clock);
      if (config.healthPort > 0) await healthPort.start();
      return server.address;
    },
    /** Answers the accepted requests, then closes everything. */
    async stop(): Promise<void> {
      health.stopping();
      healthPort.stopping();
      await server?.close();
      await healthPort.close();
      await recording.recorder?.close();
      await telemetry?.stop();
      await background.stop();
      await services.stop();
    },
  };
}

/**
 * Throws Problem if the file cannot be used. Without a file, zod is not loaded, which saves 50 ms.
 */
async function readDialect({ dialect, timeZone }: Config): Promise<Dialect> {
  if (dialect === '') return NO_DIALECT;
  return (await import('../../asmx/dialect/dialect-file.ts')).readDialectFile(dialect, timeZone);
}

/** The background work of a process that serves. */
function createBackground(config: Config, { clock, log }: AppDependencies, services: Services) {
  const { database } = services;
  const deliverer = createEventDeliverer({
    database,
    clock,
    send: createEventSender({ allowedNetworks: config.webhookNetworks, timeoutMs: ANSWER_TIMEOUT_MS, clock }),
    failed: (err) => log.warn({ err }, 'events could not be delivered to webhooks'),
  });
  const userIdUse = createUserIdUse(database, clock, (err) =>
    log.warn({ err }, 'the last use of a user_id could not be recorded'),
  );
  return {
    noteUse: userIdUse.note,
    start(): void {
      services.purge.wake(); // an earlier process may have left emptied inboxes
      services.retentionRuns.start();
      deliverer.start();
      userIdUse.start();
      services.maintenanceRuns.start();
      services.indexRuns.start();
    },
    stop: () => Promise.all([deliverer.stop(), userIdUse.stop(), services.stopBackground()]),
  };
}
