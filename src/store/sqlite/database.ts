import { closeSync, existsSync, mkdirSync, openSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Clock } from '../../base/clock.ts';
import { Problem } from '../../base/problem.ts';
import { Caller } from '../caller.ts';
import * as sql from '../callers.sql.ts';
import type { Database } from '../database.ts';
import { type BeforeMigration, migrate } from '../schema/migrations.ts';
import { type Statement, statement } from '../statement.ts';
import { unavailable } from '../unavailable.ts';
import { type AccountChange, type AccountVersions, createAccountVersions } from './account-versions.ts';
import { createCheckpointer } from './checkpointer.ts';
import { Connection, isLocked, sqliteDialect } from './connection.ts';
import { fileFault, folderFault, foreignFault } from './faults.ts';
import { createWriteQueue } from './write-queue.ts';

/**
 * The embedded database. One connection reads and writes, because it caches the pages that it has
 * read and written. While a transaction is open on it, a second connection serves reads, and sees
 * the state before that transaction.
 */
export async function openSqlite(
  path: string,
  clock: Clock,
  checkpointerDied: (thrown: unknown) => void = () => {},
  beforeMigration?: BeforeMigration,
): Promise<Database> {
  const writer = await openWriter(path, clock.now, beforeMigration);
  const secondReader = new Connection(path);
  const read = createRead(writer, secondReader);
  const versions = createAccountVersions({
    dataVersion: () => writer.dataVersion(),
    version: (account) => {
      const row = read((connection) => connection.getSync(sql.version, { account }));
      return row && Number(row.version);
    },
    changesFrom: (changeId) => read((connection) => connection.allSync(changesFrom, { changeId })),
    onForeignWrite: createUnmapping([writer, secondReader]),
    identity: (hash) => {
      const row = read((connection) => connection.getSync(sql.identify, { hash }));
      return row && { id: row.account_id, networks: row.allowed_networks, version: Number(row.version) };
    },
  });
  writer.onWrite = versions.markChanged;
  const checkpointer = createCheckpointer(path, clock, checkpointerDied);
  const writes = createWriteQueue(writer, clock, {
    onSettled: versions.settle,
    onAnswered: () => checkpointer.rowsWritten(writer.rowsChanged),
  });
  // The audit entry of a delete is a second statement.
  const optionsOf = ({ deletes }: Pick<Statement, 'deletes'>) => ({ single: deletes === undefined });

  return {
    ...createIdentification(versions),
    all: async (statement, parameters) =>
      statement.writes
        ? writes.add(() => writer.allSync(statement, parameters), optionsOf(statement))
        : read((connection) => connection.allSync(statement, parameters)),
    first: async (statement, parameters) =>
      statement.writes
        ? writes.add(() => writer.getSync(statement, parameters), optionsOf(statement))
        : read((connection) => connection.getSync(statement, parameters)),
    run: (statement, parameters) => writes.add(() => writer.runSync(statement, parameters), optionsOf(statement)),
    transaction: (_account, work) => writes.add(work),
    transactionWithoutLock: (work) => writes.add(work),
    // Writes of one turn share a commit, see write-queue.ts.
    transactionsAtOnce: 64,
    snapshot: (work) => withConnection(path, (connection) => connection.within('begin', work)),
    check: async () => {
      read((connection) => connection.exec('select 1'));
      if (!writer.wasRefusedByDisk) return;
      await writes.add(() => writer.exec(TRIAL));
      writer.wasRefusedByDisk = false;
    },
    scrub: () => checkpointer.truncate(),
    place: async () => ({ id: '', timeline: '' }),
    backup: (to) => backUp(path, to, clock.now()),
    close: async () => {
      await writes.empty();
      await checkpointer.close();
      secondReader.close();
      writer.close();
    },
  };
}

async function openWriter(path: string, now: () => number, before?: BeforeMigration): Promise<Connection> {
  makeFolderOf(path);
  if (!existsSync(path)) makePrivate(path, 'a'); // another process may make it at the same time
  refuseForeign(path);
  const writer = new Connection(path);
  await writer.within('begin immediate', () => migrate(writer, sqliteDialect, now, undefined, before));
  writer.checkpoint(); // a migration, or a process that was killed, may have left a long log
  writer.exec('pragma busy_timeout = 0'); // from here on the write queue waits
  return writer;
}

/**
 * Checks the file before anything is written, because a wrong path may name the database of another
 * program.
 */
function refuseForeign(path: string): void {
  let tables: unknown[];
  try {
    const file = new DatabaseSync(path, { readOnly: true });
    tables = file
      .prepare(TABLES)
      .all()
      .map((row) => row.name);
    file.close();
  } catch {
    return; // the connection that writes tells why
  }
  if (tables.length === 0 || tables.includes('schema_version')) return;
  throw unavailable(new Error('a database of another program'), foreignFault(path));
}
const TABLES = "select name from sqlite_schema where type = 'table' and name not like 'sqlite!_%' escape '!'";

/** Only SQLite has this table: see schema/account-change.ts. */
const changesFrom = statement<{ changeId: bigint }, AccountChange>(
  'sqlite.changesFrom',
  'select change_id, account_id, mark from account_change where change_id >= :changeId order by change_id',
);

/** The writer does not wait for a lock. Where one is in the way, the second reader does. */
const createRead =
  (writer: Connection, secondReader: Connection) =>
  <T>(work: (connection: Connection) => T): T => {
    if (writer.inTransaction) return work(secondReader);
    try {
      return work(writer);
    } catch (thrown) {
      if (isLocked(thrown)) return work(secondReader);
      throw thrown;
    }
  };

/**
 * SQLite unmaps the file after each commit of another process, and maps it again. Where others
 * write all the time, reading pages without a map is cheaper. Right after such a commit, a version
 * takes 23 instead of 47 µs, and Unread 158 instead of 192.
 */
function createUnmapping(connections: readonly Connection[]): () => void {
  let commits = 0;
  return () => {
    commits += 1;
    if (commits === MAPPED_COMMITS_MAX) for (const each of connections) each.exec('pragma mmap_size = 0');
  };
}

// More commits than commands and imports make beside a single process.
const MAPPED_COMMITS_MAX = 1_000;

/** Which account calls, and its version. */
const createIdentification = (versions: AccountVersions): Pick<Database, 'identify' | 'confirm' | 'version'> => ({
  // Nothing is awaited between the poll and the version, so the version is the one before the call.
  identify: (userIdHash, admits, pollId) => {
    versions.pollOtherProcesses(pollId);
    const found = versions.identify(userIdHash, admits);
    if (!found) return undefined;
    const { id, networks, version } = found;
    // A restricted account has no version: its answers depend on the caller's address.
    return new Caller(userIdHash, admits, id, networks === null ? version : undefined);
  },
  confirm: () => undefined,
  version: (account, poll = true, pollId) => {
    if (poll) versions.pollOtherProcesses(pollId);
    return versions.versionOf(account);
  },
});

async function withConnection<T>(path: string, work: (connection: Connection) => T | Promise<T>): Promise<T> {
  const connection = new Connection(path);
  try {
    return await work(connection);
  } finally {
    connection.close();
  }
}

async function backUp(path: string, to: string, at: number): Promise<void> {
  if (existsSync(to)) throw new Problem('bad-argument', `${to}: the file exists already`);
  makePrivate(to, 'wx'); // SQLite writes into an empty file as well
  try {
    await withConnection(path, (connection) => connection.exec(`vacuum into '${to.replaceAll("'", "''")}'`, to));
    await withConnection(to, (copy) => copy.runSync(markCopy, { at }));
  } catch (thrown) {
    rmSync(to, { force: true });
    throw thrown;
  }
}

/** A copy is not served as it is, because messages that were sent since would be sent again. */
const markCopy = statement<{ at: number }>(
  'sqlite.markCopy',
  `insert into installation (installation_id, generation, run, place, timeline, copied_at) values (1, 0, '', '', '', :at)
   on conflict (installation_id) do update set copied_at = excluded.copied_at`,
  { affects: 'none' },
);

/** Allocates pages and writes to the log, as a call does. It leaves nothing behind. */
const TRIAL = 'create table trial (content); insert into trial values (zeroblob(8192)); drop table trial';

function makeFolderOf(path: string): void {
  try {
    makeFolder(dirname(path));
  } catch (cause) {
    throw unavailable(cause, folderFault(path));
  }
}

/**
 * Creates one folder after the other. With `recursive`, Node never ends if a folder cannot be
 * created, as in /proc.
 */
function makeFolder(path: string): void {
  if (existsSync(path)) return;
  makeFolder(dirname(path));
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (thrown) {
    if (!existsSync(path)) throw thrown; // else another process was faster
  }
}

/**
 * An empty file that nobody else may read. SQLite gives its mode to the -wal and -shm files too.
 */
function makePrivate(path: string, flags: string): void {
  try {
    closeSync(openSync(path, flags, 0o600));
  } catch (cause) {
    throw unavailable(cause, fileFault(path));
  }
}
