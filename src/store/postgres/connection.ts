import type pg from 'pg';
import type { Clock } from '../../base/clock.ts';
import { denied, Problem } from '../../base/problem.ts';
import { Caller, isAdmitted } from '../caller.ts';
import { identify } from '../callers.sql.ts';
import type { TransactionQueries } from '../database.ts';
import { deletionOf } from '../deletion.ts';
import type { Migratable } from '../schema/migrations.ts';
import { render, type Statement, type Value } from '../statement.ts';
import { unavailable } from '../unavailable.ts';
import {
  type CallerStatement,
  callerValues,
  foundRows,
  identifyFrom,
  lockManyQuery,
  lockQuery,
} from './caller-statement.ts';
import { escaped } from './column-values.ts';
import { postgresDialect } from './dialect.ts';
import type { Prepared, PreparedResult } from './driver-query.ts';
import { unreachableNode } from './faults.ts';
import { type ManyRow, manyValues } from './many-statement.ts';
import { DriverChanged, type Execute, tryFast } from './prepared-query.ts';
import { auditedStatementOf, callerStatementOf, manyStatementOf, renderedOf } from './statement-forms.ts';
import type { Write } from './write-batches.ts';

export const VERSIONS = {
  name: 'versions',
  text: 'select account_id, version as number from tally where account_id = any($1::bigint[])',
};

/** The catalog of the node that is asked has it. The function is called once for each account. */
export const NODES = {
  name: 'nodes',
  text: `with shard as materialized (select account_id, get_shard_id_for_distribution_column('tally', account_id) as shardid
      from unnest($1::bigint[]) as given (account_id))
    select account_id, groupid::bigint as number from shard join pg_dist_placement on pg_dist_placement.shardid = shard.shardid`,
};

/** Asks for a number of each of many accounts. */
export type NumberQuestion = typeof VERSIONS | typeof NODES;

// Rows of one insert: enough to hide the round trips. PostgreSQL takes at most 65,535 parameters.
const ROWS_PER_INSERT = 500;

/** The caller of a statement, where its account is not known yet. */
export function unidentifiedCaller(parameters: object): Caller | undefined {
  const { account } = parameters as { account?: unknown };
  return account instanceof Caller && account.id === undefined ? account : undefined;
}

/** One client of the pool. Each statement is prepared by name, once per connection. */
export class Connection implements Migratable, TransactionQueries {
  readonly #client: pg.PoolClient;
  readonly #executePrepared: Execute;
  /** The driver's time-out, where it differs from that of the pool. */
  #timeoutMs: number | undefined;

  /** See distributed-connection.ts. */
  protected readonly mode: 'plain' | 'distributed' = 'plain';

  constructor(client: pg.PoolClient, execute: Execute) {
    this.#client = client;
    this.#executePrepared = execute;
  }

  async all<P extends Record<keyof P, Value>, R>(statement: Statement<P, R>, parameters: P): Promise<R[]> {
    const caller = unidentifiedCaller(parameters);
    const combined = caller && callerStatementOf(statement as Statement<never>);
    const found = combined && foundRows((await this.#executeCombined(combined, parameters)).rows, caller);
    if (caller && !combined) await this.identify(caller);
    const deletion = deletionOf(statement, parameters);
    const execute = () =>
      deletion
        ? this.#executeCombined(auditedStatementOf(statement as Statement<never>, 'known'), {
            ...parameters,
            ...deletion,
          })
        : this.execute(statement, parameters);
    const rows = found ?? (await execute()).rows;
    return rows as R[];
  }

  async identify(account: Caller): Promise<void> {
    const row = await this.first(identify, { hash: account.userIdHash });
    if (!isAdmitted(account.admits, row?.allowed_networks) || !row) throw denied();
    account.id = row.account_id;
    if (row.allowed_networks === null) account.version = Number(row.version);
  }

  async first<P extends Record<keyof P, Value>, R>(statement: Statement<P, R>, parameters: P): Promise<R | undefined> {
    return (await this.all(statement, parameters))[0];
  }

  async run<P extends Record<keyof P, Value>, R>(statement: Statement<P, R>, parameters: P): Promise<number> {
    const caller = unidentifiedCaller(parameters);
    const deletion = deletionOf(statement, parameters);
    if (deletion) return this.#runAudited(statement as Statement<never>, { ...parameters, ...deletion }, caller);
    const combined = caller && callerStatementOf(statement as Statement<never>);
    if (combined) {
      const [row] = (await this.#executeCombined(combined, parameters)).rows;
      if (identifyFrom(row, caller) === 'done') return Number(row?.changes);
    } else if (caller) await this.identify(caller);
    return (await this.execute(statement, parameters)).rowCount ?? 0;
  }

  /** Returns how many rows it deleted. */
  async #runAudited(statement: Statement<never>, parameters: object, caller: Caller | undefined): Promise<number> {
    if (caller) {
      const [row] = (await this.#executeCombined(auditedStatementOf(statement, 'caller'), parameters)).rows;
      if (identifyFrom(row, caller) === 'done') return Number(row?.changes);
    }
    const { rows } = await this.#executeCombined(auditedStatementOf(statement, 'known'), parameters);
    return Number(rows[0]?.changes);
  }

  async runAll<P extends Record<keyof P, Value>>(statement: Statement<P>, parameters: readonly P[]): Promise<void> {
    for (let start = 0; start < parameters.length; start += ROWS_PER_INSERT) {
      await this.#insertAll(statement, parameters.slice(start, start + ROWS_PER_INSERT));
    }
  }

  /** `begin` and the statements of `first` are sent together, in one round trip. */
  async within<T>(
    first: readonly pg.QueryConfig[],
    work: (queries: TransactionQueries) => Promise<T>,
    timeoutMs?: number,
    account?: bigint | Caller,
  ): Promise<T> {
    this.#timeoutMs = timeoutMs;
    // A lock on the account makes its transactions follow one another. Single statements need none.
    const lock = account === undefined ? [] : [lockQuery(account)];
    const started = await translateErrors(() =>
      Promise.all([{ text: 'begin' }, ...first, ...lock].map((query) => this.#query(query))),
    );
    let result: T;
    try {
      if (account instanceof Caller) {
        const [found] = started.at(-1)?.rows ?? [];
        if (account.id !== undefined && !found) throw denied(); // deleted since it was identified
        const isLocked = account.id !== undefined || identifyFrom(found, account) === 'done';
        if (!isLocked) await translateErrors(() => this.#query(lockQuery(account)));
      }
      result = await work(this);
    } catch (thrown) {
      await this.#client.query('rollback').catch(() => {}); // a lost connection has rolled back already
      throw thrown;
    }
    await this.exec('commit');
    return result;
  }

  /** The versions of accounts, or their nodes: see version-questions.ts and versions-by-node.ts. */
  async numbersOf(question: NumberQuestion, accountIds: readonly string[]): Promise<Map<string, number>> {
    const query = { ...question, values: [`{${accountIds.join()}}`] };
    const { rows } = await this.#executeNamed<{ account_id: bigint; number: bigint }>(query);
    return new Map(rows.map(({ account_id, number }) => [String(account_id), Number(number)]));
  }

  /** See WriteRunner. */
  async atOnce(writes: readonly [Write, ...Write[]]): Promise<readonly (number | undefined)[]> {
    const many = manyStatementOf(writes[0].statement);
    if (!many) throw new TypeError(`${writes[0].statement.name} cannot be run for many accounts at once`);
    const query = { name: many.name, text: many.text, values: manyValues(many, writes) };
    const changes: (number | undefined)[] = writes.map(() => undefined);
    const { rows } = await this.#executeNamed<ManyRow>(query).catch((thrown) => {
      if (thrown instanceof Problem) throw thrown;
      return { rows: [] }; // one of them failed, and nothing was done
    });
    for (const { number, account_id, changes: rowsChanged } of rows) {
      const index = Number(number) - 1;
      (writes[index] as Write).parameters.account.id = account_id;
      changes[index] = Number(rowsChanged);
    }
    return changes;
  }

  /** See WriteRunner. Returns undefined for a write that was not done. */
  async together(writes: readonly Write[]): Promise<readonly (number | undefined)[]> {
    const hashes = new Set(writes.map(({ parameters: { account } }) => account.userIdHash));
    const locked = await this.#lockMany([...hashes]);
    const changes: (number | undefined)[] = writes.map(() => undefined);
    const running = writes.map(async ({ statement, parameters }, index) => {
      const id = locked.get(parameters.account.userIdHash);
      if (id === undefined) return;
      parameters.account.id = id;
      changes[index] = await this.run(statement, parameters as never);
    });
    const [ended] = await Promise.allSettled([translateErrors(() => this.#query({ text: 'commit' })), ...running]);
    if (ended.status === 'rejected') throw ended.reason;
    // This is the answer of PostgreSQL to the commit of a transaction in which a statement has
    // failed.
    return ended.value.command === 'ROLLBACK' ? writes.map(() => undefined) : changes;
  }

  /**
   * Begins a transaction. Returns the ids of the accounts that it has locked, by the hash of a
   * user_id.
   */
  async #lockMany(hashes: readonly string[]): Promise<ReadonlyMap<string, bigint>> {
    try {
      const begun = [this.#query({ text: 'begin' }), this.#query(lockManyQuery(hashes))];
      const [, { rows = [] } = {}] = await translateErrors(() => Promise.all(begun));
      return new Map(rows.map((row) => [row.user_id_hash, row.account_id]));
    } catch (thrown) {
      await this.#client.query('rollback').catch(() => {}); // a lost connection has rolled back already
      throw thrown;
    }
  }

  /** Throws DriverChanged: see prepared-query.ts. */
  tryFast(clock: Pick<Clock, 'after'>): Promise<void> {
    return translateErrors(() => tryFast(this.#client, clock));
  }

  async exec(sql: string): Promise<void> {
    await translateErrors(() => this.#query({ text: sql }));
  }

  #query(query: pg.QueryConfig): Promise<pg.QueryResult> {
    const timed = this.#timeoutMs === undefined ? query : { ...query, query_timeout: this.#timeoutMs };
    return this.#client.query(timed as pg.QueryConfig);
  }

  #executeNamed<R>(query: Prepared): Promise<PreparedResult<R>> {
    return translateErrors(() => this.#executePrepared<R>(this.#client, query, this.#timeoutMs));
  }

  protected execute<P>(statement: Statement<P>, parameters: P): Promise<PreparedResult> {
    const rendered = renderedOf(statement as Statement<never>, this.mode);
    const values = rendered.parameters.map((name) => parameterOf(parameters[name as keyof P]));
    return this.#executeNamed({ name: statement.name, text: rendered.text, values });
  }

  #executeCombined(combined: CallerStatement, parameters: object): Promise<PreparedResult> {
    const values = callerValues(combined, parameters as Record<string, unknown>).map(parameterOf);
    return this.#executeNamed({ name: combined.name, text: combined.text, values });
  }

  /** One insert of all rows. It is prepared for one row and for the full number of rows. */
  async #insertAll<P>(statement: Statement<P>, rows: readonly P[]): Promise<void> {
    if (rows.length === 1) {
      await this.execute(statement, rows[0] as P);
      return;
    }
    const values = rows.flatMap((row) => statement.parameters.map((name) => parameterOf(row[name])));
    const name = rows.length === ROWS_PER_INSERT ? { name: `${statement.name}.${ROWS_PER_INSERT}` } : {};
    await translateErrors(() => this.#query({ ...name, text: insertOf(statement, rows.length), values }));
  }
}

/** The text of an insert of several rows, with a parameter for each value of each row. */
function insertOf<P>({ name, text, parameters }: Statement<P>, rows: number): string {
  const [, head = '', tuple = '', tail = ''] = PLAIN_INSERT.exec(text) ?? [];
  if (tuple === '') throw new TypeError(`${name} does not insert plain values`);
  const tuples = Array.from({ length: rows }, (_, row) => {
    const numbered = { ...postgresDialect, parameter: (number: number) => `$${row * parameters.length + number}` };
    return `(${render(tuple, parameters, numbered)})`;
  });
  return head + tuples.join() + tail;
}

/** The part up to `values`, one row of parameters, and what follows without a parameter. */
const PLAIN_INSERT = /^([\s\S]*\bvalues )\(([^()]*)\)(\s*on conflict[^:]*)?$/;

function parameterOf(value: unknown): unknown {
  if (value instanceof Caller) return value.id;
  if (typeof value !== 'string') return value;
  return escaped(value);
}

/**
 * SQLSTATEs of a database that cannot serve, see
 * https://www.postgresql.org/docs/current/errcodes-appendix.html. Classes: 08 connection, 28
 * authorization, 3D database name, 53 resources, 57 operator, 58 system. Codes: 25006 read-only,
 * 25P03 a transaction that was idle too long, 40001 and 40P01 conflicts, 42501 privileges, 55P03
 * lock.
 */
const UNAVAILABLE = /^(08|28|3D|53|57|58)|^(25006|25P03|40001|40P01|42501|55P03)$/;

/** An error of the database or of the network becomes `unavailable`. A bug stays what it is. */
export async function translateErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    const code = (cause as { code?: string }).code;
    // Only an error of the server has a severity: EPIPE of the network looks like an SQLSTATE too.
    const isOfServer = (cause as { severity?: string }).severity !== undefined;
    const isBug = isOfServer
      ? !UNAVAILABLE.test(code as string) && !unreachableNode(cause)
      : cause instanceof TypeError || cause instanceof RangeError;
    if (isBug || cause instanceof Problem || cause instanceof DriverChanged) throw cause;
    throw unavailable(cause);
  }
}
