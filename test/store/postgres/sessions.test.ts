import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { systemClock } from '../../../src/base/clock.ts';
import { createFailoverPool } from '../../../src/store/postgres/pool.ts';
import { engines } from '../../support/engines.ts';
import { openStore, sql } from '../../support/opened-database.ts';
import { openOutside } from '../../support/other-process.ts';
import { ONE_SERVER, onPostgres } from '../../support/postgres-engines.ts';
import { addressOf, databaseOf, runSql } from '../../support/templates.ts';

/** What an administrator may have set for a database, or for all, and what our statements must not depend on. */
const DEFAULTS = {
  jit: 'on',
  jit_above_cost: '0',
  default_transaction_isolation: "'repeatable read'",
  plan_cache_mode: 'force_custom_plan',
  timezone: "'America/St_Johns'",
  datestyle: "'German, DMY'",
  standard_conforming_strings: 'off',
  escape_string_warning: 'off',
  extra_float_digits: '-15',
  bytea_output: 'escape',
};

async function serverVersion(setting: string): Promise<number> {
  const outside = await openOutside(setting);
  const [row] = await outside.query('show server_version_num').finally(() => outside.close());
  return Number(row?.server_version_num);
}

onPostgres('sessions of a server with other defaults', () => {
  let setting: string;
  before(async () => {
    setting = (await engines.find(({ name }) => name === 'postgres')?.fresh('empty')) as string;
    for (const [name, value] of Object.entries(DEFAULTS))
      await runSql(setting, `alter database ${databaseOf(setting)} set ${name} = ${value}`);
  });
  test('a session uses no JIT, and plans each statement once, except on Citus', async (t) => {
    const pool = createFailoverPool({ url: setting, connectionsMax: 1, timeoutMs: 5_000 }, systemClock);
    const client = await pool.connect();
    t.after(async () => {
      client.release();
      await pool.close();
    });
    const shown = async (name: string) => (await client.query(`show ${name}`)).rows[0][name];
    assert.equal(await shown('jit'), 'off');
    assert.equal(await shown('plan_cache_mode'), ONE_SERVER ? 'auto' : 'force_generic_plan');
  });

  test('a database with another encoding than UTF8 is refused at the start, with what to do', async (t) => {
    const address = addressOf(setting, `latin_${process.pid}`);
    const name = databaseOf(address);
    const version = await serverVersion(setting);
    const provider = version >= 150_000 ? " locale_provider 'libc'" : '';
    await runSql(
      setting,
      `create database ${name} encoding 'LATIN1' lc_collate 'C' lc_ctype 'C'${provider} template template0`,
    );
    t.after(() => runSql(setting, `drop database ${name} with (force)`));
    await assert.rejects(openStore(address), /has the encoding LATIN1\. Create one with UTF8: createdb/);
  });

  test('a transaction that waited for an account sees what the previous transaction has written', async (t) => {
    const database = await openStore(setting);
    t.after(() => database.close());
    const account = 1n;
    const add = `insert into account (account_id, username, credits, used_credits, priority, tag, created_at)
      values (1, 'waiting', 0, 0, 0, 0, 0)`;
    await runSql(setting, add);
    const block = sql<{ account: bigint; number: string }>(
      'insert into blocked_number (account_id, number, number_key, blocked_at) values (:account, :number, :number, 0)',
    );
    const count = sql<{ account: bigint }, { total: bigint }>(
      'select count(*) as total from blocked_number where account_id = :account',
    );
    const seen: bigint[] = [];
    const work = (number: string) =>
      database.transaction(account, async (queries) => {
        seen.push((await queries.first(count, { account }))?.total ?? -1n);
        await queries.run(block, { account, number });
      });
    await Promise.all(['1', '2', '3', '4', '5', '6'].map(work));
    assert.deepEqual(seen, [0n, 1n, 2n, 3n, 4n, 5n]);
  });
});
