import type pg from 'pg';
import { denied, Problem } from '../../problem.ts';
import type { Database, Writing } from '../database.ts';
import { type Migratable, migrate } from '../schema/migrations.ts';
import { Caller, type Dialect, isAdmitted, render, type Statement, type Value } from '../statement.ts';
import { identify } from '../statements/accounts.ts';
import { unavailable } from '../unavailable.ts';
import { type CallerStatement, callerValues, foundRows, isDoneFor, lockText, withCaller } from './caller-statement.ts';
import { postgresFault } from './faults.ts';
import { createHosts, type PostgresSettings } from './pool.ts';

/** The large database. Statements are prepared by name, once a connection; what can go together goes in one round trip. */
export async function openPostgres(settings: PostgresSettings, now: () => number): Promise<Database> {
  const hosts = createHosts(settings);
  /** The server did not take something; whoever has written since takes it back. */
  let wasRefusedByDisk = false;

  /** Lends a connection. What a deadlock or a conflict has undone is done again: nothing of it was kept. */
  async function withConnection<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await lend(work);
      } catch (thrown) {
        const { cause } = (thrown as Partial<Problem>).details ?? {};
        const { code = '' } = (cause ?? {}) as { code?: string };
        if (attempt < ATTEMPTS_MAX && CONFLICTS.has(code)) continue;
        if (UNWRITABLE.has(code)) wasRefusedByDisk = true;
        const isUnavailable = thrown instanceof Problem && thrown.kind === 'unavailable';
        throw isUnavailable
          ? unavailable(cause, postgresFault(hosts.urls, cause, settings.settingNames ?? PARTS_OF_SETTINGS))
          : thrown;
      }
    }
  }

  /** A broken connection is not used again. */
  async function lend<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    const client = await guarded(() => hosts.connect());
    let broken = false;
    try {
      return await work(new Connection(client));
    } catch (thrown) {
      broken = thrown instanceof Problem && thrown.kind === 'unavailable';
      throw thrown;
    } finally {
      client.release(broken);
    }
  }

  try {
    await withConnection((connection) =>
      connection.within([...UNHURRIED, MIGRATION_LOCK], () => migrate(connection, postgresDialect, now), UNLIMITED_MS),
    );
  } catch (thrown) {
    await hosts.close();
    throw thrown;
  }
  return {
    identify: async (userIdHash, admits) => new Caller(userIdHash, admits),
    confirm: (account) =>
      account instanceof Caller && account.id === undefined
        ? withConnection((connection) => connection.identify(account))
        : undefined,
    version: () => undefined, // it would take a round trip, and then the answer can as well be read
    all: (statement, parameters) => withConnection((connection) => connection.all(statement, parameters)),
    first: (statement, parameters) => withConnection((connection) => connection.first(statement, parameters)),
    run: (statement, parameters) => withConnection((connection) => connection.run(statement, parameters)),
    transaction: (account, work) =>
      withConnection((connection) =>
        account === null
          ? connection.within(UNHURRIED, work, UNLIMITED_MS)
          : connection.within([], work, undefined, account),
      ),
    snapshot: (work) => withConnection((connection) => connection.within(SNAPSHOT, work, UNLIMITED_MS)),
    check: async () => {
      if (!wasRefusedByDisk) return withConnection((connection) => connection.exec('select 1'));
      await withConnection((connection) => connection.within([], () => connection.exec(TRIAL)));
      wasRefusedByDisk = false;
    },
    backup: async () => {
      throw new Problem(
        'bad-argument',
        'A PostgreSQL database is backed up with its own tools: pg_dump or pg_basebackup.',
      );
    },
    close: () => hosts.close(),
  };
}

/** For a program whose settings have no names. */
const PARTS_OF_SETTINGS = { url: 'the URL', timeoutMs: 'the time-out', connectionsMax: 'the number of connections' };

export const postgresDialect: Dialect = {
  engine: 'postgres',
  parameter: (number) => `$${number}`,
  fragments: {
    binary: () => 'collate "C"',
    clustered: () => '',
    rare: (condition) => condition,
    elements: (argument) => `select value::bigint from json_array_elements_text(${argument}::json)`,
    ending: (text) => `right(${text}, 6)`,
    using: () => '',
    limit: (count) => `limit ${count}`,
    size: () => 'pg_database_size(current_database())',
  },
};

// Serialization failure and deadlock. One of the two goes on at once, so that the second attempt is mostly the last.
const CONFLICTS = new Set(['40001', '40P01']);
const ATTEMPTS_MAX = 5;
// Read-only, a full disk, an error of the disk: it can be read, and not written.
const UNWRITABLE = new Set(['25006', '53100', '58030']);
/** Makes a file longer, as a call may, and leaves nothing behind. */
const TRIAL = "create temporary table trial on commit drop as select repeat('x', 8192) as content";

// Any number will do that no other program locks in this database.
const MIGRATION_LOCK: pg.QueryConfig = { text: 'select pg_advisory_xact_lock(4269856720)' };
/** What may take longer than a call: nobody waits for it. */
const UNHURRIED: readonly pg.QueryConfig[] = [
  'statement_timeout',
  'lock_timeout',
  'idle_in_transaction_session_timeout',
].map((name) => ({ text: `set local ${name} = 0` }));
/**
 * One moment for all that is read, however long it takes. Dead rows stay until it ends, so it ends where nobody asks any more:
 * a process that was stopped, or whose reader is very slow.
 */
const SNAPSHOT: readonly pg.QueryConfig[] = [
  { text: 'set transaction isolation level repeatable read, read only' },
  ...UNHURRIED,
  { text: "set local idle_in_transaction_session_timeout = '10min'" },
];
// The longest time of a timer, 24 days.
const UNLIMITED_MS = 2 ** 31 - 1;

// Rows of one statement: enough to hide the round trips; of their values there are at most 65,535.
const ROWS_AT_ONCE = 500;

const rendered = new WeakMap<object, string>();
const callerStatements = new WeakMap<object, { asked: CallerStatement | undefined }>();

function callerStatement(statement: Statement<never>): CallerStatement | undefined {
  let known = callerStatements.get(statement);
  if (!known) {
    known = { asked: withCaller(statement, postgresDialect) };
    callerStatements.set(statement, known);
  }
  return known.asked;
}

function unknownCaller(parameters: object): Caller | undefined {
  const { account } = parameters as { account?: unknown };
  return account instanceof Caller && account.id === undefined ? account : undefined;
}

class Connection implements Migratable, Writing {
  readonly #client: pg.PoolClient;
  /** The driver's own, where it is not that of the pool. */
  #timeoutMs: number | undefined;

  constructor(client: pg.PoolClient) {
    this.#client = client;
  }

  async all<P extends Record<keyof P, Value>, R>(statement: Statement<P, R>, parameters: P): Promise<R[]> {
    const account = unknownCaller(parameters);
    const asked = account && callerStatement(statement as Statement<never>);
    const answered = asked && foundRows((await this.#ask(asked, parameters)).rows, account);
    if (account && !asked) await this.identify(account);
    const rows = answered ?? (await this.#execute(statement, parameters)).rows;
    for (const row of rows) unescapeRow(row);
    return rows as R[];
  }

  async identify(account: Caller): Promise<void> {
    const row = await this.first(identify, { hash: account.userIdHash });
    if (!isAdmitted(account.admits, row?.allowed_networks) || !row) throw denied();
    account.id = row.account_id;
  }

  async first<P extends Record<keyof P, Value>, R>(statement: Statement<P, R>, parameters: P): Promise<R | undefined> {
    return (await this.all(statement, parameters))[0];
  }

  async run<P extends Record<keyof P, Value>, R>(statement: Statement<P, R>, parameters: P): Promise<number> {
    const account = unknownCaller(parameters);
    const asked = account && callerStatement(statement as Statement<never>);
    if (asked) {
      const [done] = (await this.#ask(asked, parameters)).rows;
      if (isDoneFor(account, done)) return Number(done.changes);
    } else if (account) await this.identify(account);
    return (await this.#execute(statement, parameters)).rowCount ?? 0;
  }

  async runAll<P extends Record<keyof P, Value>>(statement: Statement<P>, parameters: readonly P[]): Promise<void> {
    for (let start = 0; start < parameters.length; start += ROWS_AT_ONCE) {
      await this.#insertAll(statement, parameters.slice(start, start + ROWS_AT_ONCE));
    }
  }

  /** `begin` and the statements after it are sent together, without waiting for one another. */
  async within<T>(
    first: readonly pg.QueryConfig[],
    work: (queries: Writing) => Promise<T>,
    timeoutMs?: number,
    account?: bigint | Caller,
  ): Promise<T> {
    this.#timeoutMs = timeoutMs;
    // Transactions of one account follow one another; single statements need no lock.
    const lock = account === undefined ? [] : [lockText(account)];
    const started = await guarded(() =>
      Promise.all([{ text: 'begin' }, ...first, ...lock].map((query) => this.#query(query))),
    );
    let result: T;
    try {
      if (account instanceof Caller) {
        const [found] = started.at(-1)?.rows ?? [];
        if (account.id !== undefined && !found) throw denied(); // deleted since it was identified
        const isLocked = account.id !== undefined || isDoneFor(account, found);
        if (!isLocked) await guarded(() => this.#query(lockText(account)));
      }
      result = await work(this);
    } catch (thrown) {
      await this.#client.query('rollback').catch(() => {}); // a lost connection has rolled back by itself
      throw thrown;
    }
    await this.exec('commit');
    return result;
  }

  async exec(sql: string): Promise<void> {
    await guarded(() => this.#query({ text: sql }));
  }

  #query(query: pg.QueryConfig): Promise<pg.QueryResult> {
    const timed = this.#timeoutMs === undefined ? query : { ...query, query_timeout: this.#timeoutMs };
    return this.#client.query(timed as pg.QueryConfig);
  }

  #execute<P>(statement: Statement<P>, parameters: P): Promise<pg.QueryResult> {
    let text = rendered.get(statement);
    if (text === undefined) {
      text = render(statement.text, statement.parameters, postgresDialect);
      rendered.set(statement, text);
    }
    const values = statement.parameters.map((name) => sentValue(parameters[name]));
    return guarded(() => this.#query({ name: statement.name, text: text as string, values }));
  }

  #ask(asked: CallerStatement, parameters: object): Promise<pg.QueryResult> {
    const values = callerValues(asked, parameters as Record<string, unknown>).map(sentValue);
    return guarded(() => this.#query({ name: asked.name, text: asked.text, values }));
  }

  /** One statement with as many rows of values; prepared where it comes again. */
  async #insertAll<P>(statement: Statement<P>, rows: readonly P[]): Promise<void> {
    const [, head = '', tuple = '', tail = ''] = PLAIN_INSERT.exec(statement.text) ?? [];
    if (tuple === '') throw new TypeError(`${statement.name} does not insert plain values`);
    const width = statement.parameters.length;
    const tuples = rows.map((_, row) => {
      const numbered = { ...postgresDialect, parameter: (number: number) => `$${row * width + number}` };
      return `(${render(tuple, statement.parameters, numbered)})`;
    });
    const values = rows.flatMap((row) => statement.parameters.map((name) => sentValue(row[name])));
    const name = rows.length === ROWS_AT_ONCE ? { name: `${statement.name}.${ROWS_AT_ONCE}` } : {};
    await guarded(() => this.#query({ ...name, text: head + tuples.join() + tail, values }));
  }
}

/** The part up to `values`, one row of parameters, and what follows without a parameter. */
const PLAIN_INSERT = /^([\s\S]*\bvalues )\(([^()]*)\)(\s*on conflict[^:]*)?$/;

/**
 * PostgreSQL's text cannot hold U+0000, and an SMS can. It is kept as two U+0001, and U+0001 as U+0001 U+0002: equal texts
 * stay equal, and their order stays the same.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it is about
const NEEDS_ESCAPE = /[\0\x01]/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: the same, as it is kept
const ESCAPED = /\x01([\x01\x02])/g;

function sentValue(value: unknown): unknown {
  if (value instanceof Caller) return value.id;
  if (typeof value !== 'string') return value;
  return value.replace(NEEDS_ESCAPE, (each) => (each === '\0' ? '\x01\x01' : '\x01\x02'));
}

function unescapeRow(row: Record<string, unknown>): void {
  for (const [name, value] of Object.entries(row)) {
    if (typeof value !== 'string' || !value.includes('\x01')) continue;
    row[name] = value.replace(ESCAPED, (_, which) => (which === '\x01' ? '\0' : '\x01'));
  }
}

/**
 * Errors of the database's state, not of ours: https://www.postgresql.org/docs/current/errcodes-appendix.html. Classes 08
 * connection, 28 and 3D who and where (an administrator is at it), 53 resources, 57 operator intervention, 58 system; 25006
 * read-only, 40001 and 40P01 conflicts, 42501 rights, 55P03 lock.
 */
const UNAVAILABLE = /^(08|28|3D|53|57|58)|^(25006|40001|40P01|42501|55P03)$/;

async function guarded<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    const code = (cause as { code?: string }).code;
    // Without an SQLSTATE it is the network's or the pool's error; one of ours would be a TypeError or the like.
    const sqlState = (cause as { severity?: string }).severity !== undefined; // EPIPE looks like an SQLSTATE too
    const ours = sqlState
      ? !UNAVAILABLE.test(code as string)
      : cause instanceof TypeError || cause instanceof RangeError;
    if (ours || cause instanceof Problem) throw cause;
    throw unavailable(cause);
  }
}
