import type { ChildProcess } from 'node:child_process';
import { createBackOff } from '../base/back-off.ts';
import type { Clock } from '../base/clock.ts';
import { NO_DATABASE_EXIT_CODE, Problem } from '../base/problem.ts';
import type { Log } from './telemetry/log.ts';

/**
 * Processes of one kind that this process starts, watches and ends. A process that served and died
 * is replaced after a pause.
 */
export interface Supervisor {
  /** Resolves when all of them serve. Throws Problem if one ends before it serves. */
  start(): Promise<void>;
  /**
   * Replaces all of them, one at a time. A restart that is requested in the meantime follows
   * afterwards.
   */
  restart(): Promise<void>;
  /** Asks all of them to end, and waits until they have ended. None is started from now on. */
  stop(): Promise<void>;
}

/** A process that was started. */
export interface Child {
  readonly process: Pick<ChildProcess, 'pid' | 'kill' | 'on' | 'once'>;
  /** Resolves when it serves. */
  readonly serves: Promise<unknown>;
}

export interface SupervisorParts {
  /** For the log and for errors: `a worker`. */
  readonly name: string;
  readonly count: number;
  /** A restart starts the next process before it ends the former one, so that some always serve. */
  readonly overlaps: boolean;
  readonly begin: () => Child;
  readonly log: Pick<Log, 'error'>;
  readonly clock: Pick<Clock, 'monotonic' | 'after' | 'sleep'>;
}

// The pause before a replacement doubles, so that a process that dies at once keeps no core busy.
const BACKOFF_FIRST_MS = 200;
const BACKOFF_MAX_MS = 30_000;
const STABLE_AFTER_MS = 10_000;
// A cause such as too little memory does not go away by itself.
const STARTS_MAX = 5;

export function createSupervisor({ name, count, overlaps, begin, log, clock }: SupervisorParts): Supervisor {
  /** All processes that run, and those of them that serve and are not to end. */
  const running = new Set<Child>();
  const serving = new Set<Child>();
  const replacements = new Set<() => void>();
  const backOff = createBackOff(BACKOFF_FIRST_MS, BACKOFF_MAX_MS);
  let restarts: Promise<void> = Promise.resolve();
  let isStopping = false;

  /** Resolves when the process serves. */
  function launch(): Promise<void> {
    const child = begin();
    const startedAt = clock.monotonic();
    running.add(child);
    return new Promise((resolve, reject) => {
      child.serves.then(() => {
        if (!isStopping && running.has(child)) serving.add(child);
        resolve();
      }, reject);
      child.process.on('error', () => {
        if (child.process.pid === undefined) running.delete(child); // the system could not start it
      });
      child.process.once('exit', (code, signal) => {
        running.delete(child);
        reject(endedEarly(name, code, signal));
        if (!serving.delete(child) || isStopping) return;
        if (clock.monotonic() - startedAt > STABLE_AFTER_MS) backOff.reset();
        const { pid } = child.process;
        log.error({ pid, code, signal, backoffMs: backOff.ms }, `${name} died and is replaced`);
        replaceLater();
      });
    });
  }

  function replaceLater(): void {
    const cancel = clock.after(backOff.next(), () => {
      replacements.delete(cancel);
      launch().catch((err) => {
        if (isStopping) return;
        log.error({ err, backoffMs: backOff.ms }, `${name} could not be started`);
        replaceLater();
      });
    });
    replacements.add(cancel);
  }

  /**
   * Starts another process if this one was killed before it served. A process that ended by itself
   * has logged the reason, and another one would end too.
   */
  async function launchAnew(): Promise<void> {
    for (let starts = 1; !isStopping; starts++) {
      try {
        return await launch();
      } catch (err) {
        const { signal } = ((err as Partial<Problem>).details?.cause ?? {}) as { signal?: string | null };
        if (!signal || isStopping || starts === STARTS_MAX) throw err;
        log.error({ err }, `${name} was killed before it served and is replaced`);
        await clock.sleep(BACKOFF_FIRST_MS);
      }
    }
  }

  async function retire(child: Child): Promise<void> {
    serving.delete(child);
    if (!running.has(child)) return;
    const ended = new Promise<void>((resolve) => child.process.once('exit', () => resolve()));
    child.process.kill('SIGTERM');
    await ended;
  }

  async function replace(child: Child): Promise<void> {
    if (overlaps) {
      await launchAnew();
      await retire(child);
      return;
    }
    await retire(child);
    await launchAnew().catch((err) => {
      if (!isStopping) replaceLater(); // no process is left
      throw err;
    });
  }

  async function restartOnce(): Promise<void> {
    try {
      // A process that has died in the meantime is replaced by a new one anyway.
      for (const child of [...serving]) if (serving.has(child) && !isStopping) await replace(child);
    } catch (err) {
      if (!isStopping) throw err;
    }
  }

  return {
    async start() {
      await launchAnew(); // the reason why a process cannot serve is logged once
      if (!isStopping) await Promise.all(Array.from({ length: count - 1 }, launchAnew));
    },
    restart() {
      restarts = restarts.then(restartOnce, restartOnce);
      return restarts;
    },
    async stop() {
      isStopping = true;
      for (const cancel of replacements) cancel();
      await Promise.all([...running].map(retire));
      await restarts.catch(() => {}); // the caller of the restart has got the error
    },
  };
}

/** The service ends with the same code. */
const endedEarly = (name: string, code: number | null, signal: string | null): Problem =>
  new Problem(
    code === NO_DATABASE_EXIT_CODE ? 'unavailable' : 'internal',
    `${name.charAt(0).toUpperCase()}${name.slice(1)} ended with ${signal ?? `code ${code}`} before it served.`,
    { cause: { signal } },
  );
