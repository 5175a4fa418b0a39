import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import type { App, AppDependencies } from '../app.ts';
import type { Config } from '../config/settings.ts';
import type { Gateway } from '../gateway/gateway.ts';
import { Problem } from '../problem.ts';
import type { Log } from '../server/telemetry/log.ts';

/**
 * With workers the operator's side has its own process, so that a long list there delays no call.
 * The primary process starts it, and starts it again when it dies.
 */
export interface WebProcess {
  /** Undefined where it serves nothing, because its port is taken. */
  readonly address: string | undefined;
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** Tells the process what it is; no setting, so it has no name of one. */
const ROLE = 'COLUMBAS_ROLE';
export const isWebProcess = (): boolean => process.env[ROLE] === 'web' && process.send !== undefined;

const BACKOFF_FIRST_MS = 200;
const BACKOFF_MAX_MS = 30_000;

export async function startWebProcess(log: Log): Promise<WebProcess> {
  let stopping = false;
  let backoffMs = BACKOFF_FIRST_MS;
  let replacement: NodeJS.Timeout | undefined;
  let current: ChildProcess | undefined;
  let served: string | undefined;
  let restarts: Promise<void> = Promise.resolve();

  async function launch(): Promise<void> {
    const child = fork(process.argv[1] as string, process.argv.slice(2), { env: { ...process.env, [ROLE]: 'web' } });
    const ended = once(child, 'exit') as Promise<[number | null, string | null]>;
    const how = async () => {
      const [code, signal] = await ended;
      return signal ?? `code ${code}`;
    };
    const serving = once(child, 'message') as Promise<[{ address?: string }]>;
    current = child;
    const early = how().then((told): never => {
      throw new Problem('unavailable', `The process of the operator's side ended with ${told} before it served.`);
    });
    early.catch(() => {});
    const [{ address }] = await Promise.race([serving, early]);
    served = address;
    how().then((told) => {
      if (stopping || current !== child) return;
      log.error({ pid: child.pid, how: told, backoffMs }, "the process of the operator's side died and is replaced");
      replaceLater();
    });
  }

  function replaceLater(): void {
    replacement = setTimeout(() => {
      launch().then(
        () => {
          backoffMs = BACKOFF_FIRST_MS;
        },
        (err) => {
          if (stopping) return;
          log.error({ err, backoffMs }, "the process of the operator's side could not be started");
          replaceLater();
        },
      );
    }, backoffMs);
    backoffMs = Math.min(backoffMs * 2, BACKOFF_MAX_MS);
  }

  async function end(): Promise<void> {
    const child = current;
    current = undefined;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    await ended;
  }

  /** One after the other: a second restart would end the process that the first one starts. */
  async function restartOnce(): Promise<void> {
    if (stopping) return;
    await end();
    await launch().catch((err) => {
      if (!stopping) throw err;
    });
  }

  await launch();
  return {
    get address() {
      return served;
    },
    restart() {
      restarts = restarts.then(restartOnce, restartOnce);
      return restarts;
    },
    async stop() {
      stopping = true;
      clearTimeout(replacement);
      await end();
    },
  };
}

/** In that process: until the primary process asks it to end, or is gone. */
export async function serveWebProcess(
  config: Config,
  deps: AppDependencies,
  create: (config: Config, deps: AppDependencies) => Promise<App>,
  taken: (thrown: Error) => never,
): Promise<number> {
  process.title = 'columba web';
  for (const signal of ['SIGINT', 'SIGHUP']) process.on(signal, () => {});
  const asked = Promise.race([once(process, 'SIGTERM'), once(process, 'disconnect')]);
  const { startWeb } = await import('./web.ts');
  const { startGateway } = await import('./gateway.ts');
  let gateway: Gateway | undefined;
  const app = await create(config, deps);
  try {
    gateway = await startGateway(app, config, deps);
    const server = await startWeb(app, config, deps, gateway).catch(taken);
    process.send?.({ address: server?.address });
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
