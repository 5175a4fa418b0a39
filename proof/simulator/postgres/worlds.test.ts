import assert from 'node:assert/strict';
import { test } from 'node:test';
import { onPostgres } from '../../../test/support/postgres-engines.ts';
import { freshSeed, simulated } from '../runner.ts';

/** Worlds with the same clients, carriers, deaths and rules as on SQLite, on a real PostgreSQL. */
onPostgres('simulated worlds on PostgreSQL', () => {
  const seed = freshSeed();

  function world(...options: string[]): string {
    const output = simulated('--seed', seed, '--hours', '2', '--history', ...options);
    const [, messages, deaths] = /, (\d+) messages, (\d+) deaths, /.exec(output) ?? [];
    assert.ok(Number(messages) > 5 && Number(deaths) > 5, output);
    return output;
  }

  test(`no promise is broken where nodes die, connections break at commits and the server is killed (SEED=${seed})`, () => {
    const output = world('--postgres');
    const [, before, after] = /broke (\d+) times before and (\d+) times after a commit/.exec(output) ?? [];
    assert.ok(Number(before) + Number(after) > 0, output);
  });

  test(`no promise is broken by a failover to a synchronous standby (SEED=${seed})`, () => {
    assert.match(world('--failover'), /"kind":"killed","what":"the database server"/);
  });

  test(`no promise is broken by a standby that lacks commits, and is adopted (SEED=${seed})`, () => {
    assert.match(world('--behind'), /"backup-taken"[\s\S]+"restored"/);
  });

  test('worlds with such a standby that once broke a promise break none', () => {
    simulated('--kept', '--behind');
  });
});
