import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { columba, folder, freshDatabase, serving } from '../../test/support/command.ts';

const temporary = () => mkdtempSync(join(folder, 'tmp-'));

describe('columba serve', () => {
  test('SIGINT ends columba serve --demo without a trace', async () => {
    const TMPDIR = temporary();
    const { child, ended } = await serving(['--demo'], { env: { TMPDIR } });
    assert.equal(readdirSync(TMPDIR).length, 1);
    child.kill('SIGINT');
    const { code, stderr } = await ended;
    assert.deepEqual([code, stderr], [0, '']);
    assert.deepEqual(readdirSync(TMPDIR), []);
  });

  test('columba serve without --demo writes log lines to standard error and nothing to standard output', async () => {
    const { address, child, ended } = await serving(['--database', freshDatabase()]);
    assert.equal((await fetch(`${address}/api/inbox.asmx?wsdl`)).status, 200);
    child.kill('SIGTERM');
    const { code, stdout, stderr } = await ended;
    assert.deepEqual([code, stdout], [0, '']);
    const messages = stderr
      .trimEnd()
      .split('\n')
      .map((text) => JSON.parse(text).msg);
    assert.deepEqual(messages.filter((message) => message !== 'call').toSorted(), [
      'no connector is configured: messages go to the loopback, which delivers them to nobody',
      'serving',
      "serving the console and the operator's API",
      'stopping',
    ]);
    assert.equal(messages.at(-1), 'stopping');
  });

  test('columba serve --demo refuses a --database before anything starts, and ignores the one of the environment', async () => {
    const database = freshDatabase();
    const { code, stdout, stderr } = await columba(['serve', '--demo', '--database', database]);
    assert.deepEqual([code, stdout], [2, '']);
    assert.match(stderr, /^columba: --demo uses a temporary database of its own[^\n]*\n$/);
    const { child, ended } = await serving(['--demo'], { env: { COLUMBA_DATABASE: database } });
    child.kill('SIGTERM');
    assert.equal(
      (await ended).stderr,
      'columba: --demo uses a temporary database of its own; COLUMBA_DATABASE is not used\n',
    );
    assert.ok(!existsSync(database.replace('sqlite:', '')));
  });

  test('settings are read from options and from the environment', async () => {
    const { address, child, ended } = await serving(['--namespace', 'urn:example:sms'], {
      env: { COLUMBA_DATABASE: freshDatabase(), COLUMBA_BASE_URL: 'https://sms.example/gateway/' },
    });
    const wsdl = await (await fetch(`${address}/api/sent.asmx?WSDL`)).text();
    assert.match(wsdl, /targetNamespace="urn:example:sms"/);
    assert.match(wsdl, /location="https:\/\/sms\.example\/gateway\/api\/sent\.asmx"/);
    child.kill('SIGTERM');
    assert.equal((await ended).code, 0);
  });
});
