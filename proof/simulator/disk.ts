import { EventEmitter } from 'node:events';
import { copyFileSync, existsSync, rmSync, truncateSync } from 'node:fs';
import { DatabaseSync as Original, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { Worker as OriginalWorker } from 'node:worker_threads';
import type { Owner } from './scheduler.ts';

/**
 * The disk of a simulated world: the real SQLite on one file, through connections that the
 * simulator sees. It may refuse any statement, it counts statements so that a node dies at one of
 * them, and it tells when a commit is on disk. The program opens its database as ever: only
 * `DatabaseSync` and the thread for checkpoints are other ones.
 */
export interface DiskEvents {
  /** Whose statement it is: undefined for the observer. */
  readonly current: () => Owner | undefined;
  /** Before and after each statement. Throws where the owner dies there, or where the disk refuses it. */
  readonly before: (owner: Owner, statement: SeenStatement) => void;
  readonly after: (owner: Owner, statement: SeenStatement) => void;
  /** Runs work of the owner in a later step. */
  readonly post: (owner: Owner, work: () => void) => void;
  /** Runs work of nobody after this time. */
  readonly later: (ms: number, work: () => void) => void;
}
export interface SeenStatement {
  readonly text: string;
  readonly writes: boolean;
  readonly values: readonly unknown[];
  readonly inTransaction: boolean;
  /** What the transaction under way on this connection has done, for whoever looks at commits. */
  readonly done: Done;
  /** As SQLite does after some errors. */
  readonly rollBack: () => void;
}
export interface Done {
  /** Attempts that it has written. */
  claims: { readonly account: bigint; readonly attemptId: string; readonly at: number }[];
  /** Whether it has changed the queue. */
  hasQueued: boolean;
}
export const nothingDone = (): Done => ({ claims: [], hasQueued: false });

/** The owner is dead: nothing that it does has an effect. */
export class Dead extends Error {}

interface Handle {
  readonly database: SimulatedDatabase;
  readonly prepared: Map<string, StatementSync>;
  owner: Owner | undefined;
  isConfigured: boolean;
  done: Done;
}

export const CODES = { busy: 5, readonly: 8, io: 10, full: 13 } as const;

let events: DiskEvents | undefined;
let isSynced = true;
/**
 * Answers of reads since the last commit of anybody, by statement and values. The same read gets the
 * same rows, so SQLite is not asked again: a third of the time of a world.
 */
const answers = new Map<string, unknown>();
const ANSWERS_MAX = 500;
const handles = new Map<object, Handle>();
/** Open connections that nobody uses, by how they were opened: to open one takes a millisecond. */
const idle = new Map<string, Handle[]>();

const READS = /^\s*(?:select|pragma|with)\b/i;
const SELECTS = /^\s*(?:select|with)\b/i;
const SETTINGS = /pragma journal_mode/;

class SimulatedDatabase extends Original {
  readonly #key: string = '';

  constructor(path: string, options: { readOnly?: boolean } = {}) {
    super(path, { ...options, timeout: 0 }); // a wait would block the whole world
    this.#key = keyOf(path, options);
    const own = { owner: events?.current(), isConfigured: false, done: nothingDone() };
    handles.set(this, { database: this, prepared: new Map(), ...own });
  }

  override exec(text: string): void {
    const handle = handles.get(this) as Handle;
    if (SETTINGS.test(text)) {
      isSynced = /pragma synchronous = (?:full|extra)/.test(text);
      if (handle.isConfigured) return;
      handle.isConfigured = true;
    }
    if (/^pragma busy_timeout/.test(text)) return;
    seen(handle, text, [], () => super.exec(text));
  }

  override prepare(text: string): StatementSync {
    const handle = handles.get(this) as Handle;
    const known = handle.prepared.get(text);
    if (known) return known;
    const statement = super.prepare(text);
    const { all, get, run } = statement as Record<'all' | 'get' | 'run', (...values: SQLInputValue[]) => unknown>;
    const writes = !READS.test(text);
    const read = (name: 'all' | 'get', work: (...values: SQLInputValue[]) => unknown) => ({
      value: (...values: SQLInputValue[]) =>
        seen(
          handle,
          text,
          values,
          () =>
            isRemembered(handle, text)
              ? remembered(name, text, values, () => work.apply(statement, values))
              : work.apply(statement, values),
          writes,
        ),
    });
    Object.defineProperties(statement, {
      all: read('all', all),
      get: read('get', get),
      run: {
        value: (...values: SQLInputValue[]) => seen(handle, text, values, () => run.apply(statement, values), writes),
      },
    });
    handle.prepared.set(text, statement);
    return statement;
  }

  /** Its owner may be dead, so nothing is asked. */
  reallyExec(text: string): void {
    super.exec(text);
  }

  override close(): void {
    const handle = handles.get(this);
    if (!handle) return;
    handles.delete(this);
    if (this.isTransaction) super.exec('rollback');
    handle.owner = undefined;
    handle.done = nothingDone();
    const free = idle.get(this.#key) ?? [];
    free.push(handle);
    idle.set(this.#key, free);
  }

  reallyClose(): void {
    handles.delete(this);
    super.close();
  }
}

/** A select outside of a transaction. */
const isRemembered = ({ database }: Handle, text: string): boolean => SELECTS.test(text) && !database.isTransaction;

function remembered<T>(name: string, text: string, values: readonly unknown[], work: () => T): T {
  const key = `${name} ${text} ${values.join('\n')}`;
  if (!answers.has(key)) {
    if (answers.size >= ANSWERS_MAX) answers.clear();
    answers.set(key, work());
  }
  return answers.get(key) as T;
}

const keyOf = (path: string, { readOnly = false }: { readOnly?: boolean } = {}): string => `${readOnly} ${path}`;

/**
 * What src/store/sqlite/ finds as the DatabaseSync of node:sqlite, see hooks.ts. While a world runs
 * it opens a simulated connection, or gives one that is open already.
 */
export const DatabaseSync = new Proxy(Original, {
  construct(_, given: [string, { readOnly?: boolean }?]) {
    if (!events) return new Original(...given);
    const reused = idle.get(keyOf(...given))?.pop();
    if (!reused) return new SimulatedDatabase(...given);
    reused.owner = events?.current();
    handles.set(reused.database, reused);
    return reused.database;
  },
});

function seen<T>(
  handle: Handle,
  text: string,
  values: readonly unknown[],
  work: () => T,
  writes = !READS.test(text),
): T {
  const { owner, database } = handle;
  if (!events || !owner) return work();
  if (!owner.isAlive) throw new Dead('the node is dead');
  const statement: SeenStatement = {
    text,
    writes,
    values,
    inTransaction: database.isTransaction,
    done: handle.done,
    rollBack: () => {
      if (database.isTransaction) database.reallyExec('rollback');
    },
  };
  events.before(owner, statement);
  const result = work();
  if (text === 'commit' || (writes && !statement.inTransaction)) answers.clear();
  events.after(owner, statement);
  return result;
}

/** Takes the place of the thread that does checkpoints: it does them in steps of its process. */
class SimulatedWorker extends EventEmitter {
  readonly #owner = events?.current() as Owner;
  readonly #path: string;

  constructor(_file: unknown, { workerData }: { workerData: string }) {
    super();
    this.#path = workerData;
  }

  postMessage(message: 'checkpoint' | 'truncate' | 'end'): void {
    events?.post(this.#owner, () => {
      if (message === 'end') return void this.emit('exit', 0);
      const isDone = checkpoint(this.#path, message === 'truncate' ? 'truncate' : 'restart');
      if (message === 'truncate') this.emit('message', isDone ? 'truncated' : 'kept');
      else this.emit('message', 'done');
    });
  }
  ref(): void {}
  unref(): void {}
}

function checkpoint(path: string, mode: 'restart' | 'truncate'): boolean {
  const connection = new Original(path, { timeout: 0 });
  try {
    return (connection.prepare(`pragma wal_checkpoint(${mode})`).get() as { busy: number }).busy === 0;
  } catch {
    return false;
  } finally {
    connection.close();
  }
}

/** The same for the Worker of node:worker_threads. */
export const Worker = new Proxy(OriginalWorker, {
  construct: (_, given: [URL, { workerData: string }]) =>
    events ? new SimulatedWorker(...given) : new OriginalWorker(...given),
});

/**
 * The returned function gives the program the real disk back. The connections of the world stay open,
 * and the next world finds them with their statements: that is a third of the time of a short world.
 */
export function replaceDisk(given: DiskEvents): () => void {
  events = given;
  answers.clear();
  return () => {
    for (const handle of [...handles.values()]) handle.database.close();
    events = undefined;
  };
}

/** Whether connections from the world before are open. */
export const isOpen = (): boolean => idle.size > 0;

/** The connections of a process that has ended: SQLite rolls back what was not committed. */
export function closeOf(owner: Owner): void {
  for (const handle of [...handles.values()]) if (handle.owner === owner) handle.database.close();
}

/** Of all processes, so that the next one opens the file anew. */
export function closeAll(): void {
  answers.clear();
  for (const { database } of [...handles.values()]) database.reallyClose();
  for (const free of idle.values()) for (const { database } of free) database.reallyClose();
  idle.clear();
}

/** Reads what is on disk, and keeps its statements. */
class Observer extends Original {
  readonly #prepared = new Map<string, StatementSync>();

  override prepare(text: string): StatementSync {
    const statement = this.#prepared.get(text) ?? super.prepare(text);
    this.#prepared.set(text, statement);
    return statement;
  }
}

export const openObserver = (path: string): Original =>
  new Observer(path, { readOnly: true, timeout: 0, readBigInts: true });

const LOG = '-wal';
const LOG_HEADER_BYTES = 32;

/**
 * A power failure: every process is gone. A commit that was synced is in the log, so the file stays
 * as it is. Where commits are not synced, the log is gone.
 */
export function losePower(path: string): void {
  for (const { database } of [...handles.values()]) database.close();
  if (isSynced) return;
  const lost = `${path}.lost`;
  copyFileSync(path, lost);
  const hasLog = existsSync(path + LOG);
  if (hasLog) copyFileSync(path + LOG, lost + LOG);
  closeAll(); // which writes the log into the file
  copyFileSync(lost, path);
  rmSync(lost);
  rmSync(`${path}-shm`, { force: true });
  if (!hasLog) return;
  copyFileSync(lost + LOG, path + LOG);
  rmSync(lost + LOG);
  truncateSync(path + LOG, LOG_HEADER_BYTES);
}
