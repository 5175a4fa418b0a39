import assert from 'node:assert/strict';
import { chmodSync, existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { columba, folder, freshDatabase, freshPath, serving } from '../support/command.ts';
import { SAMPLE } from '../support/engines.ts';
import { openStore } from '../support/opened-database.ts';

/** Who may read what Columba writes. */

const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);

describe('modes of files', () => {
  test('nobody else can read the database, its -wal and its -shm (0600), nor a folder that is made for them (0700)', async () => {
    const made = join(folder, 'made', 'below');
    const path = join(made, 'columba.db');
    const server = await serving(['--database', `sqlite:${path}`]);
    for (const each of [path, `${path}-wal`, `${path}-shm`]) assert.equal(modeOf(each), '600', each);
    for (const each of [made, join(folder, 'made')]) assert.equal(modeOf(each), '700', each);
    server.child.kill('SIGTERM');
    assert.equal((await server.ended).code, 0);
  });

  test('a database that is opened without a command is 0600 as well', async () => {
    const path = freshPath('db');
    await (await openStore(`sqlite:${path}`)).close();
    assert.equal(modeOf(path), '600');
  });

  test('a backup and an export are 0600, and nothing is left beside them', async () => {
    const database = freshDatabase();
    const target = freshPath('folder');
    await columba(['import', SAMPLE, '--database', database]);
    for (const args of [['backup'], ['export', '--output'], ['export', '--ndjson', '--output']]) {
      const path = `${target}-${args.length}`;
      const { code, stderr } = await columba([...args, path, '--database', database]);
      assert.deepEqual([code, stderr], [0, '']);
      assert.equal(modeOf(path), '600', args.join(' '));
    }
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.endsWith('.tmp')),
      [],
    );
  });

  test('check and serve warn about a database that others may read', async () => {
    const database = freshDatabase();
    const path = database.replace('sqlite:', '');
    await columba(['import', SAMPLE, '--database', database]);
    chmodSync(path, 0o644);
    const { code, stderr } = await columba(['check', '--database', database]);
    assert.deepEqual([code, stderr], [0, `columba: Other users can read the database. Run: chmod 600 ${path}*\n`]);
    const server = await serving(['--database', database]);
    assert.match(
      server.output.stderr,
      /"level":40,[^\n]*"msg":"other users can read the database; run chmod 600 on it"/,
    );
    server.child.kill('SIGTERM');
    assert.equal((await server.ended).code, 0);
    assert.ok(existsSync(path));
  });
});
