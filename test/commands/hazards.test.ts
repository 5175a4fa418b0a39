import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, openSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { findConfigFile } from '../../src/config/config-file.ts';
import { readConfig } from '../../src/config/settings.ts';
import { createExchangeRecorder } from '../../src/serve/telemetry/exchange-recorder.ts';
import { columba, folder, freshPath } from '../support/command.ts';

/** Commands and settings that would have harmed the operator without a word. */

const COLUMBA = fileURLToPath(new URL('../../columba', import.meta.url));

/** A database with one account. */
async function made(): Promise<string> {
  const path = freshPath('db');
  const { code, stderr } = await columba(['account', 'add', 'acme', '--database', `sqlite:${path}`]);
  assert.equal(code, 0, stderr);
  return path;
}

function freshFolder(): string {
  const path = freshPath('folder');
  mkdirSync(path);
  return path;
}

describe('a database is not replaced by a copy of itself', () => {
  for (const command of [['backup'], ['export', '--output']]) {
    test(`a database is not replaced by a copy of itself by ${command[0]} --force, directly or through a link`, async () => {
      const path = await made();
      const link = freshPath('link');
      symlinkSync(path, link);
      for (const target of [path, link, `${path}-wal`]) {
        const { code, stderr } = await columba([...command, target, '--force', '--database', `sqlite:${path}`]);
        assert.equal(code, 1);
        assert.equal(stderr, `columba: ${target}: this is the database itself. Choose another file.\n`);
      }
      const { stdout } = await columba(['account', 'list', '--database', `sqlite:${path}`]);
      assert.match(stdout, /^acme\t/);
    });
  }
});

describe('settings that would have another meaning', () => {
  for (const variable of ['COLUMBA_HOST', 'COLUMBA_METRICS_HOST', 'COLUMBA_HEALTH_HOST']) {
    test(`an empty ${variable}, which would listen on all addresses, is refused`, () => {
      for (const value of ['', ' ', '[::1]', '127.0.0.1:80', 'http://localhost']) {
        assert.throws(
          () => readConfig({ [variable]: value }),
          new RegExp(`${variable}: expected an address or a name`),
        );
      }
      for (const value of ['127.0.0.1', '::1', '0.0.0.0', 'localhost', 'db-1.example']) {
        readConfig({ [variable]: value });
      }
    });
  }

  test('a misspelt sslmode, which would connect without TLS, is refused', () => {
    const url = (query: string) => ({ COLUMBA_DATABASE: `postgres://u:p@db.example/columba?${query}` });
    for (const query of ['sslmod=verify-full', 'ssl_mode=require', 'sslmode=require&sslrootcrt=x']) {
      assert.throws(() => readConfig(url(query)), /expected parameters of PostgreSQL/);
    }
    readConfig(url('sslmode=verify-full&target_session_attrs=read-write&application_name=x'));
  });

  test('a file of settings that is a dangling link or a device is refused', () => {
    const path = freshFolder();
    symlinkSync(join(path, 'nowhere'), join(path, 'columba.conf'));
    assert.throws(() => findConfigFile({}, path), /the link points to a file that does not exist/);
    for (const device of ['/dev/null', '/dev/zero']) {
      assert.throws(() => findConfigFile({ COLUMBA_CONFIG: device }, path), /expected a settings file/);
    }
  });
});

describe('a command that cannot do its work', () => {
  test('an import of a folder creates no database', async () => {
    const cwd = freshFolder();
    const { code, stderr } = await columba(['import', folder], { cwd });
    assert.deepEqual([code, stderr], [1, `columba: ${folder}: expected a file, but this is a folder\n`]);
    assert.deepEqual(readdirSync(cwd), []);
  });

  test('token add creates no database in a folder without one', async () => {
    const cwd = freshFolder();
    const { code, stderr } = await columba(['token', 'add', 'ci', '--scopes', 'accounts'], { cwd });
    assert.equal(code, 1);
    assert.match(stderr, /^columba: There is no database at [^\n]+\n$/);
    assert.deepEqual(readdirSync(cwd), []);
  });

  test('a path without permission is reported as such, not as missing', async () => {
    const path = join(folder, 'n'.repeat(300), 'columba.db');
    const { code, stderr } = await columba(['account', 'list', '--database', `sqlite:${path}`]);
    assert.equal(code, 3);
    assert.doesNotMatch(stderr, /There is no database at/);
    assert.match(stderr, /^columba: [^\n]+\n$/);
  });

  test('a full disk at standard output is reported in one line', {
    skip: !existsSync('/dev/full') && 'no /dev/full',
  }, () => {
    const { status, stderr } = spawnSync(COLUMBA, ['--help'], {
      stdio: ['ignore', openSync('/dev/full', 'w'), 'pipe'],
    });
    assert.equal(status, 1);
    assert.match(String(stderr), /^columba: standard output cannot be written: ENOSPC[^\n]*\n$/);
  });
});

test('control characters of an account do not reach the terminal', async () => {
  const database = `sqlite:${freshPath('db')}`;
  const company = 'evil\tcolumn\nline\u001b[2J\u202e';
  const refused = await columba(['account', 'add', 'acme', '--company', company, '--database', database]);
  assert.equal(refused.stderr, 'columba: --company: control characters are not allowed\n');
  const file = freshPath('json'); // an import takes what an old server had
  const datetimeCreated = '2026-01-01T00:00:00Z';
  const account = { username: 'acme', company, userID: 'acme-1', credits: 0, usedCredits: 0, datetimeCreated };
  writeFileSync(file, JSON.stringify({ accounts: [account] }));
  assert.equal((await columba(['import', file, '--database', database])).code, 0);
  const listed = await columba(['account', 'list', '--database', database]);
  assert.equal(listed.stdout, 'acme\tevil\ufffdcolumn\ufffdline\ufffd[2J\ufffd\t0 credits\n');
  const shown = await columba(['account', 'show', 'acme', '--database', database]);
  assert.ok(shown.stdout.includes('company: evil\ufffdcolumn\ufffdline\ufffd[2J\ufffd\n'));
  const { stderr } = await columba(['account', 'show', '\u001b[2J', '--database', database]);
  assert.ok(!stderr.includes('\u001b'), stderr);
});

test('serve --trace into a device leaves the mode of the device alone, because others use it too', {
  skip: process.platform !== 'linux' && 'Linux',
}, async () => {
  const path = freshPath('pipe');
  assert.equal(spawnSync('mkfifo', ['--mode', '0666', path]).status, 0);
  const mode = statSync(path).mode;
  openSync(path, 'r+'); // a reader, without whom opening it would wait
  const recorder = createExchangeRecorder({
    file: path,
    now: Date.now,
    onFailed: () => {},
    userIdOf: () => undefined,
    words: [],
  });
  assert.equal(statSync(path).mode, mode);
  await recorder.close();
});
