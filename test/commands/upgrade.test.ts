import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, test } from 'node:test';
import { migrations } from '../../src/store/schema/migrations.ts';
import { columba, freshPath, serving } from '../support/command.ts';
import { onEveryEngine } from '../support/engines.ts';
import { openOutside } from '../support/other-process.ts';

const OLD = readFileSync(new URL('../store/schema/version-27.sql', import.meta.url), 'utf8');

/** A database that an older version wrote, with rows in every table. */
function oldDatabase() {
  const folder = freshPath('old');
  mkdirSync(folder);
  const path = join(folder, 'columba.db');
  const database = new DatabaseSync(path, { enableForeignKeyConstraints: false });
  database.exec(OLD);
  database.close();
  return { folder, path, on: ['--database', `sqlite:${path}`] };
}

/** The schema and all rows of a database. */
function read(path: string) {
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    const all = (sql: string) => {
      const statement = database.prepare(sql);
      statement.setReadBigInts(true);
      return statement.all().map((row) => Object.values(row).map(String));
    };
    const schema = all(
      "select type, name, sql from sqlite_schema where name not like 'sqlite!_%' escape '!' order by 1, 2",
    );
    const tables = schema.flatMap(([type, name]) => (type === 'table' ? [String(name)] : []));
    return { schema, rows: new Map(tables.map((name) => [name, all(`select * from "${name}" order by 1, 2`)])) };
  } finally {
    database.close();
  }
}

describe('an upgrade of a database of an older version', () => {
  test('the fixture of the older version has rows in every table', () => {
    const { path } = oldDatabase();
    for (const [table, rows] of read(path).rows) assert.ok(rows.length > 0, table);
  });

  test('columba upgrade --check tells the steps and their time, and changes nothing', async () => {
    const { folder, path, on } = oldDatabase();
    const before = readFileSync(path);
    const { code, stdout, stderr } = await columba(['upgrade', '--check', ...on]);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /schema version 27\.\n28 {2}\S.*\n29 {2}\S/);
    assert.match(stdout, /keeps a copy of the database as it is now\. Tried on a copy just now, that took \d+ s\.\n$/);
    assert.ok(readFileSync(path).equals(before));
    assert.deepEqual(readdirSync(folder), [basename(path)]);
  });

  test('the first start keeps a private copy, and restore --before-upgrade gives the older version its tables with all data', async () => {
    const { folder, path, on } = oldDatabase();
    const old = read(path);
    assert.equal((await columba(['account', 'add', 'newcomer', ...on])).code, 0);
    assert.equal((await columba(['restore', '--adopt', '--nothing-lost', ...on])).code, 0, 'it has marks');
    const copy = `${path}.before-upgrade-27`;
    assert.deepEqual(read(copy), old);
    assert.equal(statSync(copy).mode & 0o077, 0);
    assert.match((await columba(['upgrade', '--check', ...on])).stdout, /This version has nothing to change in it/);
    const dry = await columba(['restore', '--before-upgrade', '--dry-run', ...on]);
    assert.match(dry.stdout, /Would give the database schema version 27\. Nothing was changed/);
    const back = await columba(['restore', '--before-upgrade', ...on]);
    assert.equal(back.code, 0, back.stderr);
    const now = read(path);
    assert.deepEqual(now.schema, old.schema);
    assert.equal(statSync(path).mode & 0o077, 0);
    const grown = ['account', 'account_change', 'audit', 'credential', 'id_counter', 'ledger', 'movement', 'tally'];
    for (const [table, rows] of old.rows) {
      if (grown.includes(table)) continue;
      assert.deepEqual(now.rows.get(table), rows, table);
    }
    assert.equal(now.rows.get('account')?.length, 3, 'an account that came after the upgrade is there');
    const kept = readdirSync(folder).find((name) => name.endsWith('.ndjson'));
    assert.ok(kept);
    const other = ['--database', `sqlite:${freshPath('db')}`];
    const imported = await columba(['import', join(folder, kept), ...other]);
    assert.match(imported.stdout, /^Imported 3 accounts with 15 messages\.\n$/, imported.stderr);
    assert.match((await columba(['check', '--ledger', ...other])).stdout, /all add up/);
    const again = await serving([...on, '--web-port', 'off']);
    assert.match((await columba(['account', 'list', ...on])).stdout, /newcomer/, 'it can be upgraded once more');
    again.child.kill('SIGTERM');
    assert.equal((await again.ended).code, 0);
  });

  test('without a copy, restore --before-upgrade says so and changes nothing', async () => {
    const database = freshPath('db');
    const on = ['--database', `sqlite:${database}`];
    await columba(['account', 'add', 'acme', ...on]);
    const { code, stderr } = await columba(['restore', '--before-upgrade', ...on]);
    assert.deepEqual([code, /No copy from before an upgrade is kept beside/.test(stderr)], [1, true]);
  });
});

onEveryEngine('columba upgrade --check', (engine) => {
  test('a database of an older version is told step by step, and stays as it is', async (t) => {
    const setting = await engine.fresh('none');
    const outside = await openOutside(setting);
    t.after(() => outside.close());
    await outside.migrate(migrations.slice(0, 30));
    const { code, stdout, stderr } = await columba(['upgrade', '--check', '--database', setting]);
    assert.equal(code, 0, stderr);
    assert.match(stdout, /schema version 30\.\n31 {2}ways out\n32 {2}/);
    assert.deepEqual(await outside.query('select max(version) as version from schema_version'), [{ version: 30n }]);
  });
});
