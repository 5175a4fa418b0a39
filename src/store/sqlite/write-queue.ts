import type { Clock } from '../../base/clock.ts';
import { createPauses, nextTurn } from '../../base/event-loop.ts';
import type { Problem } from '../../base/problem.ts';

/**
 * Runs writes one after the other. Writes of one turn of the event loop share a transaction, and so
 * one wait for the disk. Each of them is done whole or not at all, and is answered after the
 * commit. If the process is killed before the commit, no client has an answer. SQLite then rolls
 * the transaction back at the next start. If it is killed after the commit, the write stays, and
 * its client has no answer. So a client that repeats a write must do no harm.
 */
export interface WriteQueue<C> {
  add<T>(work: (connection: C) => T | Promise<T>, options?: WriteOptions): Promise<T>;
  /** Resolves when every write that was added is done. */
  empty(): Promise<void>;
}

export interface WriteOptions {
  /**
   * Whether the work is a single synchronous statement. SQLite itself undoes a statement that
   * fails.
   */
  readonly single?: boolean;
}

export interface WriteQueueEvents {
  /** A transaction was committed or rolled back. Called before its writes are answered. */
  readonly onSettled?: () => void;
  /** Called after its writes were answered. */
  readonly onAnswered?: () => void;
}

export interface Transactional {
  /** Begins a transaction that writes. False where another process has the write lock. */
  tryBegin(): boolean;
  /** The error where another process keeps the write lock. */
  lockedOut(): Problem;
  exec(sql: string): void;
  readonly inTransaction: boolean;
  /** Awaited before each statement, except those that are run synchronously. */
  pause?: (() => Promise<void> | undefined) | undefined;
  /** Whether other writes wait for the end of this transaction. */
  isAwaited?: boolean;
}

interface Job<C> {
  readonly work: (connection: C) => unknown;
  readonly options: WriteOptions;
  readonly resolve: (result: never) => void;
  readonly reject: (thrown: unknown) => void;
}

// Bounds how long the first write of a batch waits for the others.
const BATCH_MAX = 256;
// A turn of a busy process takes about 1 ms.
const GATHER_TURNS_MAX = 8;
// A turn of an overloaded process takes longer, and a commit does not wait for it.
const GATHER_MS_MAX = 25;
// About the time of ten calls, and of one statement for the messages of a claim.
const PAUSE_AFTER_MS = 0.5;
// Under load a turn serves sockets for 10 ms. With pauses after 0.5 ms, 2,000 writes waited 1.8 s.
const PAUSE_AFTER_MS_MAX = 10;
// Another process may hold the write lock: an import of a large account takes a few seconds.
const LOCK_WAIT_MS = 5_000;
const LOCK_RETRY_MS = 5;

export function createWriteQueue<C extends Transactional>(
  connection: C,
  clock: Pick<Clock, 'monotonic' | 'sleep'>,
  { onSettled = () => {}, onAnswered = () => {} }: WriteQueueEvents = {},
): WriteQueue<C> {
  const waiting: Job<C>[] = [];
  let running: Promise<void> | undefined;

  function add<T>(work: (connection: C) => T | Promise<T>, options: WriteOptions = {}): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      waiting.push({ work, options, resolve, reject });
      connection.isAwaited = running !== undefined;
      running ??= runAll();
    });
  }

  async function runAll(): Promise<void> {
    while (waiting.length > 0) {
      await gather(waiting, clock);
      const jobs = waiting.splice(0, BATCH_MAX);
      connection.isAwaited = jobs.length > 1 || waiting.length > 0;
      await runBatch(jobs);
    }
    running = undefined;
  }

  async function runBatch(jobs: readonly Job<C>[]): Promise<void> {
    const answers: (() => void)[] = [];
    const isShared = jobs.length > 1;
    try {
      await begin(connection, clock);
      // The settlement of 60 messages takes 4 ms. Calls that read are answered meanwhile, from the
      // state before this transaction.
      const pause = createPauses(PAUSE_AFTER_MS, PAUSE_AFTER_MS_MAX);
      connection.pause = pause;
      for (const job of jobs) {
        await pause();
        answers.push(job.options.single ? runSingle(connection, job, isShared) : await run(connection, job, isShared));
      }
      connection.exec('commit');
    } catch (thrown) {
      rollBack(connection);
      answers.length = 0;
      for (const { reject } of jobs) answers.push(() => reject(thrown));
    }
    connection.pause = undefined;
    onSettled();
    for (const answer of answers) answer();
    onAnswered();
  }

  return { add, empty: async () => running };
}

/** Waits for the writes of sockets that are readable now, for as long as every turn brings more. */
async function gather(waiting: readonly unknown[], { monotonic }: Pick<Clock, 'monotonic'>): Promise<void> {
  const end = monotonic() + GATHER_MS_MAX;
  for (let turn = 0, before = 0; turn < GATHER_TURNS_MAX && waiting.length > before; turn++) {
    before = waiting.length;
    await nextTurn();
    if (monotonic() > end) return;
  }
}

/**
 * SQLite would wait for the lock by blocking the process. This wait lets the process serve others.
 */
async function begin(connection: Transactional, { sleep }: Pick<Clock, 'sleep'>): Promise<void> {
  for (let tries = 0; !connection.tryBegin(); tries++) {
    if (tries * LOCK_RETRY_MS >= LOCK_WAIT_MS) throw connection.lockedOut();
    await sleep(LOCK_RETRY_MS);
  }
}

/**
 * Ignores a failure, because a connection that cannot roll back has lost its transaction anyway.
 */
function rollBack(connection: Transactional): void {
  try {
    if (connection.inTransaction) connection.exec('rollback');
  } catch {}
}

/**
 * SQLite undoes only the statement that failed. After some errors it rolls back the whole
 * transaction, and then every write in it fails.
 */
function runSingle<C extends Transactional>(connection: C, job: Job<C>, isShared: boolean): () => void {
  const { work, resolve, reject } = job;
  try {
    const result = work(connection);
    return () => resolve(result as never);
  } catch (thrown) {
    if (!isShared || !connection.inTransaction) throw thrown;
    return () => reject(thrown);
  }
}

/** A savepoint undoes the statements of one write together. */
async function run<C extends Transactional>(connection: C, job: Job<C>, isShared: boolean): Promise<() => void> {
  const { work, resolve, reject } = job;
  if (isShared) connection.exec('savepoint job');
  try {
    const result = await work(connection);
    if (isShared) connection.exec('release job');
    return () => resolve(result as never);
  } catch (thrown) {
    if (!isShared || !connection.inTransaction) throw thrown;
    connection.exec('rollback to job');
    connection.exec('release job');
    return () => reject(thrown);
  }
}
