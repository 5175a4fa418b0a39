import assert from 'node:assert/strict';
import { copyFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createCheckpoints } from '../../src/store/checkpoints.ts';
import { until } from '../durability/program.ts';
import { engines } from '../support/engines.ts';
import { openStore, pathOf, sql } from './opening.ts';

/** The write-ahead log of the embedded database is moved into its file while it is used. */
const sqlite = engines[0] as (typeof engines)[number];
const TEXT = 'moved into the file';

/** What is in the file itself, without its log. */
function inFile(path: string): number {
  copyFileSync(path, `${path}-alone`);
  const alone = new DatabaseSync(`${path}-alone`);
  const { count } = alone.prepare('select count(*) as count from received where text = ?').get(TEXT) as {
    count: number;
  };
  alone.close();
  return count;
}

const mark = sql<{ text: string }>('update received set text = :text where text is not null');

describe('the log of the embedded database', () => {
  test('it is moved after many changes, while others read and write, and its thread ends with the database', async () => {
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

  test('what a process that was killed has left in it is moved at the start', async () => {
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

  test('a file that cannot be opened leaves the log to the connection, and harms nobody', async () => {
    const checkpoints = createCheckpoints('/nowhere/at/all.db');
    for (const rows of [1_000_000, 2_000_000]) {
      checkpoints.wrote(rows);
      await sleep(100);
    }
    await checkpoints.close();
  });
});
