import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { Problem } from '../../problem.ts';
import type { Writing } from '../database.ts';
import type { Migratable } from '../schema/migrations.ts';
import { Caller, type Dialect, render, type Statement, type Value } from '../statement.ts';
import { unavailable } from '../unavailable.ts';
import { BUSY, codeOf, keepsFromWriting, sqliteFault } from './faults.ts';
import type { Transactional } from './write-queue.ts';

export const sqliteDialect: Dialect = {
  engine: 'sqlite',
  parameter: (number) => `?${number}`,
  fragments: {
    binary: () => 'collate binary',
    clustered: () => 'without rowid',
    rare: (condition) => `unlikely(${condition})`,
    elements: (argument) => `select value from json_each(${argument})`,
    ending: (text) => `substr(${text}, -6)`,
    // Without statistics SQLite takes an index by an expression for a poor one.
    using: (index) => `indexed by ${index}`,
    // A limit that is nothing but a parameter makes SQLite plan the statement anew at every call, which takes half as long as reading 20 rows.
    limit: (count) => `limit cast(${count} as integer)`,
    size: () => '(select page_count * page_size from pragma_page_count, pragma_page_size)',
  },
};

// Another process may hold the write lock: an import of a large account takes a few seconds.
const BUSY_TIMEOUT_MS = 5_000;

/**
 * FULL: a commit is on disk before it is answered, also when the machine loses power. The first 2 GB of the file, the most that
 * SQLite maps, are read where the system has them; copying them page by page makes Profile of a million accounts a third dearer.
 * Up to 16 MB of pages are held: those of the log, and those beyond. The log is moved by checkpoints.ts, and only where that does not by
 * the connection that makes it 256 MB long.
 */
const SETTINGS = `
  pragma journal_mode = wal;
  pragma synchronous = full;
  pragma foreign_keys = on;
  pragma mmap_size = 2147418112;
  pragma cache_size = -16000;
  pragma wal_autocheckpoint = 64000;
`;

export class Connection implements Migratable, Writing, Transactional {
  readonly #path: string;
  readonly #database: DatabaseSync;
  readonly #prepared = new Map<unknown, Prepared>();
  #dataVersion: StatementSync | undefined;
  /** Something was done that may have changed whom user_ids name; whoever minds takes it back. */
  changedCallers = false;
  /** The disk did not take something; whoever has written since takes it back. */
  wasRefusedByDisk = false;
  /** Since it was opened. */
  rowsChanged = 0;

  constructor(path: string) {
    this.#path = path;
    this.#database = this.#guarded(() => new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS }));
    this.exec(SETTINGS);
  }

  async all<P extends Record<keyof P, Value>, R>(statement: Statement<P, R>, parameters: P): Promise<R[]> {
    return this.allNow(statement, parameters);
  }

  async first<P extends Record<keyof P, Value>, R>(statement: Statement<P, R>, parameters: P): Promise<R | undefined> {
    return this.firstNow(statement, parameters);
  }

  async run<P extends Record<keyof P, Value>, R>(statement: Statement<P, R>, parameters: P): Promise<number> {
    return this.runNow(statement, parameters);
  }

  allNow<P extends Record<keyof P, Value>, R>(statement: Statement<P, R>, parameters: P): R[] {
    return this.#execute(statement, parameters, (prepared, values) =>
      prepared.statement.all(...values).map((row) => toRow(prepared.columns, row as unknown as unknown[])),
    ) as R[];
  }

  firstNow<P extends Record<keyof P, Value>, R>(statement: Statement<P, R>, parameters: P): R | undefined {
    return this.#execute(statement, parameters, (prepared, values) => {
      const row = prepared.statement.get(...values) as unknown as unknown[] | undefined;
      return row && toRow(prepared.columns, row);
    }) as R | undefined;
  }

  runNow<P extends Record<keyof P, Value>, R>(statement: Statement<P, R>, parameters: P): number {
    const changes = Number(
      this.#execute(statement, parameters, (prepared, values) => prepared.statement.run(...values).changes),
    );
    this.rowsChanged += changes;
    return changes;
  }

  async runAll<P extends Record<keyof P, Value>>(statement: Statement<P>, parameters: readonly P[]): Promise<void> {
    for (const each of parameters) this.runNow(statement, each);
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
      throw this.#toUnavailable(thrown);
    }
  }

  lockedOut(): Problem {
    const cause = Object.assign(new Error('another process holds the write lock'), { errcode: BUSY });
    return unavailable(cause, sqliteFault(this.#path, cause));
  }

  /** As far as nobody is in the way. */
  moveLog(): void {
    try {
      this.#database.exec('pragma wal_checkpoint(passive)');
    } catch {} // a full disk, which those who write find too
  }

  /** Another number after another connection has committed something: https://www.sqlite.org/pragma.html#pragma_data_version */
  dataVersion(): number {
    if (!this.#dataVersion) {
      this.#dataVersion = this.#database.prepare('pragma data_version');
      this.#dataVersion.setReturnArrays(true);
    }
    try {
      return (this.#dataVersion.get() as unknown as [number])[0];
    } catch (cause) {
      throw this.#toUnavailable(cause);
    }
  }

  get inTransaction(): boolean {
    return this.#database.isTransaction;
  }

  /** `path` is the file that it writes, where that is another one. */
  exec(sql: string, path?: string): void {
    this.#guarded(() => this.#database.exec(sql), path);
  }

  close(): void {
    this.#database.close();
  }

  #execute<P, T>(statement: Statement<P>, parameters: P, run: (prepared: Prepared, values: SQLInputValue[]) => T): T {
    if (statement.changesCallers) this.changedCallers = true;
    return this.#guarded(() => {
      let prepared = this.#prepared.get(statement);
      if (!prepared) {
        prepared = prepare(this.#database, render(statement.text, statement.parameters, sqliteDialect));
        this.#prepared.set(statement, prepared);
      }
      return run(
        prepared,
        statement.parameters.map((name) => inputOf(parameters[name])),
      );
    });
  }

  #guarded<T>(work: () => T, path?: string): T {
    try {
      return work();
    } catch (cause) {
      throw this.#toUnavailable(cause, path);
    }
  }

  /** The database may come back; our bugs do not. */
  #toUnavailable(cause: unknown, path = this.#path): unknown {
    if (keepsFromWriting(cause)) this.wasRefusedByDisk = true;
    const fault = sqliteFault(path, cause);
    return fault === undefined ? cause : unavailable(cause, fault);
  }
}

interface Prepared {
  readonly statement: StatementSync;
  readonly columns: readonly string[];
}

function prepare(database: DatabaseSync, text: string): Prepared {
  const statement = database.prepare(text);
  statement.setReadBigInts(true);
  statement.setReturnArrays(true);
  return { statement, columns: statement.columns().map(({ name }) => name) };
}

/** The driver would make it a dictionary, which takes half as long again to make and several times as long to read. */
function toRow(columns: readonly string[], values: readonly unknown[]): Record<string, unknown> {
  const row: Record<string, unknown> = {};
  for (let index = 0; index < columns.length; index++) row[columns[index] as string] = values[index];
  return row;
}

const inputOf = (value: unknown) => (value instanceof Caller ? value.id : value) as SQLInputValue;

/** Another one has what it needed: whoever waits may get it. */
export const isLocked = (thrown: unknown): boolean =>
  thrown instanceof Problem && codeOf(thrown.details.cause) === BUSY;
