import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { Problem } from '../../base/problem.ts';
import { type AccountKey, Caller } from '../caller.ts';
import { addDeletion } from '../callers.sql.ts';
import { emptyRecord } from '../columns.ts';
import type { TransactionQueries } from '../database.ts';
import { deletionOf } from '../deletion.ts';
import type { Migratable } from '../schema/migrations.ts';
import { readRecords, render, type SqlDialect, type Statement, type Value } from '../statement.ts';
import { unavailable } from '../unavailable.ts';
import { BUSY, codeOf, keepsFromWriting, sqliteFault } from './faults.ts';
import type { Transactional } from './write-queue.ts';

const among = (argument: string): string => `in (select value from json_each(${argument}))`;

export const sqliteDialect: SqlDialect = {
  engine: 'sqlite',
  parameter: (number) => `?${number}`,
  fragments: {
    binary: () => 'collate binary',
    clustered: () => 'without rowid',
    rare: (condition) => `unlikely(${condition})`,
    among,
    amongtexts: among,
    ending: (text) => `substr(${text}, -6)`,
    // SQLite uses no index for a column behind +.
    joined: (argument) => `+${argument.replace(' ', ' = ')}`,
    // Without statistics SQLite does not choose an index on an expression.
    using: (index) => `indexed by ${index}`,
    // With a bare parameter SQLite would plan the statement at every call, which takes half as long
    // as reading 20 rows.
    limit: (count) => `limit cast(${count} as integer)`,
    lock: () => '',
    locknew: () => '',
    share: () => '',
    records: (argument) => {
      const { rows, columns } = readRecords(argument);
      const values = columns.map(({ name }, index) => `json_extract(value, '$[${index}]') as ${name}`);
      return `(select ${values.join(', ')} from json_each(${rows}))`;
    },
    size: () => '(select page_count * page_size from pragma_page_count, pragma_page_size)',
  },
};

// Another process may hold the write lock: an import of a large account takes a few seconds.
const BUSY_TIMEOUT_MS = 5_000;

/**
 * synchronous: a commit is on disk before it is answered, also when the machine loses power.
 * mmap_size: SQLite maps the first 2 GB of the file, its maximum. Without it Profile of a million
 * accounts takes a third longer. cache_size: 16 MB of pages, for the write-ahead log and for the
 * file beyond 2 GB. wal_autocheckpoint: checkpointer.ts does the checkpoints. A connection does one
 * itself at 256 MB. secure_delete: what is deleted or changed is overwritten with zeros, so that
 * names and texts of erased persons are in no free page. Deleting 50,000 messages in batches takes
 * the same CPU within the noise, and 12 % more bytes of the write-ahead log (26.4 MB instead of
 * 23.6). A single delete or change costs nothing.
 */
const SETTINGS = `
  pragma journal_mode = wal;
  pragma synchronous = full;
  pragma foreign_keys = on;
  pragma mmap_size = 2147418112;
  pragma cache_size = -16000;
  pragma wal_autocheckpoint = 64000;
  pragma secure_delete = on;
`;

export class Connection implements Migratable, TransactionQueries, Transactional {
  readonly #path: string;
  readonly #database: DatabaseSync;
  readonly #prepared = new Map<unknown, Prepared>();
  #dataVersion: StatementSync | undefined;
  /** Called after each write, with how many rows it changed or with the rows that it returned. */
  onWrite: (statement: Statement<never>, parameters: object, rows: readonly unknown[] | number) => void = () => {};
  /** Awaited before each statement of a transaction, so that it holds the event loop shortly. */
  pause: (() => Promise<void> | undefined) | undefined;
  isAwaited = false;
  /** Whether the disk refused a write. The next successful write resets it. */
  wasRefusedByDisk = false;
  /** The rows that were changed since the connection was opened. */
  rowsChanged = 0;

  constructor(path: string) {
    this.#path = path;
    this.#database = this.#guarded(() => new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS }));
    this.exec(SETTINGS);
  }

  async all<P extends Record<keyof P, Value>, R>(statement: Statement<P, R>, parameters: P): Promise<R[]> {
    await this.pause?.();
    return this.allSync(statement, parameters);
  }

  async first<P extends Record<keyof P, Value>, R>(statement: Statement<P, R>, parameters: P): Promise<R | undefined> {
    await this.pause?.();
    return this.getSync(statement, parameters);
  }

  async run<P extends Record<keyof P, Value>, R>(statement: Statement<P, R>, parameters: P): Promise<number> {
    await this.pause?.();
    return this.runSync(statement, parameters);
  }

  allSync<P extends Record<keyof P, Value>, R>(statement: Statement<P, R>, parameters: P): R[] {
    const rows = this.#execute(statement, parameters, (prepared, values) =>
      prepared.statement.all(...values).map((row) => prepared.toRow(row as unknown as unknown[])),
    ) as R[];
    if (statement.writes) this.onWrite(statement as Statement<never>, parameters, rows);
    if (rows.length > 0) this.#noteDeletion(statement, parameters);
    return rows;
  }

  getSync<P extends Record<keyof P, Value>, R>(statement: Statement<P, R>, parameters: P): R | undefined {
    const found = this.#execute(statement, parameters, (prepared, values) => {
      const row = prepared.statement.get(...values) as unknown as unknown[] | undefined;
      return row && prepared.toRow(row);
    }) as R | undefined;
    if (statement.writes) this.onWrite(statement as Statement<never>, parameters, found === undefined ? [] : [found]);
    return found;
  }

  runSync<P extends Record<keyof P, Value>, R>(statement: Statement<P, R>, parameters: P): number {
    const changes = Number(
      this.#execute(statement, parameters, (prepared, values) => prepared.statement.run(...values).changes),
    );
    this.rowsChanged += changes;
    this.onWrite(statement as Statement<never>, parameters, changes);
    if (changes > 0) this.#noteDeletion(statement, parameters);
    return changes;
  }

  /** Writes the audit entry of a delete through the contract. */
  #noteDeletion<P, R>(statement: Statement<P, R>, parameters: P): void {
    const deletion = deletionOf(statement, parameters);
    if (!deletion) return;
    const { account } = parameters as { account: AccountKey };
    this.runSync(addDeletion, { ...deletion, account });
  }

  async runAll<P extends Record<keyof P, Value>>(statement: Statement<P>, parameters: readonly P[]): Promise<void> {
    for (const each of parameters) {
      await this.pause?.();
      this.runSync(statement, each);
    }
  }

  async within<T>(begin: string, work: (queries: TransactionQueries) => Promise<T>): Promise<T> {
    this.exec(begin);
    try {
      const result = await work(this);
      this.exec('commit');
      return result;
    } catch (thrown) {
      // After some errors, such as a full disk, SQLite has rolled back itself.
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

  /** Copies what no reader holds from the write-ahead log into the file. */
  checkpoint(): void {
    try {
      this.#database.exec('pragma wal_checkpoint(passive)');
    } catch {} // a full disk: the next write reports it
  }

  /**
   * A number that changes after each commit of another connection:
   * https://www.sqlite.org/pragma.html#pragma_data_version
   */
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

  /** `path` names the file in errors if it is not the database. */
  exec(sql: string, path?: string): void {
    this.#guarded(() => this.#database.exec(sql), path);
  }

  close(): void {
    this.#database.close();
  }

  #execute<P, T>(statement: Statement<P>, parameters: P, run: (prepared: Prepared, values: SQLInputValue[]) => T): T {
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

  /** Errors of the file become `unavailable`. Errors of the program stay what they are. */
  #toUnavailable(cause: unknown, path = this.#path): unknown {
    if (keepsFromWriting(cause)) this.wasRefusedByDisk = true;
    const fault = sqliteFault(path, cause);
    return fault === undefined ? cause : unavailable(cause, fault);
  }
}

interface Prepared {
  readonly statement: StatementSync;
  readonly toRow: (values: readonly unknown[]) => Record<string, unknown>;
}

function prepare(database: DatabaseSync, text: string): Prepared {
  const statement = database.prepare(text);
  statement.setReadBigInts(true);
  statement.setReturnArrays(true);
  return { statement, toRow: rowMaker(statement.columns().map(({ name }) => name)) };
}

/**
 * Builds rows that are faster than the driver's own objects, which are dictionaries: 50 % slower to
 * make, and several times slower to read.
 */
function rowMaker(columns: readonly string[]): Prepared['toRow'] {
  const empty = emptyRecord(columns);
  return (values) => {
    const row = { ...empty };
    for (let index = 0; index < columns.length; index++) row[columns[index] as string] = values[index];
    return row;
  };
}

const inputOf = (value: unknown) => (value instanceof Caller ? value.id : value) as SQLInputValue;

/** Whether another connection holds the lock, so that a caller that waits may get it. */
export const isLocked = (thrown: unknown): boolean =>
  thrown instanceof Problem && codeOf(thrown.details.cause) === BUSY;
