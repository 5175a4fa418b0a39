import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { COLUMBA } from '../../test/support/command.ts';
import { createPostgresServer, debianBinaries } from '../../test/support/postgres-server.ts';
import { fill, firstVersion, ROOT, runOn, serveWith, whyNot } from './first-version.ts';

const binaries = debianBinaries();

/** The commands of the way back, as they are in the document. */
function documented(): string {
  const text = readFileSync(join(ROOT, 'docs/SCALING.md'), 'utf8');
  const [, block] = /## The way back of an upgrade\n[^`]*?(?:`[^`]+`[^`]*?)*```sh\n(.*?)```/s.exec(text) ?? [];
  assert.ok(block);
  return block;
}

/** What changes because a service ran and a command wrote. */
const LIVE =
  'account attempt audit dispatch dispatch_account history id_counter ledger movement receipt_watch retention schema_version sent tally carrier_connector'.split(
    ' ',
  );

test('on PostgreSQL, the documented commands give the real 0.1.0 its tables with what was received since the upgrade', {
  skip: whyNot || (binaries === undefined && 'skipped: install the package postgresql'),
}, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'columba-upgrade-'));
  const server = await createPostgresServer(undefined, undefined, binaries);
  await server.start();
  t.after(async () => {
    await server.stop();
    rmSync(server.folder, { recursive: true, force: true });
    rmSync(folder, { recursive: true, force: true });
  });
  await server.query('create database columba');
  await server.query('create database fresh');
  const database = server.url('columba');
  const run = runOn(['--database', database]);
  const rows = async (table: string, schema = 'public') =>
    (await server.query(`select * from ${schema}.${table}`, 'columba')).map((row) => JSON.stringify(row)).sort();
  const tables = async () =>
    (await server.query("select tablename from pg_tables where schemaname = 'public' order by 1", 'columba')).map(
      ({ tablename }) => String(tablename),
    );
  const column = async (sql: string) =>
    (await server.query(sql, 'columba')).map((row) => String(Object.values(row)[0]));
  symlinkSync(COLUMBA, join(folder, 'columba'));
  const shell = (text: string) =>
    execFileSync('sh', ['-e', '-c', text], {
      cwd: folder,
      stdio: 'pipe',
      encoding: 'utf8',
      env: { ...process.env, PATH: `${binaries}:${process.env.PATH}`, COLUMBA_DATABASE: database },
    });

  const old = firstVersion(folder);
  await fill(old, run, async (sql) => String(Object.values((await server.query(sql, 'columba'))?.[0] ?? {})[0]));
  const before = new Map<string, string[]>();
  for (const table of await tables()) before.set(table, await rows(table));
  for (const [table, own] of before) assert.ok(own.length > 0, `${table} has no row`);

  const { stdout } = await run(COLUMBA, ['upgrade', '--check']);
  const [dump] = /pg_dump .*/.exec(stdout) ?? [];
  assert.ok(dump);
  shell(dump.replace('DATABASE', database));

  await serveWith(['--database', database], {}, async () => {});
  const text = ['--text', 'After the upgrade', '--send-at', '2099-01-01T00:00:00Z'];
  await run(COLUMBA, ['message', 'send', 'acme', '+27825550299', ...text]);
  await run(COLUMBA, ['contact', 'add', 'acme', '+27825550288', '--name', 'Since']);
  const newest = (await column('select max(version) from schema_version'))[0];

  assert.match(shell(documented()), /schema version 20 again/);
  assert.deepEqual(await tables(), [...before.keys()]);
  for (const [table, own] of before) {
    if (LIVE.includes(table)) continue;
    const now = await rows(table);
    assert.deepEqual(
      own.filter((row) => !now.includes(row)),
      [],
      table,
    );
  }
  const states = (await column('select state from dispatch order by message_id')).slice(0, 3).sort();
  assert.deepEqual(states, ['undecided', 'unsure', 'waiting']);
  assert.deepEqual(await column('select unsure from carrier_connector'), ['3']);
  assert.deepEqual(await column('select max(version) from newer.schema_version'), [newest]);

  // The program of 0.1.0 serves it, with what came since the upgrade.
  await serveWith(['--database', database], { command: old }, async (address) =>
    assert.equal((await fetch(`${address}/health/ready`)).status, 200),
  );
  assert.match((await run(old, ['check', '--ledger'])).stdout, /add up/);
  assert.match((await run(old, ['contact', 'list', 'acme'])).stdout, /Since/);
  assert.match((await run(old, ['message', 'list', 'acme', '--state', 'scheduled'])).stdout, /After the upgrade/);
  const refused = () => shell('./columba restore --before-upgrade 2>&1 && exit 9 || echo "exit $?"');
  assert.equal(existsSync(join(folder, 'since-upgrade.ndjson')), true);

  // The export is read by the new version, and the upgrade works once more.
  const fresh = ['--database', server.url('fresh')];
  await run(COLUMBA, ['import', join(folder, 'since-upgrade.ndjson')], fresh);
  assert.match((await run(COLUMBA, ['contact', 'list', 'acme'], fresh)).stdout, /Since/);
  await serveWith(['--database', database], {}, async () => {});
  assert.match((await run(COLUMBA, ['check', '--ledger'])).stdout, /add up/);
  assert.match(refused(), /so the dump is not from before the upgrade\.\nexit 1/);
  await server.query('drop schema newer cascade', 'columba');
  assert.match(refused(), /has no schema "newer".*\nexit 1/);
});
