/**
 * Writes to the embedded database, one after the other. Those that are asked for in one turn of the event loop share one
 * transaction, and with it one wait for the disk; each is still whole or nothing, and is answered only after the commit.
 */
export interface WriteQueue<C> {
  add<T>(work: (connection: C) => Promise<T>): Promise<T>;
  /** Resolves when everything that was asked for is done. */
  empty(): Promise<void>;
}

export interface Transactional {
  exec(sql: string): void;
  readonly inTransaction: boolean;
}

interface Job<C> {
  readonly work: (connection: C) => Promise<unknown>;
  readonly resolve: (result: never) => void;
  readonly reject: (thrown: unknown) => void;
}

// Bounds how long the first of them waits for the others; more than a process has connections that write at once.
const BATCH_MAX = 256;

export function createWriteQueue<C extends Transactional>(connection: C): WriteQueue<C> {
  const waiting: Job<C>[] = [];
  let running: Promise<void> | undefined;

  function add<T>(work: (connection: C) => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      waiting.push({ work, resolve, reject });
      running ??= runAll();
    });
  }

  async function runAll(): Promise<void> {
    // After the sockets that are readable now have been read: their writes come along.
    await new Promise(setImmediate);
    while (waiting.length > 0) await runBatch(waiting.splice(0, BATCH_MAX));
    running = undefined;
  }

  async function runBatch(jobs: readonly Job<C>[]): Promise<void> {
    const answers: (() => void)[] = [];
    try {
      connection.exec('begin immediate');
      for (const job of jobs) answers.push(await run(job, jobs.length > 1));
      connection.exec('commit');
    } catch (thrown) {
      if (connection.inTransaction) connection.exec('rollback');
      for (const { reject } of jobs) reject(thrown);
      return;
    }
    for (const answer of answers) answer();
  }

  /** What it did is undone if it fails, and only that; a failure that SQLite has answered by undoing all fails all. */
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
