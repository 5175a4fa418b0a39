import { contract } from './contract/contract.ts';
import { type AccountKey, type Caller, createAccounts } from './domain/accounts.ts';
import { createArchive } from './domain/archive.ts';
import { createBlacklist } from './domain/blacklist.ts';
import { createContacts } from './domain/contacts.ts';
import { createGuard } from './domain/guard.ts';
import { createInbox } from './domain/inbox.ts';
import { createOutbox } from './domain/outbox.ts';
import { createPurge } from './domain/purge.ts';
import { createTemplates } from './domain/templates.ts';
import { createOperations } from './operations/handlers.ts';
import type { Config } from './server/config.ts';
import { createHealth } from './server/health.ts';
import { type HttpServer, listen } from './server/http.ts';
import type { Log } from './server/observe.ts';
import { createTrace, type Trace } from './server/trace.ts';
import type { Database } from './store/database.ts';
import { openSqlite } from './store/sqlite.ts';
import { createEndpoint, type Endpoint, type EndpointSettings } from './wire/endpoint.ts';
import { createKept } from './wire/kept.ts';

/** What the program takes from its surroundings; tests bring their own. */
export interface Surroundings {
  readonly now: () => number;
  readonly sleep: (ms: number) => Promise<void>;
  readonly log: Log;
  readonly observe?: NonNullable<EndpointSettings['observe']>;
  /** Around the opened database: for tests that make it fail. */
  readonly database?: (opened: Database) => Database;
}

export type App = Awaited<ReturnType<typeof createApp>>;

/** Settings in, service out: the only place where the layers meet. */
export async function createApp(config: Config, { now, sleep, log, observe, database: around }: Surroundings) {
  const opened = await openDatabase(config, now);
  const database = around?.(opened) ?? opened;
  const region = config.region || null;
  const accounts = createAccounts(database, now, region);
  const regionOfAccount = (account: AccountKey) => accounts.region(account);
  const purge = createPurge(database, sleep, (err) =>
    log.warn({ err }, 'what emptied inboxes left could not be purged'),
  );
  const operations = createOperations({
    accounts,
    contacts: createContacts(database, regionOfAccount),
    templates: createTemplates(database),
    blacklist: createBlacklist(database, now, regionOfAccount),
    inbox: createInbox(database, purge),
    outbox: createOutbox(database),
    guard: createGuard(now, sleep),
    listLimit: config.listLimit,
  });
  const endpoint: Endpoint = createEndpoint({
    contract,
    namespace: config.namespace,
    dates: () => ({ now: now(), zone: config.timeZone }),
    operations,
    kept: createKept(config.keptBytesMax, (account) => database.version(account as Caller)),
    report: (problem, reference) =>
      log.error({ err: problem.details.cause, kind: problem.kind, reference }, problem.message),
    ...(observe && { observe }),
  });

  const health = createHealth(() => database.check());
  const handle: Endpoint = (request) => health.answer(request.path) ?? endpoint(request);

  let server: HttpServer | undefined;
  let trace: Trace | undefined;
  return {
    accounts,
    archive: createArchive(database, region),
    endpoint,
    backup: (path: string) => database.backup(path),
    /** Starts to serve; the address it answers at. With a file to write exchanges to, if that is wanted. */
    async start(traceFile?: string): Promise<string> {
      const failed = (err: Error) => log.error({ err }, 'the trace could not be written');
      trace = traceFile === undefined ? undefined : createTrace(traceFile, now, failed);
      purge.wake(); // a process before this one may have left something
      server = await listen(config, trace?.around(handle) ?? handle);
      return server.address;
    },
    /** Finishes what was accepted, then lets go of everything. */
    async stop(): Promise<void> {
      health.stopping();
      await server?.close();
      await trace?.close();
      await purge.stop();
      await database.close();
    },
  };
}

async function openDatabase(config: Config, now: () => number): Promise<Database> {
  if (config.database.startsWith('sqlite:')) return openSqlite(config.database.slice('sqlite:'.length), now);
  const { openPostgres } = await import('./store/postgres.ts'); // its driver is loaded only where it is used
  const { database: url, databaseConnections: connectionsMax, databaseTimeoutMs: timeoutMs } = config;
  return openPostgres({ url, connectionsMax, timeoutMs }, now);
}
