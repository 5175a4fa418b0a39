import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { systemClock } from '../../../src/base/clock.ts';
import { refillOlder } from '../../../src/store/postgres/older-schema.ts';
import { engines } from '../../support/engines.ts';
import { openOutside } from '../../support/other-process.ts';
import { onOneServer } from '../../support/postgres-engines.ts';

onOneServer('the way back of an upgrade', () => {
  test('the tables of an older version are filled in the schema public, whatever else the role finds before it', async (t) => {
    const { outside, refill, role } = await bothSchemas(t);
    await outside.query(`create schema "${role}"`);
    await outside.query(`create table "${role}".entry as select 30 as number`);
    assert.deepEqual(await refill(), { version: 1, leftOut: {} });
    const numbers = await outside.query(
      `select number from public.entry union all select number from "${role}".entry order by number`,
    );
    assert.deepEqual(
      numbers.map(({ number }) => Number(number)),
      [20, 30],
    );
  });

  test('a table that the newer version does not have keeps its rows', async (t) => {
    const { outside, refill } = await bothSchemas(t);
    await outside.query('create table public.of_others as select 40 as number');
    await refill();
    assert.equal((await outside.query('select number from public.of_others')).length, 1);
  });

  test('a table of others that refers to a table of Columba is named as the obstacle, and nothing is changed', async (t) => {
    const { outside, refill } = await bothSchemas(t);
    await outside.query('alter table public.entry add primary key (number)');
    await outside.query('create table public.of_others (number integer references public.entry)');
    await assert.rejects(refill(), /^Problem: A table that is not of Columba refers to .* Nothing was changed\.$/);
    assert.equal((await outside.query('select number from public.entry where number = 10')).length, 1);
  });
});

/** A database with the tables of an older version in `public` and those of this one in `newer`. */
async function bothSchemas(t: TestContext) {
  const url = (await engines.find(({ name }) => name === 'postgres')?.fresh('empty')) as string;
  const outside = await openOutside(url);
  t.after(() => outside.close());
  const [{ role } = {}] = await outside.query('select current_user as role');
  for (const command of [
    'drop schema public cascade',
    ...['public', 'newer'].map((schema) => `create schema ${schema}`),
    'create table public.schema_version as select 1 as version',
    'create table newer.schema_version as select 2 as version',
    'create table public.entry as select 10 as number',
    'create table newer.entry as select 20 as number',
  ])
    await outside.query(command);
  const settings = { url, connectionsMax: 1, timeoutMs: 5_000 };
  return { outside, role, refill: () => refillOlder(settings, systemClock, false) };
}
