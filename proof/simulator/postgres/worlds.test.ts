import assert from 'node:assert/strict';
import { test } from 'node:test';
import { onPostgres } from '../../../test/support/postgres-engines.ts';
import { freshSeed, run, simulated } from '../runner.ts';

/** Worlds with the same clients, carriers, deaths and rules as on SQLite, on a real PostgreSQL. */
onPostgres('simulated worlds on PostgreSQL', () => {
  const seed = freshSeed();
  const world = ['--seed', seed, '--hours', '2'];

  test(`no promise is broken where nodes die, connections break at commits and the server is killed (SEED=${seed})`, () => {
    const output = simulated(...world, '--postgres');
    const [, before, after] = /broke (\d+) times before and (\d+) times after a commit/.exec(output) ?? [];
    assert.ok(Number(before) + Number(after) > 0, output);
  });

  test(`no promise is broken by a failover to a synchronous standby (SEED=${seed})`, () => {
    assert.match(simulated(...world, '--failover', '--history'), /"kind":"killed","what":"the database server"/);
  });

  test('a planted fault is found there', () => {
    const { status, output } = run('--seed', '3', '--hours', '2', '--postgres', '--mutation', 'capture twice');
    assert.equal(status, 1, output);
    assert.match(output, /^ {2}capturedIsTaken: /m);
  });
});
