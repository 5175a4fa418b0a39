import cluster, { type Worker } from 'node:cluster';
import type { Log } from './observe.ts';

/**
 * Several processes that share the port. The first process serves nothing itself: it starts the others, replaces one that
 * dies, and restarts them one after the other when it gets SIGHUP, so that there is always somebody who answers.
 */
export interface Cluster {
  /** Resolves when the first workers serve. */
  start(): Promise<void>;
  /** Replaces all workers, one at a time. */
  restart(): Promise<void>;
  /** Asks all of them to finish, and waits. */
  stop(): Promise<void>;
}

// A worker that dies at once must not keep a core busy by being started again and again.
const BACKOFF_FIRST_MS = 200;
const BACKOFF_MAX_MS = 30_000;
const STABLE_AFTER_MS = 10_000;

export function createCluster(count: number, log: Log, now: () => number): Cluster {
  const expected = new Set<Worker>();
  let stopping = false;
  let backoffMs = BACKOFF_FIRST_MS;

  function launch(): Promise<Worker> {
    const worker = cluster.fork();
    const startedAt = now();
    expected.add(worker);
    worker.on('exit', (code, signal) => {
      if (!expected.delete(worker) || stopping) return;
      if (now() - startedAt > STABLE_AFTER_MS) backoffMs = BACKOFF_FIRST_MS;
      log.error({ pid: worker.process.pid, code, signal, backoffMs }, 'a worker died and is replaced');
      setTimeout(() => stopping || launch().catch(() => {}), backoffMs).unref();
      backoffMs = Math.min(backoffMs * 2, BACKOFF_MAX_MS);
    });
    return new Promise((resolve, reject) => {
      worker.once('listening', () => resolve(worker));
      worker.once('exit', (code, signal) => reject(new Error(`A worker ended before it served (${signal ?? code}).`)));
    });
  }

  function retire(worker: Worker): Promise<void> {
    expected.delete(worker);
    if (worker.isDead()) return Promise.resolve();
    const ended = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
    worker.process.kill('SIGTERM');
    return ended;
  }

  return {
    start: async () => void (await Promise.all(Array.from({ length: count }, launch))),
    async restart() {
      for (const worker of [...expected]) {
        if (stopping) return;
        await launch();
        await retire(worker);
      }
    },
    async stop() {
      stopping = true;
      await Promise.all([...expected].map(retire));
    },
  };
}
