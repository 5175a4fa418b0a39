import type pg from 'pg';
import { denied } from '../../base/problem.ts';
import { Caller, isAdmitted } from '../caller.ts';
import { addDeletion, admitted, identify } from '../callers.sql.ts';
import type { TransactionQueries } from '../database.ts';
import { deletionOf } from '../deletion.ts';
import type { Statement, Value } from '../statement.ts';
import { Connection, unidentifiedCaller } from './connection.ts';
import type { PreparedResult } from './driver-query.ts';
import type { Execute } from './prepared-query.ts';
import { askReachableNodes, isNodeMissing } from './reachable-nodes.ts';

/**
 * Locks of accounts are waited for on their nodes, where the time-outs of this session count for
 * nothing: a statement that waits there ends by its own time-out here, which looks like a node that
 * does not answer. What a transaction sets after this, its nodes set too.
 */
export const PASSED_ON: pg.QueryConfig = { text: "set local citus.propagate_set_commands = 'local'" };
/**
 * A transaction over all accounts asks their shards over one connection to each node. After it has
 * asked over several at once, Citus refuses to change a table that every node has.
 */
const ONE_BY_ONE: pg.QueryConfig = { text: "set local citus.multi_shard_modify_mode = 'sequential'" };

/**
 * A connection to a database whose accounts are spread over several nodes: see
 * schema/distribution.ts. A statement goes to the node of its account only if it names the account,
 * so a caller is identified before it, by a question that every node answers from its own copy of
 * the user_ids. What is on other nodes, such as the audit, takes a statement of its own.
 */
export class DistributedConnection extends Connection {
  protected override readonly mode = 'distributed';
  readonly #lockTimeout: pg.QueryConfig;
  #isInTransaction = false;

  constructor(client: pg.PoolClient, execute: Execute, lockTimeoutMs: number) {
    super(client, execute);
    this.#lockTimeout = { text: `set local lock_timeout = ${lockTimeoutMs}` };
  }

  override async all<P extends Record<keyof P, Value>, R>(statement: Statement<P, R>, parameters: P): Promise<R[]> {
    return (await this.#executeDistributed(statement, parameters)).rows as R[];
  }

  override async run<P extends Record<keyof P, Value>, R>(statement: Statement<P, R>, parameters: P): Promise<number> {
    return (await this.#executeDistributed(statement, parameters)).rowCount ?? 0;
  }

  /** The version is read before the answer, so an answer is never older than its version. */
  override async identify(account: Caller): Promise<void> {
    const { id, networks } = await this.#accountOf(account);
    if (networks === null) {
      const row = await this.first(admitted, { account: id, hash: account.userIdHash });
      if (!row || !isAdmitted(account.admits, row.allowed_networks)) throw denied();
      if (row.allowed_networks === null) account.version = Number(row.version);
    }
    account.id = id;
  }

  /** As the node that is asked knows it. Enough for a write, whose answer is not cached. */
  async #accountOf(account: Caller): Promise<{ id: bigint; networks: string | null }> {
    const row = await this.first(identify, { hash: account.userIdHash });
    if (!isAdmitted(account.admits, row?.allowed_networks) || !row) throw denied();
    return { id: row.account_id, networks: row.allowed_networks };
  }

  override async within<T>(
    first: readonly pg.QueryConfig[],
    work: (queries: TransactionQueries) => Promise<T>,
    timeoutMs?: number,
    account?: bigint | Caller,
  ): Promise<T> {
    if (account instanceof Caller && account.id === undefined) account.id = (await this.#accountOf(account)).id;
    this.#isInTransaction = true;
    // Work with a time-out of its own is about all accounts, and may wait for as long as it takes.
    const begun = timeoutMs === undefined ? [PASSED_ON, this.#lockTimeout] : [PASSED_ON, ONE_BY_ONE];
    return super.within([...begun, ...first], work, timeoutMs, account).finally(() => {
      this.#isInTransaction = false;
    });
  }

  async #executeDistributed<P extends Record<keyof P, Value>, R>(
    statement: Statement<P, R>,
    parameters: P,
  ): Promise<PreparedResult> {
    const caller = unidentifiedCaller(parameters);
    if (caller && statement.writes) caller.id = (await this.#accountOf(caller)).id;
    else if (caller) await this.identify(caller);
    const deletion = deletionOf(statement, parameters);
    const { everywhere = [], eachOf, found, answeredInPart } = statement.distributed ?? {};
    if (answeredInPart) return this.#executeInPart(statement, parameters, answeredInPart);
    if (found) return this.#executeFound(statement, parameters, found);
    if (eachOf) return this.#executeEach(statement, parameters, String(parameters[eachOf]));
    if (!deletion && everywhere.length === 0) return this.execute(statement, parameters);
    return this.#inTransaction(async () => {
      for (const each of everywhere) await this.execute(each, parameters);
      const result = await this.execute(statement, parameters);
      if (deletion && result.rowCount) await this.execute(addDeletion, { ...parameters, ...deletion } as never);
      return result;
    });
  }

  async #executeInPart<P, R>(statement: Statement<P, R>, parameters: P, table: string): Promise<PreparedResult> {
    try {
      return await this.execute(statement, parameters);
    } catch (thrown) {
      if (this.#isInTransaction || !isNodeMissing(thrown)) throw thrown;
      const rows = (await askReachableNodes(this, statement, table, parameters)) as PreparedResult['rows'];
      return { rows, rowCount: rows.length };
    }
  }

  async #executeFound<P>(statement: Statement<P>, parameters: P, found: Statement<P>): Promise<PreparedResult> {
    const [row] = (await this.execute(found, parameters)).rows;
    return row ? this.execute(statement, { ...parameters, account: row.account_id }) : { rows: [], rowCount: 0 };
  }

  async #executeEach<P>(statement: Statement<P>, parameters: P, accounts: string): Promise<PreparedResult> {
    const rows: Record<string, unknown>[] = [];
    let rowCount = 0;
    for (const account of accounts.slice(1, -1).split(',').filter(Boolean)) {
      const result = await this.execute(statement, { ...parameters, account: BigInt(account) });
      rows.push(...result.rows);
      rowCount += result.rowCount;
    }
    return { rows, rowCount };
  }

  #inTransaction<T>(work: () => Promise<T>): Promise<T> {
    return this.#isInTransaction ? work() : this.within([], work);
  }
}
