import cluster from 'node:cluster';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createApp, type Surroundings } from './app.ts';
import { importFile } from './operator/import.ts';
import { Problem } from './problem.ts';
import { createCluster } from './server/cluster.ts';
import type { Config } from './server/config.ts';

export interface ServeOptions {
  /** With sample data, in a database that is gone afterwards. */
  readonly demo: boolean;
  /** A file to write exchanges to. */
  readonly trace: string | undefined;
}

/** `columba serve`: until a signal ends it. */
export async function serve(config: Config, around: Surroundings, options: ServeOptions): Promise<number> {
  if (options.demo) return serveDemo(config, around, options);
  if (config.workers > 1 && cluster.isPrimary) return serveByWorkers(config, around);
  return serveHere(config, around, options);
}

async function serveHere(
  config: Config,
  around: Surroundings,
  { trace }: ServeOptions,
  ready: (address: string) => void = () => {},
): Promise<number> {
  const app = await createApp(config, around);
  try {
    const address = await app.start(trace).catch((thrown) => {
      if (thrown.code !== 'EADDRINUSE') throw thrown;
      throw new Problem('bad-argument', `Port ${config.port} is taken. Choose another with --port or COLUMBA_PORT.`);
    });
    around.log.info({ address, pid: process.pid }, 'serving');
    ready(address);
    if (!cluster.isWorker) process.on('SIGHUP', () => around.log.warn('SIGHUP restarts workers, and there are none'));
    around.log.info({ signal: await firstSignal(), pid: process.pid }, 'stopping');
  } finally {
    await app.stop();
    cluster.worker?.disconnect(); // its channel to the first process would keep it alive
  }
  return 0;
}

async function serveByWorkers(config: Config, around: Surroundings): Promise<number> {
  const app = await createApp(config, around); // migrates, or says what is wrong, once and not in every worker
  await app.stop();
  const workers = createCluster(config.workers, around.log, around.now);
  process.on('SIGHUP', () => {
    around.log.info('restarting the workers');
    workers.restart().then(
      () => around.log.info('the workers are restarted'),
      (err) => around.log.error({ err }, 'the workers could not be restarted'),
    );
  });
  const signal = firstSignal();
  try {
    await workers.start();
    around.log.info({ workers: config.workers, pid: process.pid }, 'serving with workers');
    around.log.info({ signal: await signal, pid: process.pid }, 'stopping');
  } finally {
    await workers.stop();
  }
  return 0;
}

const SAMPLE = fileURLToPath(new URL('../examples/sample.json', import.meta.url));
const SAMPLE_USER_ID = '3f0d9c1e-6b1a-4a63-9b57-2f5f0a7d1c11';

async function serveDemo(given: Config, around: Surroundings, options: ServeOptions): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'columba-demo-'));
  const config = { ...given, database: `sqlite:${join(folder, 'demo.db')}`, drainTimeoutMs: 0 };
  around.log.level = 'warn';
  try {
    const app = await createApp(config, around);
    await importFile(SAMPLE, app.archive, around.now);
    await app.stop();
    return await serveHere(config, around, options, (address) =>
      process.stdout.write(welcome(config.baseUrl || address)),
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const welcome = (address: string): string => `
Columba is serving an account of sample data, which is gone when it stops.

  Pages   ${address}/
  Try     curl '${address}/api/inbox.asmx/Unread?user_id=${SAMPLE_USER_ID}&max_count=2'

Stop it with Ctrl-C.
`;

/**
 * The first signal asks; a second one does not wait any longer. Ctrl-C reaches workers too, but it is the first process that
 * tells them what to do.
 */
function firstSignal(): Promise<string> {
  if (cluster.isWorker) for (const signal of ['SIGINT', 'SIGHUP']) process.on(signal, () => {});
  return new Promise((resolve) => {
    let asked = false;
    for (const signal of cluster.isWorker ? ['SIGTERM'] : ['SIGINT', 'SIGTERM']) {
      process.on(signal, () => {
        if (asked && cluster.isWorker) return; // systemd signals all processes, and the first one does so again
        if (asked) process.exit(1);
        asked = true;
        resolve(signal);
      });
    }
  });
}
