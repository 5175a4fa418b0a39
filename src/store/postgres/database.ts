import type pg from 'pg';
import { backOffMs, spread } from '../../base/back-off.ts';
import type { Clock } from '../../base/clock.ts';
import { isUnavailable, Problem } from '../../base/problem.ts';
import { Caller } from '../caller.ts';
import type { Database, Place } from '../database.ts';
import { coordinatorPlace, localNode } from '../schema/distribution-facts.ts';
import { currentVersion, migrate, type SchemaState } from '../schema/migrations.ts';
import { type Statement, statement } from '../statement.ts';
import { unavailable } from '../unavailable.ts';
import { Connection, NODES, type NumberQuestion, translateErrors, VERSIONS } from './connection.ts';
import { postgresDialect } from './dialect.ts';
import {
  type CitusState,
  countWorkers,
  distribute,
  distributedMigration,
  isStoredAsDeclared,
  readCitusState,
  readCommandSteps,
  readRoleSteps,
  readStoredTables,
  refuseUndistributedWorker,
  refuseWorker,
  type StoredTables,
} from './distribute.ts';
import { DistributedConnection, PASSED_ON } from './distributed-connection.ts';
import { postgresFault, type SettingNames } from './faults.ts';
import { countOtherSessions } from './other-sessions.ts';
import { createFailoverPool, type FailoverPool, lockTimeoutOf, type PostgresSettings } from './pool.ts';
import { DriverChanged, type Execute, executeFast, executePlain } from './prepared-query.ts';
import { isForMany } from './statement-forms.ts';
import { createVersionQuestions } from './version-questions.ts';
import { createVersionsByNode } from './versions-by-node.ts';
import { createWriteBatches, isOfCaller } from './write-batches.ts';

/**
 * The large database. Each connection prepares a statement once, and statements that can be sent
 * together take one round trip.
 */
export async function openPostgres(settings: PostgresSettings, clock: Clock): Promise<Database> {
  const pool = createFailoverPool(settings, clock);
  const settingNames = settings.settingNames ?? UNNAMED_SETTINGS;
  const { withConnection, check, tryDriver, setDistributed } = createConnections(pool, clock, settingNames);
  let isDistributed = false;
  try {
    await tryDriver();
    await withConnection((connection) =>
      connection.within(
        [PASSED_ON, ...NO_TIMEOUTS, MIGRATION_LOCK],
        async () => {
          await requireUtf8(connection);
          isDistributed = await migrateWhereStored(connection, clock.now);
        },
        NO_TIMEOUT_MS,
      ),
    );
    if (isDistributed) setDistributed(lockTimeoutOf(settings.timeoutMs));
  } catch (thrown) {
    await pool.close();
    throw thrown;
  }
  const asking = (question: NumberQuestion) => (accountIds: readonly string[]) =>
    withConnection((connection) => connection.numbersOf(question, accountIds));
  const ask = asking(VERSIONS);
  const write = createWriteBatches(clock, {
    alone: ({ statement, parameters }) =>
      withConnection((connection) => connection.run(statement, parameters as never)),
    isForMany,
    atOnce: (writes) => withConnection((connection) => connection.atOnce(writes)),
    together: (writes) => withConnection((connection) => connection.together(writes)),
  });
  return {
    identify: async (userIdHash, admits) => new Caller(userIdHash, admits),
    confirm: (account) =>
      account instanceof Caller && account.id === undefined
        ? withConnection((connection) => connection.identify(account))
        : undefined,
    version: isDistributed
      ? createVersionsByNode({ ask, askNodes: asking(NODES), clock })
      : createVersionQuestions(ask),
    all: (statement, parameters) => withConnection((connection) => connection.all(statement, parameters)),
    first: (statement, parameters) => withConnection((connection) => connection.first(statement, parameters)),
    run: (statement, parameters) =>
      isOfCaller(parameters) && !isDistributed
        ? write({ statement: statement as Statement<never>, parameters })
        : withConnection((connection) => connection.run(statement, parameters)),
    transaction: (account, work, lockWaitMs) =>
      withConnection((connection) =>
        account === null
          ? connection.within(NO_TIMEOUTS, work, NO_TIMEOUT_MS)
          : connection.within(lockWaitMs === undefined ? [] : [lockTimeout(lockWaitMs)], work, undefined, account),
      ),
    transactionWithoutLock: (work) => withConnection((connection) => connection.within([], work)),
    transactionsAtOnce: TRANSACTIONS_AT_ONCE,
    snapshot: (work) => withConnection((connection) => connection.within(SNAPSHOT, work, NO_TIMEOUT_MS)),
    check,
    scrub: async () => {}, // see docs/PRIVACY.md
    place: () => withConnection((connection) => (isDistributed ? placeOfCoordinator(connection) : placeOf(connection))),
    backup: async () => {
      throw new Problem('bad-argument', 'Back up a PostgreSQL database with its own tools: pg_dump or pg_basebackup.');
    },
    close: () => pool.close(),
  };
}

/** Returns whether the accounts are spread over several nodes. */
async function migrateWhereStored(connection: Connection, now: () => number): Promise<boolean> {
  const state = await readCitusState(connection);
  if (state !== 'distributed') {
    if (state === 'ready') await refuseUndistributedWorker(connection);
    await migrate(connection, postgresDialect, now);
    return false;
  }
  if (await isStoredAsDeclared(connection)) return true;
  await refuseWorker(connection);
  for (const step of await readRoleSteps(connection)) await connection.exec(step);
  // Citus refuses new functions and tables after a change of a table on several connections.
  await connection.exec("set local citus.multi_shard_modify_mode to 'sequential'");
  const migration = distributedMigration(connection);
  await migrate(migration, postgresDialect, now);
  await migration.finish();
  return true;
}

/** Distributes the tables over the nodes of Citus, while no service uses them. */
export async function distributePostgres(settings: PostgresSettings, clock: Clock): Promise<number> {
  const pool = createFailoverPool(settings, clock);
  const { withConnection } = createConnections(pool, clock, settings.settingNames ?? UNNAMED_SETTINGS);
  try {
    return await withConnection((connection) =>
      connection.within([PASSED_ON, ...NO_TIMEOUTS, MIGRATION_LOCK], () => distribute(connection), NO_TIMEOUT_MS),
    );
  } finally {
    await pool.close();
  }
}

export interface DistributionState extends StoredTables {
  readonly state: CitusState;
  /** What remains to be executed. Throws where Citus is not ready. */
  readonly steps: () => Promise<string[]>;
  readonly workers: number;
}

/** What `distributePostgres` would execute, and tables that are not stored as the schema says. */
export async function readDistribution(settings: PostgresSettings, clock: Clock): Promise<DistributionState> {
  const pool = createFailoverPool(settings, clock);
  const { withConnection } = createConnections(pool, clock, settings.settingNames ?? UNNAMED_SETTINGS);
  try {
    return await withConnection(async (connection) => {
      const state = await readCitusState(connection);
      const steps = await readCommandSteps(connection).then(
        (found) => async () => found,
        (thrown) => () => Promise.reject(thrown),
      );
      return {
        state,
        steps,
        ...(await readStoredTables(connection)),
        workers: state === 'none' ? 0 : await countWorkers(connection),
      };
    });
  } finally {
    await pool.close();
  }
}

/** How many connections the service and its commands have to the database. */
export async function countSessions(settings: PostgresSettings, clock: Clock): Promise<number> {
  const pool = createFailoverPool(settings, clock);
  const { withConnection } = createConnections(pool, clock, settings.settingNames ?? UNNAMED_SETTINGS);
  try {
    return await withConnection((connection) => countOtherSessions(connection, clock));
  } finally {
    await pool.close();
  }
}

/** The schema version and the size of a database as it is; version 0 if it was never used. */
export async function readSchemaState(settings: PostgresSettings, clock: Clock): Promise<SchemaState> {
  const pool = createFailoverPool(settings, clock);
  const { withConnection } = createConnections(pool, clock, settings.settingNames ?? UNNAMED_SETTINGS);
  try {
    return await withConnection(async (connection) => {
      const found = await connection.first(schemaState, {});
      if (!found?.is_used) return { version: 0, bytes: Number(found?.bytes ?? 0n) };
      const version = (await connection.first(currentVersion, {}))?.version ?? 0n;
      return { version: Number(version), bytes: Number(found.bytes) };
    });
  } finally {
    await pool.close();
  }
}
const schemaState = statement<Record<string, never>, { is_used: boolean; bytes: bigint }>(
  'schema.state',
  `select to_regclass('schema_version') is not null as is_used, pg_database_size(current_database()) as bytes`,
);

const encoding = statement<Record<string, never>, { encoding: string }>(
  'database.encoding',
  "select current_setting('server_encoding') as encoding",
);

const PLACE = `select system_identifier || '/' || (select oid from pg_database where datname = current_database()) as id,
     (select timeline_id from pg_control_checkpoint())::text as timeline from pg_control_system()`;
const place = statement<Record<string, never>, { id: string; timeline: string }>('database.place', PLACE);

async function placeOf(connection: Connection): Promise<Place> {
  return (await connection.first(place, {})) ?? { id: '', timeline: '' };
}

/** The installation is where the coordinator is, also for a service that asks another node. */
async function placeOfCoordinator(connection: Connection): Promise<Place> {
  if (!(await connection.first(localNode, {}))?.is_worker) return placeOf(connection);
  const answer = await connection.first(coordinatorPlace, {
    question: `select id || ' ' || timeline from (${PLACE}) as place`,
  });
  if (!answer?.success) throw unavailable(new Error(answer?.result), 'The worker cannot ask the coordinator of Citus.');
  const [id = '', timeline = ''] = answer.result.split(' ');
  return { id, timeline };
}

/**
 * Refuses another encoding, which cannot represent most letters, so that messages would be refused
 * one by one.
 */
async function requireUtf8(connection: Connection): Promise<void> {
  const found = (await connection.first(encoding, {}))?.encoding;
  if (found === 'UTF8') return;
  throw new Problem(
    'bad-argument',
    `The database has the encoding ${found}. Create one with UTF8: createdb --encoding=UTF8 --template=template0 NAME`,
  );
}

const lockTimeout = (ms: number): pg.QueryConfig => ({ text: `set local lock_timeout = ${Math.ceil(ms)}` });

// Each transaction takes a connection that calls may need. The default pool has 10.
const TRANSACTIONS_AT_ONCE = 4;

/** For a program whose settings have no names. */
const UNNAMED_SETTINGS = { url: 'the URL', timeoutMs: 'the time-out', connectionsMax: 'the number of connections' };

type Work<T> = (connection: Connection) => Promise<T>;

function createConnections(
  pool: FailoverPool,
  clock: Pick<Clock, 'after' | 'sleep' | 'random'>,
  settingNames: SettingNames,
) {
  /** Whether the server refused a write. A successful trial resets it. */
  let wasRefusedByDisk = false;
  let execute: Execute = executePlain;
  let connectionOf = (client: pg.PoolClient): Connection => new Connection(client, execute);

  /** Runs work again that was rolled back by a deadlock or a conflict. */
  async function withConnection<T>(work: Work<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await withClient(pool, (client) => work(connectionOf(client)));
      } catch (thrown) {
        const { cause } = (thrown as Partial<Problem>).details ?? {};
        const { code = '' } = (cause ?? {}) as { code?: string };
        if (attempt < ATTEMPTS_MAX && CONFLICTS.has(code)) {
          await clock.sleep(spread(backOffMs(attempt, PAUSE_FIRST_MS, PAUSE_LAST_MS), clock.random));
          continue;
        }
        if (UNWRITABLE.has(code)) wasRefusedByDisk = true;
        if (!isUnavailable(thrown)) throw thrown;
        throw unavailable(cause, postgresFault(pool.urls, cause, settingNames), LOCKED_OUT.has(code));
      }
    }
  }

  async function check(): Promise<void> {
    if (!wasRefusedByDisk) return withConnection((connection) => connection.exec('select 1'));
    await withConnection((connection) => connection.within([], () => connection.exec(TRIAL)));
    wasRefusedByDisk = false;
  }

  /**
   * Chooses the faster way to execute statements, or the documented one where `pg` has changed.
   * Then everything works, and takes more CPU. A connection that broke meanwhile is no change, so
   * there is a second trial.
   */
  async function tryDriver(): Promise<void> {
    for (let trial = 1; trial <= 2; trial++) {
      try {
        await withConnection((connection) => connection.tryFast(clock));
        execute = executeFast;
        return;
      } catch (thrown) {
        if (!(thrown instanceof DriverChanged)) throw thrown;
        if (trial === 2) process.emitWarning(thrown);
      }
    }
  }

  const setDistributed = (lockTimeoutMs: number) => {
    connectionOf = (client) => new DistributedConnection(client, execute, lockTimeoutMs);
  };
  return { withConnection, check, tryDriver, setDistributed };
}

/** A broken connection does not go back to the pool. */
async function withClient<T>(pool: FailoverPool, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await translateErrors(() => pool.connect());
  let isBroken = false;
  try {
    return await work(client);
  } catch (thrown) {
    isBroken = isUnavailable(thrown) || thrown instanceof DriverChanged;
    throw thrown;
  } finally {
    client.release(isBroken);
  }
}

// Serialization failure and deadlock. One of the two transactions goes on, so the second attempt
// mostly succeeds.
const CONFLICTS = new Set(['40001', '40P01']);
const ATTEMPTS_MAX = 5;
// Transactions that have met would meet again if both were repeated at once. A transaction of a
// call takes some milliseconds.
const PAUSE_FIRST_MS = 10;
const PAUSE_LAST_MS = 100;
/** Whether the error is one of these, or a lock that was not released in time. */
const LOCKED_OUT = new Set([...CONFLICTS, '55P03']);
// Read-only, disk full, I/O error: the database can be read and not written.
const UNWRITABLE = new Set(['25006', '53100', '58030']);
/** Extends a file, as a call does. It leaves nothing behind. */
const TRIAL = "create temporary table trial on commit drop as select repeat('x', 8192) as content";

// An advisory lock that no other program takes in this database.
const MIGRATION_LOCK: pg.QueryConfig = { text: 'select pg_advisory_xact_lock(4269856720)' };
/** For work that may take longer than a call, and for which no client waits. */
const NO_TIMEOUTS: readonly pg.QueryConfig[] = [
  'statement_timeout',
  'lock_timeout',
  'idle_in_transaction_session_timeout',
].map((name) => ({ text: `set local ${name} = 0` }));
/**
 * All reads see the database at one moment. Dead rows are kept until the snapshot ends, so it ends
 * after 10 minutes without a query: the process may be stopped, or its reader very slow.
 */
const SNAPSHOT: readonly pg.QueryConfig[] = [
  { text: 'set transaction isolation level repeatable read, read only' },
  ...NO_TIMEOUTS,
  { text: "set local idle_in_transaction_session_timeout = '10min'" },
];
// The longest time of a timer, 24 days.
const NO_TIMEOUT_MS = 2 ** 31 - 1;
