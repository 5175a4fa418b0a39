import assert from 'node:assert/strict';
import { DatabaseSync, type SQLInputValue, StatementSync } from 'node:sqlite';
import { afterEach, describe, test } from 'node:test';
import { exportOf } from '../support/contract-client.ts';
import { engines } from '../support/engines.ts';
import { openStore, pathOf, sql } from '../support/opened-database.ts';
import { PROTOCOLS } from '../support/protocols.ts';
import { ACME, startService } from '../support/service.ts';
import { CALLS } from '../support/serving.ts';

/** What the program does to the connections of the embedded database, seen by watching the driver. */
const sqlite = engines[0] as (typeof engines)[number];
const { exec, prepare } = DatabaseSync.prototype;
const connections = new Set<DatabaseSync>();
const prepared: string[] = [];

function watch(): void {
  connections.clear();
  prepared.length = 0;
  DatabaseSync.prototype.exec = function (sql) {
    connections.add(this);
    return exec.call(this, sql);
  };
  DatabaseSync.prototype.prepare = function (sql, options) {
    prepared.push(sql);
    return prepare.call(this, sql, options);
  };
}

afterEach(() => Object.assign(DatabaseSync.prototype, { exec, prepare }));

const pragma = (connection: DatabaseSync, name: string) =>
  Object.values(prepare.call(connection, `pragma ${name}`).get() ?? {})[0];

describe('connections of the embedded database', () => {
  test('every connection has a write-ahead log, full synchronisation, foreign keys and a busy time-out', async () => {
    watch();
    const setting = await sqlite.fresh('sample');
    const database = await openStore(setting);
    await database.snapshot(async () => {
      const open = [...connections].filter(({ isOpen }) => isOpen);
      assert.equal(open.length, 3, 'one for everything, one that reads meanwhile, one for the snapshot');
      for (const connection of open) {
        assert.equal(connection.location(), pathOf(setting));
        assert.equal(pragma(connection, 'journal_mode'), 'wal');
        assert.equal(pragma(connection, 'synchronous'), 2); // FULL
        assert.equal(pragma(connection, 'foreign_keys'), 1);
      }
      // The one that writes waits in its queue, for as long, and without holding up the process.
      assert.deepEqual(
        open.map((connection) => pragma(connection, 'busy_timeout')),
        [0, 5_000, 5_000],
      );
    });
    await database.close();
    assert.ok([...connections].every(({ isOpen }) => !isOpen));
  });

  test('the file is in write-ahead mode for other programs too', async () => {
    const setting = await sqlite.fresh('sample');
    const other = new DatabaseSync(pathOf(setting));
    assert.equal(pragma(other, 'journal_mode'), 'wal');
    other.close();
  });

  test('a statement is prepared once on a connection, however often it is used', async () => {
    watch();
    const service = await startService(sqlite);
    try {
      const callAll = async () => {
        for (const protocol of PROTOCOLS) {
          for (const [group, operation, args] of CALLS) {
            await service.call(protocol, group, operation, { user_id: ACME, ...args });
          }
        }
      };
      await callAll();
      const first = prepared.length;
      assert.ok(first > 20, `${first} statements`);
      await callAll();
      await callAll();
      assert.deepEqual(prepared.slice(first), []);
    } finally {
      await service.stop();
    }
  });

  test('a read that meets a lock is repeated on the connection that waits for locks; one that fails otherwise is not', async () => {
    const store = await openStore(await sqlite.fresh('sample'));
    const { all } = StatementSync.prototype;
    const failures: number[] = [];
    StatementSync.prototype.all = function (this: StatementSync, ...values: SQLInputValue[]) {
      const errcode = failures.shift();
      if (errcode !== undefined) throw Object.assign(new Error('no'), { errcode });
      return Reflect.apply(all, this, values);
    } as typeof all;
    try {
      const usernames = sql<Record<string, never>, { username: string }>(
        'select username from account order by username',
      );
      const before = await store.all(usernames, {});
      assert.ok(before.length > 0);
      failures.push(261); // SQLITE_BUSY_RECOVERY: another process puts the log in order after a crash
      assert.deepEqual(await store.all(usernames, {}), before);
      failures.push(5, 5);
      await assert.rejects(store.all(usernames, {}), { kind: 'unavailable' });
      failures.push(10);
      await assert.rejects(store.all(usernames, {}), { kind: 'unavailable' });
      assert.deepEqual(await store.all(usernames, {}), before);
    } finally {
      StatementSync.prototype.all = all;
      await store.close();
    }
  });

  test('an export leaves no connection open', async () => {
    watch();
    const service = await startService(sqlite);
    await exportOf(service.app);
    await exportOf(service.app);
    assert.equal([...connections].filter(({ isOpen }) => isOpen).length, 2);
    await service.stop();
  });
});
