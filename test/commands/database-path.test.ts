import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdtempSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { migrations } from '../../src/store/schema/migrations.ts';
import { columba, folder } from '../support/command.ts';
import { onEveryEngine, SAMPLE } from '../support/engines.ts';

/** Which database a command works on. */

const freshFolder = () => mkdtempSync(join(folder, 'cwd-'));

describe('a command in a folder without a database', () => {
  const COMMANDS = [
    ['export'],
    ['backup', 'copy.db'],
    ['check'],
    ['account', 'list'],
    ['account', 'show', 'a'],
    ['account', 'disable', 'a'],
    ['account', 'allow', 'a', 'any'],
    ['account', 'rotate-user-id', 'a'],
    ['account', 'find', '--log-name', '0123456789ab'],
  ];
  for (const args of COMMANDS) {
    test(`${args.join(' ')} creates no database, and names the absolute path where it looked`, async () => {
      const cwd = freshFolder();
      const { code, stdout, stderr } = await columba(args, { cwd });
      assert.deepEqual([code, stdout], [1, '']);
      const path = join(cwd, 'data', 'columba.db');
      assert.match(stderr, /^columba: [^\n]+\n$/);
      assert.ok(stderr.startsWith(`columba: There is no database at ${path}. `), stderr);
      assert.deepEqual(readdirSync(cwd), []);
    });
  }

  for (const args of [
    ['account', 'add', 'a'],
    ['operator', 'add', 'ann'],
    ['import', SAMPLE],
  ]) {
    test(`${args[0]} creates a database`, async () => {
      const cwd = freshFolder();
      assert.equal((await columba(args, { cwd })).code, 0);
      assert.ok(existsSync(join(cwd, 'data', 'columba.db')));
    });
  }
});

describe('a file of settings', () => {
  /** A folder with a file of settings, and a database that it names. */
  async function installation(lines: string): Promise<string> {
    const cwd = freshFolder();
    writeFileSync(join(cwd, 'columba.conf'), lines, { mode: 0o600 });
    assert.equal((await columba(['account', 'add', 'here'], { cwd })).code, 0);
    return cwd;
  }

  test('every command reads columba.conf of the current folder', async () => {
    const cwd = await installation('# ours\nCOLUMBA_DATABASE="sqlite:own.db"\n\nCOLUMBA_PORT=8099\n');
    assert.deepEqual(readdirSync(cwd).sort(), ['columba.conf', 'own.db']);
    const { stdout } = await columba(['check', '--settings'], { cwd });
    assert.match(stdout, /^COLUMBA_PORT=8099$/m);
  });

  test('COLUMBA_CONFIG names the file of settings from any folder, and paths in it are relative to its own folder, the default path too', async () => {
    for (const lines of ['COLUMBA_DATABASE=sqlite:own.db\n', 'COLUMBA_PORT=1\n']) {
      const cwd = await installation(lines);
      const elsewhere = freshFolder();
      const env = { COLUMBA_CONFIG: join(cwd, 'columba.conf') };
      const { stdout, stderr } = await columba(['account', 'list'], { cwd: elsewhere, env });
      assert.deepEqual([stdout, stderr], ['here\t\t0 credits\n', '']);
      assert.deepEqual(readdirSync(elsewhere), []);
    }
  });

  test('the environment wins over the file of settings, and an option wins over both', async () => {
    const cwd = await installation('COLUMBA_DATABASE=sqlite:own.db\nCOLUMBA_PORT=1\nCOLUMBA_HOST=file\n');
    const env = { COLUMBA_HOST: 'environment', COLUMBA_DATABASE: 'sqlite:missing.db' };
    const { stdout } = await columba(['check', '--settings', '--database', 'sqlite:own.db'], { cwd, env });
    for (const line of ['COLUMBA_PORT=1', 'COLUMBA_HOST=environment', 'COLUMBA_DATABASE=sqlite:own.db']) {
      assert.ok(stdout.includes(`${line}\n`), line);
    }
  });

  test('a file that COLUMBA_CONFIG names must exist', async () => {
    const cwd = freshFolder();
    const { code, stderr } = await columba(['check'], { cwd, env: { COLUMBA_CONFIG: 'missing.conf' } });
    assert.equal(code, 1);
    assert.equal(stderr, `columba: COLUMBA_CONFIG: there is no file ${join(cwd, 'missing.conf')}\n`);
  });

  test('a warning names a file of settings with a secret that others may read, and no file without a secret', async () => {
    const cwd = await installation('COLUMBA_LOG_KEY=secret\n');
    const path = join(cwd, 'columba.conf');
    chmodSync(path, 0o644);
    const { code, stdout, stderr } = await columba(['check'], { cwd });
    assert.equal(code, 0);
    assert.equal(stderr, `columba: ${path} contains secrets and other users can read it. Run: chmod 600 ${path}\n`);
    assert.doesNotMatch(stdout, /secret/);
    writeFileSync(path, 'COLUMBA_PORT=1\n');
    assert.equal((await columba(['check'], { cwd })).stderr, '');
    const database = (user: string) => `COLUMBA_DATABASE=postgres://${user}@127.0.0.1:1/columba\n`;
    writeFileSync(path, database('columba'));
    assert.doesNotMatch((await columba(['check'], { cwd })).stderr, /contains secrets/);
    writeFileSync(path, database('columba:p@ss'));
    assert.match((await columba(['check'], { cwd })).stderr, /contains secrets/);
  });
});

onEveryEngine('columba check', (engine) => {
  test('columba check shows where the database is, its size, schema and accounts, and the free disk', async () => {
    const database = await engine.fresh('sample');
    const { code, stdout, stderr } = await columba(['check', '--database', database]);
    assert.equal(code, 0, stderr);
    const told = Object.fromEntries(
      [...stdout.matchAll(/^([A-Z][\w ]+): (.*)$/gm)].map(([, name, value]) => [name, value]),
    );
    assert.equal(told.Database, database.replace('sqlite:', '').replace(/:\/\/.*@/, '://…@'));
    assert.match(told.Size ?? '', /^[\d.]+ [kM]B$/);
    assert.deepEqual([told['Schema version'], told.Accounts], [`${migrations.length}`, '2']);
    if (engine.name === 'sqlite') assert.match(told['Free on its disk'] ?? '', /^[\d.]+ [kMGT]?B/);
  });
});
