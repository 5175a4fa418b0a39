import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { Problem } from '../problem.ts';
import { identify } from './accounts.ts';
import type { Database, Writing } from './database.ts';
import { type Migratable, migrate } from './schema.ts';
import { Caller, type Dialect, numberOf, render, type Statement, type Value } from './statement.ts';
import { unavailable } from './unavailable.ts';
import { createVersions } from './versions.ts';
import { createWriteQueue, type Transactional } from './write-queue.ts';

/** The embedded database. One connection writes, one reads: with a write-ahead log neither waits for the other. */
export async function openSqlite(path: string, now: () => number): Promise<Database> {
  mkdirSync(dirname(path), { recursive: true });
  const writer = new Connection(path);
  await writer.within('begin immediate', () => migrate(writer, sqliteDialect, now));
  writer.exec('pragma busy_timeout = 0'); // from here on the queue does the waiting
  const reader = new Connection(path);
  const writes = createWriteQueue(writer);
  const versions = createVersions(() => writer.dataVersion());
  const write = <T>(account: unknown, oneStatement: boolean, work: (queries: Writing) => Promise<T>) =>
    writes.add(work, { oneStatement, decided: () => versions.changed(numberOf(account)) });
  const writeOne = <T>(parameters: object, work: (queries: Writing) => Promise<T>) =>
    write((parameters as { account?: unknown }).account, true, work);

  return {
    // Nothing is awaited from the look at what others have written to the account's own version: it is the one before.
    identify: async (userIdHash) => {
      versions.lookAround();
      const found = reader.firstNow(identify, { hash: userIdHash });
      return found && new Caller(userIdHash, found.account_id, versions.own(found.account_id));
    },
    confirm: () => undefined,
    version: ({ id, version }) => {
      if (id === undefined) return undefined;
      if (versions.own(id) === version) versions.lookAround(); // else it is another one anyway
      return versions.own(id);
    },
    all: (statement, parameters) =>
      statement.writes
        ? writeOne(parameters, (queries) => queries.all(statement, parameters))
        : reader.all(statement, parameters),
    first: (statement, parameters) =>
      statement.writes
        ? writeOne(parameters, (queries) => queries.first(statement, parameters))
        : reader.first(statement, parameters),
    run: (statement, parameters) => writeOne(parameters, (queries) => queries.run(statement, parameters)),
    transaction: (account, work) => write(account, false, work),
    snapshot: async (work) => {
      const connection = new Connection(path);
      try {
        return await connection.within('begin', work);
      } finally {
        connection.close();
      }
    },
    check: async () => reader.exec('select 1'),
    backup: async (to) => {
      if (existsSync(to)) throw new Problem('bad-argument', `${to}: the file exists already`);
      const connection = new Connection(path);
      try {
        connection.exec(`vacuum into '${to.replaceAll("'", "''")}'`);
      } finally {
        connection.close();
      }
    },
    close: async () => {
      await writes.empty();
      reader.close();
      writer.close();
    },
  };
}

export const sqliteDialect: Dialect = {
  engine: 'sqlite',
  parameter: (number) => `?${number}`,
  fragments: {
    binary: () => 'collate binary',
    clustered: () => 'without rowid',
    rare: (condition) => `unlikely(${condition})`,
    elements: (argument) => `select value from json_each(${argument})`,
  },
};

// Another process may hold the write lock: an import of a large account takes a few seconds.
const BUSY_TIMEOUT_MS = 5_000;

/**
 * FULL: a commit is on disk before it is answered, also when the machine loses power. 16 MB of pages are held, and up to as
 * many wait in the log, where a page that changes often is written back once: a third less CPU for each write.
 */
const SETTINGS = `
  pragma journal_mode = wal;
  pragma synchronous = full;
  pragma foreign_keys = on;
  pragma cache_size = -16000;
  pragma wal_autocheckpoint = 4000;
`;

class Connection implements Migratable, Writing, Transactional {
  readonly #database: DatabaseSync;
  readonly #prepared = new Map<unknown, StatementSync>();
  #dataVersion: StatementSync | undefined;

  constructor(path: string) {
    this.#database = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
    this.exec(SETTINGS);
  }

  async all<P extends Record<keyof P, Value>, R>(statement: Statement<P, R>, parameters: P): Promise<R[]> {
    return this.#execute(statement, parameters, (prepared, values) => prepared.all(...values)) as R[];
  }

  async first<P extends Record<keyof P, Value>, R>(statement: Statement<P, R>, parameters: P): Promise<R | undefined> {
    return this.firstNow(statement, parameters);
  }

  firstNow<P extends Record<keyof P, Value>, R>(statement: Statement<P, R>, parameters: P): R | undefined {
    return this.#execute(statement, parameters, (prepared, values) => prepared.get(...values)) as R | undefined;
  }

  async run<P extends Record<keyof P, Value>, R>(statement: Statement<P, R>, parameters: P): Promise<number> {
    return Number(this.#execute(statement, parameters, (prepared, values) => prepared.run(...values).changes));
  }

  async runAll<P extends Record<keyof P, Value>>(statement: Statement<P>, parameters: readonly P[]): Promise<void> {
    for (const each of parameters) this.#execute(statement, each, (prepared, values) => prepared.run(...values));
  }

  async within<T>(begin: string, work: (queries: Writing) => Promise<T>): Promise<T> {
    this.exec(begin);
    try {
      const result = await work(this);
      this.exec('commit');
      return result;
    } catch (thrown) {
      // SQLite has rolled back by itself after some errors (disk full), and then has no transaction to end.
      if (this.inTransaction) this.exec('rollback');
      throw thrown;
    }
  }

  tryBegin(): boolean {
    try {
      this.#database.exec('begin immediate');
      return true;
    } catch (thrown) {
      if (codeOf(thrown) === BUSY) return false;
      throw UNAVAILABLE.has(codeOf(thrown)) ? unavailable(thrown) : thrown;
    }
  }

  /** Another number after another connection has committed something: https://www.sqlite.org/pragma.html#pragma_data_version */
  dataVersion(): number {
    this.#dataVersion ??= this.#database.prepare('pragma data_version');
    return guarded(() => this.#dataVersion?.get()?.data_version as number);
  }

  get inTransaction(): boolean {
    return this.#database.isTransaction;
  }

  exec(sql: string): void {
    guarded(() => this.#database.exec(sql));
  }

  close(): void {
    this.#database.close();
  }

  #execute<P, T>(
    statement: Statement<P>,
    parameters: P,
    run: (prepared: StatementSync, values: SQLInputValue[]) => T,
  ): T {
    return guarded(() => {
      let prepared = this.#prepared.get(statement);
      if (!prepared) {
        prepared = this.#database.prepare(render(statement.text, statement.parameters, sqliteDialect));
        prepared.setReadBigInts(true);
        this.#prepared.set(statement, prepared);
      }
      return run(
        prepared,
        statement.parameters.map((name) => inputOf(parameters[name])),
      );
    });
  }
}

const inputOf = (value: unknown) => (value instanceof Caller ? value.id : value) as SQLInputValue;

// https://www.sqlite.org/rescode.html: BUSY, LOCKED, READONLY, IOERR, FULL, CANTOPEN. The database may come back; our bugs do not.
const BUSY = 5;
const UNAVAILABLE = new Set([BUSY, 6, 8, 10, 13, 14]);

const codeOf = (thrown: unknown): number => ((thrown as { errcode?: number }).errcode ?? 0) & 0xff;

function guarded<T>(work: () => T): T {
  try {
    return work();
  } catch (cause) {
    throw UNAVAILABLE.has(codeOf(cause)) ? unavailable(cause) : cause;
  }
}
