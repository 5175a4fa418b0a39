import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { constants, getPriority, setPriority } from 'node:os';
import type { Clock } from '../base/clock.ts';
import type { Noticed } from '../carriers/dependencies.ts';
import type { Gateway } from '../carriers/gateway.ts';
import type { Config } from '../config/settings.ts';
import { type Child, createSupervisor, type Supervisor, type SupervisorParts } from './child-process.ts';
import type { App, AppDependencies } from './compose/contract.ts';
import type { FailureReason } from './telemetry/credential-failures.ts';
import { createFollowedLoad, onLoad, tellLoad, type WorkerLoad } from './worker-load.ts';

/**
 * With workers, the web listener and the dispatchers run in their own process, so that a long list
 * there delays no call. The primary process starts it, and restarts it when it dies.
 */
export interface WebProcess extends Supervisor {
  /** Undefined if it serves nothing, because it has not started or its port is taken. */
  readonly address: string | undefined;
  /** How busy the workers are. */
  tellLoad(load: WorkerLoad): void;
}

/** Tells the process its role. It is not a setting, so its name does not begin with COLUMBA_. */
const ROLE = 'COLUMBAS_ROLE';
export const isWebProcess = (): boolean => process.env[ROLE] === 'web' && process.send !== undefined;

/** What the web process counts. */
interface Told {
  readonly refused?: FailureReason;
  readonly oddity?: Parameters<Noticed>;
}

/**
 * `refused` is called for each credential that the web process refused, and `noticed` for what its
 * connectors got that was not as expected, because its metrics are served here.
 */
export function createWebProcess(
  { log, clock }: Pick<SupervisorParts, 'log' | 'clock'>,
  refused: (reason: FailureReason) => void,
  noticed: Noticed,
): WebProcess {
  let latest: ChildProcess | undefined;
  let address: string | undefined;

  function begin(): Child {
    const child = fork(process.argv[1] as string, process.argv.slice(2), { env: { ...process.env, [ROLE]: 'web' } });
    latest = child;
    child.on('message', ({ refused: reason, oddity }: Told) => {
      if (reason !== undefined) refused(reason);
      if (oddity !== undefined) noticed(...oddity);
    });
    const serves = (once(child, 'message') as Promise<[{ address?: string }]>).then(([told]) => {
      address = told.address;
    });
    return { process: child, serves };
  }

  // Both would have the same port, so the old process ends first.
  const name = 'the web process';
  const supervisor = createSupervisor({ name, count: 1, overlaps: false, begin, log, clock });
  return {
    ...supervisor,
    get address() {
      return address;
    },
    tellLoad(load) {
      if (latest) tellLoad(latest, load);
    },
  };
}

/**
 * When all cores are busy, calls come first. On two cores, continuous calls kept 0.84 of their rate
 * while messages were sent, and now keep 0.91. With a niceness of 10 instead of 5 it is 0.90, and a
 * third less is sent.
 */
function yieldToWorkers(): void {
  try {
    setPriority(Math.min(getPriority() + NICENESS, constants.priority.PRIORITY_LOW));
  } catch {} // some sandboxes refuse it
}

/**
 * The niceness of this process says nothing to PostgreSQL, which works for the messages too. So
 * sending pauses while the workers are busy, as it does in one process. On two cores calls that
 * follow one another without a pause kept 0.51 of their rate, and keep 0.90.
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

// A message costs PostgreSQL 405 µs and this process 240 µs (bench/RESULTS.md).
const WORK_OF_ALL = 2.7;

/** Added to the niceness of the workers. */
const NICENESS = 5;

/**
 * Runs in the web process, until the primary process asks it to end or is gone. The background work
 * is left to the workers: `start` of the app is not called.
 */
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
  const calls = callsOfWorkers(deps.clock); // always, because Node queues messages that nobody listens to
  const { startWeb } = await import('./compose/web.ts');
  const { startGateway } = await import('./compose/sending.ts');
  let gateway: Gateway | undefined;
  const app = await create(config, deps);
  try {
    gateway = await startGateway(app, config, deps, app.engine === 'postgres' ? calls : undefined);
    const server = await startWeb(app, config, deps, gateway).catch(taken);
    process.send?.({ address: server?.address });
    app.credentialFailures.onCount = (refused) => void process.send?.({ refused } satisfies Told);
    app.oddities.onCount = (...oddity) => void process.send?.({ oddity } satisfies Told);
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
