import assert from 'node:assert/strict';
import { test } from 'node:test';
import { migrations } from '../../../src/store/schema/migrations.ts';
import { onEveryEngine } from '../../support/engines.ts';
import { contentOf, openStore, sql, TABLES } from '../../support/opened-database.ts';

type None = Record<string, never>;
const versions = sql<None, { version: bigint; name: string; applied_at: bigint }>(
  'select version, name, applied_at from schema_version order by version',
);
const recordVersion = sql<{ version: number }>(
  "insert into schema_version (version, name, applied_at) values (:version, 'from the future', 7)",
);
const accounts = sql<None, { total: bigint }>('select count(*) as total from account');

onEveryEngine('migrations', (engine) => {
  test('migrations are numbered from 1 without a gap, and each has a name', () => {
    assert.deepEqual(
      migrations.map(({ version }) => version),
      migrations.map((_, index) => index + 1),
    );
    for (const { name } of migrations) assert.notEqual(name.trim(), '');
  });

  test('a start on an empty database applies all migrations and records each with its time', async () => {
    const database = await openStore(await engine.fresh('none'), 1_700_000_000_123);
    const rows = await database.all(versions, {});
    assert.deepEqual(
      rows.map((row) => ({ ...row })),
      migrations.map(({ version, name }) => ({ version: BigInt(version), name, applied_at: 1_700_000_000_123n })),
    );
    assert.equal((await database.first(accounts, {}))?.total, 0n);
    await database.close();
  });

  test('a second start applies nothing', async () => {
    const setting = await engine.fresh('none');
    const first = await openStore(setting, 1_000);
    const before = await first.all(versions, {});
    await first.close();
    const second = await openStore(setting, 2_000);
    assert.deepEqual(await second.all(versions, {}), before);
    await second.close();
  });

  test('a database that is newer than the program is refused with a clear sentence, and left untouched', async () => {
    const setting = await engine.fresh('sample');
    const database = await openStore(setting);
    await database.run(recordVersion, { version: migrations.length + 2 });
    await database.close();
    const before = await contentOf(setting);
    await assert.rejects(openStore(setting), {
      message: `The database has schema version ${migrations.length + 2}, but this program knows versions only up to ${migrations.length}. Run the newer version of Columba that wrote it.`,
    });
    assert.ok((await contentOf(setting)) === before);
  });

  test('a migration that fails leaves nothing half done', async () => {
    const setting = await engine.fresh('none');
    const database = await openStore(setting);
    await database.run(sql('drop table if exists account_change'), {}); // only SQLite has it
    await database.run(sql('drop view account_directory'), {});
    for (const table of TABLES) await database.run(sql(`drop table ${table}`), {});
    await database.run(sql('delete from schema_version'), {});
    await database.run(sql('create table scheduled (in_the_way bigint)'), {});

    await assert.rejects(openStore(setting), /scheduled/);
    assert.deepEqual(await database.all(versions, {}), []);
    for (const table of TABLES.filter((name) => name !== 'scheduled')) {
      await assert.rejects(database.all(sql(`select * from ${table}`), {}), new RegExp(table));
    }

    await database.run(sql('drop table scheduled'), {});
    await (await openStore(setting)).close();
    assert.equal((await database.first(accounts, {}))?.total, 0n);
    await database.close();
  });
});
