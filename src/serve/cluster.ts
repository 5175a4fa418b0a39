import cluster, { type Worker } from 'node:cluster';
import { createBackOff } from '../base/back-off.ts';
import type { Clock } from '../base/clock.ts';
import { NO_DATABASE_EXIT_CODE, Problem } from '../base/problem.ts';
import type { Log } from './telemetry/log.ts';
import { answerQuestions } from './worker-channel.ts';

/**
 * Worker processes that share the port. The primary process serves no calls. It starts the workers
 * and replaces those that die. On SIGHUP it restarts them one after the other, so that some always
 * serve.
 */
export interface Cluster {
  /** Resolves when the first workers serve. */
  start(): Promise<void>;
  /** Replaces all workers, one at a time. */
  restart(): Promise<void>;
  /** Stops all workers and waits until they have ended. */
  stop(): Promise<void>;
}

// The delay before a restart doubles, so that a worker that dies at once keeps no core busy.
const BACKOFF_FIRST_MS = 200;
const BACKOFF_MAX_MS = 30_000;
const STABLE_AFTER_MS = 10_000;
// The starts of one worker. A cause such as too little memory does not go away by itself.
const STARTS_MAX = 5;

export function createCluster(count: number, log: Log, clock: Clock, answer: (question: unknown) => unknown): Cluster {
  const workers = createWorkers(log, clock, answer);
  let restarts: Promise<void> = Promise.resolve();

  /**
   * Replaces a worker that was killed. A worker that ended by itself has logged why, and another
   * would end too.
   */
  async function launchAnew(): Promise<void> {
    for (let starts = 1; !workers.isStopping(); starts++) {
      try {
        return await workers.launch();
      } catch (err) {
        const { signal } = ((err as Partial<Problem>).details?.cause ?? {}) as { signal?: string | null };
        if (!signal || workers.isStopping() || starts === STARTS_MAX) throw err;
        log.error({ err }, 'a worker was killed before it served and is replaced');
        await clock.sleep(BACKOFF_FIRST_MS);
      }
    }
  }

  async function restartOnce(): Promise<void> {
    for (const worker of workers.serving()) {
      if (workers.isStopping()) return;
      if (!workers.isServing(worker)) continue; // died meanwhile, and is replaced by a new one anyway
      await launchAnew();
      await workers.retire(worker);
    }
  }

  return {
    async start() {
      await launchAnew(); // what keeps one from serving is told once
      if (!workers.isStopping()) await Promise.all(Array.from({ length: count - 1 }, launchAnew));
    },
    restart() {
      restarts = restarts.then(restartOnce, restartOnce);
      return restarts;
    },
    stop: workers.stop,
  };
}

/** The worker processes. One that served and died is replaced after a delay. */
function createWorkers(log: Log, clock: Clock, answer: (question: unknown) => unknown) {
  /** All running workers, and those of them that serve and are not to be stopped. */
  const running = new Set<Worker>();
  const expected = new Set<Worker>();
  const replacements = new Set<() => void>();
  let stopping = false;
  const backOff = createBackOff(BACKOFF_FIRST_MS, BACKOFF_MAX_MS);

  /** Resolves when the worker serves. */
  function launch(): Promise<void> {
    const worker = cluster.fork();
    const startedAt = clock.monotonic();
    running.add(worker);
    answerQuestions(worker, answer);
    return new Promise((resolve, reject) => {
      worker.once('listening', () => {
        if (!stopping) expected.add(worker);
        resolve();
      });
      worker.once('exit', (code, signal) => {
        running.delete(worker);
        reject(endedEarly('A worker', code, signal));
        if (!expected.delete(worker) || stopping) return;
        if (clock.monotonic() - startedAt > STABLE_AFTER_MS) backOff.reset();
        log.error({ pid: worker.process.pid, code, signal, backoffMs: backOff.ms }, 'a worker died and is replaced');
        replaceLater();
      });
    });
  }

  function replaceLater(): void {
    const cancel = clock.after(backOff.next(), () => {
      replacements.delete(cancel);
      launch().catch((err) => {
        if (stopping) return;
        log.error({ err, backoffMs: backOff.ms }, 'a worker could not be started');
        replaceLater();
      });
    });
    replacements.add(cancel);
  }

  async function retire(worker: Worker): Promise<void> {
    expected.delete(worker);
    if (!running.has(worker)) return;
    const ended = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
    worker.process.kill('SIGTERM');
    await ended;
  }

  return {
    launch,
    retire,
    serving: (): Worker[] => [...expected],
    isServing: (worker: Worker): boolean => expected.has(worker),
    isStopping: (): boolean => stopping,
    async stop(): Promise<void> {
      stopping = true;
      for (const cancel of replacements) cancel();
      await Promise.all([...running].map(retire));
    },
  };
}

/** A process of the service has ended before it served. The service ends with the same code. */
export const endedEarly = (who: string, code: number | null, signal: string | null) =>
  new Problem(
    code === NO_DATABASE_EXIT_CODE ? 'unavailable' : 'internal',
    `${who} ended with ${signal ?? `code ${code}`} before it served.`,
    { cause: { signal } },
  );
