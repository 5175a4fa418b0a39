import cluster, { type Address, type Worker } from 'node:cluster';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { programText } from '../base/program-files.ts';
import { randomBytes } from '../base/random.ts';
import { createRepeat } from '../base/repeat.ts';
import type { Gateway } from '../carriers/gateway.ts';
import { databaseName } from '../config/database-name.ts';
import type { Config } from '../config/settings.ts';
import { webPortOf } from '../config/web-address.ts';
import { createRateLimiter, type Lease, type RateLimiter } from '../domain/access/rate-limiter.ts';
import { importFile } from '../transfer/import.ts';
import type { WebServer } from '../web/server.ts';
import type { Backups } from './backup/backups.ts';
import { startBackup } from './backup/start.ts';
import { createCluster } from './cluster.ts';
import { type App, type AppDependencies, createApp } from './compose/contract.ts';
import { createDescriptorCheck } from './file-descriptors.ts';
import { serveHealthOfWorkers } from './health-thread.ts';
import { enterInstallation } from './installation.ts';
import { listenProblem } from './listen-problem.ts';
import { serveAggregatedMetrics } from './telemetry/telemetry.ts';
import { createWebProcess, isWebProcess, serveWebProcess } from './web-process.ts';
import { createAskPrimary } from './worker-channel.ts';
import { createLoadMeter, createWorkersLoad, onLoad, REPORT_MS, tellLoad } from './worker-load.ts';

export interface ServeOptions {
  /** Whether to serve sample data from a temporary database. */
  readonly demo: boolean;
  /** A file to write exchanges to. */
  readonly trace: string | undefined;
}

/**
 * Turns off V8's allocation-site pretenuring: it cost 10 % of the CPU of a call that is not cached.
 */
setFlagsFromString('--no-allocation-site-pretenuring');

/** `columba serve`: serves until a signal ends it. */
export async function serve(config: Config, deps: AppDependencies, options: ServeOptions): Promise<number> {
  process.on('SIGHUP', () => {}); // a reload that arrives too early must not end the process
  process.title = cluster.isWorker ? 'columba worker' : 'columba serve'; // replaces the flags, which may contain a password
  // Node would print the error with all its properties, including the parameters of a statement.
  process.on('uncaughtException', (err) => {
    deps.log.fatal({ err, pid: process.pid }, 'the process ends because of an unexpected error');
    process.exit(1);
  });
  createDescriptorCheck(deps).start();
  if (isWebProcess()) return serveWebProcess(config, withoutTelemetry(deps), createApp, listenProblem(config));
  if (options.demo) return serveDemo(config, deps, options);
  if (config.workers > 1 && cluster.isPrimary) return serveByWorkers(config, deps);
  return serveHere(
    config,
    cluster.isWorker ? workerDependencies(deps) : deps,
    options,
    cluster.isWorker ? undefined : async (address, app, web) => showBanner(address, web, config, await accountsOf(app)),
  );
}

type Question = { take: Parameters<RateLimiter['take']> } | { failed: string } | { web: true };

/** The primary process counts the rates of all workers, and knows where the web process listens. */
const answerQuestion = (rateLimiter: RateLimiter, webAddress: () => string | undefined) => (content: unknown) => {
  const question = content as Question;
  if ('web' in question) return webAddress();
  return 'take' in question ? rateLimiter.take(...question.take) : rateLimiter.failed(question.failed);
};

function workerDependencies(deps: AppDependencies): AppDependencies {
  const askPrimary = createAskPrimary(deps.clock);
  const rateLimiter: RateLimiter = {
    remote: true,
    take: async (...take) => ((await askPrimary({ take } satisfies Question)) as Lease) ?? { granted: 1, waitMs: 0 },
    failed: async (failed) => ((await askPrimary({ failed } satisfies Question)) as number) ?? 0,
  };
  const webAddress = async () => (await askPrimary({ web: true } satisfies Question)) as string | undefined;
  return { ...deps, rateLimiter, webAddress };
}

async function serveHere(
  config: Config,
  deps: AppDependencies,
  { trace }: ServeOptions,
  ready: (address: string, app: App, web: string | undefined) => unknown = () => {},
): Promise<number> {
  let web: WebServer | undefined;
  const app = await createApp(config, { webAddress: () => web?.address, ...deps });
  const backups = cluster.isWorker ? undefined : await entered(app, config, deps);
  let gateway: Gateway | undefined;
  // Set up before the service says that it serves, because a signal may follow at once.
  const signal = firstSignal(() => deps.log.warn('SIGHUP restarts workers, but this service has none'));
  try {
    const address = await app.start(trace).catch(listenProblem(config));
    if (cluster.isWorker) reportLoad(app, deps);
    else {
      const { startGateway } = await import('./compose/sending.ts');
      gateway = await startGateway(app, config, deps);
    }
    if (!cluster.isWorker && webPortOf(config) !== null) {
      const { startWeb } = await import('./compose/web.ts');
      web = await startWeb(app, config, deps, gateway).catch(listenProblem(config));
    }
    deps.log.info({ address, pid: process.pid }, 'serving');
    await ready(address, app, web?.address);
    deps.log.info({ signal: await signal, pid: process.pid }, 'stopping');
  } finally {
    app.health.stopping();
    await web?.close();
    await gateway?.stop();
    await app.stop();
    await backups?.stop();
    cluster.worker?.disconnect(); // its channel to the primary process would keep it alive
  }
  return 0;
}

/** Refuses a database that is a copy, and starts the backup of any other. */
async function entered(app: App, config: Config, deps: AppDependencies): Promise<Backups | undefined> {
  try {
    await enterInstallation(app.database, config, deps);
    return await startBackup(config, deps);
  } catch (thrown) {
    await app.stop();
    throw thrown;
  }
}

/** Sending, which is in another process, pauses while this worker is busy. */
function reportLoad({ bytesSent }: Pick<App, 'bytesSent'>, { clock }: Pick<AppDependencies, 'clock'>): void {
  const measure = createLoadMeter(bytesSent, performance.eventLoopUtilization);
  const work = async () => {
    const load = measure();
    if (load) tellLoad(process, load);
  };
  createRepeat({ clock, everyMs: REPORT_MS, work, failed: () => {} }).start();
}

/** For processes that do not serve. */
const withoutTelemetry = ({ telemetry: _, ...others }: AppDependencies): AppDependencies => others;

async function serveByWorkers(config: Config, deps: AppDependencies): Promise<number> {
  const app = await createApp(config, withoutTelemetry(deps)); // migrates, or reports what is wrong, once instead of in every worker
  const backups = await entered(app, config, deps);
  const accounts = await accountsOf(app);
  if (config.metricsPort === 0) await app.stop();
  const ports: { close(): Promise<void> }[] = [];
  try {
    if (config.healthPort > 0) ports.push(await serveHealthOfWorkers(config, deps.clock).catch(listenProblem(config)));
    if (config.metricsPort > 0) {
      const serving = serveAggregatedMetrics(config, { ...app, ...deps });
      ports.push(await serving.catch(listenProblem(config)));
    }
    return await superviseWorkers(config, deps, accounts, app);
  } finally {
    for (const port of ports) await port.close();
    if (config.metricsPort > 0) await app.stop(); // connections to PostgreSQL would keep the process alive
    await backups?.stop();
  }
}

async function superviseWorkers(
  config: Config,
  deps: AppDependencies,
  accounts: number,
  { credentialFailures, oddities }: Pick<App, 'credentialFailures' | 'oddities'>,
): Promise<number> {
  const isWebWanted = webPortOf(config) !== null || config.dispatcher;
  const web = isWebWanted ? createWebProcess(deps, credentialFailures.count, oddities.count) : undefined;
  const listening = once(cluster, 'listening') as Promise<[Worker, Address]>;
  process.env.COLUMBA_LOG_KEY = config.logKey || randomBytes(32).toString('hex'); // one for all workers
  const workers = createCluster(
    config.workers,
    deps,
    answerQuestion(createRateLimiter(deps.clock.now), () => web?.address),
  );
  const loadOf = createWorkersLoad(config.workers, deps.clock.monotonic);
  cluster.on('fork', (worker) => onLoad(worker, (load) => web?.tellLoad(loadOf(worker.id, load))));
  const signal = firstSignal(() => {
    deps.log.info('restarting the workers');
    Promise.all([workers.restart(), web?.restart()]).then(
      () => deps.log.info('the workers are restarted'),
      (err) => deps.log.error({ err }, 'the workers could not be restarted'),
    );
  });
  try {
    const started = workers.start().then(async () => {
      await web?.start();
      deps.log.info({ workers: config.workers, pid: process.pid }, 'serving with workers');
      const [, { address, port }] = await listening;
      const served = `http://${address.includes(':') ? `[${address}]` : address}:${port}`;
      showBanner(served, web?.address, config, accounts);
      return signal;
    });
    deps.log.info({ signal: await Promise.race([signal, started]), pid: process.pid }, 'stopping');
  } finally {
    await Promise.all([workers.stop(), web?.stop()]);
  }
  return 0;
}

async function serveDemo(given: Config, deps: AppDependencies, options: ServeOptions): Promise<number> {
  // Loaded late, because no other start needs the operator's actions here.
  const { prepareDemo, SAMPLE_USER_ID, welcome } = await import('./demo.ts');
  const { servicesOf } = await import('./compose/operator.ts');
  const folder = mkdtempSync(join(tmpdir(), 'columba-demo-'));
  const webPort = await freePort(given);
  const config = { ...given, webPort, database: `sqlite:${join(folder, 'demo.db')}`, drainTimeoutMs: 0 };
  deps.log.level = 'warn';
  try {
    const app = await createApp(config, withoutTelemetry(deps));
    const sample = join(folder, 'sample.json');
    writeFileSync(sample, programText('../examples/sample.json'));
    await importFile(sample, app.archive, deps.clock.now);
    const secrets = await prepareDemo(servicesOf(app, config, deps.clock));
    await app.stop();
    const serving = { ...deps, pages: { ...deps.pages, demoUserId: SAMPLE_USER_ID } };
    return await serveHere(config, serving, options, (address, _app, web) =>
      process.stdout.write(welcome(config.baseUrl || address, web, secrets)),
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * If the default port of the web listener is taken and no port was configured, the demo uses any
 * free port.
 */
async function freePort(config: Config): Promise<Config['webPort']> {
  const port = webPortOf(config);
  if (config.webPort !== 'default' || port === null || port === 0) return config.webPort;
  const probe = createServer();
  try {
    await new Promise<void>((resolve, reject) => {
      probe.once('error', reject).listen({ port, host: config.webHost, exclusive: true }, resolve);
    });
    return port;
  } catch {
    return 0;
  } finally {
    if (probe.listening) await new Promise((resolve) => probe.close(resolve));
  }
}

const isOnTerminal = (): boolean => process.stdout.isTTY === true;

/** The number of accounts, if it is to be printed. */
const accountsOf = async (app: App): Promise<number> => (isOnTerminal() ? (await app.status()).accounts : 0);

function showBanner(address: string, web: string | undefined, config: Config, accounts: number): void {
  if (isOnTerminal()) process.stdout.write(banner(config.baseUrl || address, web, databaseName(config), accounts));
}

const banner = (address: string, web: string | undefined, database: string, accounts: number): string => `
Columba is serving.

  Pages      ${address}/
  Operator   ${web === undefined ? 'off' : `${web}/`}
  Database   ${database}
  Accounts   ${accounts > 0 ? accounts.toLocaleString('en') : 'no account yet: columba account add USERNAME'}

Stop it with Ctrl-C.
`;

/**
 * The first signal starts a graceful shutdown, and a second one ends the process at once. Ctrl-C
 * reaches workers too, but only the primary process tells them what to do. SIGHUP calls `reload`,
 * unless it means that the terminal of the service was closed.
 */
function firstSignal(reload: () => void): Promise<string> {
  if (cluster.isWorker) for (const signal of ['SIGINT', 'SIGHUP']) process.on(signal, () => {});
  const onTerminal = process.stderr.isTTY;
  return new Promise((resolve) => {
    let asked = false;
    const stop = (signal: string) => {
      if (asked && cluster.isWorker) return; // systemd signals all processes, and the first one does so again
      if (asked) process.exit(1);
      asked = true;
      resolve(signal);
    };
    for (const signal of cluster.isWorker ? ['SIGTERM'] : ['SIGINT', 'SIGTERM']) process.on(signal, stop);
    if (!cluster.isWorker) process.on('SIGHUP', () => (onTerminal && !hasTerminal() ? stop('SIGHUP') : reload()));
  });
}

/** A process whose terminal was closed cannot open it any more (ENXIO of tty(4)). */
function hasTerminal(): boolean {
  try {
    closeSync(openSync('/dev/tty', 'r'));
    return true;
  } catch {
    return false;
  }
}
