import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../../../src/base/clock.ts';
import { refillOlder } from '../../../src/store/postgres/older-schema.ts';
import { engines } from '../../support/engines.ts';
import { openOutside } from '../../support/other-process.ts';
import { onOneServer } from '../../support/postgres-engines.ts';

onOneServer('the way back of an upgrade', () => {
  test('the tables of an older version are filled in the schema public, whatever else the role finds before it', async (t) => {
    const url = (await engines.find(({ name }) => name === 'postgres')?.fresh('empty')) as string;
    const outside = await openOutside(url);
    t.after(() => outside.close());
    const [{ role } = {}] = await outside.query('select current_user as role');
    for (const command of [
      'drop schema public cascade',
      ...['public', 'newer', `"${role}"`].map((schema) => `create schema ${schema}`),
      'create table public.schema_version as select 1 as version',
      'create table newer.schema_version as select 2 as version',
      'create table public.entry as select 10 as number',
      'create table newer.entry as select 20 as number',
      `create table "${role}".entry as select 30 as number`,
    ])
      await outside.query(command);
    const settings = { url, connectionsMax: 1, timeoutMs: 5_000 };
    assert.deepEqual(await refillOlder(settings, systemClock, false), { version: 1, leftOut: {} });
    const numbers = await outside.query(
      `select number from public.entry union all select number from "${role}".entry order by number`,
    );
    assert.deepEqual(
      numbers.map(({ number }) => Number(number)),
      [20, 30],
    );
  });
});
