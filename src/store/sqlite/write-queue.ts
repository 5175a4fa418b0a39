import { setTimeout as sleep } from 'node:timers/promises';
import type { Problem } from '../../problem.ts';

/**
 * Writes to the embedded database, one after the other. Those that are asked for in one turn of the event loop share one
 * transaction, and with it one wait for the disk; each is still whole or nothing, and is answered only after the commit.
 */
export interface WriteQueue<C> {
  add<T>(work: (connection: C) => T | Promise<T>, options?: WriteOptions): Promise<T>;
  /** Resolves when everything that was asked for is done. */
  empty(): Promise<void>;
}

export interface WriteOptions {
  /** One statement, done at once, which is undone by itself where it fails. */
  readonly oneStatement?: boolean;
  /** Called when it has been committed or is known not to be, before anybody is answered. */
  readonly decided?: () => void;
}

export interface Transactional {
  /** Begins a transaction that writes; false where another process is in one. */
  tryBegin(): boolean;
  /** What there is to say where it stays in one. */
  lockedOut(): Problem;
  exec(sql: string): void;
  readonly inTransaction: boolean;
}

interface Job<C> {
  readonly work: (connection: C) => unknown;
  readonly options: WriteOptions;
  readonly resolve: (result: never) => void;
  readonly reject: (thrown: unknown) => void;
}

// Bounds how long the first of them waits for the others; more than a process has connections that write at once.
const BATCH_MAX = 256;
// A turn of a busy process takes about a millisecond.
const GATHER_TURNS_MAX = 8;
// One that is overloaded turns more slowly, and a commit is not to wait for that.
const GATHER_MS_MAX = 25;
// Another process may hold the write lock: an import of a large account takes a few seconds.
const LOCK_WAIT_MS = 5_000;
const LOCK_RETRY_MS = 5;

/** `committed` is told of every commit, after its answers. */
export function createWriteQueue<C extends Transactional>(connection: C, committed = () => {}): WriteQueue<C> {
  const waiting: Job<C>[] = [];
  let running: Promise<void> | undefined;

  function add<T>(work: (connection: C) => T | Promise<T>, options: WriteOptions = {}): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      waiting.push({ work, options, resolve, reject });
      running ??= runAll();
    });
  }

  async function runAll(): Promise<void> {
    while (waiting.length > 0) {
      await gather();
      await runBatch(waiting.splice(0, BATCH_MAX));
    }
    running = undefined;
  }

  /**
   * After the sockets that are readable now have been read, their writes come along; and as long as every turn brings more,
   * so do those. A disk that takes its time takes it once for all of them.
   */
  async function gather(): Promise<void> {
    const end = performance.now() + GATHER_MS_MAX;
    for (let turn = 0, before = 0; turn < GATHER_TURNS_MAX && waiting.length > before; turn++) {
      before = waiting.length;
      await new Promise(setImmediate);
      if (performance.now() > end) return;
    }
  }

  /** SQLite would wait for the lock by blocking the process; this way others are served meanwhile. */
  async function begin(): Promise<void> {
    for (let tries = 0; !connection.tryBegin(); tries++) {
      if (tries * LOCK_RETRY_MS >= LOCK_WAIT_MS) throw connection.lockedOut();
      await sleep(LOCK_RETRY_MS);
    }
  }

  async function runBatch(jobs: readonly Job<C>[]): Promise<void> {
    const answers: (() => void)[] = [];
    try {
      await begin();
      for (const job of jobs) {
        const answer = job.options.oneStatement ? runOne(job, jobs.length > 1) : await run(job, jobs.length > 1);
        answers.push(answer);
      }
      connection.exec('commit');
    } catch (thrown) {
      rollBack();
      answers.length = 0;
      for (const { reject } of jobs) answers.push(() => reject(thrown));
    }
    for (const { options } of jobs) options.decided?.();
    for (const answer of answers) answer();
    committed();
  }

  /** A connection that cannot even do this has lost its transaction anyway. */
  function rollBack(): void {
    try {
      if (connection.inTransaction) connection.exec('rollback');
    } catch {}
  }

  /** Is undone by itself where it fails, and only that; a failure that SQLite has answered by undoing all fails all. */
  function runOne({ work, resolve, reject }: Job<C>, hasCompany: boolean): () => void {
    try {
      const result = work(connection);
      return () => resolve(result as never);
    } catch (thrown) {
      if (!hasCompany || !connection.inTransaction) throw thrown;
      return () => reject(thrown);
    }
  }

  /** Several statements are undone together. */
  async function run({ work, resolve, reject }: Job<C>, hasCompany: boolean): Promise<() => void> {
    if (hasCompany) connection.exec('savepoint job');
    try {
      const result = await work(connection);
      if (hasCompany) connection.exec('release job');
      return () => resolve(result as never);
    } catch (thrown) {
      if (!hasCompany || !connection.inTransaction) throw thrown;
      connection.exec('rollback to job');
      connection.exec('release job');
      return () => reject(thrown);
    }
  }

  return { add, empty: async () => running };
}
