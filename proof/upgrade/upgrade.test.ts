import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, test } from 'node:test';
import { COLUMBA } from '../../test/support/command.ts';
import { fill, firstVersion, runOn, serveWith, whyNot } from './first-version.ts';

const folder = mkdtempSync(join(tmpdir(), 'columba-upgrade-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const path = join(folder, 'columba.db');
const on = ['--database', `sqlite:${path}`];

const run = runOn(on);

/** All rows of every table, each as text. */
function rowsOf(file: string): Map<string, string[]> {
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    const all = (sql: string) => {
      const statement = database.prepare(sql);
      statement.setReadBigInts(true);
      return statement
        .all()
        .map((row) =>
          Object.entries(row)
            .map((entry) => entry.map(String).join('='))
            .sort()
            .join(' '),
        )
        .sort();
    };
    const tables = database
      .prepare("select name from sqlite_schema where type = 'table' and name not like 'sqlite!_%' escape '!'")
      .all();
    return new Map(tables.map(({ name }) => [String(name), all(`select * from "${name}"`)]));
  } finally {
    database.close();
  }
}

/** What changes because a service ran and a command wrote. */
const LIVE = [
  'account',
  'account_change',
  'audit',
  'dispatch_account',
  'history',
  'id_counter',
  'ledger',
  'movement',
  'receipt_watch',
  'retention',
  'schema_version',
  'sent',
  'dispatch',
  'tally',
  'carrier_connector',
  'attempt',
];

test('a database of 0.1.0 with rows in every table is upgraded, and the real 0.1.0 serves it again with what was received since', {
  skip: whyNot,
}, async () => {
  const old = firstVersion(folder);
  assert.equal((await run(old, ['version'], [])).stdout.trim().split('\n')[0]?.includes('0.1.0'), true);
  await fill(old, run, async (sql) => {
    const database = new DatabaseSync(path);
    try {
      if (!/^select/.test(sql)) database.exec(sql);
      else return String(Object.values(database.prepare(sql).get() ?? {})[0]);
    } finally {
      database.close();
    }
  });
  const before = rowsOf(path);
  for (const [table, rows] of before) assert.ok(rows.length > 0, `${table} has no row`);

  const check = await run(COLUMBA, ['upgrade', '--check']);
  assert.match(check.stdout, /schema version 20\.\n21 {2}\S.*\n22 {2}/);
  assert.deepEqual(rowsOf(path), before, 'the check changes nothing');

  // The new version serves, and accepts a message.
  await serveWith(on, {}, async () => {});
  await run(COLUMBA, [
    'message',
    'send',
    'acme',
    '+27825550299',
    '--text',
    'After the upgrade',
    '--send-at',
    '2099-01-01T00:00:00Z',
  ]);
  await run(COLUMBA, ['contact', 'add', 'acme', '+27825550288', '--name', 'Since']);
  const states = (file: string, sql: string) => {
    const database = new DatabaseSync(file, { readOnly: true });
    try {
      return database
        .prepare(sql)
        .all()
        .map((row) => String(Object.values(row)[0]));
    } finally {
      database.close();
    }
  };
  const STATES = 'select state from dispatch order by message_id';
  assert.deepEqual(states(path, STATES).slice(0, 3).sort(), ['needs-decision', 'unknown-outcome', 'waiting']);

  const back = await run(COLUMBA, ['restore', '--before-upgrade']);
  assert.match(back.stdout, /schema version 20 again/);
  assert.doesNotMatch(back.stderr, /do not fit/);
  const returned = rowsOf(path);
  assert.deepEqual([...returned.keys()].sort(), [...before.keys()].sort());
  for (const [table, rows] of before)
    if (!LIVE.includes(table))
      assert.deepEqual(
        returned.get(table)?.filter((row) => rows.includes(row)),
        rows,
        table,
      );
  assert.deepEqual(states(path, STATES).slice(0, 3).sort(), ['undecided', 'unsure', 'waiting']);
  assert.deepEqual(states(path, "select unsure_policy from account where username = 'acme'"), ['never-twice']);
  assert.deepEqual(states(path, 'select unsure from carrier_connector'), ['3']);
  assert.deepEqual(states(path, "select state from taken_message where state = 'armed'"), ['armed']);

  // The program of 0.1.0 serves it, with what came since the upgrade.
  await serveWith(on, { command: old }, async (address) =>
    assert.equal((await fetch(`${address}/health/ready`)).status, 200),
  );
  assert.match((await run(old, ['check', '--ledger'])).stdout, /add up/);
  assert.match((await run(old, ['contact', 'list', 'acme'])).stdout, /Since/);
  assert.match((await run(old, ['message', 'list', 'acme', '--state', 'scheduled'])).stdout, /After the upgrade/);
  assert.match((await run(old, ['queue', 'list', '--open', 'true'])).stdout, /acme/);

  // The file of what was received since is read by the new version, and an export of 0.1.0 by 0.1.0 on the copy itself.
  const names = readdirSync(folder);
  const fileOf = (pattern: RegExp) => join(folder, names.find((name) => pattern.test(name)) as string);
  const fresh = ['--database', `sqlite:${join(folder, 'fresh.db')}`];
  await run(COLUMBA, ['import', fileOf(/\.since-upgrade-/)], fresh);
  assert.match((await run(COLUMBA, ['contact', 'list', 'acme'], fresh)).stdout, /Since/);
  const exported = join(folder, 'since.ndjson');
  writeFileSync(exported, (await run(old, ['export', '--ndjson'])).stdout);
  const copy = ['--database', `sqlite:${fileOf(/\.before-upgrade-20$/)}`];
  await run(old, ['import', exported, '--update'], copy);
  assert.match((await run(old, ['contact', 'list', 'acme'], copy)).stdout, /Since/);
  assert.match((await run(old, ['check', '--ledger'], copy)).stdout, /add up/);

  // And the upgrade works once more.
  await serveWith(on, {}, async (address) => assert.equal((await fetch(`${address}/health/ready`)).status, 200));
  assert.match((await run(COLUMBA, ['check', '--ledger'])).stdout, /add up/);
});
