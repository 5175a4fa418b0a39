import { existsSync, mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { Problem } from '../problem.ts';
import { identify } from './accounts.ts';
import type { Database, Writing } from './database.ts';
import { migrate } from './schema.ts';
import { Connection, sqliteDialect } from './sqlite-connection.ts';
import { Caller, numberOf } from './statement.ts';
import { createVersions } from './versions.ts';
import { createWriteQueue } from './write-queue.ts';

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
    identify: async (userIdHash, admits) => {
      versions.lookAround();
      const found = reader.firstNow(identify, { hash: userIdHash });
      if (!found) return undefined;
      const { account_id: id, allowed_networks: networks } = found;
      if (networks === null) return new Caller(userIdHash, admits, id, versions.own(id));
      const caller = new Caller(userIdHash, admits, id); // without a version: its answers depend on who asks
      return caller.admits(networks) ? caller : undefined;
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
