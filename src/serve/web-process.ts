import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { constants, getPriority, setPriority } from 'node:os';
import { createBackOff } from '../base/back-off.ts';
import type { Clock } from '../base/clock.ts';
import type { Gateway } from '../carriers/gateway.ts';
import type { Config } from '../config/settings.ts';
import { endedEarly } from './cluster.ts';
import type { App, AppDependencies } from './compose/contract.ts';
import type { FailureReason } from './telemetry/credential-failures.ts';
import type { Log } from './telemetry/log.ts';
import { createFollowedLoad, onLoad, tellLoad, type WorkerLoad } from './worker-load.ts';

/**
 * With workers the operator's side has its own process, so that a long list there delays no call.
 * The primary process starts it, and starts it again when it dies.
 */
export interface WebProcess {
  /** Undefined where it serves nothing, because its port is taken. */
  readonly address: string | undefined;
  /** How busy the workers are. */
  tellLoad(load: WorkerLoad): void;
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** Tells the process what it is; no setting, so it has no name of one. */
const ROLE = 'COLUMBAS_ROLE';
export const isWebProcess = (): boolean => process.env[ROLE] === 'web' && process.send !== undefined;

const BACKOFF_FIRST_MS = 200;
const BACKOFF_MAX_MS = 30_000;

/** `refused` is told of each credential that the process refused: its metrics are served here. */
export async function startWebProcess(
  { log, clock }: { readonly log: Log; readonly clock: Clock },
  refused: (reason: FailureReason) => void,
): Promise<WebProcess> {
  let stopping = false;
  const backOff = createBackOff(BACKOFF_FIRST_MS, BACKOFF_MAX_MS);
  let cancelReplacement = () => {};
  let current: ChildProcess | undefined;
  let served: string | undefined;
  let restarts: Promise<void> = Promise.resolve();

  async function launch(): Promise<void> {
    const { child, address, ended } = forkWeb(refused);
    current = child;
    served = await address;
    ended.then((how) => {
      if (stopping || current !== child) return;
      log.error(
        { pid: child.pid, how, backoffMs: backOff.ms },
        "the process of the operator's side died and is replaced",
      );
      replaceLater();
    });
  }

  function replaceLater(): void {
    cancelReplacement = clock.after(backOff.next(), () => {
      launch().then(
        () => {
          backOff.reset();
        },
        (err) => {
          if (stopping) return;
          log.error({ err, backoffMs: backOff.ms }, "the process of the operator's side could not be started");
          replaceLater();
        },
      );
    });
  }

  function end(): Promise<void> {
    const child = current;
    current = undefined;
    return endOf(child);
  }

  /** One after the other: a second restart would end the process that the first one starts. */
  async function restartOnce(): Promise<void> {
    await end();
    if (stopping) return;
    await launch().catch((err) => {
      if (!stopping) throw err;
    });
  }

  await launch();
  return {
    get address() {
      return served;
    },
    tellLoad(load) {
      if (current) tellLoad(current, load);
    },
    restart() {
      restarts = restarts.then(restartOnce, restartOnce);
      return restarts;
    },
    async stop() {
      stopping = true;
      cancelReplacement();
      await end();
      await restarts.catch(() => {}); // its failure was logged
    },
  };
}

async function endOf(child: ChildProcess | undefined): Promise<void> {
  if (!child || child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  await ended;
}

interface ForkedWeb {
  readonly child: ChildProcess;
  /** Rejects where the process ends before it serves. */
  readonly address: Promise<string | undefined>;
  /** How it ended: a signal or a code. */
  readonly ended: Promise<string>;
}

function forkWeb(refused: (reason: FailureReason) => void): ForkedWeb {
  const child = fork(process.argv[1] as string, process.argv.slice(2), { env: { ...process.env, [ROLE]: 'web' } });
  child.on('message', ({ refused: reason }: { refused?: FailureReason }) => {
    if (reason !== undefined) refused(reason);
  });
  const exit = once(child, 'exit') as Promise<[number | null, string | null]>;
  const ended = exit.then(([code, signal]) => signal ?? `code ${code}`);
  const early = exit.then(([code, signal]): never => {
    throw endedEarly("The process of the operator's side", code, signal);
  });
  early.catch(() => {});
  const serving = once(child, 'message') as Promise<[{ address?: string }]>;
  return { child, address: Promise.race([serving, early]).then(([told]) => told.address), ended };
}

/**
 * Where all cores are busy, calls come first. On two cores calls without a pause kept 0.84 of their
 * rate beside sending, and keep 0.91. With 10 instead of 5 it is 0.90, and a third less is sent.
 */
function yieldToWorkers(): void {
  try {
    setPriority(Math.min(getPriority() + NICENESS, constants.priority.PRIORITY_LOW));
  } catch {} // some sandboxes refuse it
}

/**
 * The niceness of this process says nothing to PostgreSQL, which works for the messages too. So
 * sending rests while the workers are busy, as it does in one process. On two cores calls without a
 * pause kept 0.51 of their rate, and keep 0.90.
 */
function callsOfWorkers({ monotonic }: Clock) {
  const load = createFollowedLoad(monotonic);
  onLoad(process, load.report);
  const utilization = () => ({
    active: WORK_OF_ALL * performance.eventLoopUtilization().active,
    idle: load.idleMs(),
  });
  return { bytesSent: load.bytesSent, utilization };
}

// For a message PostgreSQL works 405 µs, and this process 240 (bench/RESULTS.md).
const WORK_OF_ALL = 2.7;

/** More than the workers have. */
const NICENESS = 5;

/** In that process: until the primary process asks it to end, or is gone. */
export async function serveWebProcess(
  config: Config,
  deps: AppDependencies,
  create: (config: Config, deps: AppDependencies) => Promise<App>,
  taken: (thrown: Error) => never,
): Promise<number> {
  process.title = 'columba web';
  yieldToWorkers();
  for (const signal of ['SIGINT', 'SIGHUP']) process.on(signal, () => {});
  const asked = Promise.race([once(process, 'SIGTERM'), once(process, 'disconnect')]);
  const calls = callsOfWorkers(deps.clock); // in any case: Node keeps messages that nobody listens to
  const { startWeb } = await import('./compose/web.ts');
  const { startGateway } = await import('./compose/sending.ts');
  let gateway: Gateway | undefined;
  const app = await create(config, deps);
  try {
    gateway = await startGateway(app, config, deps, app.engine === 'postgres' ? calls : undefined);
    const server = await startWeb(app, config, deps, gateway).catch(taken);
    process.send?.({ address: server?.address });
    app.credentialFailures.onCount = (refused) => void process.send?.({ refused });
    await asked;
    app.health.stopping();
    await server?.close();
  } finally {
    await gateway?.stop();
    await app.stop();
    if (process.connected) process.disconnect(); // the channel would keep the process alive
  }
  return 0;
}
