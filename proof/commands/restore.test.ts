import assert from 'node:assert/strict';
import { copyFileSync, readFileSync, rmSync } from 'node:fs';
import { describe, test } from 'node:test';
import { columba, columbaAlone, freshPath, serving } from '../../test/support/command.ts';

/** Serves the database until it says so, and stops. */
async function serveOnce(database: string): Promise<void> {
  const { child, ended } = await serving(['--database', database, '--web-port', 'off']);
  child.kill('SIGTERM');
  assert.equal((await ended).code, 0);
}
const refusal = (database: string) =>
  columbaAlone(['serve', '--port', '0', '--web-port', 'off', '--database', database]);

describe('a copy of the database', () => {
  test('a backup is not served before columba restore --adopt', async () => {
    const [path, copy] = [freshPath('db'), freshPath('db')];
    await serveOnce(`sqlite:${path}`);
    assert.equal((await columba(['backup', copy, '--database', `sqlite:${path}`])).code, 0);
    const { code, stderr } = await refusal(`sqlite:${copy}`);
    assert.equal(code, 1);
    assert.match(stderr, /The database is a copy that was made at 20.*columba restore --adopt/s);
    const adopted = await columba(['restore', '--adopt', '--database', `sqlite:${copy}`]);
    assert.equal(adopted.code, 0, adopted.stderr);
    assert.match(adopted.stdout, /adopted as generation \d+\. Held for a decision: 0 messages/);
    const { child, ended } = await serving(['--database', `sqlite:${copy}`, '--web-port', 'off']);
    const served = await columba(['restore', '--adopt', '--database', `sqlite:${copy}`]);
    assert.deepEqual([served.code, /uses this database\. Stop it first/.test(served.stderr)], [1, true]);
    child.kill('SIGTERM');
    assert.equal((await ended).code, 0);
  });

  test('a database that was replaced by an older copy of itself is refused, and one whose service was only stopped is not', async () => {
    const [path, kept] = [freshPath('db'), freshPath('db')];
    await serveOnce(`sqlite:${path}`);
    copyFileSync(path, kept);
    await serveOnce(`sqlite:${path}`);
    await serveOnce(`sqlite:${path}`);
    for (const end of ['', '-wal', '-shm']) rmSync(path + end, { force: true });
    copyFileSync(kept, path);
    const { code, stderr } = await refusal(`sqlite:${path}`);
    assert.equal(code, 1);
    assert.match(stderr, /is not the one that was served here last/);
    rmSync(`${path}-generation`);
    assert.match(
      (await refusal(`sqlite:${path}`)).stderr,
      /-generation is missing, so the database may be an older copy/,
    );
    assert.equal((await columba(['restore', '--adopt', '--nothing-lost', '--database', `sqlite:${path}`])).code, 0);
    assert.match(readFileSync(`${path}-generation`, 'latin1'), /^\d+ [0-9a-f]{16}\n$/);
    await serveOnce(`sqlite:${path}`);
  });
});
