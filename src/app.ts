import cluster from 'node:cluster';
import { contract } from './contract/contract.ts';
import { type AccountKey, type Caller, createAccounts } from './domain/accounts.ts';
import { createArchive } from './domain/archive.ts';
import { createBlacklist } from './domain/blacklist.ts';
import { createContacts } from './domain/contacts.ts';
import { createFigures, readStatus } from './domain/figures.ts';
import { createGuard } from './domain/guard.ts';
import { createInbox } from './domain/inbox.ts';
import { type Authority, createAuthority } from './domain/limits.ts';
import { createOutbox } from './domain/outbox.ts';
import { createPurge } from './domain/purge.ts';
import { createTemplates } from './domain/templates.ts';
import { createOperations } from './operations/handlers.ts';
import { createBursts } from './server/bursts.ts';
import type { Config } from './server/config.ts';
import { describeError, textsOf } from './server/failures.ts';
import { createHealth } from './server/health.ts';
import { type HttpServer, listen } from './server/http.ts';
import type { Log } from './server/observe.ts';
import { createTelemetry, type TelemetryParts } from './server/telemetry.ts';
import { createTrace, type Trace } from './server/trace.ts';
import type { Database } from './store/database.ts';
import { openSqlite } from './store/sqlite.ts';
import { numberOf } from './store/statement.ts';
import { createTimed } from './store/timed.ts';
import { createEndpoint, type Endpoint, type EndpointSettings } from './wire/endpoint.ts';
import { createKept } from './wire/kept.ts';

/** What the program takes from its surroundings; tests bring their own. */
export interface Surroundings {
  readonly now: () => number;
  readonly sleep: (ms: number) => Promise<void>;
  readonly log: Log;
  /** Told of every request, besides what the process itself tells about its work. */
  readonly observe?: NonNullable<EndpointSettings['observe']>;
  /** For a process that serves: where it tells about its work. */
  readonly telemetry?: Pick<TelemetryParts, 'output' | 'environment'>;
  /** Who counts for all processes together, where it is another one. */
  readonly authority?: Authority;
  /** Around the opened database: for tests that make it fail. */
  readonly database?: (opened: Database) => Database;
}

export type App = Awaited<ReturnType<typeof createApp>>;

/** Settings in, service out: the only place where the layers meet. */
export async function createApp(config: Config, surroundings: Surroundings) {
  const { now, sleep, log, observe, database: around, authority } = surroundings;
  const bursts = createBursts();
  const opened = await openDatabase(config, now, () => bursts.current);
  const untimed = around?.(opened) ?? opened;
  const figures = createFigures(untimed);
  const engine = config.database.startsWith('sqlite:') ? 'sqlite' : 'postgres';
  let server: HttpServer | undefined;
  const kept = createKept(config.keptBytesMax, (account, look) => untimed.version(account as Caller, look));
  const telemetry =
    surroundings.telemetry &&
    (await createTelemetry(config, {
      ...{ ...surroundings.telemetry, log, isWorker: cluster.isWorker, stock: figures },
      sources: { engine, kept: () => kept.figures, traffic: () => server?.traffic },
    }));
  const database = telemetry?.watch ? createTimed(untimed, engine, telemetry.watch) : untimed;
  const tell: NonNullable<Surroundings['observe']> = (exchange) => {
    observe?.(exchange);
    telemetry?.observe?.(exchange, numberOf(exchange.account));
  };
  const region = config.region || null;
  const accounts = createAccounts(database, now, region);
  const regionOfAccount = (account: AccountKey) => accounts.region(account);
  const purge = createPurge(database, sleep, (err) =>
    log.warn({ err }, 'what emptied inboxes left could not be purged'),
  );
  const guard = createGuard({
    ...{ authority: authority ?? createAuthority(now), now },
    sleep: (ms) => server?.holdBack(() => sleep(ms)) ?? sleep(ms),
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
    outbox: createOutbox(database),
    guard,
    listLimit: config.listLimit,
    listItemsMax: config.listItemsMax,
  });
  const endpoint: Endpoint = createEndpoint({
    contract,
    namespace: config.namespace,
    dates: () => ({ now: now(), zone: config.timeZone }),
    limits: config,
    operations,
    admitClient: (client) => guard.admitClient(client),
    admitAccount: (account) => guard.admitAccount(account as Caller),
    ...(config.keptBytesMax > 0 && { kept }),
    report: ({ message, kind, details }, reference, { id: request_id }, call) => {
      const err = describeError(details.cause, textsOf(call?.arguments));
      log.error({ err, kind, reference, request_id }, message);
    },
    ...((observe ?? telemetry?.observe) && { observe: tell }),
  });
  const traced = telemetry?.around(endpoint) ?? endpoint;

  const health = createHealth(() => database.check());
  const handle: Endpoint = (request) => (request.refused ? undefined : health.answer(request.path)) ?? traced(request);

  let trace: Trace | undefined;
  return {
    accounts,
    archive: createArchive(database, region),
    endpoint: traced,
    figures,
    status: () => readStatus(untimed),
    backup: (path: string) => database.backup(path),
    /** Starts to serve; the address it answers at. With a file to write exchanges to, if that is wanted. */
    async start(traceFile?: string): Promise<string> {
      const failed = (err: Error) => log.error({ err }, 'the trace could not be written');
      trace = traceFile === undefined ? undefined : createTrace(traceFile, now, failed);
      purge.wake(); // a process before this one may have left something
      await telemetry?.start();
      server = await listen(config, trace?.around(handle) ?? handle, bursts);
      return server.address;
    },
    /** Finishes what was accepted, then lets go of everything. */
    async stop(): Promise<void> {
      health.stopping();
      await server?.close();
      await trace?.close();
      await telemetry?.stop();
      await purge.stop();
      await database.close();
    },
  };
}

async function openDatabase(config: Config, now: () => number, burst: () => number | undefined): Promise<Database> {
  if (config.database.startsWith('sqlite:')) return openSqlite(config.database.slice('sqlite:'.length), now, burst);
  const { openPostgres } = await import('./store/postgres.ts'); // its driver is loaded only where it is used
  const { database: url, databaseConnections: connectionsMax, databaseTimeoutMs: timeoutMs } = config;
  return openPostgres({ url, connectionsMax, timeoutMs }, now);
}
