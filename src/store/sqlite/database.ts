import { closeSync, existsSync, mkdirSync, openSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { Problem } from '../../problem.ts';
import type { Database } from '../database.ts';
import { migrate } from '../schema/migrations.ts';
import { Caller, numberOf } from '../statement.ts';
import { identify } from '../statements/accounts.ts';
import { unavailable } from '../unavailable.ts';
import { createVersions } from './change-tracker.ts';
import { createCheckpoints } from './checkpointer.ts';
import { Connection, isLocked, sqliteDialect } from './connection.ts';
import { fileFault, folderFault } from './faults.ts';
import { createIdentities } from './identity-cache.ts';
import { createWriteQueue } from './write-queue.ts';

/**
 * The embedded database. One connection does everything, because it keeps the pages that it has read and written: another one
 * would read them anew after each commit. Only while a transaction is open on it, what is not part of that is read by the
 * other, which sees the time before. `burst` is the number of those calls that were all under way before the first of them
 * asked something, undefined for a call by itself: they look around together.
 */
export async function openSqlite(
  path: string,
  now: () => number,
  burst: () => number | undefined = () => undefined,
  checkpointsDied: (thrown: unknown) => void = () => {},
): Promise<Database> {
  makeFolderOf(path);
  if (!existsSync(path)) makePrivate(path, 'a'); // another process may make it at the same time
  const writer = new Connection(path);
  await writer.within('begin immediate', () => migrate(writer, sqliteDialect, now));
  writer.moveLog(); // a migration, or a process that was killed, may have left a long one
  writer.exec('pragma busy_timeout = 0'); // from here on the queue does the waiting
  const aside = new Connection(path);
  /** The one that writes does not wait for a lock, which is hardly ever in the way of reading: then the other one does. */
  function read<T>(work: (connection: Connection) => T): T {
    if (writer.inTransaction) return work(aside);
    try {
      return work(writer);
    } catch (thrown) {
      if (isLocked(thrown)) return work(aside);
      throw thrown;
    }
  }
  const checkpoints = createCheckpoints(path, checkpointsDied);
  const writes = createWriteQueue(writer, () => checkpoints.wrote(writer.rowsChanged));
  const versions = createVersions(() => writer.dataVersion());
  const identities = createIdentities((hash) => {
    const found = read((connection) => connection.firstNow(identify, { hash }));
    return found && { id: found.account_id, networks: found.allowed_networks };
  });
  const decided = (account: unknown) => {
    versions.changed(numberOf(account));
    if (!writer.changedCallers) return;
    writer.changedCallers = false;
    identities.forget();
  };
  let lookedIn: number | undefined;
  const lookAround = () => {
    const current = burst();
    if (current !== undefined && current === lookedIn) return;
    if (versions.lookAround()) identities.forget();
    lookedIn = current;
  };
  const writeOne = <T>(parameters: object, work: () => T) =>
    writes.add(work, {
      oneStatement: true,
      decided: () => decided((parameters as { account?: unknown }).account),
    });

  return {
    // Nothing is awaited from the look at what others have written to the account's own version: it is the one before.
    identify: (userIdHash, admits) => {
      lookAround();
      const found = identities.of(userIdHash, admits);
      if (!found) return undefined;
      const { id, networks } = found;
      // Without a version where it is restricted: its answers depend on who asks.
      return new Caller(userIdHash, admits, id, networks === null ? versions.own(id) : undefined);
    },
    confirm: () => undefined,
    version: ({ id, version }, look = true) => {
      if (id === undefined) return undefined;
      if (look && versions.own(id) === version) lookAround(); // else it is another one anyway
      return versions.own(id);
    },
    all: async (statement, parameters) =>
      statement.writes
        ? writeOne(parameters, () => writer.allNow(statement, parameters))
        : read((connection) => connection.allNow(statement, parameters)),
    first: async (statement, parameters) =>
      statement.writes
        ? writeOne(parameters, () => writer.firstNow(statement, parameters))
        : read((connection) => connection.firstNow(statement, parameters)),
    run: (statement, parameters) => writeOne(parameters, () => writer.runNow(statement, parameters)),
    transaction: (account, work) => writes.add(work, { decided: () => decided(account) }),
    snapshot: async (work) => {
      const connection = new Connection(path);
      try {
        return await connection.within('begin', work);
      } finally {
        connection.close();
      }
    },
    check: async () => {
      read((connection) => connection.exec('select 1'));
      if (!writer.wasRefusedByDisk) return;
      await writes.add(() => writer.exec(TRIAL));
      writer.wasRefusedByDisk = false;
    },
    backup: async (to) => {
      if (existsSync(to)) throw new Problem('bad-argument', `${to}: the file exists already`);
      makePrivate(to, 'wx'); // SQLite writes into an empty file as well
      const connection = new Connection(path);
      try {
        connection.exec(`vacuum into '${to.replaceAll("'", "''")}'`, to);
      } catch (thrown) {
        rmSync(to, { force: true });
        throw thrown;
      } finally {
        connection.close();
      }
    },
    close: async () => {
      await writes.empty();
      await checkpoints.close();
      aside.close();
      writer.close();
    },
  };
}

/** Takes new pages and writes to the log, as a call may, and leaves nothing behind. */
const TRIAL = 'create table trial (content); insert into trial values (zeroblob(8192)); drop table trial';

function makeFolderOf(path: string): void {
  try {
    makeFolder(dirname(path));
  } catch (cause) {
    throw unavailable(cause, folderFault(path));
  }
}

/** One after the other: with `recursive` Node never ends where a folder cannot be made in one that exists, as in /proc. */
function makeFolder(path: string): void {
  if (existsSync(path)) return;
  makeFolder(dirname(path));
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (thrown) {
    if (!existsSync(path)) throw thrown; // else another process was faster
  }
}

/** An empty file that nobody else may read. SQLite gives its mode to the -wal and -shm files too. */
function makePrivate(path: string, flags: string): void {
  try {
    closeSync(openSync(path, flags, 0o600));
  } catch (cause) {
    throw unavailable(cause, fileFault(path));
  }
}
