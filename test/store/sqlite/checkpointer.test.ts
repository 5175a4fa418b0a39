import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { describe, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import { systemClock } from '../../../src/base/clock.ts';
import type { Database } from '../../../src/store/database.ts';
import { checkpointAll, openForCheckpoints } from '../../../src/store/sqlite/checkpoint-worker.ts';
import { createCheckpointer } from '../../../src/store/sqlite/checkpointer.ts';
import { engines } from '../../support/engines.ts';
import { openStore, pathOf, sql } from '../../support/opened-database.ts';
import { until } from '../../support/program.ts';
import { serve } from '../../support/serving.ts';

/** The write-ahead log of the embedded database is moved into its file while it is used. */
const sqlite = engines[0] as (typeof engines)[number];
const TEXT = 'moved into the file';

/** A count in the file itself, without its log. A checkpoint may be under way: then it is 0. */
function countWithoutLog(path: string, query: string): number {
  copyFileSync(path, `${path}-alone`);
  const alone = new DatabaseSync(`${path}-alone`);
  try {
    return (alone.prepare(query).get() as { count: number }).count;
  } catch (thrown) {
    if (/malformed|not a database|no such table/.test(String(thrown))) return 0;
    throw thrown;
  } finally {
    alone.close();
  }
}

const inFile = (path: string): number =>
  countWithoutLog(path, `select count(*) as count from received where text = '${TEXT}'`);

/** How often a write found that others held the lock. */
function countLockedOut(t: TestContext): () => number {
  const { exec } = DatabaseSync.prototype;
  let count = 0;
  DatabaseSync.prototype.exec = function (text) {
    try {
      exec.call(this, text);
    } catch (thrown) {
      if (text === 'begin immediate') count += 1;
      throw thrown;
    }
  };
  t.after(() => Object.assign(DatabaseSync.prototype, { exec }));
  return () => count;
}

/** The header of the log: its salts are others after each start. https://www.sqlite.org/fileformat2.html#walformat */
const beginningOfLog = (path: string): Buffer => readFileSync(`${path}-wal`).subarray(0, 32);

const mark = sql<{ text: string }>('update received set text = :text where text is not null');

describe('the write-ahead log of the embedded database', () => {
  test('the WAL is checkpointed after many changes, while others read and write, and its thread ends with the database', async () => {
    const setting = await sqlite.fresh('sample');
    const store = await openStore(setting);
    const changed = await store.run(mark, { text: TEXT });
    assert.ok(changed > 0);
    assert.equal(inFile(pathOf(setting)), 0);
    let turns = 0;
    await until('it is moved', async () => {
      await Promise.all(Array.from({ length: 50 }, () => store.run(mark, { text: TEXT })));
      const [found] = await store.all(
        sql<Record<string, never>, { count: bigint }>('select count(*) as count from received where text is not null'),
        {},
      );
      assert.equal(found?.count, BigInt(changed));
      turns += 1;
      return inFile(pathOf(setting)) === changed;
    });
    assert.ok(turns > 1, 'many changes were not waited for');
    await store.close();
    assert.equal(inFile(pathOf(setting)), changed);
  });

  test('while a reader holds an old snapshot no write waits for the log, and after that the log starts again', async (t) => {
    let moves = 0;
    const count = (thread: Worker) => void thread.on('message', () => void moves++);
    process.on('worker', count);
    t.after(() => process.off('worker', count));
    const setting = await sqlite.fresh('sample');
    const store = await openStore(setting);
    const lockedOut = countLockedOut(t);
    t.after(() => store.close());
    let texts = 0; // another one each time: what is the same again is not written
    const write = () => Promise.all(Array.from({ length: 50 }, () => store.run(mark, { text: `${TEXT} ${++texts}` })));
    await write();
    const before = beginningOfLog(pathOf(setting));
    await store.snapshot(async (queries) => {
      await queries.all(sql('select count(*) from received'), {});
      await until('two moves of the log', async () => {
        await write();
        return moves >= 2;
      });
    });
    assert.equal(lockedOut(), 0, 'a write found the lock taken');
    assert.deepEqual(beginningOfLog(pathOf(setting)), before, 'what is read was overwritten');
    await until('the log starts again', async () => {
      await write();
      return !beginningOfLog(pathOf(setting)).equals(before);
    });
  });

  test('a log that grew because of a long reader gives its disk space back', async () => {
    const path = `${pathOf(await sqlite.fresh('none'))}-long`;
    const writer = new DatabaseSync(path);
    writer.exec('pragma journal_mode = wal; pragma wal_autocheckpoint = 0; pragma synchronous = off');
    writer.exec('create table page (number integer primary key, content blob)');
    const reader = new DatabaseSync(path);
    const checkpoints = openForCheckpoints(path);
    assert.deepEqual({ ...checkpoints.prepare('pragma busy_timeout').get() }, { timeout: 0 });
    const write = () =>
      writer.exec(`with recursive counted (number) as (select 1 union all select number + 1 from counted where number < 33000)
        insert into page select null, zeroblob(4000) from counted`);
    write();
    reader.exec('begin');
    reader.prepare('select count(*) from page').get();
    write();
    const long = statSync(`${path}-wal`).size;
    checkpointAll(checkpoints);
    assert.equal(statSync(`${path}-wal`).size, long);
    reader.exec('commit');
    checkpointAll(checkpoints);
    assert.equal(statSync(`${path}-wal`).size, 0);
    for (const each of [reader, checkpoints, writer]) each.close();
  });

  test('the start checkpoints the WAL of a killed process', async () => {
    const setting = await sqlite.fresh('sample');
    const store = await openStore(setting);
    const changed = await store.run(mark, { text: TEXT });
    const left = `${pathOf(setting)}-left`; // both files as they are at this moment
    for (const end of ['', '-wal']) copyFileSync(`${pathOf(setting)}${end}`, `${left}${end}`);
    await store.close();
    assert.equal(inFile(left), 0);
    const next = await openStore(`sqlite:${left}`);
    assert.equal(inFile(left), changed);
    await next.close();
  });

  test('the WAL is checkpointed again by another thread after its thread was killed, and the service logs it', async (t) => {
    const threads: Worker[] = [];
    const count = (thread: Worker) => void threads.push(thread);
    process.on('worker', count);
    t.after(() => process.off('worker', count));
    const setting = await sqlite.fresh('sample');
    let store: Database | undefined;
    const { app, logged } = await serve(setting, {
      database: (opened) => {
        store = opened;
        return opened;
      },
    });
    t.after(() => app.stop());
    const change = (text: string) =>
      Promise.all(Array.from({ length: 50 }, () => (store as Database).run(mark, { text })));
    const deaths = () => logged.filter((line) => /checkpoint thread died and is being restarted/.test(line)).length;

    await until('the first thread runs', async () => {
      await change('before');
      return threads.length === 1;
    });
    await threads[0]?.terminate();
    await until('the death is logged', () => deaths() === 1);
    await until('it is moved again', async () => {
      await change(TEXT);
      return inFile(pathOf(setting)) > 0;
    });
    assert.deepEqual([threads.length, deaths()], [2, 1]);
  });

  test('a thread that cannot open the file is started again later, not at every commit', async (t) => {
    let started = 0;
    const count = () => void started++;
    process.on('worker', count);
    t.after(() => process.off('worker', count));
    const folder = `${pathOf(await sqlite.fresh('none'))}-later`;
    const path = `${folder}/late.db`;
    const deaths: unknown[] = [];
    let rows = 0;
    const commit = () => {
      rows += 10_000;
      checkpointer.rowsWritten(rows);
    };
    const checkpointer = createCheckpointer(path, systemClock, (thrown) => {
      deaths.push(thrown);
      commit();
      assert.equal(started, deaths.length, 'another one was started at once');
    });
    await until('two threads have died', () => {
      if (deaths.length < 2) commit();
      return deaths.length === 2;
    });
    assert.match(String(deaths[0]), /unable to open database file/);

    mkdirSync(folder);
    const database = new DatabaseSync(path, { timeout: 10_000 }); // a thread may open it at this moment
    database.exec('pragma journal_mode = wal; pragma wal_autocheckpoint = 0');
    database.exec(`create table received (text); insert into received values ('${TEXT}')`);
    await until('it is moved', () => {
      commit();
      return inFile(path) === 1;
    });
    await checkpointer.close();
    database.close();
  });

  test('if the thread cannot open the file, the connection checkpoints the log, and no call fails', async () => {
    const checkpointer = createCheckpointer('/nowhere/at/all.db', systemClock);
    for (const rows of [1_000_000, 2_000_000]) {
      checkpointer.rowsWritten(rows);
      await sleep(100);
    }
    await checkpointer.close();
  });
});
