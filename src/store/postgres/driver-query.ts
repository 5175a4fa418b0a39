import type { Writable } from 'node:stream';
import pg from 'pg';
import { emptyRecord } from '../columns.ts';
import { parserOf } from './column-values.ts';

/**
 * The only file that uses the inside of `pg`, its class Query, of version 8.23: `submit`, the
 * `handle…` methods, `callback`, and the `stream` of its connection. None of that is documented.
 * prepared-query.ts tries this class at the start, and does without it where `pg` has changed.
 *
 * The driver itself describes every execution, sends four buffers, and copies the query and each
 * row. This class asks a connection once for the columns of a statement. From then on it sends one
 * buffer, and reads the rows without the driver's result.
 * https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-EXT-QUERY
 *
 * Without it, a Profile took 20 to 25 % more CPU of Columba and PostgreSQL together, and an Unread
 * of 20 messages 7 to 18 %. For what is done for many calls at once, it makes no difference.
 */
export interface DriverQuery {
  callback: Done;
  handleError(error: Error, connection: unknown): void;
}
export type Done = (error: Error | null, result?: PreparedResult<unknown>) => void;

/** A statement that a connection prepares once, by its name. */
export interface Prepared {
  readonly name: string;
  readonly text: string;
  readonly values: readonly unknown[];
}

export interface PreparedResult<R = Record<string, unknown>> {
  readonly rows: R[];
  readonly rowCount: number;
}

/** Throws where the driver has no such class any more. */
export function createDriverQuery(statement: Prepared, timeoutMs: number | undefined, done: Done): DriverQuery {
  classOfQuery ??= definePreparedQuery(pg.Query as unknown as BaseClass);
  return new classOfQuery(statement, timeoutMs, done);
}

/**
 * What the driver's Query has, and its types lack. In a pipeline the driver takes no other class.
 */
interface Base extends DriverQuery {
  name: string;
  values: readonly unknown[];
  submit(connection: DriverConnection): Error | null;
}
type BaseClass = new (text: string) => Base;
interface DriverConnection {
  readonly stream: Writable;
}

type PreparedQueryClass = new (statement: Prepared, timeoutMs: number | undefined, done: Done) => DriverQuery;
let classOfQuery: PreparedQueryClass | undefined;

type Fields = readonly (string | null)[];
interface RowDescription {
  readonly fields: readonly { readonly name: string; readonly dataTypeID: number }[];
}
interface DataRow {
  readonly fields: Fields;
}
interface CommandComplete {
  readonly text: string;
}

/** The columns of a statement. */
interface Shape {
  readonly names: readonly string[];
  readonly parsers: readonly ((text: string) => unknown)[];
  readonly empty: Record<string, unknown>;
}

const NO_COLUMNS: Shape = { names: [], parsers: [], empty: {} };

/** By connection, then by the name of the statement. */
const shapes = new WeakMap<DriverConnection, Map<string, Shape>>();

function definePreparedQuery(Base: BaseClass): PreparedQueryClass {
  return class PreparedQuery extends Base {
    readonly query_timeout: number | undefined;
    #shapes: Map<string, Shape> | undefined;
    #shape: Shape | undefined;
    readonly #rows: unknown[] = [];
    #rowCount = 0;
    /** An error in a method that the driver calls would end the process if it were not caught. */
    #fault: Error | undefined;

    constructor({ name, text, values }: Prepared, timeoutMs: number | undefined, done: Done) {
      super(text);
      this.name = name;
      this.values = values;
      this.callback = done;
      this.query_timeout = timeoutMs;
    }

    override submit(connection: DriverConnection): Error | null {
      this.#shapes = shapes.get(connection) ?? new Map();
      shapes.set(connection, this.#shapes);
      this.#shape = this.#shapes.get(this.name);
      if (!this.#shape) return super.submit(connection);
      if (connection.stream.writable) connection.stream.write(bindExecuteSync(this.name, this.values));
      return null;
    }

    handleRowDescription(message: RowDescription): void {
      try {
        this.#shape = shapeOf(message);
      } catch (thrown) {
        this.#fault ??= thrown as Error;
      }
    }

    handleDataRow(message: DataRow): void {
      try {
        this.#rows.push(rowOf(this.#shape as Shape, message.fields));
      } catch (thrown) {
        this.#fault ??= thrown as Error;
      }
    }

    handleCommandComplete(message: CommandComplete): void {
      try {
        const { text } = message;
        this.#rowCount = Number(text.slice(text.lastIndexOf(' ') + 1)) || 0; // such as DELETE 3
      } catch (thrown) {
        this.#fault ??= thrown as Error;
      }
    }

    handleReadyForQuery(): void {
      if (!this.#fault) this.#shapes?.set(this.name, this.#shape ?? NO_COLUMNS);
      this.callback(this.#fault ?? null, { rows: this.#rows, rowCount: this.#rowCount });
    }
  };
}

function shapeOf({ fields }: RowDescription): Shape {
  const names = fields.map(({ name }) => name);
  return { names, empty: emptyRecord(names), parsers: fields.map(({ dataTypeID }) => parserOf(dataTypeID)) };
}

function rowOf({ names, parsers, empty }: Shape, fields: Fields): Record<string, unknown> {
  const row = { ...empty };
  for (let index = 0; index < names.length; index++) {
    const text = fields[index] as string | null;
    row[names[index] as string] = text === null ? null : (parsers[index] as (text: string) => unknown)(text);
  }
  return row;
}

const BIND = 0x42;
/** Execute of all rows of the unnamed portal, then Sync. */
const EXECUTE_SYNC = Buffer.from([0x45, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0x53, 0, 0, 0, 4]);

/** All parameters and all columns are text. */
function bindExecuteSync(name: string, values: readonly unknown[]): Buffer {
  const texts = values.map((value) => (value === null || value === undefined ? null : String(value)));
  const lengths = texts.map((text) => (text === null ? 0 : Buffer.byteLength(text)));
  const nameLength = Buffer.byteLength(name);
  // The length itself, two names with their ends, and three counts.
  const length = lengths.reduce((sum, each) => sum + 4 + each, 4 + 1 + nameLength + 1 + 3 * 2);
  const buffer = Buffer.allocUnsafe(1 + length + EXECUTE_SYNC.length);
  let at = buffer.writeUInt8(BIND, 0);
  at = buffer.writeInt32BE(length, at);
  at = buffer.writeUInt8(0, at);
  at += buffer.write(name, at);
  at = buffer.writeUInt8(0, at);
  at = buffer.writeInt16BE(0, at);
  at = buffer.writeInt16BE(texts.length, at);
  for (const [index, text] of texts.entries()) {
    at = buffer.writeInt32BE(text === null ? -1 : (lengths[index] as number), at);
    if (text !== null) at += buffer.write(text, at);
  }
  at = buffer.writeInt16BE(0, at);
  EXECUTE_SYNC.copy(buffer, at);
  return buffer;
}
